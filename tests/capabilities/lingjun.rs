//! Nodes on Lingjun machines: deleted when their machine is gone, and kept whatever else goes wrong.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use ccm::alibaba::rpc::{InProcess, Reached, Transport, TransportError};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::{Stage, play};

const HOST: &str = "eflo-controller-vpc.cn-hangzhou.aliyuncs.com";
const LABEL: &str = "alibabacloud.com/lingjun-worker";

/// What goes wrong with all questions about machines.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trouble {
    Denied,
    Throttled,
    Failing,
    Hanging,
    Losing,
    Malformed,
    Empty,
    /// About another machine than was asked for.
    Mistaken,
    /// Of another region, or another account, that has none of them.
    Elsewhere,
}

/// The product that has the machines, which the simulated cloud has not; the rest goes there.
struct Lingjun {
    cloud: InProcess,
    machines: Mutex<BTreeSet<String>>,
    trouble: Mutex<Option<Trouble>>,
    asked: Mutex<Vec<String>>,
}

// === impl Lingjun ===

impl Lingjun {
    fn answer(&self, id: &str) -> (u16, Value) {
        let refusal = |status, code: &str| (status, json!({ "RequestId": "r", "Code": code, "Message": "no" }));
        match *self.trouble.lock() {
            Some(Trouble::Denied) => refusal(403, "NoPermission"),
            Some(Trouble::Throttled) => refusal(400, "Throttling.User"),
            Some(Trouble::Failing) => refusal(500, "InternalError"),
            Some(Trouble::Empty) => (200, json!({})),
            Some(Trouble::Mistaken) => (200, json!({ "RequestId": "r", "NodeId": "e01-cn-other" })),
            Some(Trouble::Elsewhere) => refusal(404, "RESOURCE_NOT_FOUND"),
            _ if self.machines.lock().contains(id) => (200, json!({ "RequestId": "r", "NodeId": id })),
            _ => refusal(404, "RESOURCE_NOT_FOUND"),
        }
    }
}

#[async_trait]
impl Transport for Lingjun {
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        if request.uri().host() != Some(HOST) {
            return self.cloud.send(request).await;
        }
        let form = String::from_utf8(request.body().to_vec()).unwrap();
        let field = |name: &str| form.split('&').find_map(|pair| pair.strip_prefix(name)).unwrap().to_owned();
        assert_eq!((field("Action=").as_str(), field("Version=").as_str()), ("DescribeNode", "2022-12-15"));
        let id = field("NodeId=");
        self.asked.lock().push(id.clone());
        let trouble = *self.trouble.lock();
        match trouble {
            Some(Trouble::Hanging) => tokio::time::sleep(Duration::from_secs(3600)).await,
            Some(Trouble::Losing) => return Err(TransportError::new("connection reset", Reached::Maybe)),
            _ => {}
        }
        let (status, body) = self.answer(&id);
        let mut body = body.to_string();
        if trouble == Some(Trouble::Malformed) {
            body.truncate(body.len() / 2);
        }
        Ok(http::Response::builder().status(status).body(body.into()).unwrap())
    }
}

/// A node on the machine with this number, as it registers.
fn join(stage: &Stage, lingjun: &Lingjun, number: u32) -> String {
    let id = format!("e01-cn-{number}");
    lingjun.machines.lock().insert(id.clone());
    let mut node = stage.world.node(&id, Some(&id), number);
    node.metadata.labels.get_or_insert_default().insert(LABEL.to_owned(), "true".to_owned());
    stage.world.kube.create(&node).unwrap();
    stage.world.set_ready(&id, "True").unwrap();
    id
}

fn trouble(kind: Trouble) {
    play(move |stage| async move {
        let lingjun = Arc::new(Lingjun {
            cloud: InProcess::new(stage.cloud().router()),
            machines: Mutex::default(),
            trouble: Mutex::default(),
            asked: Mutex::default(),
        });
        let _replica = stage.start_over(lingjun.clone(), &["--leader-elect=false"], json!({}));
        stage.joined(2).await;
        let nodes: Vec<String> = (1..=4).map(|number| join(&stage, &lingjun, number)).collect();
        stage.pass(Duration::from_secs(600)).await;
        for node in &nodes {
            assert_eq!(crate::support::taints(&stage.node(node).unwrap()), Vec::<String>::new(), "{node}");
        }
        assert_eq!(*lingjun.asked.lock(), Vec::<String>::new(), "nobody asks while all are Ready");

        *lingjun.trouble.lock() = Some(kind);
        lingjun.machines.lock().remove(&nodes[1]);
        stage.world.set_ready(&nodes[1], "Unknown").unwrap();
        stage.world.set_ready(&nodes[2], "Unknown").unwrap();
        stage.pass(Duration::from_secs(1200)).await;
        assert!(nodes.iter().all(|node| stage.node(node).is_some()), "{kind:?}: a Node was deleted");
        assert!(!lingjun.asked.lock().is_empty());

        *lingjun.trouble.lock() = None;
        stage.pass(Duration::from_secs(360)).await;
        let there: Vec<bool> = nodes.iter().map(|node| stage.node(node).is_some()).collect();
        assert_eq!(there, [true, false, true, true], "{kind:?}");
        assert_eq!(stage.told(&nodes[1]).iter().filter(|(reason, _)| reason == "DeletedNode").count(), 1);
    });
}

#[test]
fn a_node_goes_with_its_machine_and_no_trouble_with_asking_deletes_one() {
    for kind in [
        Trouble::Denied,
        Trouble::Throttled,
        Trouble::Failing,
        Trouble::Hanging,
        Trouble::Losing,
        Trouble::Malformed,
        Trouble::Empty,
        Trouble::Mistaken,
        Trouble::Elsewhere,
    ] {
        trouble(kind);
    }
}

#[test]
fn the_policy_that_comes_along_allows_to_ask() {
    assert!(include_str!("../../config/ram-policies/node.json").contains("\"eflo:DescribeNode\""));
}
