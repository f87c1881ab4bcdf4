//! Where the cloud's API is, and what is needed to get there.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use ccm::alibaba::rpc::{InProcess, Reached, Transport, TransportError};
use parking_lot::Mutex;
use serde_json::json;

use crate::support::{Stage, host::Host, play};

const LONE: &[&str] = &["--leader-elect=false"];
const METADATA: &str = "100.100.100.200";
const INTRANET: [(&str, &str); 1] =
    [("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-address-type", "intranet")];

/// The network: notes which hosts are asked for, and cannot reach some of them.
struct Network {
    cloud: InProcess,
    hosts: Mutex<BTreeSet<String>>,
    metadata: AtomicBool,
    unknown: &'static str,
}

impl Network {
    fn of(stage: &Stage, metadata: bool, unknown: &'static str) -> Arc<Self> {
        let cloud = InProcess::new(stage.cloud().router());
        Arc::new(Self { cloud, hosts: Mutex::default(), metadata: AtomicBool::new(metadata), unknown })
    }
}

#[async_trait]
impl Transport for Network {
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        let host = request.uri().authority().unwrap().to_string();
        self.hosts.lock().insert(host.clone());
        if host == METADATA && !self.metadata.load(Ordering::Relaxed) {
            return Err(TransportError::new("no route to host", Reached::Never));
        }
        if !self.unknown.is_empty() && host.contains(self.unknown) {
            return Err(TransportError::new("dns error: no such host", Reached::Never));
        }
        self.cloud.send(request).await
    }
}

#[test]
fn with_region_vpc_and_key_configured_no_metadata_server_is_needed() {
    play(|stage| async move {
        let network = Network::of(&stage, false, "");
        let _replica = stage.start_over(network.clone(), LONE, json!({ "vswitchid": null }));
        let nodes = stage.joined(2).await;
        stage.expose_web();
        stage.address("web").await;
        // What only the metadata server could tell is asked for, and told if it is needed.
        stage.expose("inner", &INTRANET, json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
        stage
            .until("an event that names what is missing", || {
                stage.told("inner").iter().any(|(_, text)| text.contains("vswitchid")).then_some(())
            })
            .await;
        let instance = nodes[0].split_once('.').map(|(_, instance)| instance.to_owned());
        stage.cloud().with_state(|state| state.metadata_instance = instance);
        network.metadata.store(true, Ordering::Relaxed);
        stage.pass(Duration::from_secs(400)).await;
        stage.address("inner").await;
    });
}

#[test]
fn with_everything_configured_the_metadata_server_is_not_even_asked() {
    play(|stage| async move {
        let network = Network::of(&stage, false, "");
        let _replica = stage.start_over(network.clone(), LONE, json!({}));
        stage.joined(1).await;
        let hosts = network.hosts.lock().clone();
        assert!(!hosts.contains(METADATA) && hosts.contains("ecs-vpc.cn-hangzhou.aliyuncs.com"), "{hosts:?}");
    });
}

#[test]
fn an_unknown_endpoint_inside_the_vpc_can_be_replaced_one_by_one_or_all_together() {
    for (flags, variable, expected) in [
        (&["--leader-elect=false"][..], Some("10.9.8.7:8443"), "10.9.8.7:8443"),
        (&["--leader-elect=false", "--network=public"][..], None, "slb.aliyuncs.com"),
    ] {
        play(|stage| async move {
            let network = Network::of(&stage, false, "slb-vpc.");
            let host = Host::with(json!({}));
            if let Some(endpoint) = variable {
                host.set("SLB_ENDPOINT", endpoint);
            }
            let _replica = stage.start_as(host.config(flags).unwrap(), network.clone());
            stage.joined(1).await;
            stage.expose_web();
            stage.address("web").await;
            let hosts = network.hosts.lock().clone();
            assert!(hosts.contains(expected), "{hosts:?}");
        });
    }
}

#[test]
fn an_endpoint_that_cannot_be_reached_is_told_with_its_name() {
    play(|stage| async move {
        let network = Network::of(&stage, false, "slb-vpc.");
        let _replica = stage.start_over(network, LONE, json!({}));
        stage.joined(1).await;
        stage.expose_web();
        stage
            .until("an event", || {
                let told = stage.told("web");
                told.iter()
                    .any(|(_, text)| text.contains("slb-vpc.cn-hangzhou.aliyuncs.com") && text.contains("no such host"))
                    .then_some(())
            })
            .await;
    });
}
