//! Durations in Go's notation, `time.ParseDuration` and `Duration.String`: `300ms`, `15s`,
//! `1h30m`, `10m0s`, `1.5h`. Never negative: no setting has a use for that.

use std::{fmt::Write as _, time::Duration};

/// The units, longest spelling of a shared start first.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a duration; `None` if it is not one, negative, or longer than Go can say (292 years).
pub(super) fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').map(|end| rest.split_at(end))?;
        let (digits, after) = number;
        let (unit, nanos) = UNITS.into_iter().find(|(unit, _)| after.starts_with(unit))?;
        total = total.checked_add(scaled(digits, nanos)?)?;
        rest = &after[unit.len()..];
    }
    (total <= i64::MAX.unsigned_abs()).then(|| Duration::from_nanos(total))
}

/// `digits`, with an optional fraction, times `unit`.
fn scaled(digits: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // Beyond fifteen digits no unit is left to count.
    let fraction = &fraction[..fraction.len().min(15)];
    let scale = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let parts: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    whole.checked_mul(unit)?.checked_add(u64::try_from(parts * u128::from(unit) / scale).ok()?)
}

/// Writes a duration as short as it can be read back: `5m`, `1h30m`, `15s`, `250ms`.
pub(super) fn format(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let mut text = String::new();
    for (amount, unit) in [(seconds / 3600, 'h'), (seconds % 3600 / 60, 'm'), (seconds % 60, 's')] {
        if amount > 0 {
            let _ = write!(text, "{amount}{unit}");
        }
    }
    match duration.subsec_nanos() {
        0 => {}
        nanos if nanos % 1_000_000 == 0 => {
            let _ = write!(text, "{}ms", nanos / 1_000_000);
        }
        nanos => {
            let _ = write!(text, "{nanos}ns");
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_are_read() {
        for (text, nanos) in [
            ("0", 0),
            ("0s", 0),
            ("15s", 15_000_000_000),
            ("5m", 300_000_000_000),
            ("10m0s", 600_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5h", 5_400_000_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("300ms", 300_000_000),
            ("1us", 1_000),
            ("1µs", 1_000),
            ("7ns", 7),
            ("+5s", 5_000_000_000),
            ("1m1ms", 60_001_000_000),
        ] {
            assert_eq!(parse(text), Some(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for text in ["", "5", "s", "-5s", "5x", "5 s", ".s", "1.2.3s", "5mm", "1d", "10000000000h", "²s"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_duration_reads_back(nanos in 0..=i64::MAX.unsigned_abs()) {
            let duration = Duration::from_nanos(nanos);
            proptest::prop_assert_eq!(parse(&format(duration)), Some(duration));
        }

        #[test]
        fn no_text_is_too_strange(text in "[0-9.+hmsnuµ -]{0,40}|.*") {
            parse(&text);
        }
    }

    #[test]
    fn written_durations_read_back() {
        for text in ["0s", "15s", "5m", "1h30m", "1h1m1s", "250ms", "1s5ns"] {
            assert_eq!(format(parse(text).unwrap()), text);
        }
    }
}
