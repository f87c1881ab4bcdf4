use std::sync::Arc;

use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::*;
use crate::{
    alibaba::rpc::{Endpoints, testing::Script},
    clock::Clock,
};

fn clock() -> Clock {
    Clock::simulated("2026-01-02T03:04:05Z".parse().unwrap())
}

fn key() -> Value {
    json!({
        "AccessKeyId": "STS.id", "AccessKeySecret": "hush", "SecurityToken": "hush-token",
        "Expiration": "2026-01-02T04:04:05Z"
    })
}

fn is_the_key(credentials: &Credentials) {
    assert_eq!(credentials.access_key_id, "STS.id");
    assert_eq!(credentials.access_key_secret.expose_secret(), "hush");
    assert_eq!(credentials.security_token.as_ref().unwrap().expose_secret(), "hush-token");
    assert_eq!(credentials.expires.unwrap().to_string(), "2026-01-02T04:04:05Z");
}

#[tokio::test(start_paused = true)]
async fn a_role_is_assumed_with_the_key_that_is_there() {
    let script = Script::default();
    script.answer(200, &json!({"RequestId": "R", "Credentials": key()}));
    let source = AssumeRole::new(script.client(), "acs:ram::1:role/r", "ccm", Some("ext".to_owned()), clock());
    is_the_key(&source.credentials().await.unwrap());
    assert_eq!(
        script.only(),
        [
            "Action=AssumeRole",
            "ExternalId=ext",
            "RegionId=cn-hangzhou",
            "RoleArn=acs:ram::1:role/r",
            "RoleSessionName=ccm"
        ]
    );
    script.refuse(403, "NoPermission", "You are not authorized to do this action.");
    let error = source.credentials().await.unwrap_err().to_string();
    assert!(error.contains("an assumed role: AssumeRole on acs:ram::1:role/r: You are not authorized"), "{error}");
}

#[tokio::test]
async fn a_pod_token_is_read_anew_and_sent_without_a_signature() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "the-token\n").unwrap();
    let script = Script::default();
    script.answer(200, &json!({"RequestId": "R", "Credentials": key()}));
    let role = OidcRole {
        role_arn: "acs:ram::1:role/r".to_owned(),
        provider_arn: "acs:ram::1:oidc-provider/p".to_owned(),
        token_file: file.path().to_owned(),
        session_name: "ccm".to_owned(),
    };
    let endpoints = Endpoints::default();
    let source = Oidc::new(role, "cn-hangzhou".into(), endpoints, Arc::new(script.clone()), clock());
    is_the_key(&source.credentials().await.unwrap());
    let sent = &script.sent()[0];
    assert_eq!(sent.url, "https://sts-vpc.cn-hangzhou.aliyuncs.com/");
    let lines: Vec<_> = sent.form.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        lines,
        [
            "Action=AssumeRoleWithOIDC",
            "Format=JSON",
            "OIDCProviderArn=acs:ram::1:oidc-provider/p",
            "OIDCToken=the-token",
            "RoleArn=acs:ram::1:role/r",
            "RoleSessionName=ccm",
            "Timestamp=2026-01-02T03:04:05Z",
            "Version=2015-04-01",
        ]
    );

    std::fs::write(file.path(), "a-newer-token").unwrap();
    script.refuse(400, "AuthenticationFail.OIDCToken.Expired", "This OIDC token has expired.");
    let error = source.credentials().await.unwrap_err().to_string();
    assert_eq!(script.sent()[1].form["OIDCToken"], "a-newer-token");
    assert!(error.contains("This OIDC token has expired. (code AuthenticationFail.OIDCToken.Expired"), "{error}");
    assert!(!error.contains("newer"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_uri_hands_out_a_key() {
    let script = Script::default();
    let mut answer = key();
    answer["Code"] = "Success".into();
    script.answer(200, &answer).answer(200, &key()).answer_text(500, "hush").answer_text(200, "hush");
    let source = CredentialsUri::new("http://localhost/key?hush", Arc::new(script), clock());
    is_the_key(&source.credentials().await.unwrap());
    for text in ["the code \"\"", "500 Internal Server Error", "not understood"] {
        let error = source.credentials().await.unwrap_err().to_string();
        assert!(error.contains(text) && !error.contains("hush"), "{error}");
    }
}
