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
