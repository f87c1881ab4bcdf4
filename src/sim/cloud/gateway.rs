//! The way of one API call through the cloud: what it asks for, who asks, whether it is
//! well formed, and then the action. Faults are applied here and nowhere else.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use serde_json::Value;

use super::{
    Call, Caller, Context, Handler, Inner, Options,
    contract::{self, Contract},
    error::Failure,
    fault::Kind,
    params::Params,
    signature,
    wire::Request,
};

/// What a request asks for, known before anything is checked.
pub(crate) struct Arrival {
    pub(crate) product: String,
    pub(crate) action: String,
    pub(crate) request_id: String,
    pub(crate) fault: Option<Kind>,
}

/// What became of a call.
pub(crate) struct Served {
    pub(crate) outcome: Result<Value, Failure>,
    /// The connection breaks instead of carrying the answer.
    pub(crate) dropped: bool,
}

/// The most departures from the contract that are kept.
const BREACHES: usize = 1_000;

/// Parameters of the signature and of the session, which the call log leaves out.
const SYSTEM: [&str; 14] = [
    "AccessKeyId",
    "Action",
    "Format",
    "SecurityToken",
    "Signature",
    "SignatureMethod",
    "SignatureNonce",
    "SignatureType",
    "SignatureVersion",
    "TimeStamp",
    "Timestamp",
    "Version",
    "OIDCToken",
    "PrivateKey",
];

// === impl Arrival ===

impl Arrival {
    /// Gives a refusal that came without a status the one that the contract documents.
    fn documented(&self, refusal: Failure) -> Failure {
        if refusal.status != 0 {
            return refusal;
        }
        let action = Contract::get().action(&self.product, &self.action);
        let status = action.and_then(|action| action.errors.get(&refusal.code).copied().flatten());
        Failure { status: status.unwrap_or(400), ..refusal }
    }

    /// How long the call waits before it takes effect.
    pub(crate) fn delay(&self, options: &Options) -> Duration {
        match self.fault {
            Some(Kind::Slow(delay)) => options.latency + delay,
            _ => options.latency,
        }
    }
}

// === impl Inner ===

impl Inner {
    /// Reads what a request asks for and picks its fault.
    pub(crate) fn arrive(&mut self, request: &Request) -> Arrival {
        let version = request.param("Version").or_else(|| request.header("x-acs-version")).unwrap_or_default();
        let action = request.param("Action").or_else(|| request.header("x-acs-action")).unwrap_or_default();
        let product = Contract::get().product(version).unwrap_or_default();
        Arrival {
            fault: self.faults.pick(product, action, &self.entropy),
            product: product.to_owned(),
            action: action.to_owned(),
            request_id: self.entropy.uuid().to_uppercase(),
        }
    }

    /// Serves a call and logs it.
    ///
    /// `clock` is the time that signatures are checked against; the cloud's own time may have
    /// been moved on from it.
    pub(crate) fn serve(&mut self, request: &Request, arrival: &Arrival, clock: Timestamp) -> Served {
        let now = self.warp.time(clock);
        self.state.settle(now);
        let mut record = Call {
            product: arrival.product.clone(),
            action: arrival.action.clone(),
            params: logged(&request.params),
            caller: Caller::default(),
            user_agent: request.header("user-agent").unwrap_or_default().to_owned(),
            status: 200,
            code: None,
            changed: false,
            request_id: arrival.request_id.clone(),
            at: now,
        };
        let mut dropped = false;
        let outcome = match &arrival.fault {
            Some(Kind::DropBefore) => {
                dropped = true;
                Err(Failure::new(0, "ConnectionDropped", "The connection broke before the call took effect."))
            }
            fault => match fault.as_ref().and_then(Kind::refusal) {
                Some(refusal) => Err(arrival.documented(refusal)),
                None => self.execute(request, arrival, (clock, now), &mut record),
            },
        };
        let outcome = outcome.map(|mut reply| {
            if let Some(fault) = &arrival.fault {
                dropped = *fault == Kind::DropAfter;
                fault.spoil(&mut reply);
            }
            reply["RequestId"] = arrival.request_id.clone().into();
            reply
        });
        if let Err(failure) = &outcome {
            record.status = failure.status;
            record.code = Some(failure.code.clone());
        }
        if dropped {
            record.status = 0;
        }
        self.log.push(record);
        Served { outcome, dropped }
    }

    fn execute(
        &mut self,
        request: &Request,
        arrival: &Arrival,
        (clock, now): (Timestamp, Timestamp),
        record: &mut Call,
    ) -> Result<Value, Failure> {
        let (product, name) = (arrival.product.as_str(), arrival.action.as_str());
        if name.is_empty() {
            return Err(Failure::missing("Action"));
        }
        if product.is_empty() {
            return Err(match request.param("Version").or_else(|| request.header("x-acs-version")) {
                Some(_) => Failure::not_found("InvalidVersion", "Specified parameter Version is not valid."),
                None => Failure::missing("Version"),
            });
        }
        let action = Contract::get().action(product, name).ok_or_else(|| {
            Failure::not_found(
                "InvalidAction.NotFound",
                "Specified api is not found, please check your url and method.",
            )
        })?;
        let relaxed = self.options.relaxed_signatures;
        if action.auth.as_deref() != Some("anonymous") {
            record.caller =
                signature::authenticate(request, &self.state.keys, &mut self.nonces, (clock, now), relaxed)?;
        }
        self.windows.admit(&self.options.rates, &format!("{product}.{name}"), now)?;
        let given = request.params.iter().filter(|(name, _)| *name != "Action" && *name != "Version");
        let params = Params::new(given.map(|(name, value)| (name.clone(), value.clone())));
        let params = contract::check(action, &params)?;
        let region = self.region(&params)?;
        let handler = handler(product, name).ok_or_else(|| {
            Failure::bad("UnsupportedOperation", format!("The action {product}.{name} exists and is not simulated."))
        })?;
        let token = params.get("ClientToken").filter(|_| action.idempotent_via.is_some()).map(str::to_owned);
        if let Some(token) = &token
            && let Some(earlier) = self.tokens.recall(product, name, token, &params)?
        {
            return Ok(earlier);
        }
        let mut cx = Context::new(name, &params, &region, &record.caller, now, &self.options, &self.entropy);
        if action.dry_run && params.flag("DryRun") == Some(true) {
            handler(&mut cx, &mut self.state.clone())?;
            return Err(Failure::bad("DryRunOperation", "Request validation has been passed with DryRun flag set."));
        }
        let reply = if arrival.fault == Some(Kind::OtherRegion) {
            handler(&mut cx, &mut self.state.elsewhere())?
        } else if arrival.fault == Some(Kind::FailedJob) {
            let mut changed = self.state.clone();
            let reply = handler(&mut cx, &mut changed)?;
            match reply.get("JobId").and_then(Value::as_str).and_then(|id| changed.nlb.jobs.remove(id)) {
                Some(job) => super::nlb::job::begin_in_vain(&cx, &mut self.state, job),
                None => self.state = changed,
            }
            record.changed = cx.changed();
            reply
        } else {
            let reply = handler(&mut cx, &mut self.state)?;
            record.changed = cx.changed();
            reply
        };
        if self.options.check_replies {
            let found = contract::breaches(&action.reply, &reply);
            let room = BREACHES.saturating_sub(self.breaches.len());
            self.breaches.extend(found.into_iter().take(room).map(|breach| format!("{product}.{name}: {breach}")));
        }
        if let Some(token) = token {
            self.tokens.remember(product, name, &token, &params, &reply);
        }
        Ok(reply)
    }

    /// The call's region, which must exist; the first one if the call names none.
    fn region(&self, params: &Params) -> Result<String, Failure> {
        let first = self.state.regions.first().map(|region| region.id.as_str()).unwrap_or_default();
        let wanted = params.get("RegionId").unwrap_or(first);
        if self.state.regions.iter().any(|region| region.id == wanted) {
            Ok(wanted.to_owned())
        } else {
            Err(Failure::not_found(
                "InvalidRegionId.NotFound",
                format!("The specified RegionId {wanted} does not exist."),
            ))
        }
    }
}

fn logged(params: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let shown = params.iter().filter(|(name, _)| !SYSTEM.contains(&name.as_str()));
    shown.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The code behind an action, if it is simulated.
pub(crate) fn handler(product: &str, action: &str) -> Option<Handler> {
    match product {
        "slb" => super::slb::handler(action),
        "nlb" => super::nlb::handler(action),
        "ecs" => super::ecs::handler(action),
        "vpc" => super::vpc::handler(action),
        "sts" => super::sts::handler(action),
        _ => None,
    }
}
