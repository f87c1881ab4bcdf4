//! The `scale` subresource: the replica count of a workload as an `autoscaling/v1 Scale`.

use serde_json::{Value, json};

use super::{
    failure::Failure,
    object::{at, child, text},
    store::Store,
    write::{Options, Part, Target},
};

/// The scale of a workload.
pub(super) fn read(workload: &Value) -> Value {
    let metadata = at(workload, &["metadata"]);
    let labels = at(workload, &["spec", "selector", "matchLabels"]).as_object().into_iter().flatten();
    let selector: Vec<String> = labels.map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or_default())).collect();
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
            "creationTimestamp": metadata["creationTimestamp"],
        },
        "spec": { "replicas": at(workload, &["spec", "replicas"]).as_i64().unwrap_or_default() },
        "status": {
            "replicas": at(workload, &["status", "replicas"]).as_i64().unwrap_or_default(),
            "selector": selector.join(","),
        },
    });
    // 0 is left out, as all that is empty.
    child(&mut scale, "spec").retain(|_, replicas| *replicas != 0);
    scale
}

/// Sets the replica count that `scale` asks for.
pub(super) fn write(store: &mut Store, target: Target<'_>, scale: &Value, options: Options) -> Result<Value, Failure> {
    let replicas = match at(scale, &["spec", "replicas"]) {
        Value::Null => Some(0),
        replicas => replicas.as_i64().filter(|r| *r >= 0),
    };
    let replicas = replicas.ok_or_else(|| Failure::bad_request("spec.replicas must be greater than or equal to 0"))?;
    let mut workload = Value::clone(&*store.get(target)?);
    child(&mut workload, "spec").insert("replicas".into(), replicas.into());
    let version = text(scale, &["metadata", "resourceVersion"]);
    if !version.is_empty() {
        child(&mut workload, "metadata").insert("resourceVersion".into(), version.into());
    }
    store.update(target, Part::Main, workload, options).map(|w| read(&w))
}
