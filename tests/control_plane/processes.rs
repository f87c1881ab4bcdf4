//! The program itself, as several processes: killed in the middle of its work, or stopped for
//! longer than its lease. Each signs with a key of its own, so the cloud can tell them apart.

use std::{process::Stdio, time::Duration};

use axum::serve;
use ccm::sim::cloud::{
    Call,
    slb::{Listener, ListenerStatus},
};
use serde_json::json;
use tokio::{
    net::TcpListener,
    process::{Child, Command},
};

use crate::{
    stage::{KEYS, Stage},
    theatre::{Theatre, play_in, theatre},
};

/// The simulated cloud on a socket.
struct Served(std::net::SocketAddr);

/// A running controller.
struct Program {
    process: Child,
    key: &'static str,
}

// === impl Served ===

impl Served {
    async fn start(stage: &Stage) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = stage.cloud().router();
        tokio::spawn(async move { serve(listener, router).await.unwrap() });
        Self(address)
    }
}

// === impl Program ===

impl Program {
    /// Starts one with the n-th key and a lease that is over soon.
    fn start(theatre: &Theatre, cloud: &Served, number: usize) -> Self {
        let (key, secret) = KEYS[number];
        let dir = &theatre.plane.told.dir;
        let global =
            json!({ "clusterID": "c1", "region": "cn-hangzhou", "vpcid": "vpc-bp1sim", "vswitchid": "vsw-bp1simh" });
        std::fs::write(dir.join("cloud-config"), json!({ "Global": global }).to_string()).unwrap();
        let log = std::fs::File::create(dir.join(format!("{key}.log"))).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_alibaba-cloud-controller-manager"));
        command
            .arg(format!("--cloud-config={}", dir.join("cloud-config").display()))
            .arg(format!("--kubeconfig={}", theatre.account_kubeconfig.display()))
            .args(["--cluster-cidr=172.20.0.0/16", "--health-probe-bind-addr=0", "--metrics-bind-addr=0"])
            .args([
                "--leader-elect-lease-duration=6s",
                "--leader-elect-renew-deadline=4s",
                "--leader-elect-retry-period=1s",
            ])
            .env_clear()
            .env("ACCESS_KEY_ID", key)
            .env("ACCESS_KEY_SECRET", secret)
            .env("ALICLOUD_CLIENT_SCHEME", "HTTP")
            .env("METADATA_ENDPOINT", format!("http://{}", cloud.0))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true);
        for product in ["ECS", "VPC", "SLB", "NLB", "STS"] {
            command.env(format!("{product}_ENDPOINT"), cloud.0.to_string());
        }
        Self { process: command.spawn().unwrap(), key }
    }

    /// SIGKILL; at once.
    async fn kill(&mut self) {
        self.process.kill().await.unwrap();
    }

    async fn signal(&self, name: &str) {
        let pid = self.process.id().unwrap().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().await.unwrap().success());
    }

    /// What it changed in the cloud so far.
    fn writes(&self, stage: &Stage) -> Vec<String> {
        let own = |call: &Call| call.changed && call.caller.access_key == self.key;
        stage.cloud().calls().into_iter().filter(own).map(|call| call.name()).collect()
    }
}

/// Waits until an action has been called so many times, to a millisecond.
async fn called(stage: &Stage, action: &str, times: u64) {
    for _ in 0..90_000 {
        if stage.cloud().call_counts().get(action).copied().unwrap_or(0) >= times {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("not called: {action}; calls: {:#?}", stage.calls());
}

#[test]
fn leaders_killed_in_the_middle_leave_nothing_double_and_nothing_behind() {
    let theatre = theatre();
    play_in(&theatre, async |stage: Stage| {
        let cloud = Served::start(&stage).await;
        stage.join().await;
        let mut leader = Program::start(&theatre, &cloud, 1);
        stage.joined(1).await;

        // In the middle of creating, twice.
        stage.expose_web().await;
        called(&stage, "slb.CreateLoadBalancer", 1).await;
        leader.kill().await;
        leader = Program::start(&theatre, &cloud, 2);
        called(&stage, "slb.CreateVServerGroup", 1).await;
        leader.kill().await;
        leader = Program::start(&theatre, &cloud, 3);
        let address = stage.address("web").await;
        assert_eq!(stage.cloud().load_balancers().len(), 1, "{:?}", stage.calls());
        let id = stage.cloud().load_balancers()[0].id.clone();

        // In the middle of an update.
        let ports = json!([{ "name": "http", "port": 80, "targetPort": 8080 }, { "name": "tls", "port": 443, "targetPort": 8443 }]);
        let listeners = stage.cloud().call_counts()["slb.CreateLoadBalancerTCPListener"];
        stage.change("web", json!({ "ports": ports })).await;
        called(&stage, "slb.CreateLoadBalancerTCPListener", listeners + 1).await;
        leader.kill().await;
        leader = Program::start(&theatre, &cloud, 1);
        let serving = || async {
            let listeners = stage.cloud().listeners(&id);
            let running = |l: &Listener| l.status == ListenerStatus::Running;
            (listeners.len() == 2 && listeners.iter().all(running)).then_some(())
        };
        stage.until("two running listeners", serving).await;
        assert_eq!(stage.cloud().groups(&id).len(), 2, "{:?}", stage.calls());
        assert_eq!(stage.address("web").await, address);

        // In the middle of deleting.
        stage.delete_service("web").await;
        called(&stage, "slb.SetLoadBalancerDeleteProtection", 1).await;
        leader.kill().await;
        let _leader = Program::start(&theatre, &cloud, 2);
        stage.until("the Service gone", || async { stage.service("web").await.is_none().then_some(()) }).await;
        assert_eq!(stage.cloud().load_balancers().len(), 0, "{:?}", stage.calls());
        assert_eq!(stage.cloud().call_counts()["slb.CreateLoadBalancer"], 1);
    });
}

#[test]
fn a_leader_that_wakes_after_its_lease_writes_no_more() {
    let theatre = theatre();
    play_in(&theatre, async |stage: Stage| {
        let cloud = Served::start(&stage).await;
        let mut first = Program::start(&theatre, &cloud, 1);
        stage.joined(1).await;
        stage.expose_web().await;
        stage.address("web").await;
        let second = Program::start(&theatre, &cloud, 2);
        first.signal("-STOP").await;
        // Something to do for whoever leads, and for the sleeper when it wakes.
        stage.joined(1).await;
        assert!(!second.writes(&stage).is_empty(), "the second has taken over");
        stage.expose("other", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] })).await;
        let before = first.writes(&stage);
        first.signal("-CONT").await;
        stage.address("other").await;
        let status = tokio::time::timeout(Duration::from_secs(60), first.process.wait()).await;
        let status = status.expect("it notices that it leads no more").unwrap();
        assert_eq!(status.code(), Some(1), "it ends, to be started again in a clean state");
        assert_eq!(first.writes(&stage), before);
        assert_eq!(stage.cloud().load_balancers().len(), 2);
    });
}
