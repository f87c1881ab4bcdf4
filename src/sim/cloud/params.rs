//! Typed reading of a call's parameters, in the cloud's own spelling of lists and objects.

use std::{collections::BTreeMap, str::FromStr};

use serde::de::DeserializeOwned;

use super::error::Failure;

/// The business parameters of one call; empty values count as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Params(BTreeMap<String, String>);

// === impl Params ===

impl Params {
    pub(crate) fn new(values: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(values.into_iter().filter(|(_, value)| !value.is_empty()).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The value, or an empty text.
    pub(crate) fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }

    pub(crate) fn required(&self, name: &str) -> Result<&str, Failure> {
        self.get(name).ok_or_else(|| Failure::missing(name))
    }

    /// A number, if given.
    pub(crate) fn number<N: FromStr>(&self, name: &str) -> Result<Option<N>, Failure> {
        self.get(name).map(|text| text.trim().parse().map_err(|_| Failure::invalid(name))).transpose()
    }

    /// A filter of that name: passes everything if the parameter is absent. Prepared once for a
    /// scan of many resources.
    pub(crate) fn is<'a>(&'a self, name: &str) -> impl Fn(&str) -> bool + use<'a> {
        let wanted = self.get(name);
        move |value| wanted.is_none_or(|wanted| wanted == value)
    }

    /// SDKs write `true`, `True` or `TRUE`.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).map(|text| text.eq_ignore_ascii_case("true"))
    }

    /// `Name.1`, `Name.2`, … in the order of their numbers.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let mut found: Vec<(u32, String)> = self
            .under(name)
            .filter_map(|(rest, value)| rest.parse().ok().map(|index| (index, value.to_owned())))
            .collect();
        found.sort();
        found.into_iter().map(|(_, value)| value).collect()
    }

    /// `Name.1.Field`, `Name.2.Field`, … as one set of parameters an element.
    pub(crate) fn objects(&self, name: &str) -> Vec<Self> {
        let mut found: BTreeMap<u32, BTreeMap<String, String>> = BTreeMap::new();
        for (rest, value) in self.under(name) {
            let Some((index, field)) = rest.split_once('.') else { continue };
            let Ok(index) = index.parse() else { continue };
            found.entry(index).or_default().insert(field.to_owned(), value.to_owned());
        }
        found.into_values().map(Self).collect()
    }

    /// `Name.Field` as a set of parameters of its own.
    pub(crate) fn object(&self, name: &str) -> Self {
        Self(self.under(name).map(|(rest, value)| (rest.to_owned(), value.to_owned())).collect())
    }

    /// A parameter whose text is JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Failure> {
        self.get(name).map(|text| serde_json::from_str(text).map_err(|_| Failure::invalid(name))).transpose()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn under<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().filter_map(move |(key, value)| {
            let rest = key.strip_prefix(name)?.strip_prefix('.')?;
            Some((rest, value.as_str()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_follow_their_numbers_not_their_text() {
        let params = Params::new((1..=11).map(|i| (format!("ResourceId.{i}"), format!("lb-{i}"))).chain([
            ("Tag.2.Key".to_owned(), "b".to_owned()),
            ("Tag.1.Key".to_owned(), "a".to_owned()),
            ("Tag.1.Value".to_owned(), String::new()),
        ]));
        assert_eq!(params.list("ResourceId")[9], "lb-10");
        let tags = params.objects("Tag");
        assert_eq!(tags.iter().map(|tag| tag.text("Key")).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(tags[0].get("Value"), None);
    }
}
