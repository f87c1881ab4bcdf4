//! How many calls a second the simulated cloud takes, signatures checked, with 5,000 instances
//! and 1,000 load balancers in its state, on two threads without sockets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss
)]

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    time::{Duration, Instant},
};

use axum::body::{Body, to_bytes};
use base64::prelude::{BASE64_STANDARD, Engine};
use ccm::{
    clock::Clock,
    entropy::Entropy,
    sim::cloud::{Cloud, Delays, Options, World},
};
use hmac::{Hmac, KeyInit, Mac};
use http::Request;
use sha1::Sha1;
use tower::ServiceExt;

/// The program's allocator, so that the figures are the program's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const INSTANCES: usize = 5_000;
const LOAD_BALANCERS: usize = 1_000;
const LENGTH: Duration = Duration::from_secs(5);

type Parameters = Vec<(String, String)>;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let options = Options { delays: Delays::none(), ..Options::default() };
    let world = World::with_nodes(INSTANCES);
    let cloud = Cloud::new(world, options, Clock::system(), Entropy::seeded(1)).unwrap();
    let load_balancers = fill(&cloud);
    println!("{:<44} {:>12}  aim", "simulated cloud, signed calls on two threads", "calls/s");
    let mix = calls(&load_balancers);
    for (name, (version, calls)) in &mix {
        println!("{name:<44} {:>12.0}", measure(&runtime, &cloud, version, name, calls));
    }
    let all: Vec<(&str, &str, &Parameters)> =
        mix.iter().flat_map(|(name, (version, calls))| calls.iter().map(move |call| (*version, *name, call))).collect();
    println!("{:<44} {:>12.0}  5000", "all of them in turn", run(&runtime, &cloud, &all));
    // By now every log is full.
    let before = resident();
    let again = run(&runtime, &cloud, &all) * LENGTH.as_secs_f64();
    let grown = i64::try_from(resident()).unwrap() - i64::try_from(before).unwrap();
    println!("{:<44} {:>10} MB", "resident memory", before >> 20);
    println!("{:<44} {:>10.1} MB  0", format!("  grown by {again:.0} calls more"), grown as f64 / f64::from(1 << 20));
}

/// Bytes of memory that this process holds.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = text.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    pages * 4096
}

/// Load balancers with a listener and a group of ten members each.
fn fill(cloud: &Cloud) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    (0..LOAD_BALANCERS)
        .map(|index| {
            let tag = format!("service-{index}");
            let create = [("LoadBalancerSpec", "slb.s1.small"), ("Tag.1.Key", "service"), ("Tag.1.Value", &tag)];
            let lb = text(&cloud.administer("slb.CreateLoadBalancer", &create).unwrap()["LoadBalancerId"]);
            let servers: Vec<String> =
                (1..=10).map(|node| format!("{{\"ServerId\":\"i-bp1node{node:04}\",\"Port\":30080}}")).collect();
            let servers = format!("[{}]", servers.join(","));
            let create = [("LoadBalancerId", lb.as_str()), ("BackendServers", &servers)];
            let group = text(&cloud.administer("slb.CreateVServerGroup", &create).unwrap()["VServerGroupId"]);
            let listener = [
                ("LoadBalancerId", lb.as_str()),
                ("ListenerPort", "80"),
                ("Bandwidth", "-1"),
                ("VServerGroupId", &group),
            ];
            cloud.administer("slb.CreateLoadBalancerTCPListener", &listener).unwrap();
            (lb, group)
        })
        .collect()
}

/// What a controller calls, by action: API version and a number of parameter sets.
fn calls(load_balancers: &[(String, String)]) -> BTreeMap<&'static str, (&'static str, Vec<Parameters>)> {
    let pairs = |pairs: &[(&str, &str)]| -> Parameters {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let each = |make: &dyn Fn(usize, &(String, String)) -> Parameters| -> Vec<Parameters> {
        load_balancers.iter().enumerate().take(100).map(|(index, lb)| make(index, lb)).collect()
    };
    let slb = "2014-05-15";
    BTreeMap::from([
        (
            "DescribeLoadBalancers",
            (slb, each(&|i, _| pairs(&[("Tag.1.Key", "service"), ("Tag.1.Value", &format!("service-{i}"))]))),
        ),
        ("DescribeLoadBalancerListeners", (slb, each(&|_, (lb, _)| pairs(&[("LoadBalancerId.1", lb)])))),
        ("DescribeVServerGroups", (slb, each(&|_, (lb, _)| pairs(&[("LoadBalancerId", lb)])))),
        ("DescribeVServerGroupAttribute", (slb, each(&|_, (_, group)| pairs(&[("VServerGroupId", group)])))),
        (
            "SetVServerGroupAttribute",
            (slb, each(&|_, (_, group)| pairs(&[("VServerGroupId", group), ("VServerGroupName", "renamed")]))),
        ),
        (
            "DescribeInstances",
            (
                "2014-05-26",
                each(&|i, _| pairs(&[("InstanceIds", &format!("[\"i-bp1node{:04}\"]", i + 1)), ("MaxResults", "100")])),
            ),
        ),
    ])
}

fn measure(runtime: &tokio::runtime::Runtime, cloud: &Cloud, version: &str, action: &str, calls: &[Parameters]) -> f64 {
    run(runtime, cloud, &calls.iter().map(|call| (version, action, call)).collect::<Vec<_>>())
}

/// Calls in turn for a while from two tasks, and returns how many calls a second were answered.
fn run(runtime: &tokio::runtime::Runtime, cloud: &Cloud, calls: &[(&str, &str, &Parameters)]) -> f64 {
    // Each run needs nonces of its own.
    let entropy = Entropy::system();
    let started = Instant::now();
    let tasks: Vec<_> = (0..2)
        .map(|task| {
            let router = cloud.router();
            let entropy = entropy.fork();
            let calls: Vec<(String, String, Parameters)> = calls
                .iter()
                .map(|(version, action, call)| ((*version).into(), (*action).into(), (*call).clone()))
                .collect();
            runtime.spawn(async move {
                let mut answered = 0u32;
                for (version, action, call) in calls.iter().cycle().skip(task) {
                    if started.elapsed() > LENGTH {
                        break;
                    }
                    let response = router.clone().oneshot(sign(version, action, call, &entropy.uuid())).await.unwrap();
                    let status = response.status();
                    let body = to_bytes(response.into_body(), 1 << 24).await.unwrap();
                    assert!(status.is_success(), "{action}: {}", String::from_utf8_lossy(&body));
                    answered += 1;
                }
                answered
            })
        })
        .collect();
    let answered: u32 = tasks.into_iter().map(|task| runtime.block_on(task).unwrap()).sum();
    f64::from(answered) / started.elapsed().as_secs_f64()
}

/// RPC signature version 1.
fn sign(version: &str, action: &str, call: &Parameters, nonce: &str) -> Request<Body> {
    let system = [
        ("AccessKeyId", "testid"),
        ("Action", action),
        ("Format", "JSON"),
        ("RegionId", "cn-hangzhou"),
        ("SignatureMethod", "HMAC-SHA1"),
        ("SignatureNonce", nonce),
        ("SignatureVersion", "1.0"),
        ("Timestamp", &jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        ("Version", version),
    ];
    let system = system.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let all: BTreeMap<String, String> = system.chain(call.iter().cloned()).collect();
    let joined: Vec<String> = all.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    let joined = joined.join("&");
    let mut mac = Hmac::<Sha1>::new_from_slice(b"testsecret&").unwrap();
    mac.update(format!("POST&%2F&{}", encode(&joined)).as_bytes());
    let signature = BASE64_STANDARD.encode(mac.finalize().into_bytes());
    Request::post("/")
        .header("host", "simulator")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from(format!("{joined}&Signature={}", encode(&signature))))
        .unwrap()
}

fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}
