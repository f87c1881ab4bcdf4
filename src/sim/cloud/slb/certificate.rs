//! Server and CA certificates.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::certificate_text;
use crate::sim::cloud::{
    Context, State,
    error::Failure,
    tag::{self, Tags},
    time,
};

/// A certificate. Private keys are checked for their form and thrown away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// Server certificates: `<account>_<…>`.
    pub id: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Region id.
    pub region: String,
    /// The subject's common name.
    #[serde(default)]
    pub common_name: String,
    /// SHA-1, with colons.
    #[serde(default)]
    pub fingerprint: String,
    /// The end of its validity.
    pub expires: Timestamp,
    /// Tags.
    #[serde(default)]
    pub tags: Tags,
    /// Creation time.
    #[serde(default)]
    pub created: Timestamp,
}

pub(super) fn upload(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let key = cx.params.required("PrivateKey")?;
    if !key.contains("PRIVATE KEY-----") {
        return Err(Failure::bad("CertificateFormatInvalid", "The PrivateKey is not in PEM form."));
    }
    let certificate = made(cx, state, "ServerCertificate", "ServerCertificateName")?;
    cx.change();
    let reply = server_item(state, &certificate);
    state.slb.certificates.insert(certificate.id.clone(), certificate);
    Ok(without_tags(reply))
}

pub(super) fn upload_ca(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let certificate = made(cx, state, "CACertificate", "CACertificateName")?;
    cx.change();
    let mut reply = without_tags(ca_item(state, &certificate));
    if let Value::Object(fields) = &mut reply {
        fields.remove("RegionId");
    }
    state.slb.ca_certificates.insert(certificate.id.clone(), certificate);
    Ok(reply)
}

fn without_tags(mut reply: Value) -> Value {
    if let Value::Object(fields) = &mut reply {
        fields.remove("Tags");
    }
    reply
}

fn made(cx: &Context<'_>, state: &State, text: &str, name: &str) -> Result<Certificate, Failure> {
    let facts = certificate_text::read(cx.params.required(text)?).ok_or_else(|| {
        Failure::bad("CertificateFormatInvalid", format!("The {text} is not a certificate in PEM form."))
    })?;
    let id = cx.id(&format!("{}_", state.account));
    Ok(Certificate {
        name: cx.params.get(name).map_or_else(|| id.clone(), str::to_owned),
        region: cx.region.to_owned(),
        common_name: facts.common_name,
        fingerprint: facts.fingerprint,
        expires: facts.expires,
        tags: tag::given(cx.params)?,
        created: cx.now,
        id,
    })
}

fn server_item(state: &State, certificate: &Certificate) -> Value {
    let mut item = shared(state, certificate);
    item["ServerCertificateId"] = certificate.id.clone().into();
    item["ServerCertificateName"] = certificate.name.clone().into();
    item["IsAliCloudCertificate"] = 0.into();
    item["AliCloudCertificateId"] = "".into();
    item["AliCloudCertificateName"] = "".into();
    item["SubjectAlternativeNames"] = json!({ "SubjectAlternativeName": [certificate.common_name] });
    item
}

fn ca_item(state: &State, certificate: &Certificate) -> Value {
    let mut item = shared(state, certificate);
    item["CACertificateId"] = certificate.id.clone().into();
    item["CACertificateName"] = certificate.name.clone().into();
    item
}

fn shared(state: &State, certificate: &Certificate) -> Value {
    json!({
        "RegionId": certificate.region,
        "CommonName": certificate.common_name,
        "Fingerprint": certificate.fingerprint,
        "CreateTime": time::seconds(certificate.created),
        "CreateTimeStamp": certificate.created.as_millisecond(),
        "ExpireTime": time::seconds(certificate.expires),
        "ExpireTimeStamp": certificate.expires.as_millisecond(),
        "ResourceGroupId": state.resource_group(),
        "Tags": { "Tag": tag::list(&certificate.tags) },
    })
}

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = tag::filter(cx.params);
    let id = cx.params.get("ServerCertificateId");
    let list: Vec<Value> = state
        .slb
        .certificates
        .values()
        .filter(|one| one.region == cx.region && id.is_none_or(|id| id == one.id) && tag::matches(&one.tags, &wanted))
        .map(|one| server_item(state, one))
        .collect();
    Ok(json!({ "ServerCertificates": { "ServerCertificate": list } }))
}

pub(super) fn describe_ca(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = tag::filter(cx.params);
    let id = cx.params.get("CACertificateId");
    let list: Vec<Value> = state
        .slb
        .ca_certificates
        .values()
        .filter(|one| one.region == cx.region && id.is_none_or(|id| id == one.id) && tag::matches(&one.tags, &wanted))
        .map(|one| ca_item(state, one))
        .collect();
    Ok(json!({ "CACertificates": { "CACertificate": list } }))
}

fn missing(id: &str) -> Failure {
    Failure::not_found("ServerCertificateId.NotFound", format!("The certificate {id} does not exist."))
}

pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("ServerCertificateId")?;
    if !state.slb.certificates.contains_key(id) {
        return Err(missing(id));
    }
    let mut listeners = state.slb.load_balancers.values().flat_map(|lb| &lb.listeners);
    if listeners.any(|listener| listener.setting("ServerCertificateId") == Some(id)) {
        return Err(Failure::bad("CertificateAndPrivateKeyIsRefered", "A listener uses the certificate."));
    }
    if state.slb.domain_extensions.values().any(|extension| extension.certificate == id) {
        return Err(Failure::bad("CertificateRelatedDomainExtensionExist", "A domain extension uses the certificate."));
    }
    state.slb.certificates.remove(id);
    cx.change();
    Ok(json!({}))
}

pub(super) fn set_name(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("ServerCertificateId")?;
    let certificate = state.slb.certificates.get_mut(id).ok_or_else(|| missing(id))?;
    cx.set(&mut certificate.name, cx.params.required("ServerCertificateName")?.to_owned());
    Ok(json!({}))
}
