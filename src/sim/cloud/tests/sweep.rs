//! Every action with good, bad and missing parameters: whatever comes, the answer has the
//! cloud's shape, and a refused call changes nothing.

use axum::body::{Body, to_bytes};
use http::Request;
use proptest::prelude::*;
use serde_json::Value;

use super::Client;
use crate::sim::cloud::{
    Call,
    contract::{Action, Contract, Kind, Shape},
};

/// A value of that shape: of the first choice, or of the wanted kind.
fn value(name: &str, shape: &Shape, wild: &str) -> String {
    if let Some(choice) = shape.choices.as_ref().and_then(|choices| choices.first()) {
        return choice.clone();
    }
    if shape.json {
        return format!("[{{\"ServerId\":\"{wild}\",\"Port\":80,\"TagKey\":\"{wild}\",\"entry\":\"10.0.0.0/8\"}}]");
    }
    match (shape.kind, name) {
        (_, "RegionId") => "cn-hangzhou".to_owned(),
        (_, "VpcId") => "vpc-bp1sim".to_owned(),
        (_, "VSwitchId") => "vsw-bp1simh".to_owned(),
        (_, "RouteTableId") => "vtb-bp1sim".to_owned(),
        (_, "InstanceId" | "NextHopId" | "NextHop") => "i-bp1node0001".to_owned(),
        (_, "DestinationCidrBlock" | "DstCidrBlock") => "172.16.0.0/24".to_owned(),
        (Kind::Integer | Kind::Number, _) => "1".to_owned(),
        (Kind::Boolean, _) => "true".to_owned(),
        _ => wild.to_owned(),
    }
}

/// All parameters of an action, or the required ones.
fn params(action: &Action, all: bool, wild: &str) -> Vec<(String, String)> {
    let mut params = Vec::new();
    for (name, shape) in action.params.iter().filter(|(_, shape)| all || shape.required) {
        flatten(name, name, shape, wild, &mut params);
    }
    // Checked apart: it refuses every good call.
    params.retain(|(name, _)| name != "DryRun" && name != "RegionId");
    params
}

fn flatten(path: &str, name: &str, shape: &Shape, wild: &str, params: &mut Vec<(String, String)>) {
    match (shape.kind, &shape.items, &shape.fields) {
        (Kind::Array, Some(items), _) => flatten(&format!("{path}.1"), name, items, wild, params),
        (Kind::Object, _, Some(fields)) if !shape.json => {
            for (field, inner) in fields {
                flatten(&format!("{path}.{field}"), field, inner, wild, params);
            }
        }
        _ => params.push((path.to_owned(), value(name, shape, wild))),
    }
}

fn snapshot(client: &Client) -> Value {
    client.cloud.with_state(|state| serde_json::to_value(state).unwrap())
}

async fn sweep(all: bool, wild: &str) {
    let client = Client::new();
    for action in Contract::get().actions().filter(|action| action.auth.is_none()) {
        let name = format!("{}.{}", action.product, action.name);
        let params = params(action, all, wild);
        let params: Vec<(&str, &str)> = params.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let before = snapshot(&client);
        let answer = client.call(&name, &params).await;
        assert!(answer.status < 500, "{name}: {}", answer.body);
        if answer.status != 200 {
            assert_eq!(
                snapshot(&client),
                before,
                "{name} was refused with {} and yet changed something",
                answer.code()
            );
        } else if client.cloud.calls().last().is_some_and(Call::is_read) {
            assert_eq!(snapshot(&client), before, "{name} reads and yet changed something");
        }
    }
    assert_eq!(client.cloud.contract_breaches(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn required_parameters_alone() {
    sweep(false, "x").await;
}

#[tokio::test(start_paused = true)]
async fn every_parameter() {
    sweep(true, "x").await;
}

#[tokio::test(start_paused = true)]
async fn every_parameter_with_strange_text() {
    sweep(true, "\u{0}'\"<&>%2F 中🐴-1.5e9").await;
}

#[tokio::test(start_paused = true)]
async fn no_parameters_at_all() {
    let client = Client::new();
    for action in Contract::get().actions().filter(|action| action.auth.is_none()) {
        let answer = client.call(&format!("{}.{}", action.product, action.name), &[]).await;
        let required = action.params.iter().any(|(name, shape)| shape.required && name != "RegionId");
        assert!(!required || answer.code() == "MissingParameter", "{}: {}", action.name, answer.body);
        assert!(answer.status < 500);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn arbitrary_requests_get_the_clouds_error_shape(
        method in prop::sample::select(vec!["GET", "POST", "PUT", "DELETE"]),
        path in "[/a-z]{0,12}",
        query in "[ -~&&[^#<>\"`{}\\\\^| ]]{0,80}",
        body in prop::collection::vec(any::<u8>(), 0..200),
        authorization in prop::option::of("(ACS3-HMAC-SHA256 )?[!-~]{0,60}"),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = Client::new();
            let uri = format!("/{}?{query}", path.trim_start_matches('/'));
            let Ok(uri) = uri.parse::<http::Uri>() else { return };
            prop_assume_path(&uri);
            let mut request = Request::builder().method(method).uri(uri);
            if let Some(authorization) = &authorization {
                request = request.header("authorization", authorization);
            }
            let response = client.send(request.body(Body::from(body)).unwrap()).await;
            assert!(response.status().is_client_error());
            let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
            let body: Value = serde_json::from_slice(&bytes).unwrap();
            assert!(body["Code"].is_string() && body["Message"].is_string() && body["RequestId"].is_string());
        });
    }
}

/// The paths of the metadata server and the control API cannot come up by chance.
fn prop_assume_path(uri: &http::Uri) {
    assert!(!uri.path().starts_with("/latest/") && !uri.path().starts_with("/_sim"));
}
