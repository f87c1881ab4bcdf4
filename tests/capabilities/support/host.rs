//! The files and variables that a controller finds where it runs.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use ccm::config::{
    self, Config, Environment, Invalid, Request,
    environment::{Fixed, Process},
};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// The simulated account's AccessKey, as the cloud-config file has it.
pub const KEY_ID: &str = "dGVzdGlk";
pub const KEY_SECRET: &str = "dGVzdHNlY3JldA==";

const CLOUD_CONFIG: &str = "/cloud-config";

/// A host that can be changed while the controller runs. Clones are the same host.
#[derive(Clone, Default)]
pub struct Host {
    fixed: Arc<Mutex<Fixed>>,
    /// Where the cloud-config file really is.
    mounted: Option<PathBuf>,
}

// === impl Host ===

impl Host {
    /// With the cloud-config file of the simulated account, and these keys in it; `null` leaves one out.
    pub fn with(keys: Value) -> Self {
        let host = Self::default();
        host.configure(keys);
        host
    }

    /// With a cloud-config file on the real disk.
    pub fn mounted(file: PathBuf) -> Self {
        Self { mounted: Some(file), ..Self::default() }
    }

    /// Writes the cloud-config file anew.
    pub fn configure(&self, keys: Value) {
        self.write(CLOUD_CONFIG, &Self::text(keys));
    }

    /// The text of a cloud-config file with these keys.
    pub fn text(keys: Value) -> String {
        let mut global = json!({
            "accessKeyID": KEY_ID, "accessKeySecret": KEY_SECRET, "clusterID": "c1",
            "region": "cn-hangzhou", "vpcid": "vpc-bp1sim", "vswitchid": "vsw-bp1simh",
        });
        for (key, value) in keys.as_object().unwrap() {
            global[key] = value.clone();
        }
        json!({ "Global": global }).to_string()
    }

    pub fn write(&self, path: &str, text: &str) {
        self.fixed.lock().files.insert(path.to_owned(), text.to_owned());
    }

    pub fn set(&self, variable: &str, value: &str) {
        self.fixed.lock().variables.insert(variable.to_owned(), value.to_owned());
    }

    /// What the program makes of it with these flags over those of the example DaemonSet.
    pub fn config(&self, flags: &[impl AsRef<str>]) -> Result<Config, Invalid> {
        let base = [
            "--cloud-config=/cloud-config",
            "--cluster-cidr=172.20.0.0/16",
            "--health-probe-bind-addr=0",
            "--metrics-bind-addr=0",
        ];
        let arguments = base.into_iter().chain(flags.iter().map(AsRef::as_ref)).map(Into::into);
        match config::read(arguments, self)? {
            Request::Run(config) => Ok(*config),
            other => panic!("{other:?}"),
        }
    }
}

impl Environment for Host {
    fn variable(&self, name: &str) -> Option<String> {
        self.fixed.lock().variable(name)
    }

    fn file(&self, path: &Path) -> io::Result<String> {
        match &self.mounted {
            Some(file) if path == Path::new(CLOUD_CONFIG) => Process.file(file),
            _ => self.fixed.lock().file(path),
        }
    }

    fn exists(&self, path: &Path) -> bool {
        self.fixed.lock().exists(path)
    }
}
