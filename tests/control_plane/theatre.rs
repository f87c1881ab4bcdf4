//! Where stories are played: a control plane that is each story's own as long as it lasts, and another's
//! after that. Each is told on an empty cluster and a new cloud.

use std::{future::Future, ops::Deref, path::PathBuf, sync::Arc, time::Duration};

use ccm::{
    clock::Clock,
    entropy::Entropy,
    kubernetes::client,
    sim::{cloud, world::World},
};
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        apps::v1::Deployment,
        coordination::v1::Lease,
        core::v1::{Event, Node, Pod, Service},
        discovery::v1::EndpointSlice,
    },
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    audit::{self, Entry},
    plane::ControlPlane,
    stage::{Cluster, Stage, region},
};

/// The user that the API server sees in the controller.
pub const ACCOUNT: &str = "system:serviceaccount:kube-system:cloud-controller-manager";

/// Those where nobody plays.
static FREE: Mutex<Vec<Theatre>> = Mutex::new(Vec::new());

/// A control plane that everything of `deploy/` was applied to.
pub struct Theatre {
    pub plane: ControlPlane,
    /// With a token of the shipped ServiceAccount, as a pod of the DaemonSet would have.
    pub account_kubeconfig: PathBuf,
}

/// A theatre that is one test's own until this is dropped.
pub struct Booked(Option<Theatre>);

/// One where nobody plays; a new one if there is none, so that there are as many as tests run side by side.
pub fn theatre() -> Booked {
    let free = FREE.lock().pop();
    Booked(Some(free.unwrap_or_else(Theatre::open)))
}

/// Plays a story; fails if the controller was refused anything.
pub fn play<F: Future<Output = ()>>(story: impl FnOnce(Stage) -> F) {
    play_in(&theatre(), story);
}

/// Plays a story, fails if the controller was refused anything, and answers what the API server noted
/// of the controller meanwhile.
pub fn play_in<F: Future<Output = ()>>(theatre: &Theatre, story: impl FnOnce(Stage) -> F) -> Vec<Entry> {
    let own = record(theatre, story);
    let refused: Vec<&Entry> = own.iter().filter(|entry| entry.is_refusal()).collect();
    assert!(refused.is_empty(), "the API server refused the controller: {refused:#?}");
    own
}

/// Plays a story, and answers what the API server noted of the controller meanwhile.
pub fn record<F: Future<Output = ()>>(theatre: &Theatre, story: impl FnOnce(Stage) -> F) -> Vec<Entry> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let before = runtime.block_on(async {
        let administrator = theatre.client(&theatre.plane.told.kubeconfig, "story").await;
        clear(&administrator).await;
        let before = audit::read(&theatre.plane.told.audit_log).len();
        let (clock, entropy) = (Clock::system(), Entropy::system());
        let world = World::with(region(), cloud::Options::default(), clock.clone(), &entropy).unwrap();
        let controller = theatre.client(&theatre.account_kubeconfig, "controller").await;
        let cluster = Cluster { administrator, controller, real: true };
        Stage::new(world, cluster, clock, entropy).play(story).await;
        before
    });
    // The controllers of the story end with its runtime.
    runtime.shutdown_timeout(Duration::from_secs(5));
    let entries = audit::read(&theatre.plane.told.audit_log).split_off(before);
    entries.into_iter().filter(|entry| entry.user.username == ACCOUNT).collect()
}

// === impl Theatre ===

impl Theatre {
    fn open() -> Self {
        // The process may have it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let plane = ControlPlane::start();
        plane.kubectl(&["apply", "--validate=strict", "-f", "deploy/configmap-accesskey.yaml"]);
        plane.kubectl(&["apply", "--validate=strict", "-k", "deploy/"]);
        let account_kubeconfig = plane.told.dir.join("controller.kubeconfig");
        let theatre = Self { plane, account_kubeconfig };
        let user = json!({ "token": theatre.token(&[]) });
        theatre.write_kubeconfig("controller", &theatre.plane.told.server, &user);
        theatre
    }

    /// A token of the shipped ServiceAccount.
    pub fn token(&self, more: &[&str]) -> String {
        let command = ["create", "token", "cloud-controller-manager", "--namespace=kube-system"];
        self.plane.kubectl(&[&command, more].concat()).trim().to_owned()
    }

    /// A kubeconfig file `<name>.kubeconfig`; answers where it is.
    pub fn write_kubeconfig(&self, name: &str, server: &str, user: &Value) -> PathBuf {
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{ "name": "test", "cluster": { "server": server, "certificate-authority": self.plane.told.ca } }],
            "users": [{ "name": "controller", "user": user }],
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "controller" } }],
        });
        let path = self.plane.told.dir.join(format!("{name}.kubeconfig"));
        std::fs::write(&path, kubeconfig.to_string()).unwrap();
        path
    }

    /// A client as the program makes its own.
    pub async fn client(&self, kubeconfig: &std::path::Path, user_agent: &str) -> Client {
        let options = client::Options {
            kubeconfig: Some(kubeconfig.to_owned()),
            kubeconfig_env: None,
            home: None,
            master: None,
            user_agent: user_agent.to_owned(),
            qps: 0.0,
            burst: 0,
            timeout: Duration::from_secs(30),
        };
        let located = client::locate(&options).await.unwrap();
        client::connect(located.config, &options, Arc::new(|| true)).unwrap()
    }
}

// === impl Booked ===

impl Deref for Booked {
    type Target = Theatre;

    fn deref(&self) -> &Theatre {
        self.0.as_ref().unwrap()
    }
}

impl Drop for Booked {
    fn drop(&mut self) {
        FREE.lock().extend(self.0.take());
    }
}

/// Removes what a story left behind, finished or not.
async fn clear(administrator: &Client) {
    let services: Api<Service> = Api::namespaced(administrator.clone(), "default");
    for service in services.list(&ListParams::default()).await.unwrap() {
        let name = service.name_any();
        if name == "kubernetes" {
            continue;
        }
        let bare = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
        let _ = services.patch(&name, &PatchParams::default(), &bare).await;
        let _ = services.delete(&name, &DeleteParams::default()).await;
    }
    remove_all::<Deployment>(administrator).await;
    remove_all::<EndpointSlice>(administrator).await;
    remove_all::<Event>(administrator).await;
    let now = DeleteParams::default().grace_period(0);
    let nodes: Api<Node> = Api::all(administrator.clone());
    nodes.delete_collection(&now, &ListParams::default()).await.unwrap();
    let leases: Api<Lease> = Api::namespaced(administrator.clone(), "kube-system");
    let _ = leases.delete("ccm", &DeleteParams::default()).await;
    let pods: Api<Pod> = Api::namespaced(administrator.clone(), "default");
    for _ in 0..600 {
        let _ = pods.delete_collection(&now, &ListParams::default()).await;
        if pods.list(&ListParams::default()).await.unwrap().items.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the pods of an earlier story do not go");
}

async fn remove_all<K>(administrator: &Client)
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + DeserializeOwned + Clone + std::fmt::Debug,
{
    let api: Api<K> = Api::namespaced(administrator.clone(), "default");
    api.delete_collection(&DeleteParams::background(), &ListParams::default()).await.unwrap();
}
