//! The kinds this API serves, as data.

use k8s_openapi::api::{
    apps::v1 as apps, coordination::v1 as coordination, core::v1 as core, discovery::v1 as discovery,
    events::v1 as events, policy::v1 as policy, rbac::v1 as rbac, scheduling::v1 as scheduling,
};
use serde_json::Value;

use super::schema::{self, Unreadable};

/// One served kind.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent traits of a kind, set by name in the table")]
pub(super) struct Resource {
    /// API group, empty for core.
    pub(super) group: &'static str,
    /// API version, `v1` throughout.
    pub(super) version: &'static str,
    /// Name in paths.
    pub(super) plural: &'static str,
    /// Name kubectl accepts besides the plural.
    pub(super) singular: &'static str,
    /// Abbreviations kubectl accepts.
    pub(super) short: &'static [&'static str],
    /// Name in objects.
    pub(super) kind: &'static str,
    /// Whether objects live in a namespace.
    pub(super) namespaced: bool,
    /// What becomes of `status` outside its own subresource.
    pub(super) status: Status,
    /// Whether `metadata.generation` counts changes of the spec. Core kinds do not carry it.
    pub(super) generation: bool,
    /// Whether a PUT without a resourceVersion overwrites; otherwise it is refused.
    pub(super) unconditional_update: bool,
    /// Whether DELETE answers with the object instead of a `Status`.
    pub(super) returns_deleted: bool,
    /// Whether `kubectl get all` includes it.
    pub(super) in_all: bool,
    /// Whether it has a `scale` subresource.
    pub(super) scalable: bool,
    /// Reads the object as its type and writes it back: wrong types are errors, unknown fields vanish.
    pub(super) schema: fn(Value) -> Result<Value, Unreadable>,
}

/// How a kind treats its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// The kind has none, or it is an ordinary field.
    None,
    /// Own subresource; emptied when the object is created.
    Reset,
    /// Own subresource; taken over when the object is created (kubelet registers Nodes with it).
    KeptOnCreate,
}

const fn base(
    group: &'static str,
    plural: &'static str,
    singular: &'static str,
    short: &'static [&'static str],
    kind: &'static str,
    schema: fn(Value) -> Result<Value, Unreadable>,
) -> Resource {
    Resource {
        group,
        version: "v1",
        plural,
        singular,
        short,
        kind,
        namespaced: true,
        status: Status::None,
        generation: false,
        unconditional_update: true,
        returns_deleted: false,
        in_all: false,
        scalable: false,
        schema,
    }
}

/// Every served kind; discovery lists them in this order.
pub(super) static RESOURCES: [Resource; 26] = [
    base("", "configmaps", "configmap", &["cm"], "ConfigMap", schema::read::<core::ConfigMap>),
    base("", "endpoints", "endpoints", &["ep"], "Endpoints", schema::read::<core::Endpoints>),
    EVENTS,
    base("", "namespaces", "namespace", &["ns"], "Namespace", schema::read::<core::Namespace>)
        .cluster_wide()
        .with_status(Status::Reset),
    base("", "nodes", "node", &["no"], "Node", schema::read::<core::Node>)
        .cluster_wide()
        .with_status(Status::KeptOnCreate),
    base("", "persistentvolumeclaims", "persistentvolumeclaim", &["pvc"], "PersistentVolumeClaim", PVC)
        .with_status(Status::Reset)
        .returning_deleted(),
    base("", "pods", "pod", &["po"], "Pod", schema::read::<core::Pod>)
        .with_status(Status::Reset)
        .returning_deleted()
        .listed_in_all(),
    base("", "secrets", "secret", &[], "Secret", schema::read::<core::Secret>),
    base("", "serviceaccounts", "serviceaccount", &["sa"], "ServiceAccount", schema::read::<core::ServiceAccount>)
        .returning_deleted(),
    base("", "services", "service", &["svc"], "Service", schema::read::<core::Service>)
        .with_status(Status::Reset)
        .returning_deleted()
        .listed_in_all(),
    base("apps", "daemonsets", "daemonset", &["ds"], "DaemonSet", schema::read::<apps::DaemonSet>)
        .with_status(Status::Reset)
        .counting_generations()
        .listed_in_all(),
    base("apps", "deployments", "deployment", &["deploy"], "Deployment", schema::read::<apps::Deployment>)
        .with_status(Status::Reset)
        .counting_generations()
        .scalable()
        .listed_in_all(),
    base("apps", "replicasets", "replicaset", &["rs"], "ReplicaSet", schema::read::<apps::ReplicaSet>)
        .with_status(Status::Reset)
        .counting_generations()
        .scalable()
        .listed_in_all(),
    base("apps", "statefulsets", "statefulset", &["sts"], "StatefulSet", schema::read::<apps::StatefulSet>)
        .with_status(Status::Reset)
        .counting_generations()
        .scalable()
        .listed_in_all(),
    base("coordination.k8s.io", "leases", "lease", &[], "Lease", schema::read::<coordination::Lease>)
        .updated_conditionally(),
    base("discovery.k8s.io", "endpointslices", "endpointslice", &[], "EndpointSlice", SLICE).counting_generations(),
    base("events.k8s.io", "events", "event", &["ev"], "Event", schema::read::<events::Event>),
    base("policy", "poddisruptionbudgets", "poddisruptionbudget", &["pdb"], "PodDisruptionBudget", PDB)
        .with_status(Status::Reset)
        .counting_generations()
        .updated_conditionally(),
    base("rbac.authorization.k8s.io", "clusterrolebindings", "clusterrolebinding", &[], "ClusterRoleBinding", CRB)
        .cluster_wide(),
    base("rbac.authorization.k8s.io", "clusterroles", "clusterrole", &[], "ClusterRole", CLUSTER_ROLE).cluster_wide(),
    base("rbac.authorization.k8s.io", "rolebindings", "rolebinding", &[], "RoleBinding", ROLE_BINDING),
    base("rbac.authorization.k8s.io", "roles", "role", &[], "Role", schema::read::<rbac::Role>),
    base("scheduling.k8s.io", "priorityclasses", "priorityclass", &["pc"], "PriorityClass", PRIORITY_CLASS)
        .cluster_wide(),
    base("", "resourcequotas", "resourcequota", &["quota"], "ResourceQuota", schema::read::<core::ResourceQuota>)
        .with_status(Status::Reset)
        .returning_deleted(),
    base("", "limitranges", "limitrange", &["limits"], "LimitRange", schema::read::<core::LimitRange>),
    base("", "replicationcontrollers", "replicationcontroller", &["rc"], "ReplicationController", RC)
        .with_status(Status::Reset)
        .counting_generations()
        .listed_in_all(),
];

type Schema = fn(Value) -> Result<Value, Unreadable>;
const EVENTS: Resource = base("", "events", "event", &["ev"], "Event", schema::read::<core::Event>);
const PVC: Schema = schema::read::<core::PersistentVolumeClaim>;
const RC: Schema = schema::read::<core::ReplicationController>;
const SLICE: Schema = schema::read::<discovery::EndpointSlice>;
const PDB: Schema = schema::read::<policy::PodDisruptionBudget>;
const CRB: Schema = schema::read::<rbac::ClusterRoleBinding>;
const CLUSTER_ROLE: Schema = schema::read::<rbac::ClusterRole>;
const ROLE_BINDING: Schema = schema::read::<rbac::RoleBinding>;
const PRIORITY_CLASS: Schema = schema::read::<scheduling::PriorityClass>;

/// The kind with this plural in this group.
pub(super) fn find(group: &str, plural: &str) -> Option<&'static Resource> {
    RESOURCES.iter().find(|r| r.group == group && r.plural == plural)
}

/// The groups in the order of the table, core first.
pub(super) fn groups() -> Vec<&'static str> {
    let mut groups: Vec<_> = RESOURCES.iter().map(|r| r.group).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}

// === impl Resource ===

impl Resource {
    const fn cluster_wide(mut self) -> Self {
        self.namespaced = false;
        self
    }

    const fn with_status(mut self, status: Status) -> Self {
        self.status = status;
        self
    }

    const fn counting_generations(mut self) -> Self {
        self.generation = true;
        self
    }

    const fn updated_conditionally(mut self) -> Self {
        self.unconditional_update = false;
        self
    }

    const fn returning_deleted(mut self) -> Self {
        self.returns_deleted = true;
        self
    }

    const fn listed_in_all(mut self) -> Self {
        self.in_all = true;
        self
    }

    const fn scalable(mut self) -> Self {
        self.scalable = true;
        self
    }

    /// `apiVersion` of its objects.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.into() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `services`, `leases.coordination.k8s.io`: how error messages call it.
    pub(super) fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.into() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// `Service`, `Lease.coordination.k8s.io`: how validation messages call it.
    pub(super) fn kind_qualified(&self) -> String {
        if self.group.is_empty() { self.kind.into() } else { format!("{}.{}", self.kind, self.group) }
    }

    /// The kind under which its objects are kept. Both event APIs are views of one store.
    pub(super) fn stored(&self) -> (&'static str, &'static str) {
        if self.is("events.k8s.io", "events") { ("", "events") } else { (self.group, self.plural) }
    }

    pub(super) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }
}
