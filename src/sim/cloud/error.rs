//! The cloud's refusals, and the shape in which they travel.

use std::{fmt::Write as _, time::Duration};

use serde_json::{Value, json};

/// A refused call: HTTP status, error code and text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) message: String,
    /// What the throttled caller is told to wait, sent as `x-acs-retry-after`.
    pub(crate) retry_after: Option<Duration>,
}

// === impl Failure ===

impl Failure {
    pub(crate) fn new(status: u16, code: &str, message: impl Into<String>) -> Self {
        Self { status, code: code.to_owned(), message: message.into(), retry_after: None }
    }

    /// HTTP 400, which most business errors use.
    pub(crate) fn bad(code: &str, message: impl Into<String>) -> Self {
        Self::new(400, code, message)
    }

    pub(crate) fn not_found(code: &str, message: impl Into<String>) -> Self {
        Self::new(404, code, message)
    }

    pub(crate) fn missing(name: &str) -> Self {
        Self::bad(
            "MissingParameter",
            format!("The input parameter \"{name}\" that is mandatory for processing this request is not supplied."),
        )
    }

    pub(crate) fn invalid(name: &str) -> Self {
        Self::bad("InvalidParameter", format!("The specified value of parameter \"{name}\" is not valid."))
    }

    /// The body of the answer, as all products send it.
    pub(crate) fn body(&self, request_id: &str, host: &str, product: &str) -> Value {
        json!({
            "RequestId": request_id,
            "HostId": host,
            "Code": self.code,
            "Message": self.message,
            "Recommend": format!(
                "https://api.aliyun.com/troubleshoot?q={}&product={product}&requestId={request_id}",
                self.code
            ),
        })
    }

    /// The same body in the XML form, for callers that ask with `Format=XML`.
    pub(crate) fn xml(&self, request_id: &str, host: &str, product: &str) -> String {
        let mut text = String::from("<?xml version='1.0' encoding='UTF-8'?><Error>");
        if let Value::Object(fields) = self.body(request_id, host, product) {
            for (name, value) in fields {
                let value = value.as_str().unwrap_or_default();
                let _ = write!(text, "<{name}>{}</{name}>", escape(value));
            }
        }
        text.push_str("</Error>");
        text
    }
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
