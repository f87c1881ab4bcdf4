//! The control API under `/_sim`: faults, time, edits to the world, and what was called.
//!
//! It belongs to the simulator, not to any product: requests are unsigned JSON and appear in
//! no call log. `docs/simulator.md` describes it for users.

mod calls;
mod world;

use axum::response::Response;
use http::Method;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Cloud, coverage::simulated_actions, http::reply, wire::Request};

/// A refused request: HTTP status and reason.
struct Refusal(u16, String);

type Answer = Result<Value, Refusal>;

// === impl Refusal ===

impl Refusal {
    fn bad(reason: impl Into<String>) -> Self {
        Self(400, reason.into())
    }

    fn not_found(what: &str) -> Self {
        Self(404, format!("{what} does not exist"))
    }
}

// === impl Cloud ===

impl Cloud {
    /// Answers a request under `/_sim`.
    pub(super) fn control(&self, request: &Request) -> Response {
        let path = request.path.trim_start_matches("/_sim").trim_matches('/');
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let (status, body) = match self.dispatch(request, &segments) {
            Ok(body) => (200, body),
            Err(Refusal(status, reason)) => (status, json!({ "error": reason })),
        };
        let mut text = serde_json::to_string_pretty(&body).unwrap_or_default();
        text.push('\n');
        reply(status, "application/json", text)
    }

    fn dispatch(&self, request: &Request, path: &[&str]) -> Answer {
        let (get, post, put, delete) = (
            request.method == Method::GET,
            request.method == Method::POST,
            request.method == Method::PUT || request.method == Method::PATCH,
            request.method == Method::DELETE,
        );
        match path {
            [] if get => Ok(index()),
            ["state", rest @ ..] if get => self.show_state(rest),
            ["calls"] if get => Ok(calls::list(self, &request.query)),
            ["calls"] if delete => Ok(done(|| self.clear_calls())),
            ["counters"] if get => Ok(calls::counters(self)),
            ["actions"] if get => Ok(json!(simulated_actions())),
            ["breaches"] if get => Ok(json!(self.contract_breaches())),
            ["faults"] if get => Ok(json!(self.inner.lock().faults.list())),
            ["faults"] if post => {
                let fault = body(request)?;
                Ok(done(|| self.inject(fault)))
            }
            ["faults"] if delete => Ok(done(|| self.clear_faults())),
            ["options"] if get => to_json(&self.options()),
            ["options"] if put => self.change_options(request),
            ["clock"] if get => Ok(json!({ "now": self.now().to_string() })),
            ["clock"] if post => self.change_clock(request),
            ["jobs", what] if post => self.change_jobs(what),
            ["credentials", "expire"] if post => Ok(done(|| self.expire_credentials())),
            ["actions", action] if post => world::act(self, action, &body::<serde_json::Map<String, Value>>(request)?),
            [kind, rest @ ..] => world::edit(self, request, kind, rest),
            [] => Err(Refusal::not_found("that")),
        }
    }

    fn show_state(&self, path: &[&str]) -> Answer {
        let mut state = self.with_state(|state| to_json(state))?;
        // Ids may contain what a JSON pointer would have to escape, so walk by hand.
        for segment in path {
            let inner = match &mut state {
                Value::Object(fields) => fields.remove(*segment),
                Value::Array(elements) => {
                    segment.parse().ok().filter(|at| *at < elements.len()).map(|at: usize| elements.swap_remove(at))
                }
                _ => None,
            };
            state = inner.ok_or_else(|| Refusal::not_found(segment))?;
        }
        Ok(state)
    }

    /// Merges what is given into the options.
    fn change_options(&self, request: &Request) -> Answer {
        let mut merged = to_json(&self.options())?;
        merge(&mut merged, body(request)?);
        let changed: super::Options =
            serde_json::from_value(merged).map_err(|error| Refusal::bad(error.to_string()))?;
        self.configure(|options| *options = changed);
        to_json(&self.options())
    }

    fn change_clock(&self, request: &Request) -> Answer {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Change {
            #[serde(default, with = "jiff::fmt::serde::unsigned_duration::friendly::compact::optional")]
            step: Option<std::time::Duration>,
            scale: Option<f64>,
        }
        let change: Change = body(request)?;
        if let Some(step) = change.step {
            self.step_clock(step);
        }
        if let Some(scale) = change.scale {
            if !(0.0..=1e6).contains(&scale) {
                return Err(Refusal::bad("scale must be 0 to 1000000"));
            }
            self.scale_clock(scale);
        }
        Ok(json!({ "now": self.now().to_string() }))
    }

    fn change_jobs(&self, what: &str) -> Answer {
        self.with_state(|state| match what {
            "pause" => Ok(done(|| state.nlb.jobs_paused = true)),
            "resume" => Ok(done(|| state.nlb.resume_jobs())),
            "fail" => Ok(done(|| state.nlb.fail_held_jobs())),
            _ => Err(Refusal::not_found(what)),
        })
    }
}

fn done(act: impl FnOnce()) -> Value {
    act();
    json!({ "done": true })
}

fn to_json<T: serde::Serialize>(value: &T) -> Answer {
    serde_json::to_value(value).map_err(|error| Refusal(500, error.to_string()))
}

/// The request's body, whatever its content type says.
fn body<T: DeserializeOwned>(request: &Request) -> Result<T, Refusal> {
    serde_json::from_slice(&request.body).map_err(|error| Refusal::bad(format!("body: {error}")))
}

/// RFC 7396: objects are merged, anything else is replaced.
fn merge(target: &mut Value, change: Value) {
    match (target, change) {
        (Value::Object(target), Value::Object(change)) => {
            for (name, value) in change {
                merge(target.entry(name).or_insert(Value::Null), value);
            }
        }
        (target, change) => *target = change,
    }
}

fn index() -> Value {
    json!({
        "GET /_sim/state[/<path>]": "all resources as JSON, or the part under a path",
        "GET /_sim/calls?product=&action=&code=&caller=&changed=&last=": "the call log, filtered",
        "DELETE /_sim/calls": "forget calls and counters",
        "GET /_sim/counters": "calls by action and by caller",
        "GET /_sim/actions": "the actions that are simulated",
        "GET|POST|DELETE /_sim/faults": "faults",
        "GET|PATCH /_sim/options": "delays, quotas, rates, strictness",
        "GET|POST /_sim/clock": "the cloud's time: {\"step\": \"1h\"}, {\"scale\": 60}",
        "POST /_sim/actions/<product>.<Action>": "perform an API action as somebody else",
        "POST /_sim/instances": "add an instance",
        "DELETE /_sim/instances/<id>": "release an instance",
        "PATCH /_sim/instances/<id>": "change status, addresses, tags, type",
        "DELETE /_sim/load-balancers/<id>": "delete a load balancer out of band",
        "DELETE /_sim/members/<group>/<server>": "take a server out of a group",
        "PATCH /_sim/keys/<id>": "enable or disable an access key",
        "POST /_sim/credentials/expire": "end all sessions",
        "POST /_sim/jobs/pause|resume|fail": "hold NLB jobs back",
    })
}
