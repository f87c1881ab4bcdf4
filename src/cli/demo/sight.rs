//! Things to be seen: looked for until they are there, and told as they come.

use std::time::Duration;

use tokio::time::Instant;

use super::{super::screen::Screen, seconds};

/// How often is looked.
const GLANCE: Duration = Duration::from_millis(20);

/// What a look finds: lines to show, or what is missing.
pub(super) type Found = Result<Vec<String>, String>;

/// One thing to be seen.
pub(super) struct Sight {
    subject: &'static str,
    look: Box<dyn FnMut() -> Found + Send>,
}

/// Something was not seen in time.
#[derive(Debug, thiserror::Error)]
#[error("not seen within {}: {}", seconds(*.within), .missing.join("; "))]
pub(super) struct Unseen {
    within: Duration,
    missing: Vec<String>,
}

/// Something to be seen, under a short name.
pub(super) fn sight(subject: &'static str, look: impl FnMut() -> Found + Send + 'static) -> Sight {
    Sight { subject, look: Box::new(look) }
}

/// Looks for all of them side by side, and shows each when it is first seen, with the time since
/// `start`.
pub(super) async fn watch(
    screen: &mut Screen,
    start: Instant,
    within: Duration,
    sights: Vec<Sight>,
) -> Result<(), Unseen> {
    let mut open = sights;
    loop {
        let mut missing = Vec::new();
        open.retain_mut(|sight| match (sight.look)() {
            Ok(lines) => {
                show(screen, start.elapsed(), sight.subject, &lines);
                false
            }
            Err(reason) => {
                missing.push(format!("{}: {reason}", sight.subject));
                true
            }
        });
        if open.is_empty() {
            return Ok(());
        }
        if start.elapsed() >= within {
            return Err(Unseen { within, missing });
        }
        tokio::time::sleep(GLANCE).await;
    }
}

fn show(screen: &mut Screen, after: Duration, subject: &str, lines: &[String]) {
    for (number, line) in lines.iter().enumerate() {
        let lead = if number == 0 { format!("{:>9}  {subject:<9} ", seconds(after)) } else { " ".repeat(21) };
        screen.column(&lead, line);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_sight_is_shown_when_it_comes_and_what_does_not_come_is_named() {
        let (paper, start) = (Paper::default(), Instant::now());
        let mut screen = Screen::to(paper.clone());
        let at = move |seconds: u64, what: &'static str| {
            sight(what, move || {
                if start.elapsed() >= Duration::from_secs(seconds) {
                    Ok(vec!["one".into(), "two".into()])
                } else {
                    Err("not yet".into())
                }
            })
        };
        let sights = vec![at(2, "late"), at(1, "early"), at(9, "never")];
        let unseen = watch(&mut screen, start, Duration::from_secs(3), sights).await.unwrap_err();
        assert_eq!(unseen.to_string(), "not seen within 3.00 s: never: not yet");
        let expected = [
            "   1.00 s  early     one",
            "                     two",
            "   2.00 s  late      one",
            "                     two",
        ];
        assert_eq!(String::from_utf8(paper.0.lock().clone()).unwrap().lines().collect::<Vec<_>>(), expected);
    }
}
