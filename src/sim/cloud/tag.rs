//! Tags: parsing, limits and filtering, the same for all products.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{error::Failure, params::Params};

/// Tags of one resource.
pub type Tags = BTreeMap<String, String>;

/// The most tags that one resource can carry.
const PER_RESOURCE: usize = 20;

/// Reads `Tag.N.Key` and `Tag.N.Value` for writing.
pub(crate) fn given(params: &Params) -> Result<Tags, Failure> {
    let elements = params.objects("Tag");
    if elements.len() > PER_RESOURCE {
        return Err(Failure::bad("SizeLimitExceeded.Tag", "The number of tags exceeds the limit of 20."));
    }
    let mut tags = Tags::new();
    for element in elements {
        let key = element.get("Key").ok_or_else(|| Failure::bad("MissingParam.TagKey", "The tag key is missing."))?;
        let value = element.text("Value");
        let length = key.chars().count();
        let reserved = ["aliyun", "acs:"].iter().any(|prefix| key.to_ascii_lowercase().starts_with(prefix));
        if length > 64 || reserved || key.contains("http://") || key.contains("https://") {
            return Err(Failure::bad("InvalidParam.TagKey", format!("The tag key {key} is not valid.")));
        }
        if value.chars().count() > 128 {
            return Err(Failure::bad("InvalidParam.TagValue", format!("The value of the tag {key} is too long.")));
        }
        if tags.insert(key.to_owned(), value).is_some() {
            return Err(Failure::bad("Duplicate.TagKey", format!("The tag key {key} is given twice.")));
        }
    }
    Ok(tags)
}

/// Adds tags to a resource; the same key is overwritten.
pub(crate) fn add(tags: &mut Tags, more: &Tags) -> Result<(), Failure> {
    let fresh = more.keys().filter(|key| !tags.contains_key(*key)).count();
    if tags.len() + fresh > PER_RESOURCE {
        return Err(Failure::bad("QuotaLimitExceeds", "A resource can have at most 20 tags."));
    }
    tags.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
    Ok(())
}

/// Whether a resource carries all the wanted tags; one without a value asks for the key.
pub(crate) fn matches(tags: &Tags, wanted: &[(String, Option<String>)]) -> bool {
    wanted
        .iter()
        .all(|(key, value)| tags.get(key).is_some_and(|found| value.as_ref().is_none_or(|value| value == found)))
}

/// Reads `Tag.N.Key` and `Tag.N.Value` as a filter.
pub(crate) fn filter(params: &Params) -> Vec<(String, Option<String>)> {
    let elements = params.objects("Tag");
    elements
        .iter()
        .filter_map(|element| Some((element.get("Key")?.to_owned(), element.get("Value").map(str::to_owned))))
        .collect()
}

/// `[{"TagKey": …, "TagValue": …}]`.
pub(crate) fn list(tags: &Tags) -> Value {
    tags.iter().map(|(key, value)| json!({ "TagKey": key, "TagValue": value })).collect()
}

/// `[{"Key": …, "Value": …}]`.
pub(crate) fn short_list(tags: &Tags) -> Value {
    tags.iter().map(|(key, value)| json!({ "Key": key, "Value": value })).collect()
}
