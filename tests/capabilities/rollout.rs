//! S03: a Deployment's rolling update, with a load balancer that takes its time to register pods.

use std::{collections::BTreeSet, time::Duration};

use ccm::sim::cloud::{Fault, FaultKind};
use k8s_openapi::api::{core::v1::Pod, discovery::v1::EndpointSlice};
use serde_json::{Value, json};

use crate::{
    pods::{addresses, gate, gated_pod, registered},
    support::{Stage, play},
};

const BACKEND_TYPE: &str = "service.beta.kubernetes.io/backend-type";

/// How a pod stands in the slice.
#[derive(Clone, Copy, PartialEq)]
enum Is {
    Starting,
    Ready,
    /// It still answers, and will not for long.
    Leaving,
}

fn slice(stage: &Stage, pods: &[(Pod, String, Is)]) {
    let endpoint = |(pod, address, is): &(Pod, String, Is)| {
        let conditions =
            json!({ "ready": *is == Is::Ready, "serving": *is != Is::Starting, "terminating": *is == Is::Leaving });
        let meta = &pod.metadata;
        let target = json!({ "kind": "Pod", "name": meta.name, "namespace": "default", "uid": meta.uid });
        json!({ "addresses": [address], "conditions": conditions, "targetRef": target })
    };
    let endpoints: Vec<Value> = pods.iter().map(endpoint).collect();
    let slice = json!({
        "metadata": { "name": "web", "namespace": "default", "labels": { "kubernetes.io/service-name": "web" } },
        "addressType": "IPv4", "endpoints": endpoints, "ports": [{ "name": "", "port": 8080, "protocol": "TCP" }],
    });
    let slice: EndpointSlice = serde_json::from_value(slice).unwrap();
    let replaced = stage.world.kube.modify::<EndpointSlice>("default", "web", |there| {
        there.endpoints.clone_from(&slice.endpoints);
    });
    if replaced.is_err() {
        stage.world.kube.create(&slice).unwrap();
    }
}

fn members(stage: &Stage) -> BTreeSet<String> {
    stage.all_groups().iter().flat_map(|group| &group.servers).map(|server| server.ip.clone()).collect()
}

#[test]
fn a_rolling_update_waits_for_a_slow_registration_and_no_pod_goes_before_its_successor_serves() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let all = addresses(&stage, 4);
        let pod = |number: usize| gated_pod(&stage, &format!("web-{number}"), &all[number], &["web"]);
        let mut pods: Vec<(Pod, String, Is)> = (0..2).map(|n| (pod(n), all[n].clone(), Is::Ready)).collect();
        slice(&stage, &pods);
        let prefix = crate::support::clb::PREFIX;
        let (drain, timeout) = (format!("{prefix}connection-drain"), format!("{prefix}connection-drain-timeout"));
        let spec = json!({
            "type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{ "port": 80, "targetPort": 8080 }],
        });
        stage.expose("web", &[(BACKEND_TYPE, "eni"), (&drain, "on"), (&timeout, "30")], spec);
        stage.until("two members", || (members(&stage).len() == 2).then_some(())).await;
        stage.pass(Duration::from_secs(20)).await;
        let listener = stage.only_listener().unwrap();
        let drains = ["ConnectionDrain", "ConnectionDrainTimeout"].map(|setting| listener.setting(setting));
        assert_eq!(drains, [Some("on"), Some("30")], "the cloud lets connections to who leaves end");

        stage.cloud().inject(Fault::on("slb.AddVServerGroupBackendServers", FaultKind::Slow(Duration::from_secs(8))));
        for number in 2..4 {
            // maxSurge 1, maxUnavailable 0: a new one comes, and is not ready without its gate.
            let name = format!("web-{number}");
            pods.push((pod(number), all[number].clone(), Is::Starting));
            slice(&stage, &pods);
            let mut waited = 0;
            while gate(&stage, &name, "web").is_none() {
                assert!(pods[..2].iter().all(|(_, old, is)| *is != Is::Ready || members(&stage).contains(old)));
                stage.pass(Duration::from_millis(100)).await;
                waited += 1;
                assert!(waited < 200, "it is never told");
            }
            assert_eq!(gate(&stage, &name, "web"), Some(registered()));
            assert!(waited >= 80, "told after {waited} tenths of a second, and it takes eight seconds");
            assert!(members(&stage).contains(&all[number]), "it was told, and it is no member");
            assert_eq!(members(&stage).len(), 3, "the one that it replaces still is one");
            // Now that it is ready, one of the old may go.
            let (leaving, successor) = (number - 2, pods.len() - 1);
            pods[successor].2 = Is::Ready;
            pods[leaving].2 = Is::Leaving;
            slice(&stage, &pods);
            for _ in 0..50 {
                stage.pass(Duration::from_millis(100)).await;
                assert!(members(&stage).len() >= 2, "{:?}", members(&stage));
            }
            assert!(!members(&stage).contains(&all[leaving]), "it leaves while it still answers");
        }
        pods.drain(..2);
        slice(&stage, &pods);
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(members(&stage), all[2..].iter().cloned().collect());
        // Where all are on their way out, those that still answer are better than nobody.
        for pod in &mut pods {
            pod.2 = Is::Leaving;
        }
        slice(&stage, &pods);
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(members(&stage), all[2..].iter().cloned().collect());
        assert_eq!(stage.failures("web"), Vec::<String>::new());
    });
}
