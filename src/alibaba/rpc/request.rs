//! One call as data: what to ask, of which product, about what.

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::Mutex;

use super::{Params, Product};
use crate::cloud::RegionId;

/// Whether a call changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    /// Repeated only if it surely had no effect, or if it carries a `ClientToken`.
    Write,
}

/// A call of one action.
#[derive(Clone, Debug)]
pub struct Request {
    pub product: Product,
    pub action: String,
    pub kind: Kind,
    /// What it is about, for errors: an id, or a count of them.
    pub subject: String,
    /// The region asked, if it is not the client's own.
    pub region: Option<RegionId>,
    pub params: Params,
    /// Held while one attempt is under way, not while waiting for the next: for calls of which
    /// the cloud takes only one at a time.
    pub one_at_a_time: Option<Arc<Mutex<()>>>,
    /// Carries a `ClientToken` of its own, the same for all attempts, so that the cloud recognises
    /// a repetition.
    pub fresh_token: bool,
    /// Not repeated while the object is busy: the caller has better things to do than to wait.
    pub fails_when_busy: bool,
}

// === impl Request ===

impl Request {
    /// A call that changes nothing.
    pub fn read(product: Product, action: impl Into<String>) -> Self {
        Self::new(product, action, Kind::Read)
    }

    /// A call that changes something.
    pub fn write(product: Product, action: impl Into<String>) -> Self {
        Self::new(product, action, Kind::Write)
    }

    fn new(product: Product, action: impl Into<String>, kind: Kind) -> Self {
        Self {
            product,
            action: action.into(),
            kind,
            subject: String::new(),
            region: None,
            params: Params::default(),
            one_at_a_time: None,
            fresh_token: false,
            fails_when_busy: false,
        }
    }

    /// What the call is about.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "callers have references, ids and numbers alike")]
    pub fn about(mut self, subject: impl ToString) -> Self {
        self.subject = subject.to_string();
        self
    }

    /// Asks another region than the client's own.
    #[must_use]
    pub fn in_region(mut self, region: &RegionId) -> Self {
        self.region = Some(region.clone());
        self
    }

    /// Sets a parameter.
    #[must_use]
    pub fn param(mut self, name: &str, value: impl ToString) -> Self {
        self.params.set(name, value);
        self
    }

    /// Sets a parameter if there is a value for it.
    #[must_use]
    pub fn param_if(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.param(name, value),
            None => self,
        }
    }

    /// Sets `name.1`, `name.2` and so on.
    #[must_use]
    pub fn list(mut self, name: &str, values: impl IntoIterator<Item = impl ToString>) -> Self {
        self.params.set_list(name, values);
        self
    }

    /// Sets `Tag.1.Key`, `Tag.1.Value` and so on.
    #[must_use]
    pub fn tags(self, tags: &BTreeMap<String, String>) -> Self {
        (1..).zip(tags).fold(self, |request, (n, (key, value))| {
            request.param(&format!("Tag.{n}.Key"), key).param(&format!("Tag.{n}.Value"), value)
        })
    }

    /// Gives all attempts one `ClientToken` that no other call has.
    #[must_use]
    pub fn with_fresh_token(mut self) -> Self {
        self.fresh_token = true;
        self
    }

    /// Makes a busy object an error at once.
    #[must_use]
    pub fn fails_when_busy(mut self) -> Self {
        self.fails_when_busy = true;
        self
    }

    /// Attempts exclude one another by this lock.
    #[must_use]
    pub fn one_at_a_time(mut self, lock: &Arc<Mutex<()>>) -> Self {
        self.one_at_a_time = Some(Arc::clone(lock));
        self
    }

    /// Whether the cloud recognises a repetition of it.
    pub(super) fn has_token(&self) -> bool {
        self.params.get("ClientToken").is_some_and(|token| !token.is_empty())
    }
}
