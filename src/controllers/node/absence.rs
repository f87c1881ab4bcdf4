//! Proof that an instance is gone, before the Node that ran on it is deleted.
//!
//! Pure bookkeeping. One answer of the cloud that lacks an instance proves nothing: the
//! credentials may see too little, the endpoint may be another region's, a page may be missing.
//! So it takes two answers some time apart, each of which did show another instance of the
//! cluster, and not too many instances gone at once.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

/// Nodes whose instances the cloud did not show, by node name.
#[derive(Debug)]
pub struct Absences {
    /// Time between the first and the deciding answer.
    apart: Duration,
    suspects: BTreeMap<String, Suspect>,
}

#[derive(Debug)]
struct Suspect {
    uid: String,
    since: Instant,
    expected: bool,
}

/// What an answer without the instance proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing, because the answer showed no other instance of the cluster either.
    Unproven,
    /// Not enough yet: look again after this time.
    LookAgain(Duration),
    /// The instance is gone.
    Gone,
    /// Too many are gone at once for this to be believed.
    TooMany { missing: usize, known: usize },
}

/// A node whose instance was not in the answer.
#[derive(Clone, Copy, Debug)]
pub struct Missing<'a> {
    pub name: &'a str,
    pub uid: &'a str,
    /// The same answer did show another instance of the cluster.
    pub witnessed: bool,
    /// The autoscaler announced that it takes the node away, so it does not count as a surprise.
    pub expected: bool,
}

// === impl Absences ===

impl Absences {
    pub fn new(apart: Duration) -> Self {
        Self { apart, suspects: BTreeMap::new() }
    }

    /// The instance was seen, or the Node no longer exists.
    pub fn clear(&mut self, name: &str) {
        self.suspects.remove(name);
    }

    /// A complete and successful answer lacked the instance. Note all that one answer lacks before
    /// judging any of them.
    pub fn note(&mut self, node: Missing<'_>, now: Instant) {
        if !node.witnessed {
            return;
        }
        let fresh = || Suspect { uid: node.uid.to_owned(), since: now, expected: node.expected };
        let suspect = self.suspects.entry(node.name.to_owned()).or_insert_with(fresh);
        if suspect.uid != node.uid {
            *suspect = fresh();
        }
        suspect.expected = node.expected;
    }

    /// What has been shown of `node`, which the latest answer lacked. `known` counts the instances
    /// that the cluster's Nodes stand for, this one included.
    pub fn judge(&self, node: Missing<'_>, known: usize, now: Instant) -> Verdict {
        let Some(suspect) = self.suspects.get(node.name).filter(|s| node.witnessed && s.uid == node.uid) else {
            return Verdict::Unproven;
        };
        let waited = now.duration_since(suspect.since);
        if waited < self.apart {
            return Verdict::LookAgain(self.apart.saturating_sub(waited));
        }
        let missing = self.count();
        if missing > limit(known) { Verdict::TooMany { missing, known } } else { Verdict::Gone }
    }

    /// Instances that are missing and that nobody announced to take away.
    pub fn count(&self) -> usize {
        self.suspects.values().filter(|suspect| !suspect.expected).count()
    }
}

/// How many of `known` instances may be gone at once before no answer is believed.
fn limit(known: usize) -> usize {
    (known / 10).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const APART: Duration = Duration::from_secs(10);

    fn missing(absences: &mut Absences, node: Missing<'_>, known: usize, now: Instant) -> Verdict {
        absences.note(node, now);
        absences.judge(node, known, now)
    }

    fn node(name: &str) -> Missing<'_> {
        Missing { name, uid: "u", witnessed: true, expected: false }
    }

    #[tokio::test(start_paused = true)]
    async fn it_takes_two_answers_some_time_apart() {
        let (mut absences, t) = (Absences::new(APART), Instant::now());
        assert_eq!(missing(&mut absences, node("a"), 3, t), Verdict::LookAgain(APART));
        let early = t + Duration::from_secs(4);
        assert_eq!(missing(&mut absences, node("a"), 3, early), Verdict::LookAgain(Duration::from_secs(6)));
        assert_eq!(missing(&mut absences, node("a"), 3, t + APART), Verdict::Gone);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_in_between_that_shows_it_starts_over() {
        let (mut absences, t) = (Absences::new(APART), Instant::now());
        missing(&mut absences, node("a"), 3, t);
        absences.clear("a");
        assert_eq!(missing(&mut absences, node("a"), 3, t + APART), Verdict::LookAgain(APART));
    }

    #[tokio::test(start_paused = true)]
    async fn answers_that_show_nothing_prove_nothing() {
        let (mut absences, t) = (Absences::new(APART), Instant::now());
        let blank = Missing { witnessed: false, ..node("a") };
        for hour in 0..10 {
            assert_eq!(missing(&mut absences, blank, 3, t + APART * 360 * hour), Verdict::Unproven);
        }
        missing(&mut absences, node("a"), 3, t);
        assert_eq!(missing(&mut absences, blank, 3, t + APART), Verdict::Unproven);
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_made_anew_under_the_same_name_starts_over() {
        let (mut absences, t) = (Absences::new(APART), Instant::now());
        missing(&mut absences, node("a"), 3, t);
        let anew = Missing { uid: "v", ..node("a") };
        assert_eq!(missing(&mut absences, anew, 3, t + APART), Verdict::LookAgain(APART));
    }

    #[tokio::test(start_paused = true)]
    async fn too_many_at_once_are_not_believed() {
        for (known, gone, want) in [
            (2, 1, Verdict::Gone),
            (3, 2, Verdict::TooMany { missing: 2, known: 3 }),
            (10, 1, Verdict::Gone),
            (10, 2, Verdict::TooMany { missing: 2, known: 10 }),
            (29, 2, Verdict::Gone),
            (29, 3, Verdict::TooMany { missing: 3, known: 29 }),
            (30, 3, Verdict::Gone),
        ] {
            let (mut absences, t) = (Absences::new(APART), Instant::now());
            let names: Vec<_> = (0..gone).map(|n| format!("n{n}")).collect();
            for name in &names {
                missing(&mut absences, node(name), known, t);
            }
            assert_eq!(missing(&mut absences, node("n0"), known, t + APART), want, "{gone} of {known}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_announced_scale_in_does_not_count() {
        let (mut absences, t) = (Absences::new(APART), Instant::now());
        let names: Vec<_> = (0..27).map(|n| format!("n{n}")).collect();
        for name in &names {
            missing(&mut absences, Missing { expected: true, ..node(name) }, 30, t);
        }
        assert_eq!(absences.count(), 0);
        for name in &names {
            let verdict = missing(&mut absences, Missing { expected: true, ..node(name) }, 30, t + APART);
            assert_eq!(verdict, Verdict::Gone);
        }
    }
}
