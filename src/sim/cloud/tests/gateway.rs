use std::time::Duration;

use axum::body::{Body, to_bytes};
use http::Request;

use super::Client;
use crate::sim::cloud::{DROP_HEADER, Fault, FaultKind, contract::Contract, gateway::handler};

#[tokio::test(start_paused = true)]
async fn malformed_requests_get_the_clouds_error_shape() {
    let client = Client::new();
    client.refused("slb.Nonsense", &[], "InvalidAction.NotFound").await;
    client.refused("slb.CreateLoadBalancer", &[("Nonsense", "1")], "InvalidParameter").await;
    client.refused("slb.DescribeLoadBalancerAttribute", &[], "MissingParameter").await;
    client.refused("slb.DescribeLoadBalancers", &[("PageSize", "ten")], "InvalidParameter").await;
    client.refused("slb.DescribeLoadBalancers", &[("RegionId", "mars-1")], "InvalidRegionId.NotFound").await;
    for (method, uri, body) in [("GET", "/", ""), ("POST", "/?Version=1999", "%%%&=&x"), ("PUT", "/x?Action=%ff", "{")]
    {
        let request = Request::builder().method(method).uri(uri).body(Body::from(body)).unwrap();
        let response = client.send(request).await;
        assert!(response.status().is_client_error(), "{method} {uri}");
        let body = to_bytes(response.into_body(), 1 << 16).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert!(body["Code"].is_string() && body["RequestId"].is_string(), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_without_end_is_not_read() {
    let client = Client::new();
    let request = Request::post("/").body(Body::from(vec![b'a'; 5 << 20])).unwrap();
    let response = client.send(request).await;
    assert_eq!(response.status(), 413);
    let body = to_bytes(response.into_body(), 1 << 16).await.unwrap();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert!(body["Code"].is_string() && body["RequestId"].is_string(), "{body}");
}

#[test]
fn every_action_of_the_contract_is_simulated() {
    let missing = Contract::get().actions().filter(|action| handler(&action.product, &action.name).is_none());
    let missing: Vec<String> = missing.map(|action| format!("{}.{}", action.product, action.name)).collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn faults_spoil_the_calls_they_name() {
    let client = Client::new();
    let create = &[("LoadBalancerSpec", "slb.s1.small")];
    let throttle = FaultKind::Throttle { retry_after: Some(Duration::from_millis(1500)) };
    client.cloud.inject(Fault::on("slb.CreateLoadBalancer", throttle).once());
    let response = client.raw("slb.CreateLoadBalancer", create).await;
    assert_eq!(response.status(), 400);
    assert_eq!(response.headers()["x-acs-retry-after"], "1500");
    assert_eq!(response.headers()["x-ratelimit-user-api"], "TimeLeft:1500");
    assert!(client.cloud.load_balancers().is_empty());

    client.cloud.inject(Fault::on("slb", FaultKind::DropAfter).once());
    let response = client.raw("slb.CreateLoadBalancer", create).await;
    assert_eq!(response.headers()[DROP_HEADER], "1");
    assert!(to_bytes(response.into_body(), 1 << 16).await.is_err(), "the connection breaks");
    assert_eq!(client.cloud.load_balancers().len(), 1, "and yet the load balancer is there");

    client.cloud.inject(Fault::on("*", FaultKind::DropBefore).after(1).once());
    client.ok("slb.DescribeLoadBalancers", &[]).await;
    assert_eq!(client.raw("slb.CreateLoadBalancer", create).await.headers()[DROP_HEADER], "1");
    assert_eq!(client.cloud.load_balancers().len(), 1);

    client.cloud.inject(Fault::on("ecs.DescribeInstances", FaultKind::EmptyList).once());
    let answer = client.ok("ecs.DescribeInstances", &[]).await;
    assert_eq!((answer.list("/Instances/Instance").len(), &answer.body["TotalCount"]), (0, &0.into()));
    client.cloud.inject(Fault::on("ecs.DescribeInstances", FaultKind::MissingPage).once());
    let answer = client.ok("ecs.DescribeInstances", &[]).await;
    assert_eq!((answer.list("/Instances/Instance").len(), &answer.body["TotalCount"]), (0, &3.into()));

    client.cloud.inject(Fault::on("ecs", FaultKind::TruncatedJson).once());
    let response = client.raw("ecs.DescribeInstances", &[]).await;
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    assert!(serde_json::from_slice::<serde_json::Value>(&body).is_err());

    client.cloud.inject(Fault::on("ecs", FaultKind::Denied).once());
    client.refused("ecs.DescribeInstances", &[], "Forbidden.RAM").await;

    let before = tokio::time::Instant::now();
    client.cloud.inject(Fault::on("ecs", FaultKind::Slow(Duration::from_secs(9))).once());
    client.ok("ecs.DescribeInstances", &[]).await;
    assert_eq!(before.elapsed(), Duration::from_secs(9));
    client.ok("ecs.DescribeInstances", &[]).await;
}

#[tokio::test(start_paused = true)]
async fn the_log_tells_what_was_called_and_keeps_no_secrets() {
    let client = Client::new();
    client.ok("slb.CreateLoadBalancer", &[("LoadBalancerSpec", "slb.s1.small"), ("LoadBalancerName", "a b")]).await;
    client
        .refused("slb.DescribeLoadBalancerAttribute", &[("LoadBalancerId", "lb-0")], "InvalidLoadBalancerId.NotFound")
        .await;
    let calls = client.cloud.calls();
    assert_eq!(calls[0].name(), "slb.CreateLoadBalancer");
    assert_eq!(calls[0].params["LoadBalancerName"], "a b");
    assert!(!calls[0].params.contains_key("Signature") && !calls[0].params.contains_key("AccessKeyId"));
    assert_eq!((calls[0].caller.access_key.as_str(), calls[0].user_agent.as_str()), ("testid", "sim-test"));
    assert_eq!((calls[0].status, calls[0].changed), (200, true));
    assert_eq!((calls[1].status, calls[1].code.as_deref()), (404, Some("InvalidLoadBalancerId.NotFound")));
    assert_eq!(client.cloud.call_counts()["slb.CreateLoadBalancer"], 1);
}

#[tokio::test(start_paused = true)]
async fn xml_is_spoken_on_request() {
    let client = Client::new();
    let response = client.raw("ecs.DescribeRegions", &[("Format", "XML")]).await;
    let body = to_bytes(response.into_body(), 1 << 16).await.unwrap();
    let body = String::from_utf8(body.to_vec()).unwrap();
    assert!(body.contains("<DescribeRegionsResponse>") && body.contains("<RegionId>cn-hangzhou</RegionId>"), "{body}");
}
