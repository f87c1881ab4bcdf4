//! The node controller against the embedded API server and an in-memory cloud, on paused time.

mod absence;
mod joining;
mod lingjun;
mod opening;
mod shared;
mod shutdown;

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;

use super::{
    fixtures::{
        MkNode,
        cluster::{Cluster, seconds},
        mk_node,
    },
    *,
};
use crate::cloud::{Class, InstanceStatus};

fn ecs(instance: &str) -> MkNode {
    mk_node(&format!("node-{instance}")).provider_id(&format!("cn-hangzhou.{instance}"))
}

fn start(cluster: &Cluster, edit: impl FnOnce(&mut Options)) {
    start_with(cluster, edit, |controller| controller);
}

fn start_with(cluster: &Cluster, edit: impl FnOnce(&mut Options), with: impl FnOnce(Controller) -> Controller) {
    cluster.watch();
    start_unwatched(cluster, edit, with);
}

/// Starts on what is in the cache.
fn start_unwatched(cluster: &Cluster, edit: impl FnOnce(&mut Options), with: impl FnOnce(Controller) -> Controller) {
    let mut options = Options::new("cn-hangzhou".into());
    edit(&mut options);
    let controller = Controller::new(
        options,
        cluster.cache.clone(),
        cluster.kube.client(),
        cluster.provider(),
        cluster.recorder.clone(),
        cluster.clock.clone(),
        cluster.entropy.fork(),
        &cluster.metrics,
    );
    tokio::spawn(with(controller).run(cluster.cancel.clone()));
}

/// A cluster of `count` initialised nodes `node-i-0`… that are Ready, with the controller running.
async fn steady(count: usize) -> Cluster {
    let cluster = Cluster::new();
    for n in 0..count {
        let id = format!("i-{n}");
        cluster.cloud.boot(&id, &format!("10.0.{}.{}", n / 250, n % 250 + 1));
        cluster.add(&ecs(&id).joining().ready("True"));
    }
    start(&cluster, |_| {});
    seconds(5).await;
    assert!((0..count).all(|n| cluster.taints(&format!("node-i-{n}")).is_empty()));
    cluster
}
