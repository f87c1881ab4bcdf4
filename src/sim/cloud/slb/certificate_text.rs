//! Reads from a certificate's text what the cloud shows of it: name, validity, fingerprint.
//!
//! This is no X.509 parser. It finds the few fields by their DER tags, which is enough for
//! well-formed certificates; anything else is refused as the cloud would.

use base64::prelude::{BASE64_STANDARD, Engine};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use sha1::{Digest, Sha1};

/// What a certificate tells.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) common_name: String,
    pub(super) expires: Timestamp,
    pub(super) fingerprint: String,
}

/// The object identifier of a common name, with its tag.
const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];

pub(super) fn read(pem: &str) -> Option<Facts> {
    let body = pem.split("-----BEGIN CERTIFICATE-----").nth(1)?.split("-----END CERTIFICATE-----").next()?;
    let compact: String = body.chars().filter(|c| !c.is_whitespace()).collect();
    let der = BASE64_STANDARD.decode(compact).ok()?;
    // The issuer's name comes first, the subject's after it.
    let name_at = (0..der.len()).rev().find(|at| der[*at..].starts_with(&COMMON_NAME));
    let common_name = name_at.and_then(|at| text(&der[at + COMMON_NAME.len()..])).unwrap_or_default();
    let (_, after) = time(&der, 0)?;
    let (expires, _) = time(&der, after)?;
    let digest = Sha1::digest(&der);
    let fingerprint: Vec<String> = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(Facts { common_name, expires, fingerprint: fingerprint.join(":") })
}

/// A short DER string: tag, length, text.
fn text(der: &[u8]) -> Option<String> {
    let length = usize::from(*der.get(1)?);
    String::from_utf8(der.get(2..2 + length)?.to_vec()).ok()
}

/// The next UTCTime or GeneralizedTime from `start`, and where it ends.
fn time(der: &[u8], start: usize) -> Option<(Timestamp, usize)> {
    (start..der.len()).find_map(|at| {
        let (digits, format) = match der[at..] {
            [0x17, 13, ..] => (13, "%y%m%d%H%M%SZ"),
            [0x18, 15, ..] => (15, "%Y%m%d%H%M%SZ"),
            _ => return None,
        };
        let text = std::str::from_utf8(der.get(at + 2..at + 2 + digits)?).ok()?;
        let parsed = DateTime::strptime(format, text).ok()?;
        Some((parsed.to_zoned(TimeZone::UTC).ok()?.timestamp(), at + 2 + digits))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_certificate_is_understood() {
        let mut params = rcgen::CertificateParams::new(vec!["www.example.com".to_owned()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, "www.example.com");
        params.not_after = rcgen::date_time_ymd(2031, 5, 6);
        let key = rcgen::KeyPair::generate().unwrap();
        let facts = read(&params.self_signed(&key).unwrap().pem()).unwrap();
        assert_eq!(facts.common_name, "www.example.com");
        assert_eq!(facts.expires.to_string(), "2031-05-06T00:00:00Z");
        assert_eq!(facts.fingerprint.len(), 59);
        assert_eq!(read("no certificate"), None);
    }
}
