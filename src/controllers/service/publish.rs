//! What a Service object shows of its load balancer: finalizer, labels and status.
//!
//! Nothing is written that stands there already.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{LoadBalancerIngress, Service};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::ownership::{HASH_LABEL, ID_LABEL, SECURITY_GROUP_LABEL};
use crate::{cloud::LoadBalancerId, kubernetes::patch};

/// Puts our finalizer on the Service, before anything is made for it.
pub async fn add_finalizer(client: &Client, service: &Service, finalizer: &str) -> Result<(), patch::Error> {
    patch::add_finalizer(&api(client, service), service, finalizer).await.map(drop)
}

/// Takes our finalizer off, after everything that was made is gone.
pub async fn remove_finalizer(client: &Client, service: &Service, finalizer: &str) -> Result<(), patch::Error> {
    patch::remove_finalizer(&api(client, service), service, finalizer).await.map(drop)
}

/// Shows the load balancer in labels and status; tells whether that was new. The hash is only
/// given when everything is in place. `more` is one more label, set or taken off.
pub async fn show(
    client: &Client,
    service: &Service,
    id: &LoadBalancerId,
    ingress: &[LoadBalancerIngress],
    hash: Option<&str>,
    more: Option<(&str, Option<&str>)>,
) -> Result<bool, patch::Error> {
    let Some(change) = showing(service, id, ingress, hash, more) else { return Ok(false) };
    patch::merge_status(&api(client, service), name(service), change).await?;
    Ok(true)
}

/// Removes labels and status; answers the object as it is then.
pub async fn hide(client: &Client, service: &Service) -> Result<Service, patch::Error> {
    let mut service = service.clone();
    // What the cache shows may be older than what the last pass wrote; each answer is newer.
    for _ in 0..3 {
        let Some(change) = hiding(&service) else { break };
        service = patch::merge_status(&api(client, &service), name(&service), change).await?;
    }
    Ok(service)
}

fn api(client: &Client, service: &Service) -> Api<Service> {
    Api::namespaced(client.clone(), service.metadata.namespace.as_deref().unwrap_or_default())
}

fn name(service: &Service) -> &str {
    service.metadata.name.as_deref().unwrap_or_default()
}

/// What the status shows.
pub fn ingress(service: &Service) -> &[LoadBalancerIngress] {
    let status = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    status.and_then(|status| status.ingress.as_deref()).unwrap_or_default()
}

/// The address that the Service shows, if it shows one.
pub fn shown_address(service: &Service) -> Option<&str> {
    ingress(service).first().and_then(|ingress| ingress.ip.as_deref())
}

/// The fingerprint that the last pass left which reached its end.
pub fn shown_hash(service: &Service) -> Option<&String> {
    service.metadata.labels.as_ref()?.get(HASH_LABEL)
}

/// The name that the Service shows, if it shows one.
pub fn shown_host_name(service: &Service) -> Option<&str> {
    ingress(service).first().and_then(|ingress| ingress.hostname.as_deref()).filter(|name| !name.is_empty())
}

/// A name in place of an address.
pub fn host_name(name: &str) -> LoadBalancerIngress {
    LoadBalancerIngress { hostname: Some(name.to_owned()), ..LoadBalancerIngress::default() }
}

/// An address. Behind the proxy protocol, pods must not take a short cut around the load
/// balancer: they would miss the header (`ipMode: Proxy`).
pub fn address(address: &str, uses_proxy: bool) -> LoadBalancerIngress {
    let ip_mode = uses_proxy.then(|| "Proxy".to_owned());
    LoadBalancerIngress { ip: Some(address.to_owned()), ip_mode, ..LoadBalancerIngress::default() }
}

fn showing(
    service: &Service,
    id: &LoadBalancerId,
    wanted: &[LoadBalancerIngress],
    hash: Option<&str>,
    more: Option<(&str, Option<&str>)>,
) -> Option<Value> {
    let labels = service.metadata.labels.as_ref();
    let labels: BTreeMap<&str, Option<&str>> = hash
        .map(|hash| (HASH_LABEL, Some(hash)))
        .into_iter()
        .chain([(ID_LABEL, Some(id.as_str()))])
        .chain(more)
        .filter(|(key, value)| labels.and_then(|all| all.get(*key)).map(String::as_str) != *value)
        .collect();
    let mut change = json!({});
    if !labels.is_empty() {
        change["metadata"] = json!({ "labels": labels });
    }
    if !is_same(ingress(service), wanted) {
        change["status"] = json!({ "loadBalancer": { "ingress": wanted } });
    }
    change.as_object().is_some_and(|change| !change.is_empty()).then_some(change)
}

/// The API server fills in `ipMode: VIP` where none is given.
pub(super) fn is_same(there: &[LoadBalancerIngress], wanted: &[LoadBalancerIngress]) -> bool {
    fn seen(ingress: &LoadBalancerIngress) -> (Option<&str>, Option<&str>, bool) {
        let ip = ingress.ip.as_deref().filter(|text| !text.is_empty());
        let name = ingress.hostname.as_deref().filter(|text| !text.is_empty());
        (ip, name, ingress.ip_mode.as_deref() == Some("Proxy"))
    }
    there.iter().map(seen).eq(wanted.iter().map(seen))
}

fn hiding(service: &Service) -> Option<Value> {
    let labels = service.metadata.labels.as_ref();
    let present: BTreeMap<&str, Value> = [HASH_LABEL, ID_LABEL, SECURITY_GROUP_LABEL]
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
    use k8s_openapi::api::core::v1::PortStatus;

    use super::*;

    #[test]
    fn what_is_shown_is_not_written_again() {
        let mut service = Service::default();
        let change = showing(&service, &"lb-1".into(), &[address("10.0.0.9", false)], Some("abc"), None).unwrap();
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
        assert_eq!(showing(&service, &"lb-1".into(), &[address("10.0.0.9", false)], Some("abc"), None), None);
        assert_eq!(
            showing(&service, &"lb-1".into(), &[address("10.0.0.9", false)], Some("abd"), None),
            Some(json!({ "metadata": { "labels": { HASH_LABEL: "abd" } } }))
        );
        let mut object = serde_json::to_value(&service).unwrap();
        json_patch::merge(&mut object, &hiding(&service).unwrap());
        let hidden: Service = serde_json::from_value(object).unwrap();
        assert_eq!(hiding(&hidden), None);
        assert_eq!(shown_address(&hidden), None);
    }

    #[test]
    fn only_what_users_see_tells_two_statuses_apart() {
        let ip = |ip: &str, mode: Option<&str>| LoadBalancerIngress {
            ip: Some(ip.to_owned()),
            ip_mode: mode.map(ToOwned::to_owned),
            ..LoadBalancerIngress::default()
        };
        let with_ports = LoadBalancerIngress { ports: Some(vec![PortStatus::default()]), ..ip("10.0.0.9", None) };
        let with_empty_name = LoadBalancerIngress { hostname: Some(String::new()), ..ip("10.0.0.9", None) };
        let one = || vec![ip("10.0.0.9", None)];
        for (what, there, wanted, same) in [
            ("nothing", vec![], vec![], true),
            ("the same", one(), one(), true),
            ("the mode that the API server fills in", vec![ip("10.0.0.9", Some("VIP"))], one(), true),
            ("ports, of which nothing is said", vec![with_ports], one(), true),
            ("an empty name", vec![with_empty_name], one(), true),
            ("none yet", vec![], one(), false),
            ("one too many", vec![ip("10.0.0.9", None), ip("10.0.0.8", None)], one(), false),
            ("another address", vec![ip("10.0.0.8", None)], one(), false),
            ("another mode", vec![ip("10.0.0.9", Some("Proxy"))], one(), false),
            ("a name for an address", vec![host_name("10.0.0.9")], one(), false),
            ("another name", vec![host_name("a.example")], vec![host_name("b.example")], false),
        ] {
            assert_eq!(is_same(&there, &wanted), same, "{what}");
        }
    }

    #[cfg(feature = "sim")]
    #[tokio::test]
    async fn what_the_cache_does_not_show_yet_is_removed_too() {
        use crate::{clock::Clock, entropy::Entropy, sim::kube::Kube};
        let kube = Kube::new(Clock::system(), Entropy::seeded(1));
        let service = json!({
            "metadata": { "name": "web", "namespace": "default", "labels": { ID_LABEL: "lb-1" } },
            "spec": { "ports": [{ "port": 80 }] },
        });
        let stale: Service = kube.create(&serde_json::from_value(service).unwrap()).unwrap();
        kube.patch::<Service>("default", "web", json!({ "metadata": { "labels": { HASH_LABEL: "abc" } } })).unwrap();
        let hidden = hide(&kube.client(), &stale).await.unwrap();
        assert_eq!(hidden.metadata.labels.unwrap_or_default().len(), 0);
        assert_eq!(kube.get::<Service>("default", "web").unwrap().metadata.labels.unwrap_or_default().len(), 0);
    }
}
