use axum::body::{Body, to_bytes};
use http::Request;

use super::Client;

const ROLE: (&str, &str) = ("RoleArn", "acs:ram::1234567890123456:role/ccm");

#[tokio::test(start_paused = true)]
async fn an_assumed_role_signs_until_it_expires() {
    let mut client = Client::new();
    client.refused("sts.AssumeRole", &[ROLE, ("RoleSessionName", "x")], "InvalidParameter").await;
    let foreign = ("RoleArn", "acs:ram::1:role/ccm");
    client.refused("sts.AssumeRole", &[foreign, ("RoleSessionName", "test")], "EntityNotExist.Role").await;
    let answer = client.ok("sts.AssumeRole", &[ROLE, ("RoleSessionName", "test"), ("DurationSeconds", "900")]).await;
    client.key = (answer.text("/Credentials/AccessKeyId"), answer.text("/Credentials/AccessKeySecret"));
    client.token = Some("CAISwrong".to_owned());
    client.refused("ecs.DescribeRegions", &[], "InvalidSecurityToken.MismatchWithAccessKey").await;
    client.token = Some("nonsense".to_owned());
    client.refused("ecs.DescribeRegions", &[], "InvalidSecurityToken.Malformed").await;
    client.token = Some(answer.text("/Credentials/SecurityToken"));
    let identity = client.ok("sts.GetCallerIdentity", &[]).await;
    assert_eq!(identity.text("/Arn"), "acs:ram::1234567890123456:assumed-role/ccm/test");
    client.wait(900_000).await;
    client.refused("ecs.DescribeRegions", &[], "InvalidSecurityToken.Expired").await;
}

#[tokio::test(start_paused = true)]
async fn oidc_needs_no_signature() {
    let client = Client::new();
    let ask = async |token: &str| {
        let query = format!(
            "/?Action=AssumeRoleWithOIDC&Version=2015-04-01&Format=JSON&Timestamp=2026-01-02T03:04:05Z&\
             RoleArn={}&OIDCProviderArn=acs:ram::1234567890123456:oidc-provider/ack&RoleSessionName=ccm&OIDCToken={token}",
            ROLE.1
        );
        let response = client.send(Request::post(query).body(Body::empty()).unwrap()).await;
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), 1 << 16).await.unwrap();
        (status, serde_json::from_slice::<serde_json::Value>(&body).unwrap())
    };
    let (status, body) = ask("head.body.signature").await;
    assert_eq!(status, 200, "{body}");
    assert!(body["Credentials"]["SecurityToken"].as_str().unwrap().starts_with("CAIS"));
    assert_eq!(ask("nonsense").await.1["Code"], "AuthenticationFail.OIDCToken.Invalid");
    assert!(!client.cloud.calls()[0].params.contains_key("OIDCToken"), "tokens stay out of the log");
}
