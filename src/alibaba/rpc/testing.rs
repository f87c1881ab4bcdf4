//! A transport with written answers, for tests of everything above it.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    Client, Endpoints, Limits, Metrics, Parts, Policy, Reached, Transport, TransportError, credentials::Fixed,
};
use crate::{alibaba::Alibaba, clock::Clock, entropy::Entropy};

/// The published vectors.
pub(crate) fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../tests/data/signature-vectors.json")).unwrap()
}

/// What was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: http::HeaderMap,
    pub(crate) form: BTreeMap<String, String>,
}

type Answer = Box<dyn FnOnce(&Sent) -> Result<http::Response<Bytes>, TransportError> + Send>;

/// Gives the answers in the order they were written down, and keeps what was sent.
#[derive(Clone, Default)]
pub(crate) struct Script(Arc<Mutex<ScriptState>>);

#[derive(Default)]
struct ScriptState {
    answers: VecDeque<(Duration, Answer)>,
    sent: Vec<Sent>,
}

impl Script {
    pub(crate) fn answer(&self, status: u16, body: &Value) -> &Self {
        let body = body.to_string();
        self.answer_text(status, &body)
    }

    pub(crate) fn answer_text(&self, status: u16, body: &str) -> &Self {
        let body = body.to_owned();
        self.answer_with(move |_| Ok(http::Response::builder().status(status).body(Bytes::from(body)).unwrap()))
    }

    pub(crate) fn answer_with(
        &self,
        f: impl FnOnce(&Sent) -> Result<http::Response<Bytes>, TransportError> + Send + 'static,
    ) -> &Self {
        self.0.lock().answers.push_back((Duration::ZERO, Box::new(f)));
        self
    }

    pub(crate) fn answer_late(&self, delay: Duration, status: u16, body: &Value) -> &Self {
        self.answer(status, body);
        self.0.lock().answers.back_mut().unwrap().0 = delay;
        self
    }

    pub(crate) fn refuse(&self, status: u16, code: &str, message: &str) -> &Self {
        self.answer(status, &json!({"RequestId": "REQ-1", "Code": code, "Message": message}))
    }

    pub(crate) fn fail(&self, reached: Reached) -> &Self {
        self.answer_with(move |_| Err(TransportError::new("connection reset", reached)))
    }

    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.0.lock().sent.clone()
    }

    /// The parameters of the nth call without those that every call has.
    pub(crate) fn params(&self, n: usize) -> BTreeMap<String, String> {
        let mut form = self.0.lock().sent[n].form.clone();
        for system in [
            "AccessKeyId",
            "Format",
            "Signature",
            "SignatureMethod",
            "SignatureNonce",
            "SignatureVersion",
            "Timestamp",
            "Version",
        ] {
            form.remove(system).unwrap_or_else(|| panic!("{system} is not sent"));
        }
        form
    }

    /// The parameters of the only call, as lines.
    pub(crate) fn only(&self) -> Vec<String> {
        assert_eq!(self.0.lock().sent.len(), 1);
        self.lines(0)
    }

    /// The parameters of the nth call, as lines.
    pub(crate) fn lines(&self, n: usize) -> Vec<String> {
        self.params(n).into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    pub(crate) fn unused(&self) -> usize {
        self.0.lock().answers.len()
    }

    /// The cloud with this client: VPC `vpc-1` in `cn-hangzhou`, no retries.
    pub(crate) fn cloud(&self) -> Alibaba {
        Alibaba::with_client(self.client(), Some("vpc-1".into()), Vec::new(), None)
    }

    /// A client that retries nothing.
    pub(crate) fn client(&self) -> Client {
        self.client_with(Policy::never())
    }

    pub(crate) fn client_with(&self, policy: Policy) -> Client {
        Client::new(Parts { policy, ..self.parts() })
    }

    pub(crate) fn parts(&self) -> Parts {
        Parts {
            region: "cn-hangzhou".into(),
            endpoints: Endpoints::default(),
            user_agent: "test".to_owned(),
            limits: Limits::default(),
            policy: Policy::default(),
            transport: Arc::new(self.clone()),
            credentials: Arc::new(Fixed::access_key("testid", "testsecret")),
            clock: Clock::simulated("2026-01-02T03:04:05Z".parse().unwrap()),
            entropy: Entropy::seeded(1),
            metrics: Metrics::new(),
        }
    }
}

#[async_trait]
impl Transport for Script {
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        let sent = Sent {
            method: request.method().to_string(),
            url: request.uri().to_string(),
            headers: request.headers().clone(),
            form: url::form_urlencoded::parse(request.body()).into_owned().collect(),
        };
        let answer = {
            let mut state = self.0.lock();
            state.sent.push(sent.clone());
            state.answers.pop_front()
        };
        let (delay, answer) = answer.unwrap_or_else(|| panic!("no answer was written for {sent:?}"));
        tokio::time::sleep(delay).await;
        answer(&sent)
    }
}

/// The reply with one thing in it replaced by something that no contract allows.
pub(crate) fn maimed(reply: &Value, entropy: &Entropy) -> Value {
    fn replace(value: &mut Value, at: &mut u64, with: &Value) -> bool {
        if *at == 0 {
            *value = with.clone();
            return true;
        }
        *at -= 1;
        match value {
            Value::Object(fields) => fields.values_mut().any(|inner| replace(inner, at, with)),
            Value::Array(items) => items.iter_mut().any(|inner| replace(inner, at, with)),
            _ => false,
        }
    }
    let odd =
        [json!(null), json!(""), json!("?"), json!(-1), json!(1e300), json!(true), json!([]), json!({}), json!([null])];
    let with = &odd[usize::try_from(entropy.below(odd.len() as u64)).unwrap()];
    let mut reply = reply.clone();
    replace(&mut reply, &mut entropy.below(60), with);
    reply
}
