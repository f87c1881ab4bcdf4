//! The cloud cannot be reached: nothing is lost, and nobody is flooded.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use ccm::alibaba::rpc::{InProcess, Reached, Transport, TransportError};
use k8s_openapi::api::core::v1::{Node, NodeCondition, Service};
use serde_json::json;

use crate::support::{Stage, address_of, log::Log, play, taints};

/// Room for 500 pod networks.
const CLUSTER_CIDR: &str = "--cluster-cidr=172.20.0.0/14";
/// A failing object is tried again after 5, 10, 20, 40, 80, 160 and then every 300 s, or a little
/// later: so often in half an hour, with the first try and one to spare.
const STEPS_IN_HALF_AN_HOUR: usize = 13;
/// The longest of those delays, and the calls under way around it.
const ONE_BACKOFF: Duration = Duration::from_secs(300 + 60);

/// The way to the cloud, which can be cut.
struct Line {
    cloud: InProcess,
    cut: AtomicBool,
    attempts: AtomicUsize,
}

// === impl Line ===

#[async_trait]
impl Transport for Line {
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        if self.cut.load(Ordering::Relaxed) {
            self.attempts.fetch_add(1, Ordering::Relaxed);
            return Err(TransportError::new("connection refused", Reached::Never));
        }
        self.cloud.send(request).await
    }
}

/// What lines have in common when names, ids and times are left out, with how often that occurs.
fn kinds(lines: &[String]) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for line in lines {
        let words = line.split_whitespace().skip(1).filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
        *kinds.entry(words.take(14).collect::<Vec<_>>().join(" ")).or_default() += 1;
    }
    kinds
}

/// A Service whose pods are not there yet, so that it needs few calls however many nodes there are.
fn expose(stage: &Stage, name: &str) {
    let service = json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{ "port": 80 }] },
    });
    stage.world.kube.create::<Service>(&serde_json::from_value(service).unwrap()).unwrap();
}

/// A node that has just joined, or one that was in service before the outage.
fn node(stage: &Stage, number: u32, joining: bool) {
    let name = format!("cn-hangzhou.{}", stage.world.boot(number).unwrap());
    let mut node = stage.world.node(&name, Some(&name), number);
    if !joining {
        node.spec.as_mut().unwrap().taints = None;
        let routed = NodeCondition {
            type_: "NetworkUnavailable".into(),
            status: "False".into(),
            reason: Some("RouteCreated".into()),
            ..NodeCondition::default()
        };
        node.status.as_mut().unwrap().conditions.as_mut().unwrap().push(routed);
    }
    stage.world.kube.create(&node).unwrap();
}

/// How many nodes still have a taint, and how many Services no address.
fn waiting(stage: &Stage) -> (usize, usize) {
    let tainted = stage.world.kube.list::<Node>().iter().filter(|node| !taints(node).is_empty()).count();
    let balanced = |service: &&Service| service.spec.as_ref().unwrap().type_.as_deref() == Some("LoadBalancer");
    let services = stage.world.kube.list::<Service>();
    (tainted, services.iter().filter(balanced).filter(|service| address_of(service).is_none()).count())
}

#[test]
fn a_cloud_out_of_reach_costs_a_line_an_object_and_step_and_all_is_made_up_for() {
    play(|stage| async move {
        let line = Arc::new(Line {
            cloud: InProcess::new(stage.cloud().router()),
            cut: AtomicBool::new(false),
            attempts: AtomicUsize::new(0),
        });
        // Some Services have what they asked for; then half an hour without the cloud.
        let replica = stage.start_over(line.clone(), &[CLUSTER_CIDR], json!({}));
        for number in 0..25 {
            expose(&stage, &format!("old-{number}"));
        }
        stage.pass(Duration::from_secs(120)).await;
        assert_eq!(waiting(&stage), (0, 0));
        replica.stop().await.unwrap();
        line.cut.store(true, Ordering::Relaxed);
        for number in 0..500 {
            node(&stage, number, number >= 480);
        }
        for number in 0..25 {
            expose(&stage, &format!("new-{number}"));
        }
        stage.clear_calls();

        let (log, _guard) = Log::collect();
        let _replica = stage.start_over(line.clone(), &[CLUSTER_CIDR], json!({}));
        stage.pass(Duration::from_secs(30 * 60)).await;
        let lines = log.take();
        let attempts = line.attempts.swap(0, Ordering::Relaxed);
        let seen = format!("{} lines, {attempts} attempts: {:#?}", lines.len(), kinds(&lines));
        for name in (0..25).flat_map(|number| [format!("default/old-{number}}}"), format!("default/new-{number}}}")]) {
            let about = lines.iter().filter(|line| line.contains(&name)).count();
            assert!((2..=STEPS_IN_HALF_AN_HOUR).contains(&about), "{about} about {name} {seen}");
        }
        // Nodes that join, Services, the routes as a whole, and each sweep over nodes in service.
        assert!(lines.len() <= (20 + 50 + 1 + 5) * STEPS_IN_HALF_AN_HOUR, "{seen}");
        assert!(attempts <= 30 * 60, "more than one a second: {seen}");
        assert_eq!(stage.cloud().calls().len(), 0);
        assert_eq!(waiting(&stage), (20, 25));

        line.cut.store(false, Ordering::Relaxed);
        stage.pass(ONE_BACKOFF).await;
        assert_eq!(waiting(&stage), (0, 0));
    });
}
