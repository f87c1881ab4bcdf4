use axum::body::{Body, to_bytes};
use http::Request;
use serde_json::{Value, json};

use super::Client;

async fn ask(client: &Client, method: &str, path: &str, body: Value) -> (u16, Value) {
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    let request = Request::builder().method(method).uri(format!("/_sim/{path}")).body(body).unwrap();
    let response = client.send(request).await;
    let status = response.status().as_u16();
    let bytes = to_bytes(response.into_body(), 1 << 24).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap())
}

#[tokio::test(start_paused = true)]
async fn faults_are_injected_listed_and_cleared() {
    let client = Client::new();
    let fault =
        json!({ "product": "ecs", "times": 1, "kind": { "error": { "status": 503, "code": "ServiceUnavailable" } } });
    assert_eq!(ask(&client, "POST", "faults", fault).await.0, 200);
    assert_eq!(ask(&client, "GET", "faults", Value::Null).await.1.as_array().unwrap().len(), 1);
    assert_eq!(client.refused("ecs.DescribeInstances", &[], "ServiceUnavailable").await.status, 503);
    client.ok("ecs.DescribeInstances", &[]).await;
    let documented = json!({ "times": 1, "kind": { "error": { "code": "ResourceNotFound.Listener" } } });
    ask(&client, "POST", "faults", documented).await;
    let params = [("LoadBalancerId", "lb-1"), ("ListenerPort", "80")];
    assert_eq!(
        client.refused("slb.DeleteLoadBalancerListener", &params, "ResourceNotFound.Listener").await.status,
        404
    );
    let slow = json!({ "kind": { "slow": "1.5s" } });
    assert_eq!(ask(&client, "POST", "faults", slow).await.0, 200);
    let throttle = json!({ "kind": { "throttle": { "retry_after": "2s" } } });
    assert_eq!(ask(&client, "POST", "faults", throttle).await.0, 200);
    assert_eq!(ask(&client, "DELETE", "faults", Value::Null).await.0, 200);
    client.ok("ecs.DescribeInstances", &[]).await;
    let (status, body) = ask(&client, "POST", "faults", json!({ "kind": "explode" })).await;
    assert!(status == 400 && body["error"].as_str().unwrap().contains("explode"), "{body}");
}

#[tokio::test(start_paused = true)]
async fn the_log_is_filtered_and_counted() {
    let client = Client::new();
    client.ok("slb.CreateLoadBalancer", &[("LoadBalancerSpec", "slb.s1.small")]).await;
    client.ok("slb.DescribeLoadBalancers", &[]).await;
    client.ok("ecs.DescribeInstances", &[]).await;
    let count = async |query: &str| ask(&client, "GET", query, Value::Null).await.1.as_array().unwrap().len();
    assert_eq!(count("calls").await, 3);
    assert_eq!(count("calls?product=slb").await, 2);
    assert_eq!(count("calls?changed=true").await, 1);
    assert_eq!(count("calls?last=1&caller=testid").await, 1);
    let (_, counters) = ask(&client, "GET", "counters", Value::Null).await;
    assert_eq!(counters["actions"]["slb.CreateLoadBalancer"], 1);
    assert_eq!(counters["logged_callers"]["testid"], 3);
    ask(&client, "DELETE", "calls", Value::Null).await;
    assert_eq!(count("calls").await, 0);
    assert_eq!(ask(&client, "GET", "breaches", Value::Null).await.1, json!([]));
}

#[tokio::test(start_paused = true)]
async fn the_world_is_shown_and_edited() {
    let client = Client::new();
    let (_, vpc) = ask(&client, "GET", "state/network/vpcs/vpc-bp1sim", Value::Null).await;
    assert_eq!(vpc["cidr"], "10.0.0.0/16");
    assert_eq!(ask(&client, "GET", "state/nothing", Value::Null).await.0, 404);
    let instance = json!({ "id": "i-new", "vswitch": "vsw-bp1simj", "tags": { "a": "b" } });
    assert_eq!(ask(&client, "POST", "instances", instance).await.1["private_ip"], "10.0.64.2");
    let change = json!({ "status": "Stopped", "private_ip": "10.0.64.99" });
    assert_eq!(ask(&client, "PATCH", "instances/i-new", change).await.0, 200);
    assert_eq!(ask(&client, "PATCH", "instances/i-new", json!({ "private_ip": "192.168.1.1" })).await.0, 400);
    let shown = client.ok("ecs.DescribeInstances", &[("InstanceIds", "[\"i-new\"]")]).await;
    assert_eq!(shown.text("/Instances/Instance/0/Status"), "Stopped");
    assert_eq!(shown.text("/Instances/Instance/0/VpcAttributes/PrivateIpAddress/IpAddress/0"), "10.0.64.99");
    assert_eq!(ask(&client, "DELETE", "instances/i-new", Value::Null).await.0, 200);
    assert_eq!(ask(&client, "DELETE", "instances/i-new", Value::Null).await.0, 404);
    let create = json!({ "LoadBalancerSpec": "slb.s1.small", "Bandwidth": 5 });
    let (_, made) = ask(&client, "POST", "actions/slb.CreateLoadBalancer", create).await;
    let id = made["LoadBalancerId"].as_str().unwrap().to_owned();
    let (status, body) = ask(&client, "POST", "actions/slb.CreateLoadBalancer", json!({ "Colour": 1 })).await;
    assert!(status == 400 && body["error"].as_str().unwrap().contains("Colour"));
    assert_eq!(ask(&client, "DELETE", &format!("load-balancers/{id}"), Value::Null).await.0, 200);
    assert_eq!(client.cloud.calls().len(), 1, "edits are not calls");
    assert_eq!(ask(&client, "PATCH", "keys/testid", json!({ "active": false })).await.0, 200);
    client.refused("ecs.DescribeInstances", &[], "InvalidAccessKeyId.Inactive").await;
    assert_eq!(ask(&client, "POST", "credentials/expire", Value::Null).await.0, 200);
    assert_eq!(ask(&client, "POST", "nonsense", Value::Null).await.0, 404);
    assert!(ask(&client, "GET", "", Value::Null).await.1.as_object().unwrap().len() > 10);
}

#[tokio::test(start_paused = true)]
async fn options_and_time_are_changed_in_flight() {
    let client = Client::slow();
    let change = json!({ "delays": { "route": "1h" }, "rates": [{ "actions": "ecs.*", "calls": 1, "window": "1m" }] });
    let (status, options) = ask(&client, "PATCH", "options", change).await;
    assert_eq!((status, &options["delays"]["route"]), (200, &json!("1h")));
    client.ok("ecs.DescribeInstances", &[]).await;
    client.refused("ecs.DescribeInstances", &[], "Throttling.User").await;
    let (status, body) = ask(&client, "PATCH", "options", json!({ "delays": { "colour": "1h" } })).await;
    assert!(status == 400 && body["error"].as_str().unwrap().contains("colour"));
    let route =
        [("RouteTableId", "vtb-bp1sim"), ("DestinationCidrBlock", "172.16.0.0/24"), ("NextHopId", "i-bp1node0001")];
    client.ok("vpc.CreateRouteEntry", &route).await;
    client.refused("vpc.DeleteRouteEntry", &route, "TaskConflict").await;
    ask(&client, "POST", "clock", json!({ "step": "1h" })).await;
    client.ok("vpc.DeleteRouteEntry", &route).await;
    ask(&client, "POST", "clock", json!({ "scale": 3600 })).await;
    client.wait(1_000).await;
    assert!(client.cloud.routes("vtb-bp1sim").is_empty(), "an hour passed in a second");
    assert_eq!(ask(&client, "POST", "clock", json!({ "scale": -1 })).await.0, 400);
    for what in ["pause", "fail", "resume"] {
        assert_eq!(ask(&client, "POST", &format!("jobs/{what}"), Value::Null).await.0, 200);
    }
    assert_eq!(ask(&client, "POST", "jobs/stop", Value::Null).await.0, 404);
}
