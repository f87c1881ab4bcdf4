//! Settings by their names, with values as the API spells them.

use std::collections::BTreeMap;

/// Settings with their values. In a wish, what is absent is left as the cloud has it; in an
/// observation it is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings<S>(BTreeMap<S, String>);

// === impl Settings ===

impl<S> Default for Settings<S> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<S: Copy + Ord> Settings<S> {
    pub fn get(&self, setting: S) -> Option<&str> {
        self.0.get(&setting).map(String::as_str)
    }

    pub fn set(&mut self, setting: S, value: impl Into<String>) {
        self.0.insert(setting, value.into());
    }

    /// The same with one more setting.
    #[must_use]
    pub fn with(mut self, setting: S, value: impl Into<String>) -> Self {
        self.set(setting, value);
        self
    }

    pub fn remove(&mut self, setting: S) {
        self.0.remove(&setting);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In the order of the settings' names.
    pub fn iter(&self) -> impl Iterator<Item = (S, &str)> {
        self.0.iter().map(|(setting, value)| (*setting, value.as_str()))
    }

    /// Whether something here is not so there.
    pub fn differ_from(&self, there: &Self) -> bool {
        self.0.iter().any(|(setting, value)| there.0.get(setting) != Some(value))
    }

    /// Takes over what `other` says.
    pub fn overlay(&mut self, other: &Self) {
        self.0.extend(other.0.iter().map(|(setting, value)| (*setting, value.clone())));
    }
}

impl<S: Ord> FromIterator<(S, String)> for Settings<S> {
    fn from_iter<I: IntoIterator<Item = (S, String)>>(settings: I) -> Self {
        Self(settings.into_iter().collect())
    }
}
