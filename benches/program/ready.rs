//! From the start of the daemon to the first Service with an address, on the embedded pair.

use std::{sync::Arc, time::Instant};

use ccm::{
    alibaba::{Limits, rpc::InProcess},
    clock::Clock,
    config::{self, Request},
    daemon::{self, Surroundings, shutdown::Shutdown},
    entropy::Entropy,
    sim::{cloud, world::World},
};
use k8s_openapi::api::core::v1::{Node, Service};
use serde_json::json;

use super::row;

const ROUNDS: u64 = 9;

pub(crate) fn measure() {
    let mut machine = Vec::new();
    let mut simulated = Vec::new();
    for seed in 0..ROUNDS {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (machine_time, simulated_time) = once(seed).await;
            machine.push(machine_time);
            simulated.push(simulated_time);
        });
    }
    machine.sort();
    simulated.sort();
    let middle = machine.len() / 2;
    let seconds = |time: std::time::Duration| format!("{:.3} s", time.as_secs_f64());
    row("start to first Service ready, 3 nodes: machine time", &seconds(machine[middle]), "0.5 s");
    row("  with the waits (batching, leases, the cloud's own delays)", &seconds(simulated[middle]), "");
}

async fn once(seed: u64) -> (std::time::Duration, std::time::Duration) {
    let entropy = Entropy::seeded(seed);
    let clock = Clock::simulated("2026-01-02T03:04:05Z".parse().unwrap());
    let options = cloud::Options { check_replies: false, ..cloud::Options::default() };
    let world = World::new(options, clock.clone(), &entropy).unwrap();
    let nodes: Vec<String> = (0..3).map(|_| world.join().unwrap()).collect();
    world.kube.create(&web("web")).unwrap();
    let surroundings = Surroundings {
        client: world.kube.client(),
        transport: Arc::new(InProcess::new(world.cloud.router())),
        metadata: Arc::new(InProcess::new(world.cloud.router())),
        limits: Limits::default(),
        clock,
        entropy: entropy.fork(),
        metrics: ccm::metrics::Metrics::default(),
        reread: None,
    };
    let (began, began_simulated) = (Instant::now(), tokio::time::Instant::now());
    let running = tokio::spawn(daemon::run(configuration(), surroundings, Shutdown::new()));
    while !is_ready(&world, &nodes) {
        assert!(began_simulated.elapsed().as_secs() < 60, "the Service is not ready");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let times = (began.elapsed(), began_simulated.elapsed());
    running.abort();
    let _ = running.await;
    times
}

/// A Service of type LoadBalancer.
pub(crate) fn web(name: &str) -> Service {
    let service = json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
    });
    serde_json::from_value(service).unwrap()
}

/// Every node is in service, and the Service shows an address.
pub(crate) fn is_ready(world: &World, nodes: &[String]) -> bool {
    let in_service = |name: &String| {
        let node = world.kube.get::<Node>("", name).unwrap();
        node.spec.is_none_or(|spec| spec.taints.unwrap_or_default().is_empty())
    };
    let service = world.kube.get::<Service>("default", "web").unwrap();
    let ingress = service.status.and_then(|status| status.load_balancer?.ingress).unwrap_or_default();
    !ingress.is_empty() && nodes.iter().all(in_service)
}

/// The contents of a cloud-config file.
pub(crate) fn cloud_config() -> String {
    let global = json!({
        "accessKeyID": "dGVzdGlk", "accessKeySecret": "dGVzdHNlY3JldA==", "clusterID": "c1",
        "region": "cn-hangzhou", "vpcid": "vpc-bp1sim", "vswitchid": "vsw-bp1simh",
    });
    json!({ "Global": global }).to_string()
}

pub(crate) fn configuration() -> config::Config {
    let environment = config::environment::Fixed::default().with_file("/cloud-config", &cloud_config());
    let arguments = [
        "--cloud-config=/cloud-config",
        "--cluster-cidr=172.20.0.0/16",
        "--health-probe-bind-addr=0",
        "--metrics-bind-addr=0",
    ];
    match config::read(arguments.map(Into::into), &environment).unwrap() {
        Request::Run(config) => *config,
        other => panic!("{other:?}"),
    }
}
