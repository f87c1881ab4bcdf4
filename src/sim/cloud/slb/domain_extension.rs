//! Additional domains of HTTPS listeners, each with its own certificate.

use serde::Serialize;
use serde_json::{Value, json};

use super::{LoadBalancer, Protocol};
use crate::sim::cloud::{Context, State, error::Failure};

/// An additional domain of an HTTPS listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DomainExtension {
    /// `de-…`.
    pub id: String,
    /// The load balancer's id.
    pub load_balancer: String,
    /// The listener's port.
    pub port: u16,
    /// The domain.
    pub domain: String,
    /// The server certificate's id.
    pub certificate: String,
}

fn missing(id: &str) -> Failure {
    Failure::bad("InvalidParameter.DomainExtensionId", format!("The domain extension {id} does not exist."))
}

fn listener(cx: &Context<'_>, state: &State) -> Result<(String, u16), Failure> {
    let port = cx.params.number::<u16>("ListenerPort")?.unwrap_or_default();
    let lb: &LoadBalancer = state.slb.load_balancer(cx.params.required("LoadBalancerId")?)?;
    lb.listener(port, Protocol::Https)
        .ok_or_else(|| Failure::not_found("ListenerNotFound", "The specified resource does not exist."))?;
    Ok((lb.id.clone(), port))
}

fn certificate(cx: &Context<'_>, state: &State) -> Result<String, Failure> {
    let id = cx.params.required("ServerCertificateId")?;
    if !state.slb.certificates.contains_key(id) {
        return Err(Failure::bad(
            "InvalidParameter.ServerCertificateId",
            format!("The certificate {id} does not exist."),
        ));
    }
    Ok(id.to_owned())
}

pub(super) fn create(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (load_balancer, port) = listener(cx, state)?;
    let certificate = certificate(cx, state)?;
    let domain = cx.params.required("Domain")?.to_owned();
    let mut present =
        state.slb.domain_extensions.values().filter(|de| de.load_balancer == load_balancer && de.port == port);
    if present.clone().any(|extension| extension.domain == domain) {
        return Err(Failure::bad("DomainExtensionExist", format!("The domain {domain} exists already.")));
    }
    if cx.options.quotas.domain_extensions.is_some_and(|limit| present.by_ref().count() >= limit) {
        return Err(Failure::bad(
            "DomainExtensionNumberOverLimit",
            "The number of domain extensions exceeds the quota.",
        ));
    }
    let extension = DomainExtension { id: cx.id("de-bp1"), load_balancer, port, domain, certificate };
    cx.change();
    let reply = json!({ "DomainExtensionId": extension.id, "ListenerPort": port });
    state.slb.domain_extensions.insert(extension.id.clone(), extension);
    Ok(reply)
}

pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("DomainExtensionId")?;
    state.slb.domain_extensions.remove(id).ok_or_else(|| missing(id))?;
    cx.change();
    Ok(json!({}))
}

pub(super) fn set(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("DomainExtensionId")?;
    let certificate = certificate(cx, state)?;
    let extension = state.slb.domain_extensions.get_mut(id).ok_or_else(|| missing(id))?;
    cx.set(&mut extension.certificate, certificate);
    Ok(json!({}))
}

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (load_balancer, port) = listener(cx, state)?;
    let list: Vec<Value> = state
        .slb
        .domain_extensions
        .values()
        .filter(|one| one.load_balancer == load_balancer && one.port == port)
        .filter(|one| cx.params.get("DomainExtensionId").is_none_or(|id| id == one.id))
        .map(|one| json!({ "DomainExtensionId": one.id, "Domain": one.domain, "ServerCertificateId": one.certificate }))
        .collect();
    Ok(json!({ "DomainExtensions": { "DomainExtension": list } }))
}

pub(super) fn describe_attribute(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("DomainExtensionId")?;
    let one = state.slb.domain_extensions.get(id).ok_or_else(|| missing(id))?;
    Ok(json!({
        "DomainExtensionId": one.id,
        "Domain": one.domain,
        "ServerCertificateId": one.certificate,
        "LoadBalancerId": one.load_balancer,
        "ListenerPort": one.port,
    }))
}
