//! What to say about a failed call to the API server.
//!
//! kube's own texts repeat the whole status in debug form or hide the cause in the source chain.

use std::error::Error;

/// Text that a `Status` answer carries, with its HTTP code, or the chain of causes of a call that
/// brought no answer. Never contains a request header.
pub fn describe(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if status.message.is_empty() => format!("HTTP {} {}", status.code, status.reason),
        kube::Error::Api(status) => format!("{} (HTTP {})", status.message, status.code),
        kube::Error::Service(inner) => chain(inner.as_ref()),
        other => chain(other),
    }
}

/// The messages of an error and its sources, each only if it adds something.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let next = cause.to_string();
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        source = cause.source();
    }
    text
}

/// The HTTP status code of an answer from the API server, if there was one.
pub fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn an_answer_is_told_by_its_message_and_code() {
        let status = Status::failure("nodes is forbidden", "Forbidden").with_code(403);
        assert_eq!(describe(&kube::Error::Api(status.boxed())), "nodes is forbidden (HTTP 403)");
    }

    #[test]
    fn a_lost_call_is_told_by_its_causes() {
        let error = kube::Error::Service(Box::new(std::io::Error::other("connection refused")));
        assert_eq!(describe(&error), "connection refused");
    }
}
