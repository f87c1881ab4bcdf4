//! A control plane as a child process, and kubectl on it.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio},
};

use parking_lot::Mutex;
use serde::Deserialize;

/// What is all components, as `make test-kubernetes` builds it.
pub const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/kubernetes/control-plane");

/// Runs until it is dropped or this process ends, however that happens: then the pipe to it closes.
pub struct ControlPlane {
    child: Child,
    pipe: Mutex<Option<Pipe>>,
    pub told: Told,
}

struct Pipe {
    wishes: ChildStdin,
    told: BufReader<ChildStdout>,
}

/// What it tells when everything runs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    pub server: String,
    /// Of an administrator.
    pub kubeconfig: PathBuf,
    /// The certificate authority's certificate.
    pub ca: PathBuf,
    pub audit_log: PathBuf,
    /// Program and first arguments.
    pub kubectl: Vec<String>,
    pub dir: PathBuf,
    pub pids: std::collections::BTreeMap<String, u32>,
}

// === impl ControlPlane ===

impl ControlPlane {
    /// Starts one and waits until it is ready.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with these in its environment.
    pub fn start_with(environment: &[(&str, &Path)]) -> Self {
        assert!(Path::new(PROGRAM).exists(), "{PROGRAM} is not there: make test-kubernetes builds it");
        let mut command = Command::new(PROGRAM);
        command.envs(environment.iter().copied());
        // Ctrl-C is for this process; the pipe tells the control plane when the time has come.
        command.arg("up").stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        let told = BufReader::new(child.stdout.take().unwrap());
        let mut pipe = Pipe { wishes: child.stdin.take().unwrap(), told };
        let told = pipe.told();
        Self { child, pipe: Mutex::new(Some(pipe)), told }
    }

    /// Stops one component alone.
    pub fn halt(&self, component: &str) {
        self.wish(&format!("halt {component}"));
    }

    /// Starts it again and waits until it is ready.
    pub fn resume(&self, component: &str) {
        self.wish(&format!("resume {component}"));
    }

    fn wish(&self, wish: &str) {
        let mut pipe = self.pipe.lock();
        let pipe = pipe.as_mut().unwrap();
        writeln!(pipe.wishes, "{wish}").unwrap();
        pipe.told();
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes the pipe, as the end of this process would, and waits for the end.
    pub fn stop(&mut self) {
        *self.pipe.lock() = None;
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }

    /// SIGKILL, which it cannot answer.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Runs kubectl as the administrator, in the folder of this package.
    pub fn kubectl_output(&self, arguments: &[&str]) -> Output {
        let (program, first) = self.told.kubectl.split_first().unwrap();
        Command::new(program)
            .args(first)
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("KUBECONFIG", &self.told.kubeconfig)
            .env("HOME", &self.told.dir)
            .output()
            .unwrap()
    }

    /// What kubectl printed; it must succeed and warn of nothing, but for the label that old
    /// control planes have and that is asked for beside the current one.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.kubectl_output(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {error}");
        let expected = |line: &str| line.contains("node-role.kubernetes.io/master");
        let warned = error.lines().any(|line| line.contains("Warning") && !expected(line));
        assert!(!warned, "kubectl {arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }
}

// === impl Pipe ===

impl Pipe {
    /// What went wrong stands on standard error.
    fn told(&mut self) -> Told {
        let mut line = String::new();
        self.told.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("no control plane: {error} ({line:?})"))
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        *self.pipe.lock() = None;
        let _ = self.child.wait();
    }
}
