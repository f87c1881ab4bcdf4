//! Where keys for the cloud come from, how they are renewed, and that nobody gets to see them.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use ccm::alibaba::rpc::{InProcess, Reached, Transport, TransportError};
use serde_json::{Value, json};

use crate::support::{Stage, host::Host, log::Log, play};

const LONE: &[&str] = &["--leader-elect=false"];
const ROLE: &str = "acs:ram::1234567890123456:role/ccm";

/// A cloud-config file without an AccessKey.
fn keyless() -> Host {
    Host::with(json!({ "accessKeyID": null, "accessKeySecret": null }))
}

/// Nodes join over half a day, with whatever keys there are; every call has to be accepted.
async fn half_a_day_of_work(stage: &Stage, source: &str) {
    for _ in 0..3 {
        stage.joined(1).await;
        stage.pass(Duration::from_secs(4 * 3600)).await;
    }
    let refused: Vec<_> = stage.words().into_iter().filter(|word| word.contains(' ')).collect();
    assert_eq!(refused, Vec::<String>::new());
    let line = format!("ccm_credentials_expiration_timestamp_seconds{{source=\"{source}\"}}");
    let until = stage.metric(&line).unwrap_or_else(|| panic!("no {line} in {}", stage.metrics()));
    #[expect(clippy::cast_precision_loss, reason = "seconds are small numbers")]
    let now = stage.clock.now().as_second() as f64;
    assert!(until == 0.0 || until > now, "{until} is past {now}");
}

fn calls(stage: &Stage, word: &str) -> usize {
    stage.words().iter().filter(|there| *there == word).count()
}

#[test]
fn the_ram_role_outlasts_its_keys() {
    play(|stage| async move {
        stage.cloud().with_state(|state| {
            state.role = Some("ccm".to_owned());
            state.metadata_token_required = true;
        });
        let _replica = stage.start_on(&keyless(), LONE);
        half_a_day_of_work(&stage, "ram-role").await;
    });
}

#[test]
fn a_pod_takes_the_role_of_its_service_account_and_follows_its_renewed_token() {
    play(|stage| async move {
        let token = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(token.path(), "head.first-token.signature").unwrap();
        stage.secrets.guard("first-token");
        let host = keyless();
        host.set("ALIBABA_CLOUD_ROLE_ARN", ROLE);
        host.set("ALIBABA_CLOUD_OIDC_PROVIDER_ARN", "acs:ram::1234567890123456:oidc-provider/ack");
        host.set("ALIBABA_CLOUD_OIDC_TOKEN_FILE", token.path().to_str().unwrap());
        let _replica = stage.start_on(&host, LONE);
        half_a_day_of_work(&stage, "oidc").await;
        assert!(calls(&stage, "sts.AssumeRoleWithOIDC") >= 12, "{:?}", stage.words());
        // The kubelet writes another one; what was read before is of no use any more.
        std::fs::write(token.path(), "no token at all").unwrap();
        stage.pass(Duration::from_secs(3600)).await;
        assert!(stage.words().iter().any(|word| word == "sts.AssumeRoleWithOIDC AuthenticationFail.OIDCToken.Invalid"));
        std::fs::write(token.path(), "head.second-token.signature").unwrap();
        stage.joined(1).await;
    });
}

#[test]
fn a_role_is_assumed_with_the_key_of_the_file() {
    play(|stage| async move {
        let _replica = stage.start_with(LONE, json!({ "assumeRoleArn": ROLE }));
        half_a_day_of_work(&stage, "assumed-role-with-cloud-config").await;
        assert!(calls(&stage, "sts.AssumeRole") >= 12, "{:?}", stage.words());
        let by_the_role = stage.cloud().calls().into_iter().filter(|call| call.product == "ecs");
        assert!(by_the_role.into_iter().all(|call| call.caller.role.as_deref() == Some("ccm")));
    });
}

#[test]
fn profiles_of_the_command_line_tool_are_chained() {
    play(|stage| async move {
        let host = keyless();
        host.set("HOME", "/root");
        let profiles = json!([
            { "name": "key", "mode": "AK", "access_key_id": "testid", "access_key_secret": "testsecret" },
            { "name": "role", "mode": "ChainableRamRoleArn", "source_profile": "key", "ram_role_arn": ROLE },
        ]);
        host.write("/root/.aliyun/config.json", &json!({ "current": "role", "profiles": profiles }).to_string());
        let _replica = stage.start_on(&host, LONE);
        half_a_day_of_work(&stage, "assumed-role-with-cli-profile").await;
    });
}

#[test]
fn a_session_that_ends_early_is_renewed_once_and_the_call_repeated() {
    play(|stage| async move {
        let _replica = stage.start_with(LONE, json!({ "assumeRoleArn": ROLE }));
        stage.joined(2).await;
        stage.cloud().expire_credentials();
        stage.clear_calls();
        let began = stage.clock.now();
        stage.joined(1).await;
        assert!(stage.clock.since(began) < Duration::from_secs(10), "{:?}", stage.words());
        let words = stage.words();
        let refused: Vec<_> =
            words.iter().filter_map(|word| word.strip_suffix(" InvalidSecurityToken.Expired")).collect();
        assert_eq!(
            (words[0].split(' ').next(), words[1].as_str(), refused.len()),
            (Some(words[2].as_str()), "sts.AssumeRole", 1),
            "{words:?}"
        );
        assert_eq!(calls(&stage, "sts.AssumeRole"), 1);
    });
}

#[test]
fn the_log_tells_once_of_each_key_where_it_came_from_and_until_when() {
    play(|stage| async move {
        let (log, _guard) = Log::collect();
        let _replica = stage.start_with(LONE, json!({ "assumeRoleArn": ROLE }));
        stage.joined(1).await;
        let told = |source: &str| {
            let line = format!("using credentials from {source}, ");
            log.take().into_iter().filter(|text| text.contains(&line)).collect::<Vec<_>>()
        };
        let first = told("assumed-role-with-cloud-config");
        assert!(first.len() == 1 && first[0].contains("valid until 2026-01-02T04:04:"), "{first:?}");
        stage.pass(Duration::from_secs(2 * 3600)).await;
        let later = told("assumed-role-with-cloud-config");
        let renewals = calls(&stage, "sts.AssumeRole") - 1;
        assert!(renewals >= 2 && later.len() == renewals, "{later:?}");
    });
}

/// Answers for a credentials URI, with a session of half an hour each time; the rest goes to the cloud.
struct Sessions(InProcess, Stage);

#[async_trait]
impl Transport for Sessions {
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        if request.uri().host() != Some("localhost") {
            return self.0.send(request).await;
        }
        let params = [("RoleArn", ROLE), ("RoleSessionName", "uri"), ("DurationSeconds", "1800")];
        let mut answer = self.1.cloud().administer("sts.AssumeRole", &params).unwrap()["Credentials"].take();
        answer["Code"] = json!("Success");
        Ok(http::Response::new(answer.to_string().into()))
    }
}

#[test]
fn keys_of_a_credentials_uri_are_followed_from_one_to_the_next() {
    play(|stage| async move {
        let host = keyless();
        host.set("ALIBABA_CLOUD_CREDENTIALS_URI", "http://localhost/keys");
        let transport = Arc::new(Sessions(InProcess::new(stage.cloud().router()), stage.clone()));
        let _replica = stage.start_as(host.config(LONE).unwrap(), transport);
        half_a_day_of_work(&stage, "credentials-uri").await;
        let renewed = stage.metric("ccm_credentials_renewals_total{source=\"credentials-uri\",result=\"ok\"}");
        assert!(renewed.is_some_and(|times| times >= 24.0), "{renewed:?}");
    });
}

/// Answers for a credentials URI; the rest goes to the cloud.
struct WithUri(InProcess, Value);

#[async_trait]
impl Transport for WithUri {
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        if request.uri().host() == Some("localhost") {
            return Ok(http::Response::new(self.1.to_string().into()));
        }
        self.0.send(request).await
    }
}

#[test]
fn a_credentials_uri_hands_out_keys_that_are_used() {
    play(|stage| async move {
        let answer = json!({
            "Code": "Success", "AccessKeyId": "STS.unknown", "AccessKeySecret": "hidden-secret",
            "SecurityToken": "CAIShidden-token", "Expiration": "2026-01-02T04:04:05Z"
        });
        for secret in ["STS.unknown", "hidden-secret", "CAIShidden-token", "hidden-path"] {
            stage.secrets.guard(secret);
        }
        let host = keyless();
        host.set("ALIBABA_CLOUD_CREDENTIALS_URI", "http://localhost/hidden-path");
        let transport = Arc::new(WithUri(InProcess::new(stage.cloud().router()), answer));
        let _replica = stage.start_as(host.config(LONE).unwrap(), transport);
        stage.world.join().unwrap();
        stage.pass(Duration::from_secs(30)).await;
        assert!(calls(&stage, "ecs.DescribeInstances InvalidAccessKeyId.NotFound") > 0, "{:?}", stage.words());
        assert!(stage.metric("ccm_credentials_expiration_timestamp_seconds{source=\"credentials-uri\"}").is_some());
    });
}

/// Fails as a connection does, saying no more than the transport may.
struct Refused;

#[async_trait]
impl Transport for Refused {
    async fn send(&self, _: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        Err(TransportError::new("dial tcp: connection refused", Reached::Never))
    }
}

#[test]
fn a_signed_request_that_cannot_be_sent_shows_nothing_of_its_key() {
    play(|stage| async move {
        let _replica = stage.start_over(Arc::new(Refused), LONE, json!({}));
        stage.world.join().unwrap();
        stage.expose_web();
        stage.pass(Duration::from_secs(600)).await;
        let told: Vec<_> = stage.told("web").into_iter().map(|(_, message)| message).collect();
        assert!(told.iter().any(|text| text.contains("connection refused")), "{told:?}");
    });
}

#[test]
#[should_panic(expected = "testsecret in the log")]
fn a_secret_in_the_log_fails_the_story() {
    play(|_| async { tracing::trace!(target: "ccm::anywhere", key = "testsecret", "signed") });
}

#[test]
#[should_panic(expected = "Signature= in an event")]
fn a_signed_request_in_an_event_fails_the_story() {
    play(|stage| async move {
        stage.secrets.look_at("an event", "Post https://ecs/?Signature=abc: dial tcp: connection refused");
    });
}
