//! The life of listeners: created, started, changed, stopped, deleted.

use serde_json::{Value, json};

use super::{Due, Listener, ListenerStatus, Protocol, Slb, settings::Settings};
use crate::sim::cloud::{Context, State, agenda, error::Failure, tag};

/// The listener that a call means.
struct Target {
    load_balancer: String,
    port: u16,
    protocol: Protocol,
}

// === impl Slb ===

impl Slb {
    fn listener_mut(&mut self, target: &Target) -> Result<&mut Listener, Failure> {
        self.load_balancer_mut(&target.load_balancer)?.listener_mut(target.port, target.protocol).ok_or_else(missing)
    }
}

fn missing() -> Failure {
    Failure::not_found("ListenerNotFound", "The specified resource does not exist.")
}

/// The listener that the call names. The action's name or `ListenerProtocol` tells the
/// protocol; without either the port alone must be enough.
fn target(cx: &Context<'_>, state: &State) -> Result<Target, Failure> {
    let id = cx.params.required("LoadBalancerId")?;
    let port: u16 = port(cx)?;
    let load_balancer = state.slb.load_balancer(id)?;
    let named =
        ["TCP", "UDP", "HTTP"].iter().any(|name| cx.action.contains(name)).then(|| Protocol::of_action(cx.action));
    let wanted = match (named, cx.params.get("ListenerProtocol")) {
        (Some(protocol), _) => Some(protocol),
        (None, Some(text)) => Some(Protocol::parse(text).ok_or_else(|| Failure::invalid("ListenerProtocol"))?),
        (None, None) => None,
    };
    let mut found = load_balancer
        .listeners
        .iter()
        .filter(|listener| listener.port == port && wanted.is_none_or(|wanted| wanted == listener.protocol));
    match (found.next(), found.next()) {
        (Some(listener), None) => Ok(Target { load_balancer: id.to_owned(), port, protocol: listener.protocol }),
        (Some(_), Some(_)) => Err(Failure::bad(
            "TooManyListeners",
            format!("More than one listener has the port {port}; give the ListenerProtocol."),
        )),
        (None, _) => Err(missing()),
    }
}

fn port(cx: &Context<'_>) -> Result<u16, Failure> {
    cx.params.number("ListenerPort")?.filter(|port| *port > 0).ok_or_else(|| Failure::invalid("ListenerPort"))
}

pub(super) fn create(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let protocol = Protocol::of_action(cx.action);
    let id = cx.params.required("LoadBalancerId")?;
    let port = port(cx)?;
    let load_balancer = state.slb.load_balancer(id)?;
    load_balancer.check_unlocked()?;
    let taken = load_balancer.listeners.iter().filter(|listener| listener.port == port);
    if taken.into_iter().any(|listener| !listener.protocol.shares_port_with(protocol)) {
        return Err(Failure::bad("ListenerAlreadyExists", "A listener with the specified port already exists."));
    }
    if cx.options.quotas.listeners.is_some_and(|limit| load_balancer.listeners.len() >= limit) {
        return Err(Failure::bad("ListenerNumberOverLimit", "The number of listeners exceeds the quota."));
    }
    let mut settings = Settings::defaults(protocol);
    settings.change(cx.params)?;
    check(state, id, protocol, &settings)?;
    let listener = Listener {
        port,
        protocol,
        status: ListenerStatus::Stopped,
        settings,
        tags: tag::given(cx.params)?,
        created: cx.now,
    };
    cx.change();
    let load_balancer = state.slb.load_balancer_mut(id)?;
    load_balancer.listeners.push(listener);
    load_balancer.listeners.sort_by_key(|listener| (listener.port, listener.protocol));
    Ok(json!({}))
}

/// What an attribute names must exist.
fn check(state: &State, id: &str, protocol: Protocol, settings: &Settings) -> Result<(), Failure> {
    match settings.get("VServerGroupId") {
        Some(group) => {
            state
                .slb
                .groups
                .get(group)
                .filter(|found| found.load_balancer == id)
                .ok_or_else(|| super::group::missing(group))?;
        }
        None if settings.get("BackendServerPort").is_none() && settings.get("ForwardPort").is_none() => {
            return Err(Failure::missing("BackendServerPort"));
        }
        None => {}
    }
    if settings.get("ListenerForward") == Some("on") {
        let forward = settings.get("ForwardPort").and_then(|text| text.parse().ok()).unwrap_or(443);
        let lb = state.slb.load_balancer(id)?;
        if lb.listener(forward, Protocol::Https).is_none() {
            return Err(Failure::bad(
                "ListenerForwardNotExist",
                format!("There is no HTTPS listener on the port {forward}."),
            ));
        }
    }
    super::reference::check(state, protocol, settings)
}

pub(super) fn set(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let target = target(cx, state)?;
    let listener = state.slb.listener_mut(&target)?;
    listener.check_settled()?;
    let mut settings = listener.settings.clone();
    settings.change(cx.params)?;
    if settings == listener.settings {
        return Ok(json!({}));
    }
    check(state, &target.load_balancer, target.protocol, &settings)?;
    cx.change();
    let listener = state.slb.listener_mut(&target)?;
    listener.settings = settings;
    let after = listener.status;
    move_to(cx, state, &target, ListenerStatus::Configuring, after, cx.options.delays.listener_change)?;
    Ok(json!({}))
}

pub(super) fn start(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let target = target(cx, state)?;
    state.slb.load_balancer(&target.load_balancer)?.check_unlocked()?;
    let listener = state.slb.listener_mut(&target)?;
    listener.check_settled()?;
    if listener.status != ListenerStatus::Stopped {
        return Err(wrong_status(listener));
    }
    cx.change();
    move_to(cx, state, &target, ListenerStatus::Starting, ListenerStatus::Running, cx.options.delays.listener)?;
    Ok(json!({}))
}

pub(super) fn stop(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let target = target(cx, state)?;
    let listener = state.slb.listener_mut(&target)?;
    listener.check_settled()?;
    if listener.status != ListenerStatus::Running {
        return Err(wrong_status(listener));
    }
    cx.change();
    move_to(cx, state, &target, ListenerStatus::Stopping, ListenerStatus::Stopped, cx.options.delays.listener)?;
    Ok(json!({}))
}

fn wrong_status(listener: &Listener) -> Failure {
    Failure::bad(
        "OperationFailed.ListenerStatusNotSupport",
        format!(
            "The listener on the port {} is {}, which does not support the operation.",
            listener.port,
            listener.status.as_str()
        ),
    )
}

fn move_to(
    cx: &Context<'_>,
    state: &mut State,
    target: &Target,
    during: ListenerStatus,
    after: ListenerStatus,
    delay: std::time::Duration,
) -> Result<(), Failure> {
    state.slb.listener_mut(target)?.status = during;
    let due = Due::Listener {
        load_balancer: target.load_balancer.clone(),
        port: target.port,
        protocol: target.protocol,
        status: after,
    };
    state.later(cx, delay, agenda::Due::Slb(due));
    Ok(())
}

pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let target = target(cx, state).map_err(|failure| match failure.code.as_str() {
        "ListenerNotFound" => Failure { code: "ResourceNotFound.Listener".to_owned(), ..failure },
        _ => failure,
    })?;
    state.slb.listener_mut(&target)?.check_settled()?;
    let load_balancer = state.slb.load_balancer_mut(&target.load_balancer)?;
    let port = target.port.to_string();
    let forwards = |listener: &Listener| {
        listener.setting("ListenerForward") == Some("on") && listener.setting("ForwardPort") == Some(&port)
    };
    if target.protocol == Protocol::Https && load_balancer.listeners.iter().any(forwards) {
        return Err(Failure::bad("ListenerForwardExist", "Another listener forwards to this one."));
    }
    load_balancer.listeners.retain(|listener| (listener.port, listener.protocol) != (target.port, target.protocol));
    cx.change();
    state.slb.forget_listener(&target.load_balancer, target.port, target.protocol);
    Ok(json!({}))
}

/// The HTTP or HTTPS listener that the call names.
pub(super) fn layer_seven(cx: &Context<'_>, state: &State) -> Result<(String, u16, Protocol), Failure> {
    let target = target(cx, state)?;
    match target.protocol {
        Protocol::Http | Protocol::Https => Ok((target.load_balancer, target.port, target.protocol)),
        Protocol::Tcp | Protocol::Udp => Err(Failure::bad(
            "OperationFailed.ActionNotSupport",
            "Only HTTP and HTTPS listeners have forwarding rules.",
        )),
    }
}

/// The old switch of a listener's white list.
pub(super) fn set_access_control_status(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let target = target(cx, state)?;
    let on = cx.params.get("AccessControlStatus") == Some("open_white_list");
    let listener = state.slb.listener_mut(&target)?;
    if on && listener.setting("AclId").is_none() {
        return Err(Failure::bad("OperationUnsupported.SetAccessControl", "The listener has no access control list."));
    }
    let mut settings = listener.settings.clone();
    settings.insert("AclStatus", if on { "on" } else { "off" });
    cx.set(&mut listener.settings, settings);
    Ok(json!({}))
}

pub(super) fn describe_attribute(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let target = target(cx, state)?;
    let listener = state.slb.listener_mut(&target)?;
    Ok(super::listener_view::attribute(cx.action, &target.load_balancer, listener))
}
