//! Listeners, and what the Service shows of them.

use ccm::sim::cloud::{
    Tags,
    slb::{Certificate, Listener, ListenerStatus},
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{LoadBalancerIngress, Service};
use serde_json::json;

use crate::stage::{PREFIX, Stage};

pub async fn an_http_port_sends_on_to_its_https_port(stage: Stage) {
    let certificate = Certificate {
        id: "cert-1".into(),
        name: String::new(),
        region: "cn-hangzhou".into(),
        common_name: "example.com".into(),
        fingerprint: String::new(),
        expires: "2099-01-01T00:00:00Z".parse().unwrap(),
        tags: Tags::default(),
        created: Timestamp::default(),
    };
    stage.cloud().with_state(|state| state.slb.certificates.insert("cert-1".into(), certificate.clone()));
    let _replica = stage.start();
    stage.joined(1).await;
    let wishes = [("protocol-port", "http:80,https:443"), ("cert-id", "cert-1"), ("forward-port", "80:443")];
    let wishes = wishes.map(|(key, value)| (format!("{PREFIX}{key}"), value));
    let annotations: Vec<(&str, &str)> = wishes.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    let ports = json!([{ "name": "http", "port": 80 }, { "name": "https", "port": 443 }]);
    stage.expose("web", &annotations, json!({ "type": "LoadBalancer", "ports": ports })).await;
    stage.ensured("web").await;
    let listeners = stage.cloud().listeners(&stage.cloud().load_balancers()[0].id);
    assert_eq!(listeners.iter().map(|l| l.port).collect::<Vec<_>>(), [80, 443], "{:?}", stage.told("web").await);
    assert_eq!(listeners[0].settings.get("ForwardPort"), Some("443"));
    assert_eq!(listeners[0].settings.get("ListenerForward"), Some("on"));
}

pub async fn a_setting_is_changed_in_place(stage: Stage) {
    let scheduler = format!("{PREFIX}scheduler");
    let _replica = stage.start();
    stage.joined(1).await;
    let spec = json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] });
    stage.expose("web", &[(&scheduler, "wrr")], spec).await;
    stage.ensured("web").await;
    let is = |value: &'static str| {
        let stage = stage.clone();
        async move {
            let listener: Listener = stage.cloud().listeners(&stage.cloud().load_balancers().first()?.id).pop()?;
            let set = listener.settings.get("Scheduler") == Some(value) && listener.status == ListenerStatus::Running;
            set.then_some(())
        }
    };
    stage.until("the setting as created", || is("wrr")).await;
    let writes = stage.writes().len();
    stage.annotate("web", &scheduler, "rr").await;
    stage.until("the setting changed", || is("rr")).await;
    assert_eq!(stage.writes()[writes..], ["slb.SetLoadBalancerTCPListenerAttribute"]);
}

pub async fn the_status_shows_a_host_name_when_asked(stage: Stage) {
    let hostname = format!("{PREFIX}hostname");
    let _replica = stage.start();
    stage.joined(1).await;
    let spec = json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] });
    stage.expose("web", &[(&hostname, "shop.example.com")], spec).await;
    let shown = |service: Service| service.status?.load_balancer?.ingress?.pop();
    let ingress: LoadBalancerIngress = stage.until("a status", || async { shown(stage.service("web").await?) }).await;
    assert_eq!((ingress.hostname.as_deref(), ingress.ip), (Some("shop.example.com"), None));
    let bare = json!({ "metadata": { "annotations": { (hostname.as_str()): null } } });
    stage.patch_service("web", bare).await;
    let address = || async { shown(stage.service("web").await?).filter(|ingress| ingress.ip.is_some()) };
    assert_eq!(stage.until("an address", address).await.hostname, None);
}
