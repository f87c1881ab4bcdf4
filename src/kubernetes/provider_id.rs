//! `spec.providerID` of a node: which machine of which provider it is.
//!
//! kubelet writes `<region>.<instance>`; the controllers' prefix `alicloud://` may precede it.

use std::{convert::Infallible, fmt, str::FromStr};

/// The prefix that names this provider.
pub const PREFIX: &str = "alicloud://";
const HYBRID_PREFIX: &str = "ack-hybrid://";

/// What a node's provider id says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProviderId {
    /// An ECS instance: `cn-hangzhou.i-bp1…`, with or without the prefix.
    Ecs { region: String, instance: String },
    /// A machine outside the cloud that joined an ACK cluster (`ack-hybrid://…`).
    Hybrid,
    /// Another provider's machine, or text that is neither.
    Foreign(String),
    /// The node has none (yet).
    Missing,
}

/// Reads a provider id as written. Never fails: what is not understood is [`ProviderId::Foreign`].
pub fn parse(written: &str) -> ProviderId {
    let written = written.trim();
    if written.is_empty() {
        return ProviderId::Missing;
    }
    if written.starts_with(HYBRID_PREFIX) {
        return ProviderId::Hybrid;
    }
    let bare = written.strip_prefix(PREFIX).unwrap_or(written);
    match bare.split_once('.') {
        Some((region, instance)) if is_region(region) && is_instance(instance) => {
            ProviderId::Ecs { region: region.to_owned(), instance: instance.to_owned() }
        }
        _ => ProviderId::Foreign(written.to_owned()),
    }
}

/// Region ids are words of letters and digits joined by hyphens (`cn-hangzhou`, `us-west-1`).
fn is_region(text: &str) -> bool {
    text.contains('-') && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn is_instance(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

// === impl ProviderId ===

impl ProviderId {
    /// The provider id of a node object.
    pub fn of(node: &k8s_openapi::api::core::v1::Node) -> Self {
        parse(node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).unwrap_or_default())
    }

    /// Region and instance id of an ECS node.
    pub fn ecs(&self) -> Option<(&str, &str)> {
        match self {
            Self::Ecs { region, instance } => Some((region, instance)),
            _ => None,
        }
    }
}

impl FromStr for ProviderId {
    type Err = Infallible;

    fn from_str(written: &str) -> Result<Self, Infallible> {
        Ok(parse(written))
    }
}

/// The written form. For ECS it is the one without prefix, as kubelet is told to write it and as the
/// released controller sets it.
impl fmt::Display for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ecs { region, instance } => write!(f, "{region}.{instance}"),
            Self::Hybrid => f.write_str(HYBRID_PREFIX),
            Self::Foreign(written) => f.write_str(written),
            Self::Missing => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_written_forms_name_an_instance() {
        for written in ["cn-hangzhou.i-bp1abc", "alicloud://cn-hangzhou.i-bp1abc", " cn-hangzhou.i-bp1abc\n"] {
            let id = parse(written);
            assert_eq!(id.ecs(), Some(("cn-hangzhou", "i-bp1abc")), "{written}");
            assert_eq!(id.to_string(), "cn-hangzhou.i-bp1abc");
        }
    }

    #[test]
    fn other_ids_are_kept_apart() {
        assert_eq!(parse(""), ProviderId::Missing);
        assert_eq!(parse("  "), ProviderId::Missing);
        assert_eq!(parse("ack-hybrid://x.y"), ProviderId::Hybrid);
        let foreign =
            ["aws:///us-east-1a/i-0abc", "i-bp1abc", "cn-hangzhou.", ".i-abc", "alicloud://", "a-b.c.d", "region.i-1"];
        for written in foreign {
            assert_eq!(parse(written), ProviderId::Foreign(written.into()));
            assert_eq!(parse(written).to_string(), written);
        }
    }
}
