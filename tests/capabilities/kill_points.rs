//! The process is killed at each single call of a story, before the call has its effect and after
//! it, and started again; or it lives, and just never hears the answer. The end is the same as
//! without.

mod classic;
mod network;

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use ccm::alibaba::rpc::InProcess;
use k8s_openapi::api::core::v1::{Node, Service};
use serde_json::{Value, json};

use crate::support::{
    Replica, Stage, config,
    picture::picture,
    play_one_of_many,
    tripwire::{Fate, Tripwire},
};

const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";

/// Nobody to share with, and nothing but the story in the call log.
const FLAGS: &[&str] = &["--leader-elect=false", "--controllers=node,service,nlb"];

/// More than the waits between a pass that fails and those that put things right.
const SETTLED: Duration = Duration::from_secs(200);

/// What was there before.
type Before = for<'a> fn(&'a Stage) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

/// What is there in the end, and the calls that it took.
async fn end(stage: &Stage, before: Before, change: fn(&Stage), fate: Option<(usize, Fate)>) -> (Vec<String>, usize) {
    let wire = Tripwire::new(stage.world.cloud.router(), stage.world.kube.clone());
    let start = |client, transport| -> Replica {
        let keys = json!({ "featureGates": "LoadBalancerTypeAnnotation=true" });
        stage.start_between(client, transport, config(FLAGS, keys))
    };
    let replica = start(wire.client(), Arc::new(wire.clone()));
    stage.joined(2).await;
    before(stage).await;
    stage.pass(Duration::from_secs(30)).await;
    wire.arm(fate);
    change(stage);
    let died = tokio::select! {
        biased;
        () = wire.died() => true,
        () = stage.pass(SETTLED) => false,
    };
    assert_eq!(died, fate.is_some_and(|(_, fate)| fate != Fate::GoesUnheard));
    if died {
        replica.kill().await;
        let cloud = InProcess::new(stage.world.cloud.router());
        let again = start(stage.world.kube.client(), Arc::new(cloud));
        stage.pass(SETTLED).await;
        again.kill().await;
    } else {
        replica.kill().await;
    }
    (picture(stage), wire.calls())
}

/// Plays the story without trouble, and then with each trouble at each of its calls.
fn killed_anywhere(before: Before, change: fn(&Stage), check: fn(&[String])) {
    let mut expected = (Vec::new(), 0);
    play_one_of_many(1, false, |stage| {
        let expected = &mut expected;
        async move { *expected = end(&stage, before, change, None).await }
    });
    let (expected, calls) = expected;
    check(&expected);
    assert!(calls > 1, "nothing happened: {expected:#?}");
    for at in 0..calls {
        for fate in [Fate::DiesBefore, Fate::DiesAfter, Fate::GoesUnheard] {
            play_one_of_many(1, false, |stage| {
                let expected = &expected;
                async move {
                    let (found, _) = end(&stage, before, change, Some((at, fate))).await;
                    assert_eq!(
                        &found,
                        expected,
                        "call {at} of {calls}: {fate:?}\n{:#?}\n{:#?}",
                        stage.words(),
                        stage.told("web")
                    );
                }
            });
        }
    }
}

fn annotation(suffix: &str) -> String {
    format!("{PREFIX}{suffix}")
}

fn two_ports() -> Value {
    json!([{ "name": "web", "port": 80 }, { "name": "dns", "port": 53, "protocol": "UDP", "nodePort": 30053 }])
}

fn patch(stage: &Stage, patch: Value) {
    stage.world.kube.patch::<Service>("default", "web", patch).unwrap();
}

fn annotate(stage: &Stage, pairs: &[(&str, &str)]) {
    let pairs: serde_json::Map<String, Value> =
        pairs.iter().map(|(suffix, value)| (annotation(suffix), json!(value))).collect();
    patch(stage, json!({ "metadata": { "annotations": pairs } }));
}

/// A node is no member any more.
fn exclude_a_node(stage: &Stage) {
    let node = stage.world.kube.list::<Node>().remove(0).metadata.name.unwrap();
    let label = json!({ "metadata": { "labels": { "node.kubernetes.io/exclude-from-external-load-balancers": "" } } });
    stage.world.kube.patch::<Node>("", &node, label).unwrap();
}

fn delete(stage: &Stage) {
    stage.world.kube.delete::<Service>("default", "web").unwrap();
}

/// Fails unless each of the words stands in some line.
fn has(picture: &[String], words: &[&str]) {
    for word in words {
        assert!(picture.iter().any(|line| line.contains(word)), "{word} is missing in {picture:#?}");
    }
}
