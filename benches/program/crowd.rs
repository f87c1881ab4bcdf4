//! 300 Services and 200 nodes that are there when the program starts: how long until all is in
//! place, and what it takes. On the embedded Kubernetes API and, if it is built, on a real one, side
//! by side. Both are spoken to over TLS, and both clouds are simulated.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use axum::{extract::Request, middleware::Next};
use ccm::{
    clock::Clock,
    entropy::Entropy,
    sim::{cloud, world::World},
};
use http::Method;
use k8s_openapi::api::{
    core::v1::{Node, Service},
    discovery::v1::EndpointSlice,
};
use kube::{Api, api::ListParams};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    mebibytes, plane,
    process::Program,
    scale::{ENDPOINTS, is_done, seconds, slice_of},
    server::Identity,
    stage::{Cluster, Stage, is_tainted, region},
    theatre::{record, theatre},
};

const SERVICES: usize = 300;
const NODES: usize = 200;
const PATIENCE: Duration = Duration::from_secs(1800);
const LOOK: Duration = Duration::from_secs(1);

/// How often what was asked for, such as `patch services/status` or `slb.CreateLoadBalancer`.
type Counts = BTreeMap<String, u64>;

/// What was measured, from the start of the program until all was in place.
struct Figures {
    time: Duration,
    requests: Counts,
    calls: Counts,
    processor: Duration,
    memory: u64,
}

pub(crate) fn measure(binary: &Path) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let embedded = runtime.block_on(on_the_embedded_api(binary));
    drop(runtime);
    let real = Path::new(plane::PROGRAM).exists().then(|| on_a_real_one(binary));
    if real.is_none() {
        println!("{} is not there, so there is no real API server: make it first", plane::PROGRAM);
    }
    let line = |what: &str, of: &dyn Fn(&Figures) -> String| {
        let real = real.as_ref().map_or_else(|| "-".to_owned(), of);
        println!("{what:<58} {:>14} {real:>14}", of(&embedded));
    };
    println!("\n{:<58} {:>14} {:>14}", "300 Services and 200 nodes at once", "embedded API", "real API");
    line("from the start of the program until all is in place", &|f| seconds(f.time));
    line("  processor time of the program", &|f| seconds(f.processor));
    line("  its resident memory, at most (VmHWM)", &|f| mebibytes(f.memory));
    for (what, of) in [
        ("requests to the API server", Figures::requests as fn(&Figures) -> &Counts),
        ("calls to the cloud", Figures::calls),
    ] {
        line(&format!("  {what}"), &|f| of(f).values().sum::<u64>().to_string());
        let names: BTreeSet<&String> =
            [Some(&embedded), real.as_ref()].into_iter().flatten().flat_map(|f| of(f).keys()).collect();
        for name in names {
            line(&format!("    {name}"), &|f| of(f).get(name).copied().unwrap_or_default().to_string());
        }
    }
}

async fn on_the_embedded_api(binary: &Path) -> Figures {
    let (clock, entropy) = (Clock::system(), Entropy::seeded(1));
    let world = World::with(region(), cloud::Options::default(), clock.clone(), &entropy).unwrap();
    let requests: Arc<Mutex<Counts>> = Arc::default();
    let counted = requests.clone();
    let count = axum::middleware::from_fn(move |request: Request, next: Next| {
        *counted.lock().entry(asked(&request)).or_default() += 1;
        next.run(request)
    });
    let identity = Identity::new();
    let kube = identity.serve(world.kube.router().layer(count)).await;
    let cluster = Cluster { administrator: world.kube.client(), controller: world.kube.client(), real: false };
    let stage = Stage::new(world, cluster, clock, entropy);
    prepare(&stage).await;
    let mut figures = converge(&stage, &identity, |cloud| Program::start(binary, &identity, &kube, cloud)).await;
    figures.requests.clone_from(&requests.lock());
    figures
}

fn on_a_real_one(binary: &Path) -> Figures {
    let theatre = theatre();
    let mut measured = None;
    let entries = record(&theatre, async |stage: Stage| {
        prepare(&stage).await;
        let identity = Identity::new();
        let kubeconfig = std::fs::read_to_string(&theatre.account_kubeconfig).unwrap();
        let start = |cloud: &str| Program::start_as(binary, &identity, &kubeconfig, cloud);
        measured = Some(converge(&stage, &identity, start).await);
    });
    let mut figures = measured.unwrap();
    // A watch is there twice, when it begins and when it ends.
    for entry in entries.iter().filter(|entry| entry.stage != "ResponseStarted") {
        let resource = entry.resource().map(|(_, name)| name).unwrap_or_default();
        *figures.requests.entry(format!("{} {resource}", entry.verb)).or_default() += 1;
    }
    figures
}

async fn prepare(stage: &Stage) {
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        nodes.push(stage.join().await);
    }
    for number in 0..SERVICES {
        let name = format!("web-{number}");
        let ports = json!([{ "name": "web", "port": 80 }]);
        let spec = json!({ "type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": ports });
        stage.expose(&name, &[], spec).await;
        let slice = serde_json::to_value(slice_of(&name, number, &nodes, 0)).unwrap();
        stage.create::<EndpointSlice>(slice).await;
    }
}

/// Starts the program and waits until every node is in service, and every Service has what it asks for.
async fn converge(stage: &Stage, identity: &Identity, start: impl FnOnce(&str) -> Program) -> Figures {
    let cloud = identity.serve(stage.cloud().router()).await;
    let began = Instant::now();
    let program = start(&cloud);
    while !is_in_place(stage).await {
        assert!(began.elapsed() < PATIENCE, "it does not converge:\n{}", program.log());
        sleep(LOOK).await;
    }
    let time = began.elapsed();
    let balancers = stage.cloud().load_balancers();
    assert_eq!(balancers.len(), SERVICES);
    let members = balancers.iter().flat_map(|lb| stage.cloud().groups(&lb.id)).map(|group| group.servers.len());
    assert_eq!(members.sum::<usize>(), SERVICES * ENDPOINTS);
    Figures {
        time,
        requests: Counts::new(),
        calls: stage.cloud().call_counts(),
        processor: program.processor_time(),
        memory: program.status("VmHWM"),
    }
}

async fn is_in_place(stage: &Stage) -> bool {
    if stage.cloud().load_balancers().len() < SERVICES {
        return false;
    }
    let services = stage.list::<Service>().await;
    let nodes = Api::<Node>::all(stage.administrator()).list(&ListParams::default()).await.unwrap();
    services.iter().filter(|service| is_done(service)).count() == SERVICES && !nodes.items.iter().any(is_tainted)
}

/// A request in the words of the audit log.
fn asked(request: &Request) -> String {
    let mut parts: Vec<&str> = request.uri().path().trim_matches('/').split('/').collect();
    parts.drain(..if parts[0] == "api" { 2 } else { 3 }.min(parts.len()));
    if parts.len() > 2 && parts[0] == "namespaces" {
        parts.drain(..2);
    }
    let watches = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    let verb = match *request.method() {
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ if watches => "watch",
        _ if parts.len() > 1 => "get",
        _ => "list",
    };
    let subresource = parts.get(2).map(|name| format!("/{name}")).unwrap_or_default();
    format!("{verb} {}{subresource}", parts.first().unwrap_or(&""))
}

// === impl Figures ===

impl Figures {
    fn requests(&self) -> &Counts {
        &self.requests
    }

    fn calls(&self) -> &Counts {
        &self.calls
    }
}
