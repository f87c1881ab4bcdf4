//! Trouble on request: refusals, delays and broken connections for chosen requests.

use std::time::Duration;

use http::Method;

/// Something that happens to the next requests that fit.
#[derive(Clone, Debug)]
pub struct Fault {
    method: Option<Method>,
    path: String,
    left: u32,
    effect: Effect,
}

/// What happens.
#[derive(Clone, Debug)]
pub enum Effect {
    /// The request is answered with this code and not carried out.
    Status(u16),
    /// The connection breaks before the request is carried out.
    Refuse,
    /// The request is carried out, but the connection breaks before the answer is complete.
    LoseAnswer,
    /// The request is carried out after this time.
    Delay(Duration),
}

// === impl Fault ===

impl Fault {
    /// For the next request of any method whose path starts with `path`.
    pub fn on(path: impl Into<String>, effect: Effect) -> Self {
        Self { method: None, path: path.into(), left: 1, effect }
    }

    /// Only for one method.
    #[must_use]
    pub fn method(self, method: Method) -> Self {
        Self { method: Some(method), ..self }
    }

    /// For this many requests.
    #[must_use]
    pub fn times(self, left: u32) -> Self {
        Self { left, ..self }
    }
}

/// Takes the effect of the first fault that fits; a spent fault is removed.
pub(super) fn take(faults: &mut Vec<Fault>, method: &Method, path: &str) -> Option<Effect> {
    let fits = |f: &Fault| path.starts_with(&f.path) && f.method.as_ref().is_none_or(|m| m == method);
    let fault = faults.iter_mut().find(|f| fits(f))?;
    fault.left = fault.left.saturating_sub(1);
    let effect = fault.effect.clone();
    faults.retain(|f| f.left > 0);
    Some(effect)
}
