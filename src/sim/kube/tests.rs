mod faults;
mod objects;
mod watching;
mod wire;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{Api, api::PostParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Kube;
use crate::{clock::Clock, entropy::Entropy};

fn kube() -> Kube {
    let epoch: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    Kube::new(Clock::simulated(epoch), Entropy::seeded(1))
}

fn of<K: DeserializeOwned>(object: Value) -> K {
    serde_json::from_value(object).unwrap()
}

fn service(name: &str) -> Service {
    of(json!({ "metadata": { "name": name }, "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] } }))
}

fn node(name: &str) -> Node {
    of(json!({ "metadata": { "name": name, "labels": { "name": name } } }))
}

/// Creates through HTTP.
async fn post(kube: &Kube, service: &Service) -> Service {
    let services: Api<Service> = Api::default_namespaced(kube.client());
    services.create(&PostParams::default(), service).await.unwrap()
}
