use serde_json::json;

use super::*;
use crate::alibaba::rpc::{Reached, testing::Script};

fn metadata(script: &Script) -> Metadata {
    Metadata::new("http://metadata.test/", Arc::new(script.clone()))
}

fn token_of(script: &Script, n: usize) -> Option<String> {
    let value = script.sent()[n].headers.get("X-aliyun-ecs-metadata-token").cloned();
    value.map(|value| value.to_str().unwrap().to_owned())
}

fn requests(script: &Script) -> Vec<String> {
    script.sent().iter().map(|sent| format!("{} {}", sent.method, sent.url)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_token_is_fetched_once_and_facts_are_kept() {
    let script = Script::default();
    script.answer_text(200, "tok").answer_text(200, "vpc-1\n").answer_text(200, "cn-hangzhou-h");
    let metadata = metadata(&script);
    assert_eq!(metadata.vpc().await.unwrap(), "vpc-1".into());
    assert_eq!(metadata.vpc().await.unwrap(), "vpc-1".into());
    assert_eq!(metadata.clone().zone().await.unwrap(), "cn-hangzhou-h".into());
    assert_eq!(
        requests(&script),
        [
            "PUT http://metadata.test/latest/api/token",
            "GET http://metadata.test/latest/meta-data/vpc-id",
            "GET http://metadata.test/latest/meta-data/zone-id"
        ]
    );
    assert_eq!(script.sent()[0].headers["X-aliyun-ecs-metadata-token-ttl-seconds"], "21600");
    assert_eq!(token_of(&script, 1).as_deref(), Some("tok"));
    assert_eq!(token_of(&script, 2).as_deref(), Some("tok"));
}

#[tokio::test(start_paused = true)]
async fn tokens_can_be_turned_off() {
    let script = Script::default();
    script.answer_text(200, "cn-beijing");
    let metadata = Metadata::without_tokens("http://metadata.test", Arc::new(script.clone()));
    assert_eq!(metadata.region().await.unwrap(), "cn-beijing".into());
    assert_eq!(requests(&script), ["GET http://metadata.test/latest/meta-data/region-id"]);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_replaced_before_it_ends() {
    let script = Script::default();
    script.answer_text(200, "one").answer_text(200, "x").answer_text(200, "two").answer_text(200, "x");
    let metadata = metadata(&script);
    metadata.get("mac").await.unwrap();
    sleep(Duration::from_secs(21600)).await;
    metadata.get("mac").await.unwrap();
    assert_eq!(token_of(&script, 3).as_deref(), Some("two"));
}

#[tokio::test(start_paused = true)]
async fn a_server_without_tokens_is_read_without() {
    for status in [403, 404] {
        let script = Script::default();
        script.answer_text(status, "").answer_text(200, "cn-beijing").answer_text(200, "i-1");
        let metadata = metadata(&script);
        assert_eq!(metadata.region().await.unwrap(), "cn-beijing".into());
        assert_eq!(metadata.instance().await.unwrap(), "i-1".into());
        assert_eq!(token_of(&script, 1), None);
        assert_eq!(script.sent().len(), 3, "the token is not asked for again at once");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_that_cannot_be_had_costs_two_seconds_once() {
    let script = Script::default();
    script.answer_late(Duration::from_secs(60), 200, &json!({}));
    script.answer_text(200, "cn-beijing").answer_text(200, "i-1");
    let metadata = metadata(&script);
    let start = Instant::now();
    metadata.region().await.unwrap();
    metadata.instance().await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn a_refused_token_is_replaced() {
    let script = Script::default();
    script.answer_text(200, "old").answer_text(401, "").answer_text(200, "new").answer_text(200, "value");
    assert_eq!(metadata(&script).get("mac").await.unwrap(), "value");
    assert_eq!(token_of(&script, 3).as_deref(), Some("new"));
}

#[tokio::test(start_paused = true)]
async fn failures_are_tried_again_but_not_for_ever() {
    let script = Script::default();
    script.answer_text(200, "tok").fail(Reached::Maybe).answer_text(500, "").answer_text(429, "");
    script.answer_text(200, "value");
    assert_eq!(metadata(&script).get("mac").await.unwrap(), "value");

    let script = Script::default();
    script.answer_text(200, "tok");
    for _ in 0..ATTEMPTS {
        script.fail(Reached::Never);
    }
    let error = metadata(&script).get("mac").await.unwrap_err();
    assert_eq!(error.to_string(), "the metadata server did not answer about mac: connection reset");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_item_is_not_asked_for_again() {
    let script = Script::default();
    script.answer_text(200, "tok").answer_text(404, "<html>");
    let error = metadata(&script).get("nonsense").await.unwrap_err();
    assert!(error.is_not_found());
}

mod ram_role {
    use super::*;
    use crate::{
        alibaba::rpc::credentials::{RamRole, Source},
        clock::Clock,
    };

    fn role(script: &Script, role: Option<&str>) -> RamRole {
        let clock = Clock::simulated("2026-01-02T03:04:05Z".parse().unwrap());
        RamRole::new(metadata(script), role.map(ToOwned::to_owned), clock)
    }

    fn key(code: &str, expiration: &str) -> serde_json::Value {
        json!({
            "AccessKeyId": "STS.id", "AccessKeySecret": "hush", "SecurityToken": "hush-token",
            "Expiration": expiration, "LastUpdated": "2026-01-02T03:00:00Z", "Code": code
        })
    }

    #[tokio::test(start_paused = true)]
    async fn the_named_role_gives_a_key_with_an_end() {
        let script = Script::default();
        script
            .answer_text(200, "tok")
            .answer_text(200, "worker\n")
            .answer(200, &key("Success", "2026-01-02T09:04:05Z"));
        let credentials = role(&script, None).credentials().await.unwrap();
        assert_eq!(credentials.access_key_id, "STS.id");
        assert_eq!(credentials.access_key_secret.expose_secret(), "hush");
        assert_eq!(credentials.security_token.as_ref().unwrap().expose_secret(), "hush-token");
        assert_eq!(credentials.expires.unwrap().to_string(), "2026-01-02T09:04:05Z");
        let url = script.sent()[2].url.clone();
        assert_eq!(url, "http://metadata.test/latest/meta-data/ram/security-credentials/worker");
        assert!(!format!("{credentials:?}").contains("hush"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_no_usable_key_is_an_error_without_secrets() {
        for (answer, text) in [
            (key("Failed", "2026-01-02T09:04:05Z"), "answers \"Failed\" about role r"),
            (key("Success", "2026-01-02T03:04:05Z"), "expired at 2026-01-02T03:04:05Z"),
            (key("Success", "soon"), "not understood"),
            (json!({"Code": "Success", "AccessKeyId": "hush"}), "not complete"),
        ] {
            let script = Script::default();
            script.answer_text(200, "tok").answer(200, &answer);
            let error = role(&script, Some("r")).credentials().await.unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
            assert!(!error.contains("hush"), "{error}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_role_attached_says_what_to_do() {
        let script = Script::default();
        script.answer_text(200, "tok").answer_text(404, "");
        let error = role(&script, None).credentials().await.unwrap_err();
        assert!(error.to_string().contains("attach one, or configure an access key"), "{error}");
    }
}
