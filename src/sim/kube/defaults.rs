//! What the server fills in and checks kind by kind.

mod node;

use serde_json::{Value, json};

use super::{
    event,
    failure::Cause,
    object::{at, child, default, items, map, text},
    resource::Resource,
    service,
    store::Store,
};

/// Fills in defaults and allocations; returns what is wrong with the object. `old` is the object
/// before, for an update.
pub(super) fn fill(store: &mut Store, resource: &Resource, object: &mut Value, old: Option<&Value>) -> Vec<Cause> {
    match resource.plural {
        "services" => service::fill(store, object, old),
        "nodes" => node::fill(object, old),
        "pods" => pod(object, old),
        "namespaces" => namespace(object),
        "events" if old.is_none() => event::validate(resource, object),
        "endpointslices" => slice(object),
        "leases" => lease(object),
        "secrets" => set(object, &[("type", json!("Opaque"))]),
        "deployments" => deployment(object),
        "daemonsets" => daemon_set(object),
        "replicasets" | "statefulsets" => {
            default(child(object, "spec"), "replicas", 1);
            workload(object)
        }
        _ => Vec::new(),
    }
}

/// What the server keeps of a status, and of other structures, even where nobody wrote any.
pub(super) fn fill_empty(resource: &Resource, object: &mut Value) {
    match resource.plural {
        "services" => service::fill_status(object),
        "deployments" => drop(child(object, "status")),
        "events" => {
            child(object, "source");
            for name in ["reportingComponent", "reportingInstance"] {
                map(object).entry(name).or_insert_with(|| "".into());
            }
        }
        "endpointslices" => {
            for endpoint in map(object).get_mut("endpoints").and_then(Value::as_array_mut).into_iter().flatten() {
                child(endpoint, "conditions");
            }
        }
        _ => {}
    }
}

/// What is checked of a write to the status alone.
pub(super) fn check_status(resource: &Resource, object: &Value, old: &Value) -> Vec<Cause> {
    if resource.is("", "nodes") {
        return node::check(object, Some(old));
    }
    let ingress = items(object, &["status", "loadBalancer", "ingress"]);
    if resource.is("", "services") && !ingress.is_empty() && text(object, &["spec", "type"]) != "LoadBalancer" {
        let detail = "may only be used when `spec.type` is LoadBalancer";
        return vec![Cause::forbidden("status.loadBalancer.ingress", detail)];
    }
    Vec::new()
}

fn set(object: &mut Value, values: &[(&str, Value)]) -> Vec<Cause> {
    for (key, value) in values {
        default(map(object), key, value.clone());
    }
    Vec::new()
}

fn pod(pod: &mut Value, old: Option<&Value>) -> Vec<Cause> {
    if old.is_none() {
        child(pod, "status").insert("phase".into(), "Pending".into());
        child(pod, "status").insert("qosClass".into(), "BestEffort".into());
    }
    pod_spec(child(pod, "spec"));
    if items(pod, &["spec", "containers"]).is_empty() {
        return vec![Cause::required("spec.containers", "")];
    }
    Vec::new()
}

fn pod_spec(spec: &mut serde_json::Map<String, Value>) {
    default(spec, "restartPolicy", "Always");
    default(spec, "dnsPolicy", "ClusterFirst");
    default(spec, "schedulerName", "default-scheduler");
    default(spec, "terminationGracePeriodSeconds", 30);
    default(spec, "securityContext", json!({}));
    for container in spec.get_mut("containers").and_then(Value::as_array_mut).into_iter().flatten() {
        let latest = {
            let image = text(container, &["image"]);
            image.ends_with(":latest") || !image.rsplit('/').next().unwrap_or_default().contains([':', '@'])
        };
        let container = map(container);
        default(container, "imagePullPolicy", if latest { "Always" } else { "IfNotPresent" });
        default(container, "resources", json!({}));
        default(container, "terminationMessagePath", "/dev/termination-log");
        default(container, "terminationMessagePolicy", "File");
        for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            default(map(port), "protocol", "TCP");
        }
    }
}

fn namespace(namespace: &mut Value) -> Vec<Cause> {
    let name = super::object::name(namespace).to_owned();
    let metadata = super::object::metadata(namespace);
    let labels = map(metadata.entry("labels").or_insert_with(|| json!({})));
    labels.insert("kubernetes.io/metadata.name".into(), name.into());
    default(child(namespace, "spec"), "finalizers", json!(["kubernetes"]));
    default(child(namespace, "status"), "phase", "Active");
    Vec::new()
}

fn slice(slice: &mut Value) -> Vec<Cause> {
    for port in map(slice).get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let port = map(port);
        default(port, "protocol", "TCP");
        port.entry("name").or_insert_with(|| "".into());
    }
    let kind = at(slice, &["addressType"]);
    let known = ["IPv4", "IPv6", "FQDN"];
    let mut causes = Vec::new();
    if kind.as_str().is_none_or(str::is_empty) {
        causes.push(Cause::required("addressType", ""));
    } else if !known.contains(&kind.as_str().unwrap_or_default()) {
        causes.push(Cause::unsupported("addressType", kind, &known));
    }
    for (index, endpoint) in items(slice, &["endpoints"]).iter().enumerate() {
        if items(endpoint, &["addresses"]).is_empty() {
            causes.push(Cause::required(format!("endpoints[{index}].addresses"), "must contain at least 1 address"));
        }
    }
    causes
}

fn lease(lease: &mut Value) -> Vec<Cause> {
    let seconds = at(lease, &["spec", "leaseDurationSeconds"]);
    if seconds.as_i64().is_some_and(|s| s <= 0) {
        return vec![Cause::invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")];
    }
    Vec::new()
}

fn deployment(deployment: &mut Value) -> Vec<Cause> {
    let spec = child(deployment, "spec");
    default(spec, "replicas", 1);
    default(spec, "revisionHistoryLimit", 10);
    default(spec, "progressDeadlineSeconds", 600);
    let strategy = map(spec.entry("strategy").or_insert_with(|| json!({})));
    default(strategy, "type", "RollingUpdate");
    if strategy.get("type").is_some_and(|t| t == "RollingUpdate") {
        default(strategy, "rollingUpdate", json!({ "maxSurge": "25%", "maxUnavailable": "25%" }));
    }
    workload(deployment)
}

fn daemon_set(set: &mut Value) -> Vec<Cause> {
    let spec = child(set, "spec");
    default(spec, "revisionHistoryLimit", 10);
    default(
        spec,
        "updateStrategy",
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 0, "maxUnavailable": 1 } }),
    );
    workload(set)
}

/// What all kinds with a pod template have in common.
fn workload(object: &mut Value) -> Vec<Cause> {
    let template = map(child(object, "spec").entry("template").or_insert_with(|| json!({})));
    pod_spec(map(template.entry("spec").or_insert_with(|| json!({}))));
    let mut causes = Vec::new();
    let selector = at(object, &["spec", "selector"]);
    if selector.as_object().is_none_or(serde_json::Map::is_empty) {
        causes.push(Cause::required("spec.selector", ""));
    }
    let labels = at(object, &["spec", "template", "metadata", "labels"]);
    let unmatched = |(key, value): (&String, &Value)| at(labels, &[key.as_str()]) != value;
    if at(selector, &["matchLabels"]).as_object().into_iter().flatten().any(unmatched) {
        let detail = "`selector` does not match template `labels`";
        causes.push(Cause::invalid("spec.template.metadata.labels", labels, detail));
    }
    causes
}
