use prometheus_client::registry::Registry;
use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::{
    alibaba::rpc::{
        Product,
        credentials::{Credentials, CredentialsError, Fixed},
        testing::Script,
    },
    clock::Clock,
};

#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "PascalCase")]
struct Reply {
    load_balancer_id: String,
}

fn read() -> Request {
    Request::read(Product::Slb, "DescribeLoadBalancerAttribute").about("lb-1").param("LoadBalancerId", "lb-1")
}

fn write() -> Request {
    Request::write(Product::Slb, "SetLoadBalancerName").about("lb-1").param("LoadBalancerId", "lb-1")
}

fn reply() -> Value {
    json!({"RequestId": "REQ-1", "LoadBalancerId": "lb-1"})
}

#[tokio::test(start_paused = true)]
async fn everything_goes_into_a_signed_form() {
    let script = Script::default();
    script.answer(200, &reply());
    let client = Client::new(Parts {
        credentials: Arc::new(Fixed::sts("STS.id", "secret", "the+token")),
        user_agent: "ccm/1".to_owned(),
        ..script.parts()
    });
    let read: Reply = client.call(&read()).await.unwrap();
    assert_eq!(read, Reply { load_balancer_id: "lb-1".to_owned() });

    let sent = &script.sent()[0];
    assert_eq!((sent.method.as_str(), sent.url.as_str()), ("POST", "https://slb-vpc.cn-hangzhou.aliyuncs.com/"));
    assert_eq!(sent.headers[CONTENT_TYPE], "application/x-www-form-urlencoded");
    assert_eq!(sent.headers[USER_AGENT], "ccm/1");
    let mut form: Params = sent.form.clone().into_iter().collect();
    for (name, value) in [
        ("Action", "DescribeLoadBalancerAttribute"),
        ("Version", "2014-05-15"),
        ("Format", "JSON"),
        ("RegionId", "cn-hangzhou"),
        ("AccessKeyId", "STS.id"),
        ("SecurityToken", "the+token"),
        ("SignatureMethod", "HMAC-SHA1"),
        ("SignatureVersion", "1.0"),
        ("Timestamp", "2026-01-02T03:04:05Z"),
    ] {
        assert_eq!(form.get(name), Some(value));
    }
    let signature = form.get("Signature").unwrap().to_owned();
    form = form.iter().filter(|(name, _)| *name != "Signature").collect();
    assert_eq!(signature, signature::sign("POST", &form, &"secret".into()));
}

#[tokio::test(start_paused = true)]
async fn another_region_is_asked_at_its_own_address() {
    let script = Script::default();
    script.answer(200, &reply());
    script.client().run(&read().in_region(&"eu-central-1".into())).await.unwrap();
    assert_eq!(script.sent()[0].url, "https://slb-vpc.eu-central-1.aliyuncs.com/");
    assert_eq!(script.params(0)["RegionId"], "eu-central-1");
}

#[tokio::test(start_paused = true)]
async fn an_error_keeps_what_the_cloud_said() {
    let script = Script::default();
    script.refuse(400, "OperationDenied.DeleteProtectionIsOn", "Protected.");
    let error = script.client().run(&write()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "SetLoadBalancerName on lb-1: Protected. (code OperationDenied.DeleteProtectionIsOn, request id REQ-1)"
    );
    assert_eq!(error.class, Class::Invalid);
}

#[tokio::test(start_paused = true)]
async fn a_signature_error_does_not_echo_what_was_signed() {
    let script = Script::default();
    let message = "Specified signature is not matched with our calculation. server string to sign is:POST&%2F&hush";
    script.refuse(400, "SignatureDoesNotMatch", message);
    let error = script.client().run(&read()).await.unwrap_err();
    assert_eq!(error.class, Class::Denied);
    assert_eq!(error.message, "Specified signature is not matched with our calculation.");
}

#[tokio::test(start_paused = true)]
async fn a_code_in_a_success_is_an_error_if_the_field_is_missing() {
    let script = Script::default();
    script.refuse(200, "Throttling.User", "Slow down.");
    let error = script.client().call::<Reply>(&read()).await.unwrap_err();
    assert_eq!((error.class, error.code.as_str()), (Class::Throttled, "Throttling.User"));

    script.answer(200, &json!({"Code": "200", "LoadBalancerId": "lb-1"}));
    script.client().call::<Reply>(&read()).await.unwrap();

    script.answer(200, &json!({"RequestId": "REQ-2"}));
    let error = script.client().call::<Reply>(&read()).await.unwrap_err();
    assert_eq!((error.class, error.request_id.as_str()), (Class::Malformed, "REQ-2"));

    script.refuse(200, "OperationBusy", "");
    assert_eq!(script.client().run(&write()).await.unwrap_err().class, Class::Busy);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_json_is_malformed_for_a_read_and_unknown_for_a_write() {
    let script = Script::default();
    script.answer_text(200, "<html>").answer_text(200, "<html>").answer_text(502, "<html>");
    assert_eq!(script.client().run(&read()).await.unwrap_err().class, Class::Malformed);
    assert_eq!(script.client().run(&write()).await.unwrap_err().class, Class::Unknown);
    let error = script.client().run(&write()).await.unwrap_err();
    assert_eq!((error.class, error.message.as_str()), (Class::Unknown, "the cloud answered 502 Bad Gateway"));
}

#[tokio::test(start_paused = true)]
async fn a_read_is_repeated_with_a_new_nonce_until_it_works() {
    let script = Script::default();
    script.fail(Reached::Maybe).refuse(500, "InternalError", "").refuse(400, "SystemBusy", "").answer(200, &reply());
    script.client_with(Policy::default()).run(&read()).await.unwrap();
    let nonces: std::collections::BTreeSet<_> =
        script.sent().iter().map(|sent| sent.form["SignatureNonce"].clone()).collect();
    assert_eq!(nonces.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_may_have_happened_is_not_repeated_without_a_token() {
    let script = Script::default();
    script.fail(Reached::Maybe);
    let error = script.client_with(Policy::default()).run(&write()).await.unwrap_err();
    assert_eq!(error.class, Class::Unknown);

    script.fail(Reached::Maybe).answer(200, &reply());
    script.client_with(Policy::default()).run(&write().param("ClientToken", "t-1")).await.unwrap();
    let sent = script.sent();
    assert_eq!(sent[1].form["ClientToken"], sent[2].form["ClientToken"]);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_may_have_happened_stays_in_doubt_when_its_repetition_is_refused() {
    let script = Script::default();
    script.answer_text(200, "<html>").refuse(403, "Forbidden.RAM", "");
    let tokened = write().param("ClientToken", "t-1");
    let error = script.client_with(Policy::default()).run(&tokened).await.unwrap_err();
    assert_eq!((error.class, error.code.as_str()), (Class::Unknown, "Forbidden.RAM"));

    script.refuse(503, "ServiceUnavailable", "").refuse(403, "Forbidden.RAM", "");
    let error = script.client_with(Policy::default()).run(&tokened).await.unwrap_err();
    assert_eq!(error.class, Class::Denied, "what was turned away each time did not happen");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_never_left_or_was_turned_away_is_repeated() {
    let script = Script::default();
    script.fail(Reached::Never).refuse(400, "VServerGroupProcessing", "").refuse(503, "ServiceUnavailable", "");
    script.answer(200, &reply());
    script.client_with(Policy::default()).run(&write()).await.unwrap();
    assert_eq!(script.unused(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_transport_that_never_returns_is_given_up() {
    let script = Script::default();
    script.answer_late(Duration::from_secs(3600), 200, &reply());
    let start = Instant::now();
    let error = script.client().run(&write()).await.unwrap_err();
    assert_eq!((error.class, start.elapsed()), (Class::Unknown, ATTEMPT_TIMEOUT));
}

#[tokio::test(start_paused = true)]
async fn throttling_holds_back_the_action_for_the_time_asked_for() {
    let script = Script::default();
    script.answer_with(|_| {
        let response = http::Response::builder().status(400).header("x-acs-retry-after", "12000");
        Ok(response.body(json!({"Code": "Throttling.User"}).to_string().into()).unwrap())
    });
    script.answer(200, &reply()).answer(200, &reply()).answer(200, &reply());
    let client = script.client_with(Policy::default());
    let start = Instant::now();
    let (first, other) = (write(), read());
    let (result, ()) = tokio::join!(client.run(&first), async {
        sleep(Duration::from_secs(1)).await;
        client.run(&other).await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_secs(1), "another action is not held back");
        client.run(&write()).await.unwrap();
        assert!(start.elapsed() >= Duration::from_secs(12), "the same action is, whoever calls it");
    });
    result.unwrap();
}

#[tokio::test(start_paused = true)]
async fn attempts_exclude_one_another_but_waits_do_not() {
    let script = Script::default();
    script.refuse(400, "TaskConflict", "");
    script.answer_late(Duration::from_secs(5), 200, &reply()).answer_late(Duration::from_secs(5), 200, &reply());
    let lock = Arc::default();
    let client = script.client_with(Policy::default());
    let request = write().one_at_a_time(&lock);
    let start = Instant::now();
    let (a, b) = tokio::join!(client.run(&request), async {
        // By now the first is waiting for its second attempt.
        sleep(Duration::from_millis(1)).await;
        let result = client.run(&request).await;
        assert_eq!(start.elapsed(), Duration::from_millis(5001), "did not wait for the other's retry");
        result
    });
    a.unwrap();
    b.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(10001), "and the retry came after it");
}

/// Hands out `id-1`, then `id-2` and so on, each time the last one was refused.
#[derive(Default)]
struct Rotating(parking_lot::Mutex<u32>);

#[async_trait::async_trait]
impl Source for Rotating {
    async fn credentials(&self) -> Result<Credentials, CredentialsError> {
        Fixed::access_key(format!("id-{}", *self.0.lock() + 1), "secret").credentials().await
    }

    fn rejected(&self, _: &str) {
        *self.0.lock() += 1;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_is_replaced_once() {
    let script = Script::default();
    script.refuse(400, "InvalidSecurityToken.Expired", "").answer(200, &reply());
    let client = Client::new(Parts { credentials: Arc::new(Rotating::default()), ..script.parts() });
    client.run(&write()).await.unwrap();
    let keys: Vec<_> = script.sent().iter().map(|sent| sent.form["AccessKeyId"].clone()).collect();
    assert_eq!(keys, ["id-1", "id-2"]);

    script.refuse(404, "InvalidAccessKeyId.NotFound", "").refuse(404, "InvalidAccessKeyId.NotFound", "");
    assert_eq!(client.run(&write()).await.unwrap_err().class, Class::Denied);
    assert_eq!(script.unused(), 0);
}

struct NoKey;

#[async_trait::async_trait]
impl Source for NoKey {
    async fn credentials(&self) -> Result<Credentials, CredentialsError> {
        Err(CredentialsError { origin: "nowhere", message: "none".to_owned() })
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_key_nothing_is_sent() {
    let script = Script::default();
    let client = Client::new(Parts { credentials: Arc::new(NoKey), ..script.parts() });
    let error = client.run(&write()).await.unwrap_err();
    assert_eq!((error.class, error.message.as_str()), (Class::Transient, "no credentials from nowhere: none"));
    assert!(script.sent().is_empty());
}

#[tokio::test(start_paused = true)]
async fn calls_are_counted_by_outcome() {
    let script = Script::default();
    script.refuse(400, "SystemBusy", "").answer(200, &reply());
    let metrics = Metrics::new();
    let client = Client::new(Parts { metrics: metrics.clone(), ..script.parts() });
    client.run(&read()).await.unwrap();
    let mut registry = Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    let labels = r#"product="slb",action="DescribeLoadBalancerAttribute""#;
    for line in [
        format!("ccm_openapi_requests_total{{{labels},result=\"busy\"}} 1"),
        format!("ccm_openapi_requests_total{{{labels},result=\"ok\"}} 1"),
        format!("ccm_openapi_retries_total{{{labels}}} 1"),
        format!("ccm_openapi_request_duration_seconds_count{{{labels}}} 2"),
    ] {
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn debug_output_shows_no_secret() {
    let fixed = Fixed::sts("the-id", "the-secret", "the-token");
    let key = fixed.credentials().await.unwrap();
    for text in [format!("{fixed:?}"), format!("{key:?}"), format!("{:?}", Clock::system())] {
        assert!(!text.contains("the-"), "{text}");
    }
}
