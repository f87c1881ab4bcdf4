//! What a Service object shows of its load balancer: finalizer, labels and status.
//!
//! Nothing is written that stands there already.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{LoadBalancerIngress, Service};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::ownership::{FINALIZER, HASH_LABEL, ID_LABEL};
use crate::{cloud::LoadBalancer, kubernetes::patch};

/// Puts our finalizer on the Service, before anything is made for it.
pub async fn add_finalizer(client: &Client, service: &Service) -> Result<(), patch::Error> {
    patch::add_finalizer(&api(client, service), service, FINALIZER).await.map(drop)
}

/// Takes our finalizer off, after everything that was made is gone.
pub async fn remove_finalizer(client: &Client, service: &Service) -> Result<(), patch::Error> {
    patch::remove_finalizer(&api(client, service), service, FINALIZER).await.map(drop)
}

/// Shows the load balancer in labels and status; tells whether that was new. The hash is only
/// given when everything is in place.
pub async fn show(
    client: &Client,
    service: &Service,
    load_balancer: &LoadBalancer,
    hash: Option<&str>,
) -> Result<bool, patch::Error> {
    let Some(change) = showing(service, load_balancer, hash) else { return Ok(false) };
    patch::merge_status(&api(client, service), name(service), change).await?;
    Ok(true)
}

/// Removes labels and status; answers the object as it is then.
pub async fn hide(client: &Client, service: &Service) -> Result<Service, patch::Error> {
    let Some(change) = hiding(service) else { return Ok(service.clone()) };
    patch::merge_status(&api(client, service), name(service), change).await
}

fn api(client: &Client, service: &Service) -> Api<Service> {
    Api::namespaced(client.clone(), service.metadata.namespace.as_deref().unwrap_or_default())
}

fn name(service: &Service) -> &str {
    service.metadata.name.as_deref().unwrap_or_default()
}

fn ingress(service: &Service) -> &[LoadBalancerIngress] {
    let status = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    status.and_then(|status| status.ingress.as_deref()).unwrap_or_default()
}

/// The address that the Service shows, if it shows one.
pub fn shown_address(service: &Service) -> Option<&str> {
    ingress(service).first().and_then(|ingress| ingress.ip.as_deref())
}

fn showing(service: &Service, load_balancer: &LoadBalancer, hash: Option<&str>) -> Option<Value> {
    let labels = service.metadata.labels.as_ref();
    let labels: BTreeMap<&str, &str> = hash
        .map(|hash| (HASH_LABEL, hash))
        .into_iter()
        .chain([(ID_LABEL, load_balancer.id.as_str())])
        .filter(|(key, value)| labels.and_then(|all| all.get(*key)).map(String::as_str) != Some(*value))
        .collect();
    let ingress = ingress(service);
    let is_shown = matches!(ingress, [only] if only.ip.as_deref() == Some(&*load_balancer.address)
        && only.hostname.as_deref().is_none_or(str::is_empty));
    let mut change = json!({});
    if !labels.is_empty() {
        change["metadata"] = json!({ "labels": labels });
    }
    if !is_shown {
        change["status"] = json!({ "loadBalancer": { "ingress": [{ "ip": load_balancer.address }] } });
    }
    change.as_object().is_some_and(|change| !change.is_empty()).then_some(change)
}

fn hiding(service: &Service) -> Option<Value> {
    let labels = service.metadata.labels.as_ref();
    let present: BTreeMap<&str, Value> = [HASH_LABEL, ID_LABEL]
        .into_iter()
        .filter(|key| labels.is_some_and(|all| all.contains_key(*key)))
        .map(|key| (key, Value::Null))
        .collect();
    let mut change = json!({});
    if !present.is_empty() {
        change["metadata"] = json!({ "labels": present });
    }
    if !ingress(service).is_empty() {
        change["status"] = json!({ "loadBalancer": { "ingress": null } });
    }
    change.as_object().is_some_and(|change| !change.is_empty()).then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::{AddressType, Effect};

    fn load_balancer() -> LoadBalancer {
        let options = super::super::Options::for_test();
        let service = Service::default();
        let requested =
            super::super::annotations::Requested { address_type: Some(AddressType::Intranet), ..Default::default() };
        let backends = super::super::members::backends(&service, &[], &[]);
        let desired = super::super::desired::desired(&service, requested, &backends, &options);
        let created = desired.create.created("lb-1".into(), "10.0.0.9");
        let Effect::LoadBalancerCreated(created) = Effect::LoadBalancerCreated(Box::new(created)) else {
            unreachable!()
        };
        *created
    }

    #[test]
    fn what_is_shown_is_not_written_again() {
        let mut service = Service::default();
        let change = showing(&service, &load_balancer(), Some("abc")).unwrap();
        assert_eq!(
            change,
            json!({
                "metadata": { "labels": { HASH_LABEL: "abc", ID_LABEL: "lb-1" } },
                "status": { "loadBalancer": { "ingress": [{ "ip": "10.0.0.9" }] } },
            })
        );
        let mut object = serde_json::to_value(&service).unwrap();
        json_patch::merge(&mut object, &change);
        service = serde_json::from_value(object).unwrap();
        assert_eq!(showing(&service, &load_balancer(), Some("abc")), None);
        assert_eq!(
            showing(&service, &load_balancer(), Some("abd")),
            Some(json!({ "metadata": { "labels": { HASH_LABEL: "abd" } } }))
        );
        let mut object = serde_json::to_value(&service).unwrap();
        json_patch::merge(&mut object, &hiding(&service).unwrap());
        let hidden: Service = serde_json::from_value(object).unwrap();
        assert_eq!(hiding(&hidden), None);
        assert_eq!(shown_address(&hidden), None);
    }
}
