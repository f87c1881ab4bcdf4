//! A large cluster: many Services on many nodes, under the vendor's limits on calls.
//!
//! The time to converge and the time after a failover are simulated time, on one thread, in which
//! calls take none: they are what limits and waits leave. The memory is that of the program as a process
//! of its own that takes over the cluster so made.

use std::{path::Path, sync::Arc, time::Duration};

use ccm::{
    alibaba::{Limits, rpc::InProcess},
    clock::Clock,
    daemon::{self, Surroundings, shutdown::Shutdown},
    entropy::Entropy,
    metrics::Metrics,
    sim::{
        cloud::{Options, Rate},
        world::World,
    },
};
use k8s_openapi::api::{
    core::v1::{Node, Service},
    discovery::v1::EndpointSlice,
};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::Instant};

use super::{mebibytes, process, process::Program, ready::configuration, row, server::Identity};

pub(crate) const NODES: usize = 200;
pub(crate) const SERVICES: usize = 1_000;
pub(crate) const ENDPOINTS: usize = 20;
/// Calls a minute of the actions that write, which are what takes long.
const WRITES: u64 = 90;
/// How often it is looked whether all is in place.
const LOOK: Duration = Duration::from_secs(5);
/// How often it is looked for a write that is due.
const GLANCE: Duration = Duration::from_millis(50);

/// A cluster in which all is in place.
pub(crate) struct Large {
    world: World,
}

/// Makes the cluster, and measures how long that takes, and how long the next replica needs.
pub(crate) fn converge() -> Large {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let clock = Clock::simulated("2026-01-02T03:04:05Z".parse().unwrap());
        let options = Options { check_replies: false, rates: Rate::published(), ..Options::default() };
        let entropy = Entropy::seeded(1);
        let world = World::new(options, clock.clone(), &entropy).unwrap();
        let start = || replica(&world, &clock, &entropy);
        let first = start();
        let nodes: Vec<String> = (0..NODES).map(|_| world.join().unwrap()).collect();
        wait(LOOK, || nodes.iter().all(|name| is_initialised(&world, name))).await;
        world.cloud.clear_calls();
        let (began, used) = (Instant::now(), process::processor_time_of("self"));
        (0..SERVICES).for_each(|number| expose(&world, number, &nodes));
        wait(LOOK, || are_done(&world)).await;
        let (took, used) = (began.elapsed(), process::processor_time_of("self").saturating_sub(used));
        report(&world, took, used);
        fail_over(&world, first, start, &nodes).await;
        Large { world }
    })
}

fn report(world: &World, took: Duration, used: Duration) {
    let counts = world.cloud.call_counts();
    let writes = counts.iter().filter(|(name, _)| name.starts_with("slb.") && !name.starts_with("slb.Describe"));
    let busiest = writes.map(|(_, calls)| *calls).max().unwrap_or_default();
    // The soonest that so many calls can be through if no minute may see more than the limit.
    let bound = Duration::from_secs(busiest.saturating_sub(1) / WRITES * 60);
    let multiple = format!("{:.2}", took.div_duration_f64(bound));
    row("1,000 Services, 200 nodes, vendor's limits: time to converge", &seconds(took), "");
    row("  the soonest that the busiest action's limit allows", &seconds(bound), "");
    row("  as a multiple of that", &multiple, "1.1");
    row("  processor time, with that of the simulators", &seconds(used), "");
    let refused = world.cloud.calls().iter().filter(|call| call.code.as_deref() == Some("Throttling.User")).count();
    row("  calls refused for their rate", &refused.to_string(), "0");
    tell_calls(world);
}

/// The calls by action.
pub(crate) fn tell_calls(world: &World) {
    for (name, calls) in &world.cloud.call_counts() {
        row(&format!("  {name}"), &calls.to_string(), "");
    }
}

/// The leader dies, and just then an endpoint changes.
async fn fail_over(world: &World, first: JoinHandle<()>, start: impl Fn() -> JoinHandle<()>, nodes: &[String]) {
    let second = start();
    tokio::time::sleep(Duration::from_secs(60)).await;
    first.abort();
    let _ = first.await;
    change_an_endpoint(world, nodes).await;
    second.abort();
    let _ = second.await;
}

/// Moves a pod to another node, and waits until that is written.
pub(crate) async fn change_an_endpoint(world: &World, nodes: &[String]) {
    world.cloud.clear_calls();
    let began = Instant::now();
    slice(world, SERVICES / 2, nodes, 1);
    wait(GLANCE, || world.cloud.call_counts().contains_key("slb.AddVServerGroupBackendServers")).await;
    row("an endpoint changes as the leader dies: time to the write", &seconds(began.elapsed()), "lease + 1 s: 16 s");
}

/// The program as a process of its own takes over.
pub(crate) async fn measure(binary: &Path, large: Large) {
    let world = large.world;
    // The cloud's clock is that of the simulation.
    world.cloud.configure(|options| options.relaxed_signatures = true);
    world.cloud.clear_calls();
    let identity = Identity::new();
    let (kube, cloud) = (identity.serve(world.kube.router()).await, identity.serve(world.cloud.router()).await);
    let program = Program::start(binary, &identity, &kube, &cloud);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let groups = world.cloud.call_counts().get("slb.DescribeVServerGroupAttribute").copied().unwrap_or_default();
    row("the same taken over by a new process: groups read", &groups.to_string(), "1000");
    let changed = world.cloud.calls().iter().filter(|call| call.changed && call.product == "slb").count();
    row("  writes to load balancers", &changed.to_string(), "0");
    row("  processor time of the process", &seconds(program.processor_time()), "");
    row("  resident memory (VmRSS)", &mebibytes(program.status("VmRSS")), "");
    row("  at most so far (VmHWM)", &mebibytes(program.status("VmHWM")), "40 MB");
    row("  its own (RssAnon)", &mebibytes(program.status("RssAnon")), "");
}

fn replica(world: &World, clock: &Clock, entropy: &Entropy) -> JoinHandle<()> {
    let surroundings = Surroundings {
        client: world.kube.client(),
        transport: Arc::new(InProcess::new(world.cloud.router())),
        metadata: Arc::new(InProcess::new(world.cloud.router())),
        limits: Limits::default(),
        clock: clock.clone(),
        entropy: entropy.fork(),
        metrics: Metrics::default(),
        reread: None,
    };
    tokio::spawn(async move {
        let _ = daemon::run(configuration(), surroundings, Shutdown::new()).await;
    })
}

/// Looks every so often, until something is so.
pub(crate) async fn wait(look: Duration, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(7200), "not in place after two hours");
        tokio::time::sleep(look).await;
    }
}

/// Whether every Service has what it asks for.
pub(crate) fn are_done(world: &World) -> bool {
    world.kube.list::<Service>().iter().filter(|service| is_done(service)).count() == SERVICES
}

pub(crate) fn is_initialised(world: &World, name: &str) -> bool {
    let node = world.kube.get::<Node>("", name).unwrap();
    node.spec.is_none_or(|spec| spec.taints.unwrap_or_default().is_empty())
}

/// The label that says so is written when everything is in place.
pub(crate) fn is_done(service: &Service) -> bool {
    service.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key("service.beta.kubernetes.io/hash"))
}

fn name(number: usize) -> String {
    format!("web-{number:04}")
}

pub(crate) fn expose(world: &World, number: usize, nodes: &[String]) {
    let service = json!({
        "metadata": { "name": name(number), "namespace": "default" },
        "spec": { "type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{ "name": "web", "port": 80 }] },
    });
    world.kube.create::<Service>(&serde_json::from_value(service).unwrap()).unwrap();
    slice(world, number, nodes, 0);
}

/// Writes the slice of a Service.
fn slice(world: &World, number: usize, nodes: &[String], shift: usize) {
    let slice = slice_of(&name(number), number, nodes, shift);
    let there = world.kube.modify::<EndpointSlice>("default", &name(number), |there| {
        there.endpoints.clone_from(&slice.endpoints);
    });
    if there.is_err() {
        world.kube.create(&slice).unwrap();
    }
}

/// The slice of a Service, with pods on so many nodes, from another node on if `shift`.
pub(crate) fn slice_of(service: &str, number: usize, nodes: &[String], shift: usize) -> EndpointSlice {
    let endpoints: Vec<Value> = (0..ENDPOINTS)
        .map(|pod| {
            let node = &nodes[(number + pod * 7 + shift) % nodes.len()];
            let address = format!("172.20.{}.{}", number / 250 + 4 * pod, number % 250 + 2);
            let target = json!({ "kind": "Pod", "name": format!("{service}-{pod}"), "uid": format!("{number}-{pod}") });
            json!({ "addresses": [address], "conditions": { "ready": true }, "nodeName": node, "targetRef": target })
        })
        .collect();
    let slice = json!({
        "metadata": {
            "name": service, "namespace": "default", "labels": { "kubernetes.io/service-name": service },
        },
        "addressType": "IPv4", "endpoints": endpoints, "ports": [{ "name": "web", "port": 8080, "protocol": "TCP" }],
    });
    serde_json::from_value(slice).unwrap()
}

pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
