//! Listeners of network load balancers. Unlike the classic ones they run once they are created.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::{
    Nlb,
    certificate::ListenerCertificate,
    job::{self, Effect},
};
use crate::sim::cloud::{
    Context, State,
    error::Failure,
    params::Params,
    tag::{self, Tags},
};

/// A listener of a network load balancer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NlbListener {
    /// `lsn-…@<port>`.
    pub id: String,
    /// The load balancer's id.
    pub load_balancer: String,
    /// `TCP`, `UDP` or `TCPSSL`.
    pub protocol: String,
    /// The port; 0 if it listens on a range of ports.
    pub port: u16,
    /// The range of ports.
    pub range: Option<(u16, u16)>,
    /// The server group's id.
    pub server_group: String,
    /// Where it is in its life.
    pub status: ListenerState,
    /// Plain attributes by the names that the get action gives them.
    pub attributes: BTreeMap<String, String>,
    /// Server certificates, the default one first.
    pub certificates: Vec<ListenerCertificate>,
    /// CA certificate ids.
    pub ca_certificates: Vec<String>,
    /// The parts of the proxy protocol, as they were given.
    pub proxy_protocol_config: BTreeMap<String, bool>,
    /// Tags.
    pub tags: Tags,
    /// Creation time.
    pub created: Timestamp,
}

/// Where a listener is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ListenerState {
    /// Being created.
    Provisioning,
    /// Takes connections.
    Running,
    /// A change is being applied.
    Configuring,
    /// On its way down.
    Stopping,
    /// Takes no connections.
    Stopped,
    /// On its way up.
    Starting,
    /// Being deleted.
    Deleting,
}

/// What a create or update call may set, by the names of the get action.
const PLAIN: [&str; 10] = [
    "AlpnEnabled",
    "AlpnPolicy",
    "CaEnabled",
    "Cps",
    "IdleTimeout",
    "ListenerDescription",
    "Mss",
    "ProxyProtocolEnabled",
    "SecSensorEnabled",
    "SecurityPolicyId",
];

const DEFAULTS: [(&str, &str); 7] = [
    ("AlpnEnabled", "false"),
    ("CaEnabled", "false"),
    ("Cps", "0"),
    ("IdleTimeout", "900"),
    ("ListenerDescription", ""),
    ("ProxyProtocolEnabled", "false"),
    ("SecSensorEnabled", "false"),
];

// === impl ListenerState ===

impl ListenerState {
    /// As the product spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Provisioning => "Provisioning",
            Self::Running => "Running",
            Self::Configuring => "Configuring",
            Self::Stopping => "Stopping",
            Self::Stopped => "Stopped",
            Self::Starting => "Starting",
            Self::Deleting => "Deleting",
        }
    }
}

// === impl NlbListener ===

impl NlbListener {
    fn change(&mut self, params: &Params, state: &State) -> Result<(), Failure> {
        for name in PLAIN {
            if let Some(value) = params.get(name) {
                self.attributes.insert(name.to_owned(), value.to_owned());
            }
        }
        let certificates = params.list("CertificateIds");
        if !certificates.is_empty() {
            let known = |id: &&String| state.slb.certificates.contains_key(*id);
            if let Some(unknown) = certificates.iter().find(|id| !known(id)) {
                return Err(Failure::not_found(
                    "ResourceNotFound.Certificate",
                    format!("The certificate {unknown} does not exist."),
                ));
            }
            self.certificates.retain(|certificate| !certificate.is_default);
            let default = certificates.into_iter().map(ListenerCertificate::default_one);
            self.certificates.splice(0..0, default);
        }
        let ca = params.list("CaCertificateIds");
        if !ca.is_empty() {
            self.ca_certificates = ca;
        }
        if let Some(config) = params.json::<BTreeMap<String, Value>>("ProxyProtocolV2Config")? {
            let flag = |value: &Value| value.as_bool().unwrap_or_else(|| value.as_str() == Some("true"));
            self.proxy_protocol_config.extend(config.iter().map(|(name, value)| (name.clone(), flag(value))));
        }
        if self.protocol == "TCPSSL" {
            if self.certificates.is_empty() {
                return Err(Failure::bad("MissingParam.Certificate", "A TCPSSL listener needs a certificate."));
            }
            self.attributes.entry("SecurityPolicyId".to_owned()).or_insert_with(|| "tls_cipher_policy_1_0".to_owned());
            super::security_policy::check(state, &self.attributes["SecurityPolicyId"])?;
        }
        let timeout = params.number::<i64>("IdleTimeout")?;
        if timeout.is_some_and(|timeout| !(1..=900).contains(&timeout)) {
            return Err(Failure::bad("IllegalParam.IdleTimeout", "The IdleTimeout must be 1 to 900."));
        }
        Ok(())
    }
}

// === impl Nlb ===

impl Nlb {
    pub(super) fn listener(&self, id: &str) -> Result<&NlbListener, Failure> {
        self.listeners.get(id).ok_or_else(|| missing(id))
    }

    /// A listener that takes writes now, as its load balancer must too.
    pub(super) fn writable_listener(&mut self, id: &str) -> Result<&mut NlbListener, Failure> {
        let load_balancer = self.listener(id)?.load_balancer.clone();
        self.writable(&load_balancer)?;
        let listener = self.listeners.get_mut(id).ok_or_else(|| missing(id))?;
        match listener.status {
            ListenerState::Running | ListenerState::Stopped => Ok(listener),
            status => Err(Failure::bad(
                "IncorrectStatus.listener",
                format!("The listener {id} is {}, which does not support the operation.", status.as_str()),
            )),
        }
    }
}

fn missing(id: &str) -> Failure {
    Failure::not_found("ResourceNotFound.listener", format!("The specified resource {id} is not found."))
}

pub(super) fn create(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let load_balancer = cx.params.required("LoadBalancerId")?;
    let vpc = state.nlb.writable(load_balancer)?.vpc.clone();
    let port = cx.params.number::<u16>("ListenerPort")?.ok_or_else(|| Failure::invalid("ListenerPort"))?;
    let range = cx.params.number::<u16>("StartPort")?.zip(cx.params.number::<u16>("EndPort")?);
    if (port == 0) != range.is_some() || range.is_some_and(|(start, end)| start == 0 || start > end) {
        return Err(Failure::bad("IllegalParam.Port", "Give a ListenerPort, or 0 with StartPort and EndPort."));
    }
    let protocol = cx.params.required("ListenerProtocol")?.to_owned();
    let own: Vec<&NlbListener> =
        state.nlb.listeners.values().filter(|one| one.load_balancer == load_balancer).collect();
    let taken = |one: &&NlbListener| (one.protocol == "UDP") == (protocol == "UDP") && overlap(one, port, range);
    if own.iter().copied().any(|one| taken(&one)) {
        return Err(Failure::bad("Conflict.Port", format!("The port {port} is taken by another listener.")));
    }
    if cx.options.quotas.network_listeners.is_some_and(|limit| own.len() >= limit) {
        return Err(Failure::bad("QuotaExceeded.QuotaInsufficient", "The number of listeners exceeds the quota."));
    }
    let group = cx.params.required("ServerGroupId")?;
    check_group(state, group, &vpc, &protocol)?;
    let mut listener = NlbListener {
        id: format!("{}@{port}", cx.id("lsn-")),
        load_balancer: load_balancer.to_owned(),
        protocol,
        port,
        range,
        server_group: group.to_owned(),
        status: ListenerState::Provisioning,
        attributes: DEFAULTS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        certificates: Vec::new(),
        ca_certificates: Vec::new(),
        proxy_protocol_config: BTreeMap::new(),
        tags: tag::given(cx.params)?,
        created: cx.now,
    };
    listener.change(cx.params, state)?;
    let id = listener.id.clone();
    state.nlb.listeners.insert(id.clone(), listener);
    let mut reply =
        job::begin(cx, state, Some(load_balancer), vec![Effect::Listener(id.clone(), ListenerState::Running)]);
    reply["ListenerId"] = id.into();
    Ok(reply)
}

fn overlap(listener: &NlbListener, port: u16, range: Option<(u16, u16)>) -> bool {
    let (start, end) = listener.range.unwrap_or((listener.port, listener.port));
    let (first, last) = range.unwrap_or((port, port));
    start <= last && first <= end
}

fn check_group(state: &State, id: &str, vpc: &str, protocol: &str) -> Result<(), Failure> {
    let group = state.nlb.server_group(id)?;
    if group.vpc != vpc {
        return Err(Failure::bad("Mismatch.VpcId", format!("The server group {id} is in another VPC.")));
    }
    let fits = match group.protocol.as_str() {
        "TCP_UDP" => protocol != "TCPSSL",
        "UDP" => protocol == "UDP",
        _ => protocol != "UDP",
    };
    if fits {
        Ok(())
    } else {
        Err(Failure::bad("Mismatch.Protocol", format!("The server group {id} is for {}.", group.protocol)))
    }
}

pub(super) fn update(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("ListenerId")?;
    let mut listener = state.nlb.writable_listener(id)?.clone();
    if let Some(group) = cx.params.get("ServerGroupId") {
        let vpc = state.nlb.load_balancer(&listener.load_balancer)?.vpc.clone();
        check_group(state, group, &vpc, &listener.protocol)?;
        group.clone_into(&mut listener.server_group);
    }
    listener.change(cx.params, state)?;
    let after = listener.status;
    listener.status = ListenerState::Configuring;
    let load_balancer = listener.load_balancer.clone();
    state.nlb.listeners.insert(id.to_owned(), listener);
    Ok(job::begin(cx, state, Some(&load_balancer), vec![Effect::Listener(id.to_owned(), after)]))
}

pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("ListenerId")?;
    let listener = state.nlb.writable_listener(id)?;
    listener.status = ListenerState::Deleting;
    let load_balancer = listener.load_balancer.clone();
    Ok(job::begin(cx, state, Some(&load_balancer), vec![Effect::ListenerGone(id.to_owned())]))
}

pub(super) fn start(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    turn(cx, state, ListenerState::Stopped, ListenerState::Starting, ListenerState::Running)
}

pub(super) fn stop(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    turn(cx, state, ListenerState::Running, ListenerState::Stopping, ListenerState::Stopped)
}

fn turn(
    cx: &mut Context<'_>,
    state: &mut State,
    before: ListenerState,
    during: ListenerState,
    after: ListenerState,
) -> Result<Value, Failure> {
    let id = cx.params.required("ListenerId")?;
    let listener = state.nlb.writable_listener(id)?;
    if listener.status != before {
        return Err(Failure::bad(
            "IncorrectStatus.listener",
            format!("The listener {id} is {}.", listener.status.as_str()),
        ));
    }
    listener.status = during;
    let load_balancer = listener.load_balancer.clone();
    Ok(job::begin(cx, state, Some(&load_balancer), vec![Effect::Listener(id.to_owned(), after)]))
}
