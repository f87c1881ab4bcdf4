use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;

use super::Kube;
use crate::{clock::Clock, entropy::Entropy};

fn kube() -> Kube {
    let epoch: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    Kube::new(Clock::simulated(epoch), Entropy::seeded(1))
}

#[tokio::test(start_paused = true)]
async fn a_client_without_a_socket_creates_reads_and_patches() {
    let kube = kube();
    let services: Api<Service> = Api::default_namespaced(kube.client());
    let service: Service = serde_json::from_value(json!({
        "metadata": { "name": "web" },
        "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
    }))
    .unwrap();
    let created = services.create(&PostParams::default(), &service).await.unwrap();
    let spec = created.spec.unwrap();
    assert_eq!(spec.cluster_ip.as_deref(), Some("10.96.0.17"));
    assert_eq!(spec.ports.unwrap()[0].node_port, Some(30001));
    let patch = json!({ "status": { "loadBalancer": { "ingress": [{ "ip": "47.0.0.1" }] } } });
    services.patch_status("web", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    let service: Service = kube.get("default", "web").unwrap();
    let ingress = service.status.unwrap().load_balancer.unwrap().ingress.unwrap();
    assert_eq!(ingress[0].ip.as_deref(), Some("47.0.0.1"));
    assert!(kube.list::<Node>().is_empty());
}
