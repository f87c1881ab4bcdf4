//! Remembers what users were told of a node (or of a part of it), so that a lasting problem is told once and, because
//! events are kept for an hour only, again now and then.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

const REPEAT: Duration = Duration::from_secs(50 * 60);

/// The last thing told, by name.
#[derive(Debug, Default)]
pub(in crate::controllers) struct Reports(BTreeMap<String, (String, Instant)>);

// === impl Reports ===

impl Reports {
    /// Whether this should be told now; it counts as told then.
    pub(in crate::controllers) fn is_news(&mut self, name: &str, message: &str, now: Instant) -> bool {
        if self.0.get(name).is_some_and(|(told, at)| told == message && now.duration_since(*at) < REPEAT) {
            return false;
        }
        self.0.insert(name.to_owned(), (message.to_owned(), now));
        true
    }

    /// Forgets what was told of things that are not to be kept.
    pub(in crate::controllers) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| keep(name));
    }

    /// The node is well, or gone.
    pub(in crate::controllers) fn clear(&mut self, name: &str) {
        self.0.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_same_thing_is_told_once_an_hour() {
        let (mut reports, t) = (Reports::default(), Instant::now());
        assert!(reports.is_news("n", "no address", t));
        assert!(!reports.is_news("n", "no address", t + Duration::from_mins(5)));
        assert!(reports.is_news("n", "denied", t + Duration::from_mins(5)));
        assert!(reports.is_news("n", "denied", t + Duration::from_mins(60)));
        reports.clear("n");
        assert!(reports.is_news("n", "denied", t + Duration::from_mins(61)));
    }
}
