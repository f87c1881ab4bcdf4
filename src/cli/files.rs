//! The files that others need to use what is simulated: a kubeconfig, a cloud-config. They are
//! temporary and go with the command.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::json;
use tempfile::TempDir;

/// A directory that is removed when this is dropped.
pub(super) struct Files(TempDir);

// === impl Files ===

impl Files {
    pub(super) fn new() -> anyhow::Result<Self> {
        let mut builder = tempfile::Builder::new();
        Ok(Self(builder.prefix("ccm-").tempdir().context("cannot make a temporary directory")?))
    }

    /// Where a file of this name is.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file; answers its path.
    pub(super) fn write(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.path(name);
        write(&path, text)?;
        Ok(path)
    }

    /// Leaves the directory where it is, for somebody to look into.
    pub(super) fn keep(self) -> PathBuf {
        self.0.keep()
    }
}

/// Writes a file.
pub(super) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// A kubeconfig for the embedded API, which asks for no credentials. JSON is YAML.
pub(super) fn kubeconfig(server: &str) -> String {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "simulated", "cluster": { "server": server } }],
        "contexts": [{ "name": "simulated", "context": { "cluster": "simulated", "user": "anyone", "namespace": "default" } }],
        "current-context": "simulated",
        "users": [{ "name": "anyone", "user": {} }],
    });
    format!("{config:#}\n")
}
