//! What reading lists of both kinds of load balancers has in common.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
};

use futures::{StreamExt, TryStreamExt, stream};

use crate::cloud::{Error, LoadBalancerId};

/// Lists that are read side by side.
const PARALLEL: usize = 8;

/// Reads many things, some at a time; those that are gone by now are left out.
pub(super) async fn side_by_side<T, F>(reads: Vec<F>) -> Result<Vec<T>, Error>
where
    F: Future<Output = Result<Option<T>, Error>> + Send,
    T: Send,
{
    let found: Vec<Option<T>> = stream::iter(reads).buffered(PARALLEL).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
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
