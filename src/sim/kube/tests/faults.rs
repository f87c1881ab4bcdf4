//! Trouble on request, and the log of what was asked.

use std::time::Duration;

use http::Method;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{
    Api, Error,
    api::{ListParams, PostParams},
};
use tokio::time::Instant;

use super::{kube, node, service};
use crate::sim::kube::{Effect, Fault};

#[tokio::test(start_paused = true)]
async fn chosen_requests_are_refused_and_then_no_more() {
    let kube = kube();
    let nodes: Api<Node> = Api::all(kube.client());
    kube.inject(Fault::on("/api/v1/nodes", Effect::Status(500)).method(Method::POST).times(2));
    for _ in 0..2 {
        let Err(Error::Api(status)) = nodes.create(&PostParams::default(), &node("n1")).await else {
            panic!("not refused");
        };
        assert_eq!((status.code, status.reason.as_str()), (500, "InternalError"));
        nodes.list(&ListParams::default()).await.unwrap();
    }
    nodes.create(&PostParams::default(), &node("n1")).await.unwrap();
    let log: Vec<_> = kube.requests().into_iter().map(|r| (r.method, r.path, r.status)).collect();
    let entry = |method: Method, status| (method, "/api/v1/nodes".to_owned(), status);
    assert_eq!(
        log,
        [
            entry(Method::POST, 500),
            entry(Method::GET, 200),
            entry(Method::POST, 500),
            entry(Method::GET, 200),
            entry(Method::POST, 201),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_leaves_the_write_done_and_a_refused_connection_does_not() {
    let kube = kube();
    let services: Api<Service> = Api::default_namespaced(kube.client());
    kube.inject(Fault::on("/api/v1/namespaces/default/services", Effect::Refuse));
    assert!(!matches!(services.create(&PostParams::default(), &service("a")).await, Ok(_) | Err(Error::Api(_))));
    assert_eq!(kube.get::<Service>("default", "a"), None);
    kube.inject(Fault::on("/api/v1/namespaces/default/services", Effect::LoseAnswer));
    assert!(!matches!(services.create(&PostParams::default(), &service("a")).await, Ok(_) | Err(Error::Api(_))));
    assert!(kube.get::<Service>("default", "a").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_delay_takes_simulated_time() {
    let kube = kube();
    let nodes: Api<Node> = Api::all(kube.client());
    kube.inject(Fault::on("/api/v1/nodes", Effect::Delay(Duration::from_secs(40))));
    let start = Instant::now();
    nodes.list(&ListParams::default()).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(40));
}
