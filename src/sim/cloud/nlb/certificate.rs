//! Additional certificates of TCPSSL listeners.

use serde::Serialize;
use serde_json::{Value, json};

use super::job::{self, Effect};
use crate::sim::cloud::{Context, State, error::Failure, paging};

/// A certificate of a listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListenerCertificate {
    /// The server certificate's id.
    pub id: String,
    /// Whether it serves clients that name no host.
    pub is_default: bool,
    /// Where it is in its life.
    pub status: CertificateState,
}

/// Where a listener's certificate is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum CertificateState {
    /// On its way in.
    Associating,
    /// In use.
    Associated,
    /// On its way out.
    Dissociating,
}

// === impl CertificateState ===

impl CertificateState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Associating => "Associating",
            Self::Associated => "Associated",
            // This spelling is the product's.
            Self::Dissociating => "Diassociating",
        }
    }
}

// === impl ListenerCertificate ===

impl ListenerCertificate {
    pub(super) fn default_one(id: String) -> Self {
        Self { id, is_default: true, status: CertificateState::Associated }
    }
}

pub(super) fn associate(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("ListenerId")?;
    let wanted = cx.params.list("AdditionalCertificateIds");
    if let Some(unknown) = wanted.iter().find(|id| !state.slb.certificates.contains_key(*id)) {
        return Err(Failure::not_found(
            "ResourceNotFound.Certificate",
            format!("The certificate {unknown} does not exist."),
        ));
    }
    let listener = state.nlb.writable_listener(id)?;
    if listener.protocol != "TCPSSL" {
        return Err(Failure::bad("OperationDenied.Protocol", "Only TCPSSL listeners have certificates."));
    }
    if let Some(twice) = listener.certificates.iter().find(|one| wanted.contains(&one.id)) {
        return Err(Failure::bad(
            "ResourceAlreadyAssociated.Certificate",
            format!("The listener has {} already.", twice.id),
        ));
    }
    let associating =
        |id: &String| ListenerCertificate { id: id.clone(), is_default: false, status: CertificateState::Associating };
    listener.certificates.extend(wanted.iter().map(associating));
    let load_balancer = listener.load_balancer.clone();
    let effects = wanted.into_iter().map(|one| Effect::CertificateAssociated(id.to_owned(), one)).collect();
    Ok(job::begin(cx, state, Some(&load_balancer), effects))
}

pub(super) fn disassociate(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("ListenerId")?;
    let wanted = cx.params.list("AdditionalCertificateIds");
    let listener = state.nlb.writable_listener(id)?;
    for one in &wanted {
        let found = listener.certificates.iter_mut().find(|certificate| certificate.id == *one).ok_or_else(|| {
            Failure::bad("ResourceNotAssociated.Certificate", format!("The listener does not have {one}."))
        })?;
        if found.is_default {
            return Err(Failure::bad(
                "OperationDenied.DefaultCertificateUsed",
                format!("{one} is the default certificate."),
            ));
        }
    }
    for certificate in listener.certificates.iter_mut().filter(|certificate| wanted.contains(&certificate.id)) {
        certificate.status = CertificateState::Dissociating;
    }
    let load_balancer = listener.load_balancer.clone();
    let effects = wanted.into_iter().map(|one| Effect::CertificateGone(id.to_owned(), one)).collect();
    Ok(job::begin(cx, state, Some(&load_balancer), effects))
}

pub(super) fn list(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let listener = state.nlb.listener(cx.params.required("ListenerId")?)?;
    if listener.protocol != "TCPSSL" {
        return Err(Failure::bad("OperationDenied.Protocol", "Only TCPSSL listeners have certificates."));
    }
    let all: Vec<(&str, bool, &str, &str)> = if cx.params.get("CertType") == Some("Ca") {
        listener.ca_certificates.iter().map(|id| (id.as_str(), true, "Associated", "Ca")).collect()
    } else {
        let servers = listener.certificates.iter();
        servers.map(|one| (one.id.as_str(), one.is_default, one.status.as_str(), "Server")).collect()
    };
    let wanted = cx.params.list("CertificateIds");
    let all = all.into_iter().filter(|one| wanted.is_empty() || wanted.iter().any(|id| id == one.0)).collect();
    let size = paging::size(cx.params, "MaxResults", 20, 50)?;
    let page = paging::tokened(cx.params, all, size)?;
    let item = |(id, is_default, status, kind): &(&str, bool, &str, &str)| json!({ "CertificateId": id, "IsDefault": is_default, "Status": status, "CertificateType": kind });
    Ok(json!({
        "Certificates": page.items.iter().map(item).collect::<Vec<_>>(),
        "CertificateIds": page.items.iter().map(|one| one.0).collect::<Vec<_>>(),
        "MaxResults": page.size,
        "TotalCount": page.total,
        "NextToken": page.next.unwrap_or_default(),
    }))
}
