//! What the daemon does while the cloud refuses connections and the cluster is large.

use std::{path::Path, time::Duration};

use ccm::{
    clock::Clock,
    entropy::Entropy,
    sim::{cloud, world::World},
};
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use tokio::time::{Instant, sleep};

use super::{mebibytes, process::Program, ready::web, row, server::Identity};

const NODES: u32 = 500;
const JOINING: u32 = 20;
const SERVICES: u32 = 50;
const WARM_UP: Duration = Duration::from_secs(15);
const WINDOW: Duration = Duration::from_secs(60);
/// How often kubelet writes a node's status when nothing changes, by default.
const HEARTBEAT: u32 = 300;

pub(crate) async fn measure(binary: &Path) {
    let world = World::new(cloud::Options::default(), Clock::system(), &Entropy::seeded(1)).unwrap();
    let names: Vec<String> = (1..=NODES).map(|number| node(&world, number)).collect();
    for number in 0..SERVICES {
        world.kube.create(&web(&format!("web-{number}"))).unwrap();
    }
    let identity = Identity::new();
    let kube = identity.serve(world.kube.router()).await;
    // A port that was just free: nobody listens there.
    let refusing = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let program = Program::start(binary, &identity, &kube, &refusing.to_string());
    sleep(WARM_UP).await;
    let (used, logged, began) = (program.processor_time(), program.log().lines().count(), Instant::now());
    let mut beats = names.iter().cycle();
    while began.elapsed() < WINDOW {
        for name in beats.by_ref().take((NODES / HEARTBEAT + 1) as usize) {
            world.set_ready(name, "True").unwrap();
        }
        sleep(Duration::from_secs(1)).await;
    }
    let share = program.processor_time().saturating_sub(used).as_secs_f64() / began.elapsed().as_secs_f64();
    let log = program.log();
    let lines = u32::try_from(log.lines().count() - logged).unwrap();
    let per_minute = f64::from(lines) / began.elapsed().as_secs_f64() * 60.0;
    row("cloud out of reach, 500 nodes: of one core", &format!("{:.2} %", share * 100.0), "1 %");
    row("  log lines a minute", &format!("{per_minute:.0}"), "a line an object and step");
    row("  log lines in the first 15 s", &logged.to_string(), "");
    row("  resident memory (VmRSS)", &mebibytes(program.status("VmRSS")), "");
    if let Some(file) = std::env::var_os("CCM_BENCH_LOG") {
        std::fs::write(file, log).unwrap();
    }
}

/// Most nodes have been in service for long, the last ones have just come.
fn node(world: &World, number: u32) -> String {
    let name = format!("cn-hangzhou.i-bp1{number:017}");
    let mut node: Node = world.node(&name, Some(&name), number);
    if number <= NODES - JOINING {
        node.spec.as_mut().unwrap().taints = None;
        let routed = NodeCondition {
            type_: "NetworkUnavailable".into(),
            status: "False".into(),
            reason: Some("RouteCreated".into()),
            ..NodeCondition::default()
        };
        node.status.as_mut().unwrap().conditions.as_mut().unwrap().push(routed);
    }
    world.kube.create(&node).unwrap();
    name
}
