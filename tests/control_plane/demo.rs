//! The main job on a real control plane, to watch and to try things on: `make demo-kubernetes`.
//!
//! Pods stay Pending until the controller has initialised their node; then they run, the
//! controller manager lists them as endpoints, and their Service gets its address. Stays up until
//! Ctrl-C, or ends after the story with `--exit`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, unreachable_pub)]
#![allow(dead_code, reason = "the tests use more of the stage than the story does")]

#[path = "../stories/stage.rs"]
mod stage;

mod audit;
mod plane;
mod theatre;

use k8s_openapi::api::{core::v1::Pod, discovery::v1::EndpointSlice};
use kube::ResourceExt;
use tokio::time::Instant;

use self::{
    stage::{Stage, is_tainted},
    theatre::{play_in, theatre},
};

fn main() {
    let exit = std::env::args().any(|argument| argument == "--exit");
    println!("Starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok, and applying deploy/.");
    let theatre = theatre();
    let kubectl = theatre.plane.told.kubectl.join(" ");
    println!("kubeconfig  {}\nkubectl     {kubectl}", theatre.plane.told.kubeconfig.display());
    play_in(&theatre, async |stage: Stage| {
        tell(&stage).await;
        if !exit {
            println!("\nThe controller runs on; try it:\n");
            println!("  export KUBECONFIG={}", theatre.plane.told.kubeconfig.display());
            println!("  {kubectl} get nodes -L topology.kubernetes.io/zone");
            println!("  {kubectl} create deployment hello --image=nginx --replicas=3");
            println!("  {kubectl} expose deployment hello --port=80 --type=LoadBalancer");
            println!("  {kubectl} get service hello --watch\n\nCtrl-C ends it.");
            tokio::signal::ctrl_c().await.unwrap();
        }
    });
    println!("\nStopping. The API server refused the controller nothing.");
}

async fn tell(stage: &Stage) {
    let start = Instant::now();
    let see = |what: &str| println!("{:>8.2} s  {what}", start.elapsed().as_secs_f64());

    println!("\n1. A node registers with --cloud-provider=external; a Deployment and a Service are created");
    let node = stage.join().await;
    stage.deploy_web(2).await;
    stage.expose_web().await;
    let pods = || async { Some(stage.list::<Pod>().await).filter(|pods| pods.len() == 2) };
    for pod in stage.until("two pods", pods).await {
        see(&format!("pod {} is {}", pod.name_any(), phase(&pod)));
    }
    see(&format!("node {node} is tainted node.cloudprovider.kubernetes.io/uninitialized"));

    println!("\n2. The controller starts, with a token of the ServiceAccount of deploy/");
    let replica = stage.start();
    let initialised = || async { stage.node(&node).await.filter(|node| !is_tainted(node)) };
    let zone = stage.until("the node initialised", initialised).await.labels()["topology.kubernetes.io/zone"].clone();
    see(&format!("node {node} is initialised, zone {zone}"));
    let running =
        || async { Some(stage.list::<Pod>().await).filter(|pods| pods.iter().all(|p| phase(p) == "Running")) };
    for pod in stage.until("running pods", running).await {
        see(&format!("pod {} is Running", pod.name_any()));
    }
    let endpoints = || async {
        let slices = stage.list::<EndpointSlice>().await;
        let all = slices.into_iter().flat_map(|slice| slice.endpoints).flat_map(|endpoint| endpoint.addresses);
        Some(all.collect::<Vec<String>>()).filter(|addresses| addresses.len() == 2)
    };
    see(&format!("the Service has the endpoints {}", stage.until("endpoints", endpoints).await.join(", ")));
    see(&format!("the Service has the address {}", stage.address("web").await));
    let told = || async { stage.told("web").await.into_iter().find(|(_, reason, _)| reason == "EnsuredLoadBalancer") };
    let (_, reason, message) = stage.until("the event", told).await;
    see(&format!("event {reason}: {message}"));

    println!("\n3. A second node joins");
    let second = stage.joined(1).await.remove(0);
    see(&format!("node {second} is initialised"));
    stage.until("two members", || async { (members(stage) == 2).then_some(()) }).await;
    see("the load balancer has 2 members");

    println!("\n4. The Service is deleted");
    stage.delete_service("web").await;
    stage.until("the Service gone", || async { stage.service("web").await.is_none().then_some(()) }).await;
    assert!(stage.cloud().load_balancers().is_empty(), "{:?}", stage.calls());
    see("the Service and its load balancer are gone");
    let writes = stage.writes().len();
    see(&format!("{} calls to the cloud, {writes} of which changed something", stage.calls().len()));
    drop(replica);
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
}

fn members(stage: &Stage) -> usize {
    let balancers = stage.cloud().load_balancers();
    balancers.iter().flat_map(|lb| stage.cloud().groups(&lb.id)).map(|group| group.servers.len()).max().unwrap_or(0)
}
