//! The program itself, as a process, and the simulated cloud on a socket for it.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use axum::serve;
use ccm::sim::cloud::Call;
use serde_json::json;
use tokio::{
    net::TcpListener,
    process::{Child, Command},
};

use crate::{
    stage::{KEYS, SHORT, Stage},
    theatre::Theatre,
};

/// How long one may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// The simulated cloud on a socket.
pub struct Served(std::net::SocketAddr);

/// A running controller.
pub struct Program {
    process: Child,
    key: &'static str,
    log: PathBuf,
    printed: PathBuf,
}

// === impl Served ===

impl Served {
    pub async fn start(stage: &Stage) -> Self {
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
    pub fn start(theatre: &Theatre, cloud: &Served, number: usize) -> Self {
        Self::start_with(theatre, cloud, number, &theatre.account_kubeconfig)
    }

    /// The same with more flags.
    pub fn start_flagged(theatre: &Theatre, cloud: &Served, number: usize, flags: &[&str]) -> Self {
        Self::start_as(theatre, cloud, number, &theatre.account_kubeconfig, flags)
    }

    /// Starts one that finds the API server, and itself, in this kubeconfig.
    pub fn start_with(theatre: &Theatre, cloud: &Served, number: usize, kubeconfig: &Path) -> Self {
        Self::start_as(theatre, cloud, number, kubeconfig, &[])
    }

    fn start_as(theatre: &Theatre, cloud: &Served, number: usize, kubeconfig: &Path, flags: &[&str]) -> Self {
        let (key, secret) = KEYS[number];
        let dir = &theatre.plane.told.dir;
        let global =
            json!({ "clusterID": "c1", "region": "cn-hangzhou", "vpcid": "vpc-bp1sim", "vswitchid": "vsw-bp1simh" });
        std::fs::write(dir.join("cloud-config"), json!({ "Global": global }).to_string()).unwrap();
        let (log, printed) = (dir.join(format!("{key}.log")), dir.join(format!("{key}.out")));
        let mut command = Command::new(env!("CARGO_BIN_EXE_alibaba-cloud-controller-manager"));
        command
            .arg(format!("--cloud-config={}", dir.join("cloud-config").display()))
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .args(["--cluster-cidr=172.20.0.0/16", "--health-probe-bind-addr=0", "--metrics-bind-addr=0"])
            .args(SHORT)
            .args(flags)
            .env_clear()
            .env("ACCESS_KEY_ID", key)
            .env("ACCESS_KEY_SECRET", secret)
            .env("ALICLOUD_CLIENT_SCHEME", "HTTP")
            .env("METADATA_ENDPOINT", format!("http://{}", cloud.0))
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(&printed).unwrap())
            .stderr(std::fs::File::create(&log).unwrap())
            .kill_on_drop(true);
        for product in ["ECS", "VPC", "SLB", "NLB", "STS"] {
            command.env(format!("{product}_ENDPOINT"), cloud.0.to_string());
        }
        Self { process: command.spawn().unwrap(), key, log, printed }
    }

    /// SIGKILL; at once.
    pub async fn kill(&mut self) {
        self.process.kill().await.unwrap();
    }

    pub async fn signal(&self, name: &str) {
        let pid = self.process.id().unwrap().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().await.unwrap().success());
    }

    /// Waits until it ends by itself; answers its exit code.
    pub async fn ended(&mut self) -> Option<i32> {
        let status = tokio::time::timeout(PATIENCE, self.process.wait()).await;
        status.expect("it ends by itself").unwrap().code()
    }

    /// What it logged since it was started last.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// What it printed on standard output since then.
    pub fn printed(&self) -> String {
        std::fs::read_to_string(&self.printed).unwrap()
    }

    /// What it changed in the cloud so far.
    pub fn writes(&self, stage: &Stage) -> Vec<String> {
        let own = |call: &Call| call.changed && call.caller.access_key == self.key;
        stage.cloud().calls().into_iter().filter(own).map(|call| call.name()).collect()
    }
}

impl Drop for Program {
    /// Where a test failed, what each program said is asked next.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{} said:\n{}", self.key, std::fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}
