//! A small client for the simulator's own tests. Each answer is held to the contract.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use http::{Request, Response};
use serde_json::Value;
use tower::ServiceExt;

use crate::{
    clock::Clock,
    entropy::Entropy,
    sim::cloud::{
        Cloud, Delays, Options, World,
        contract::{Contract, breaches},
        signature::v1,
        wire::encode,
    },
};

/// An answer: HTTP status and body.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
}

pub(super) struct Client {
    pub(super) cloud: Cloud,
    pub(super) entropy: Entropy,
    pub(super) clock: Clock,
    pub(super) key: (String, String),
    pub(super) token: Option<String>,
}

// === impl Answer ===

impl Answer {
    pub(super) fn code(&self) -> &str {
        self.body["Code"].as_str().unwrap_or("none")
    }

    pub(super) fn text(&self, pointer: &str) -> String {
        let value = self.body.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is missing in {}", self.body));
        value.as_str().unwrap_or_else(|| panic!("{pointer} is not text in {}", self.body)).to_owned()
    }

    pub(super) fn list(&self, pointer: &str) -> Vec<Value> {
        let value = self.body.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is missing in {}", self.body));
        value.as_array().unwrap_or_else(|| panic!("{pointer} is no list in {}", self.body)).clone()
    }
}

// === impl Client ===

impl Client {
    /// A cloud with three instances in which every change takes effect at once.
    pub(super) fn new() -> Self {
        Self::with(World::with_nodes(3), Options { delays: Delays::none(), ..Options::default() })
    }

    /// The same with the ordinary delays.
    pub(super) fn slow() -> Self {
        Self::with(World::with_nodes(3), Options::default())
    }

    pub(super) fn with(world: World, options: Options) -> Self {
        let clock = Clock::simulated("2026-01-02T03:04:05Z".parse().unwrap());
        let entropy = Entropy::seeded(7);
        let cloud = Cloud::new(world, options, clock.clone(), entropy.fork()).unwrap();
        Self { cloud, entropy, clock, key: ("testid".to_owned(), "testsecret".to_owned()), token: None }
    }

    /// Calls `slb.CreateLoadBalancer` and the like, and holds a good answer to the contract.
    pub(super) async fn call(&self, name: &str, params: &[(&str, &str)]) -> Answer {
        let response = self.raw(name, params).await;
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), 1 << 24).await.unwrap();
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        if status == 200 {
            let (product, action) = name.split_once('.').unwrap();
            let shape = &Contract::get().action(product, action).unwrap().reply;
            assert_eq!(breaches(shape, &body), Vec::<String>::new(), "{name}: {body}");
        } else {
            for field in ["RequestId", "HostId", "Code", "Message", "Recommend"] {
                assert!(body[field].is_string(), "{name}: {field} is missing in {body}");
            }
        }
        Answer { status, body }
    }

    /// Calls and expects success.
    pub(super) async fn ok(&self, name: &str, params: &[(&str, &str)]) -> Answer {
        let answer = self.call(name, params).await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.body);
        answer
    }

    /// Calls and expects a refusal with that code.
    pub(super) async fn refused(&self, name: &str, params: &[(&str, &str)], code: &str) -> Answer {
        let answer = self.call(name, params).await;
        assert_eq!(answer.code(), code, "{name}: {}", answer.body);
        assert_ne!(answer.status, 200);
        answer
    }

    pub(super) async fn raw(&self, name: &str, params: &[(&str, &str)]) -> Response<Body> {
        self.send(self.sign(name, params)).await
    }

    pub(super) async fn send(&self, request: Request<Body>) -> Response<Body> {
        self.cloud.router().oneshot(request).await.unwrap()
    }

    /// A signed call with all its parameters in the form.
    pub(super) fn sign(&self, name: &str, params: &[(&str, &str)]) -> Request<Body> {
        let (product, action) = name.split_once('.').unwrap();
        let version = match product {
            "slb" => "2014-05-15",
            "ecs" => "2014-05-26",
            "vpc" => "2016-04-28",
            "nlb" => "2022-04-30",
            _ => "2015-04-01",
        };
        let mut all: std::collections::BTreeMap<String, String> = [
            ("AccessKeyId", self.key.0.clone()),
            ("Action", action.to_owned()),
            ("Format", "JSON".to_owned()),
            ("RegionId", "cn-hangzhou".to_owned()),
            ("SignatureMethod", "HMAC-SHA1".to_owned()),
            ("SignatureNonce", self.entropy.uuid()),
            ("SignatureVersion", "1.0".to_owned()),
            ("Timestamp", self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
            ("Version", version.to_owned()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        all.extend(self.token.iter().map(|token| ("SecurityToken".to_owned(), token.clone())));
        all.extend(params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let signature = v1::sign(&self.key.1, &v1::string_to_sign("POST", &all));
        all.insert("Signature".to_owned(), signature);
        let form: Vec<String> = all.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        Request::post("/")
            .header("host", format!("{product}.aliyuncs.com"))
            .header("user-agent", "sim-test")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(form.join("&")))
            .unwrap()
    }

    /// Lets time pass.
    pub(super) async fn wait(&self, milliseconds: u64) {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
}
