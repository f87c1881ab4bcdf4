//! What arrives on the wire, before any meaning is given to it: method, path, headers and
//! the parameters of query and form body.

use std::{collections::BTreeMap, fmt::Write as _};

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};

/// One HTTP request, fully read.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    /// Query parameters alone; ACS v3 signs only these.
    pub(crate) query: BTreeMap<String, String>,
    /// Query and form body merged, which is what a call's parameters are.
    pub(crate) params: BTreeMap<String, String>,
    pub(crate) body: Bytes,
}

// === impl Request ===

impl Request {
    pub(crate) fn new(method: Method, uri: &Uri, headers: HeaderMap, body: Bytes) -> Self {
        let query = parse_form(uri.query().unwrap_or_default().as_bytes());
        let mut params = query.clone();
        if is_form(&headers, &body) {
            params.extend(parse_form(&body));
        }
        Self { method, path: uri.path().to_owned(), headers, query, params, body }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub(crate) fn host(&self) -> &str {
        self.header("host").unwrap_or("localhost")
    }

    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        self.params.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// Some SDKs send a form without saying so, others send JSON; the first byte decides then.
fn is_form(headers: &HeaderMap, body: &[u8]) -> bool {
    let declared = headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if declared.is_empty() {
        !body.is_empty() && body[0] != b'{' && body[0] != b'['
    } else {
        declared.starts_with("application/x-www-form-urlencoded")
    }
}

/// Splits `a=1&b=2` into decoded pairs; of a repeated name the last one counts.
pub(crate) fn parse_form(text: &[u8]) -> BTreeMap<String, String> {
    text.split(|byte| *byte == b'&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let split = pair.iter().position(|byte| *byte == b'=');
            let (name, value) = split.map_or((pair, &[][..]), |at| (&pair[..at], &pair[at + 1..]));
            (decode(name), decode(value))
        })
        .collect()
}

/// Decodes `%XX` and `+`. A stray `%` stays as it is: a bad escape is the caller's text.
pub(crate) fn decode(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        match (first, tail) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [high, low, after @ ..]) => {
                if let (Some(high), Some(low)) = (hex_digit(*high), hex_digit(*low)) {
                    bytes.push(high << 4 | low);
                    rest = after;
                } else {
                    bytes.push(b'%');
                }
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// RFC 3986: only unreserved characters stay, everything else becomes `%XX` in upper case.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_text_is_decoded_and_a_stray_percent_kept() {
        let form = parse_form(b"a=1+2&b=%E4%B8%AD&c&d=100%&e=%2");
        assert_eq!(form["a"], "1 2");
        assert_eq!(form["b"], "中");
        assert_eq!(form["c"], "");
        assert_eq!(form["d"], "100%");
        assert_eq!(form["e"], "%2");
    }
}
