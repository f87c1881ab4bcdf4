//! The program as a process, and what the kernel tells of it.

use std::{
    fs::{self, File},
    path::Path,
    process::Stdio,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::{ready::cloud_config, server::Identity, unlimited};

/// A running program; ends when dropped.
pub(crate) struct Program {
    child: Child,
    folder: TempDir,
}

// === impl Program ===

impl Program {
    /// Starts the daemon with the flags of the example DaemonSet. `kube` and `cloud`: `host:port`.
    pub(crate) fn start(binary: &Path, identity: &Identity, kube: &str, cloud: &str) -> Self {
        Self::start_as(binary, identity, &kubeconfig(identity, kube), cloud)
    }

    /// This very program as the daemon, see [`unlimited`].
    pub(crate) fn start_unlimited(identity: &Identity, kube: &str, cloud: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(unlimited::DAEMON);
        Self::spawn(command, identity, &kubeconfig(identity, kube), cloud)
    }

    /// The same with a kubeconfig that tells where the API server is and who asks.
    pub(crate) fn start_as(binary: &Path, identity: &Identity, kubeconfig: &str, cloud: &str) -> Self {
        Self::spawn(Command::new(binary), identity, kubeconfig, cloud)
    }

    /// The same, `command` being the program.
    fn spawn(mut command: Command, identity: &Identity, kubeconfig: &str, cloud: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("ca.pem"), &identity.pem).unwrap();
        fs::write(at("kubeconfig"), kubeconfig).unwrap();
        fs::write(at("cloud-config"), cloud_config()).unwrap();
        let child = command
            .env_clear()
            .env("HOME", folder.path())
            .env("SSL_CERT_FILE", at("ca.pem"))
            .envs(["ECS_ENDPOINT", "VPC_ENDPOINT", "SLB_ENDPOINT", "NLB_ENDPOINT"].map(|name| (name, cloud)))
            .arg(format!("--kubeconfig={}", at("kubeconfig").display()))
            .arg(format!("--cloud-config={}", at("cloud-config").display()))
            .args(["--cluster-cidr=172.20.0.0/14", "--leader-elect-resource-name=ccm"])
            .args(["--health-probe-bind-addr=127.0.0.1:0", "--metrics-bind-addr=127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(at("log")).unwrap())
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts");
        Self { child, folder }
    }

    /// What it logged so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// A figure of `/proc/<pid>/status`, such as `VmRSS` (in bytes) or `Threads`.
    pub(crate) fn status(&self, name: &str) -> u64 {
        let text = fs::read_to_string(self.proc("status")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap_or_default();
        let mut words = line.split_whitespace();
        let number: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
        if words.next() == Some("kB") { number * 1024 } else { number }
    }

    /// Processor time so far, to 10 ms.
    pub(crate) fn processor_time(&self) -> Duration {
        processor_time_of(&self.child.id().expect("the program is running").to_string())
    }

    fn proc(&self, file: &str) -> String {
        format!("/proc/{}/{file}", self.child.id().expect("the program is running"))
    }
}

fn kubeconfig(identity: &Identity, kube: &str) -> String {
    let kubeconfig = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "sim",
        "contexts": [{ "name": "sim", "context": { "cluster": "sim", "user": "sim" } }],
        "clusters": [{ "name": "sim", "cluster": {
            "server": format!("https://{kube}"), "certificate-authority-data": STANDARD.encode(&identity.pem),
        } }],
        "users": [{ "name": "sim", "user": { "token": "sim" } }],
    });
    kubeconfig.to_string()
}

/// Processor time so far of a process (`self` for this one), to 10 ms.
pub(crate) fn processor_time_of(process: &str) -> Duration {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The name before it, in parentheses, may have spaces in it.
    let fields: Vec<&str> = text.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}
