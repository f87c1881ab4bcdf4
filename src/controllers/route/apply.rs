//! Sends planned changes to the cloud in batches, and finds out what became of each.

use crate::cloud::{Class, CloudProvider, Error, RouteChange, RouteOutcome, RouteTableId};

use super::plan::Step;

/// Carries out one step. One outcome a change, in order.
///
/// A refused batch is sent again in halves, so that one bad entry spoils no other. Where a refusal
/// will meet the rest as well (throttled, denied, quota, no longer leading), the rest is not sent and
/// shares its error.
pub async fn apply(
    cloud: &dyn CloudProvider,
    table: &RouteTableId,
    step: &Step,
    batch_size: usize,
) -> Vec<RouteOutcome> {
    let changes = step.changes();
    let mut outcomes = Vec::with_capacity(changes.len());
    let mut batches: Vec<&[RouteChange]> = changes.chunks(batch_size.max(1)).rev().collect();
    while let Some(batch) = batches.pop() {
        let answer = match step {
            Step::Delete(_) => cloud.delete_routes(table, batch).await,
            Step::Create(_) => cloud.create_routes(table, batch).await,
        };
        match answer {
            Ok(answer) if answer.len() == batch.len() => outcomes.extend(answer),
            Ok(answer) => {
                let message = format!("{} outcomes for {} entries", answer.len(), batch.len());
                let error = Error::new(Class::Unknown, "route change", table.as_str(), message);
                outcomes.extend(batch.iter().map(|_| RouteOutcome::Failed(error.clone())));
            }
            Err(error) if splits(&error) && batch.len() > 1 => {
                let (left, right) = batch.split_at(batch.len() / 2);
                batches.extend([right, left]);
            }
            Err(error) if error.class == Class::Invalid || error.class == Class::NotFound => {
                outcomes.push(RouteOutcome::Failed(error));
            }
            Err(error) => {
                outcomes.resize(changes.len(), RouteOutcome::Failed(error));
                break;
            }
        }
    }
    outcomes
}

/// Whether a smaller batch may get through.
fn splits(error: &Error) -> bool {
    matches!(error.class, Class::Invalid | Class::NotFound | Class::Quota)
}
