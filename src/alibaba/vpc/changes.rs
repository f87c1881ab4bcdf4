//! Creating and deleting route entries in batches, with an outcome for each entry.

use futures::future::BoxFuture;

use super::wire;
use crate::{
    alibaba::{
        Alibaba,
        rpc::{Kind, Product, Request, classify::classify},
    },
    cloud::{Class, Error, RouteChange, RouteOutcome, RouteTableId},
};

/// The documented number of entries in one call.
const BATCH: usize = 50;

/// What is done to entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Create,
    Delete,
}

// === impl Change ===

impl Change {
    fn action(self) -> &'static str {
        match self {
            Self::Create => "CreateRouteEntries",
            Self::Delete => "DeleteRouteEntries",
        }
    }

    fn request(self, table: &RouteTableId, routes: &[RouteChange]) -> Request {
        let subject = match routes {
            [one] => format!("{} -> {} in {table}", one.destination, one.instance),
            many => format!("{} entries of {table}", many.len()),
        };
        let mut request = Request::write(Product::Vpc, self.action()).about(subject);
        for (n, route) in (1..).zip(routes) {
            let mut set = |field: &str, value: &dyn std::fmt::Display| {
                request.params.set(format!("RouteEntries.{n}.{field}"), value);
            };
            set("RouteTableId", table);
            set("DstCidrBlock", &route.destination);
            set("NextHop", &route.instance);
            if self == Self::Create {
                set("NextHopType", &"Instance");
                // Sent only where it differs from the default.
                if route.destination.addr().is_ipv6() {
                    set("IpVersion", &6);
                }
            }
        }
        request
    }

    /// What a `FailedCode` means.
    fn outcome(self, table: &RouteTableId, route: &RouteChange, failed: &wire::FailedEntry) -> RouteOutcome {
        let code = failed.failed_code.as_str();
        match (self, code) {
            (Self::Create, "VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE" | "InvalidCIDRBlock.Duplicate") => {
                RouteOutcome::Duplicate
            }
            (Self::Delete, "VPC_ROUTER_ENTRY_NOT_EXIST" | "InvalidRouteEntry.NotFound") => RouteOutcome::Done,
            (_, "VPC_ROUTE_ENTRY_STATUS_ERROR") => RouteOutcome::Busy,
            _ => {
                let class = classify(400, code, &failed.failed_message, Kind::Write);
                let subject = format!("{} -> {} in {table}", route.destination, route.instance);
                let mut error = Error::new(class, self.action(), subject, &failed.failed_message);
                code.clone_into(&mut error.code);
                RouteOutcome::Failed(error)
            }
        }
    }
}

impl Alibaba {
    /// Changes entries, [`BATCH`] a call. Fails as a whole only if every call failed.
    pub(super) async fn change_routes(
        &self,
        change: Change,
        table: &RouteTableId,
        routes: &[RouteChange],
    ) -> Result<Vec<RouteOutcome>, Error> {
        let mut outcomes = Vec::with_capacity(routes.len());
        let mut failure = None;
        let mut answered = false;
        for batch in routes.chunks(BATCH) {
            match self.change_batch(change, table, batch).await {
                Ok(some) => {
                    answered = true;
                    outcomes.extend(some);
                }
                Err(error) => {
                    outcomes.extend(batch.iter().map(|_| RouteOutcome::Failed(error.clone())));
                    failure.get_or_insert(error);
                }
            }
        }
        match failure {
            Some(error) if !answered => Err(error),
            _ => Ok(outcomes),
        }
    }

    /// One call; a batch that is refused for something in it is halved, so that one bad entry
    /// does not hold back the others.
    fn change_batch<'a>(
        &'a self,
        change: Change,
        table: &'a RouteTableId,
        routes: &'a [RouteChange],
    ) -> BoxFuture<'a, Result<Vec<RouteOutcome>, Error>> {
        Box::pin(async move {
            let request = change.request(table, routes).one_at_a_time(&self.0.route_changes);
            let error = match self.client().call::<wire::Changed>(&request).await {
                Ok(reply) => return Ok(outcomes(change, table, routes, &reply)),
                Err(error) => error,
            };
            match (error.class, routes) {
                (Class::NotFound, [_]) if change == Change::Delete && is_about_entry(&error) => {
                    Ok(vec![RouteOutcome::Done])
                }
                (Class::Invalid | Class::NotFound, [_, _, ..]) => {
                    let (left, right) = routes.split_at(routes.len() / 2);
                    let mut all = self.change_half(change, table, left).await;
                    all.extend(self.change_half(change, table, right).await);
                    // All refused in the same way is a refusal of the call, not of an entry.
                    if all.iter().all(|outcome| matches!(outcome, RouteOutcome::Failed(_))) {
                        return Err(error);
                    }
                    Ok(all)
                }
                _ => Err(error),
            }
        })
    }

    async fn change_half(&self, change: Change, table: &RouteTableId, routes: &[RouteChange]) -> Vec<RouteOutcome> {
        match self.change_batch(change, table, routes).await {
            Ok(outcomes) => outcomes,
            Err(error) => routes.iter().map(|_| RouteOutcome::Failed(error.clone())).collect(),
        }
    }
}

/// Whether it is the entry that does not exist, and not its table: another region knows none of ours.
fn is_about_entry(error: &Error) -> bool {
    let code = error.code.to_ascii_lowercase();
    code.starts_with("invalidrouteentry") || code.starts_with("vpc_router_entry")
}

/// The reply lists failures only. An entry that is not among them succeeded, unless the reply
/// counts more failures than it lists.
fn outcomes(change: Change, table: &RouteTableId, routes: &[RouteChange], reply: &wire::Changed) -> Vec<RouteOutcome> {
    let failed = &reply.failed_route_entries.0;
    let named = |route: &RouteChange| failed.iter().find(|entry| entry.is_about(route));
    let found = routes.iter().filter(|route| named(route).is_some()).count();
    let more = reply.failed_count.is_some_and(|count| count > found);
    routes
        .iter()
        .map(|route| match named(route) {
            Some(entry) => change.outcome(table, route, entry),
            None if more => RouteOutcome::Failed(Error::new(
                Class::Unknown,
                change.action(),
                format!("{} -> {} in {table}", route.destination, route.instance),
                "the answer counts more failed entries than it names",
            )),
            None => RouteOutcome::Done,
        })
        .collect()
}
