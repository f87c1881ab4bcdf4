//! What reading lists of both kinds of load balancers has in common.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, TryStreamExt, future::BoxFuture, stream};

use crate::cloud::{Error, LoadBalancerId};

/// Lists that are read side by side.
const PARALLEL: usize = 8;

/// Reads many things, some at a time; those that are gone by now are left out. A read is begun when its
/// turn comes: a thousand that wait would take megabytes.
pub(super) async fn side_by_side<'a, T: Send>(
    reads: impl Iterator<Item = BoxFuture<'a, Result<Option<T>, Error>>> + Send,
) -> Result<Vec<T>, Error> {
    let found = stream::iter(reads).buffered(PARALLEL);
    found.try_filter_map(async |found| Ok(found)).try_collect().await
}

/// Listeners by their load balancer, of those with these ids; a list may be one of all load balancers. What
/// is no listener as this program knows them is left out.
pub(super) fn by_load_balancer<L>(
    ids: &BTreeSet<LoadBalancerId>,
    listeners: impl IntoIterator<Item = (LoadBalancerId, Option<L>)>,
) -> BTreeMap<LoadBalancerId, Vec<L>> {
    let mut of = BTreeMap::<_, Vec<_>>::new();
    for (id, listener) in listeners {
        if let Some(listener) = listener.filter(|_| ids.contains(&id)) {
            of.entry(id).or_default().push(listener);
        }
    }
    of
}

/// Ids as errors tell them.
pub(super) fn join<T: ToString>(ids: impl IntoIterator<Item = T>) -> String {
    ids.into_iter().map(|id| id.to_string()).collect::<Vec<_>>().join(", ")
}
