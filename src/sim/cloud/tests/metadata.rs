use axum::body::{Body, to_bytes};
use http::Request;
use serde_json::Value;

use super::Client;

const TTL: &str = "x-aliyun-ecs-metadata-token-ttl-seconds";
const TOKEN: &str = "x-aliyun-ecs-metadata-token";

async fn ask(client: &Client, method: &str, path: &str, header: Option<(&str, &str)>) -> (u16, String) {
    let request = Request::builder().method(method).uri(format!("/latest/{path}"));
    let request = header.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    let response = client.send(request.body(Body::empty()).unwrap()).await;
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), 1 << 16).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn facts_are_read_without_a_token_unless_one_is_required() {
    let client = Client::new();
    assert_eq!(ask(&client, "GET", "meta-data/region-id", None).await, (200, "cn-hangzhou".to_owned()));
    assert_eq!(ask(&client, "GET", "meta-data/vpc-id", None).await, (200, "vpc-bp1sim".to_owned()));
    assert_eq!(ask(&client, "GET", "meta-data/no-such-thing", None).await.0, 404);
    let (_, listing) = ask(&client, "GET", "meta-data/", None).await;
    assert!(listing.lines().any(|line| line == "instance-id") && listing.lines().any(|line| line == "ram/"));
    client.cloud.with_state(|state| state.metadata_token_required = true);
    assert_eq!(ask(&client, "GET", "meta-data/region-id", None).await.0, 403);
}

#[tokio::test(start_paused = true)]
async fn tokens_live_as_long_as_was_asked() {
    let client = Client::new();
    assert_eq!(ask(&client, "PUT", "api/token", None).await.0, 400);
    assert_eq!(ask(&client, "PUT", "api/token", Some((TTL, "21601"))).await.0, 400);
    let (status, token) = ask(&client, "PUT", "api/token", Some((TTL, "60"))).await;
    assert_eq!(status, 200);
    assert_eq!(ask(&client, "GET", "meta-data/zone-id", Some((TOKEN, &token))).await.1, "cn-hangzhou-h");
    assert_eq!(ask(&client, "GET", "meta-data/zone-id", Some((TOKEN, "wrong"))).await.0, 401);
    client.wait(61_000).await;
    assert_eq!(ask(&client, "GET", "meta-data/zone-id", Some((TOKEN, &token))).await.0, 401);
    assert_eq!(ask(&client, "GET", "meta-data/zone-id", Some(("x-forwarded-for", "1.2.3.4"))).await.0, 403);
}

#[tokio::test(start_paused = true)]
async fn the_roles_key_signs_and_is_replaced_before_it_expires() {
    let mut client = Client::new();
    let (_, role) = ask(&client, "GET", "meta-data/ram/security-credentials/", None).await;
    assert_eq!(role, "KubernetesMasterRole");
    let path = format!("meta-data/ram/security-credentials/{role}");
    let key =
        async |client: &Client| -> Value { serde_json::from_str(&ask(client, "GET", &path, None).await.1).unwrap() };
    let first = key(&client).await;
    assert_eq!(key(&client).await, first, "readers share a key");
    let text = |key: &Value, name: &str| key[name].as_str().unwrap().to_owned();
    client.key = (text(&first, "AccessKeyId"), text(&first, "AccessKeySecret"));
    client.refused("ecs.DescribeRegions", &[], "MissingParameter").await;
    client.token = Some(text(&first, "SecurityToken"));
    let answer = client.ok("sts.GetCallerIdentity", &[]).await;
    assert_eq!(answer.text("/IdentityType"), "AssumedRoleUser");
    assert_eq!(client.cloud.calls().last().unwrap().caller.role.as_deref(), Some("KubernetesMasterRole"));
    client.wait(5 * 3_600_000 + 1_900_000).await;
    assert_ne!(key(&client).await["AccessKeyId"], first["AccessKeyId"]);
    client.ok("ecs.DescribeRegions", &[]).await;
    client.wait(1_800_000).await;
    client.refused("ecs.DescribeRegions", &[], "InvalidSecurityToken.Expired").await;
}

#[tokio::test(start_paused = true)]
async fn without_a_role_there_are_no_credentials() {
    let client = Client::new();
    client.cloud.with_state(|state| state.role = None);
    assert_eq!(ask(&client, "GET", "meta-data/ram/security-credentials/", None).await.0, 404);
}
