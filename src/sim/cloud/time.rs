//! Times as the products write them.

use jiff::Timestamp;

/// `2017-08-31T02:49:05Z`.
pub(crate) fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `2017-12-10T04:04Z`, which ECS uses.
pub(crate) fn minutes(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%MZ").to_string()
}
