//! A simulated Alibaba Cloud: the SLB, ECS, VPC and STS products and the metadata server
//! over their real wire protocol.
//!
//! It is written from the published contract alone. It knows nothing of the controller and
//! shares no type, signer or parser with it, so that each can prove the other wrong. All
//! time comes from a [`Clock`] and all chance from an [`Entropy`]; nothing runs in the
//! background.

#![expect(clippy::unnecessary_wraps, reason = "all actions have one type, also those that cannot fail")]

mod agenda;
mod call_log;
mod client_token;
mod context;
mod contract;
mod control;
mod coverage;
pub mod ecs;
mod edit;
mod error;
mod fault;
mod gateway;
mod http;
mod metadata;
pub mod nlb;
mod options;
mod paging;
mod params;
mod rate;
mod region;
mod server;
mod signature;
pub mod slb;
mod state;
mod sts;
mod tag;
mod tagging;
mod time;
pub mod vpc;
mod warp;
mod wire;
mod world;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;

pub use self::{
    call_log::Call,
    edit::EditError,
    fault::{Fault, Kind as FaultKind},
    http::DROP_HEADER,
    options::{Delays, Options, Quotas},
    rate::Rate,
    region::Region,
    signature::Caller,
    state::State,
    sts::AccessKey,
    tag::Tags,
    world::{World, WorldError, WrongWorld},
};
use self::{
    call_log::CallLog, client_token::ClientTokens, context::Context, error::Failure, fault::Faults, rate::Windows,
    signature::Nonces, warp::Warp,
};
use crate::{clock::Clock, entropy::Entropy};

/// A simulated cloud. Clones are handles to the same one.
#[derive(Clone)]
pub struct Cloud {
    inner: Arc<Mutex<Inner>>,
    clock: Clock,
}

/// Everything behind the lock.
struct Inner {
    state: State,
    options: Options,
    entropy: Entropy,
    log: CallLog,
    faults: Faults,
    nonces: Nonces,
    tokens: ClientTokens,
    breaches: Vec<String>,
    windows: Windows,
    warp: Warp,
    metadata: metadata::Sessions,
}

/// The code behind one action.
type Handler = fn(&mut Context<'_>, &mut State) -> Result<Value, Failure>;

// === impl Cloud ===

impl Cloud {
    /// Starts a cloud with that world.
    pub fn new(world: World, options: Options, clock: Clock, entropy: Entropy) -> Result<Self, WorldError> {
        let state = world.into_state(clock.now(), &entropy)?;
        let inner = Inner {
            state,
            log: CallLog::new(options.call_log),
            options,
            entropy,
            faults: Faults::default(),
            nonces: Nonces::default(),
            tokens: ClientTokens::default(),
            breaches: Vec::new(),
            windows: Windows::default(),
            warp: Warp::new(clock.now()),
            metadata: metadata::Sessions::default(),
        };
        Ok(Self { inner: Arc::new(Mutex::new(inner)), clock })
    }

    /// All products and the metadata server as one HTTP service.
    pub fn router(&self) -> axum::Router {
        http::router(self.clone())
    }

    /// The calls so far, oldest first, as many as the log keeps.
    pub fn calls(&self) -> Vec<Call> {
        self.inner.lock().log.calls()
    }

    /// The number of calls by action, such as `slb.CreateLoadBalancer`.
    pub fn call_counts(&self) -> BTreeMap<String, u64> {
        self.inner.lock().log.counts().clone()
    }

    /// Forgets the calls and starts the counters again.
    pub fn clear_calls(&self) {
        self.inner.lock().log.clear();
    }

    /// Places where replies departed from the contract, if [`Options::check_replies`] is set.
    /// Each one is a mistake of the simulator.
    pub fn contract_breaches(&self) -> Vec<String> {
        self.inner.lock().breaches.clone()
    }

    /// Adds a fault.
    pub fn inject(&self, fault: Fault) {
        self.inner.lock().faults.add(fault);
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.inner.lock().faults.clear();
    }

    /// The current behaviour.
    pub fn options(&self) -> Options {
        self.inner.lock().options.clone()
    }

    /// Changes the behaviour.
    pub fn configure(&self, change: impl FnOnce(&mut Options)) {
        change(&mut self.inner.lock().options);
    }

    /// The cloud's own time.
    pub fn now(&self) -> Timestamp {
        self.inner.lock().warp.time(self.clock.now())
    }

    /// Moves the cloud's own time on, so that what is due in that time happens. Signatures
    /// are still checked against the real time.
    pub fn step_clock(&self, by: Duration) {
        self.inner.lock().warp.step(by);
    }

    /// Lets the cloud's own time run faster or slower from now on; 0 stops it.
    pub fn scale_clock(&self, scale: f64) {
        let now = self.clock.now();
        self.inner.lock().warp.scale(scale, now);
    }

    /// Looks at or edits the resources, as an administrator would, after all that is due has
    /// happened.
    pub fn with_state<T>(&self, visit: impl FnOnce(&mut State) -> T) -> T {
        let inner = &mut *self.inner.lock();
        inner.state.settle(inner.warp.time(self.clock.now()));
        visit(&mut inner.state)
    }
}

#[cfg(test)]
mod tests;
