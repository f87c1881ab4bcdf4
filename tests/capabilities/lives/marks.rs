//! How things are marked as made for a Service, and what a Service asks for, as the documentation has it.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{Service, ServicePort},
    apimachinery::pkg::util::intstr::IntOrString,
};

pub const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";
pub const OWNER_TAG: &str = "kubernetes.do.not.delete";
pub const CLUSTER_TAG: &str = "ack.aliyun.com";
/// Put by these tests on what was left behind when its Service went: from then on it is nobody's.
pub const LEFT_TAG: &str = "left-behind";
/// `spec.loadBalancerClass` of Services on network load balancers.
pub const NETWORK_CLASS: &str = "alibabacloud.com/nlb";

/// A kind of load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Classic,
    Network,
}

/// What the Service asks to be given; the annotation counts only behind its gate, which is open where it is used.
pub fn kind_of(service: &Service) -> Option<Kind> {
    let spec = service.spec.clone().unwrap_or_default();
    if spec.type_.as_deref() != Some("LoadBalancer") || service.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let by_class = spec.load_balancer_class.as_deref() == Some(NETWORK_CLASS);
    Some(if by_class || ours(service, "type") == Some("nlb") { Kind::Network } else { Kind::Classic })
}

/// The name of a Service's own load balancer, and its mark.
pub fn default_name(service: &Service) -> String {
    let uid = service.metadata.uid.clone().unwrap_or_default();
    format!("a{}", uid.replace('-', "")).chars().take(32).collect()
}

/// Whether tags say that this cluster's controller made something.
pub fn is_marked(tags: &BTreeMap<String, String>) -> bool {
    tags.contains_key(OWNER_TAG) && tags.get(CLUSTER_TAG).is_none_or(|cluster| cluster == "c1")
}

pub fn annotation<'a>(service: &'a Service, key: &str) -> Option<&'a str> {
    service.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// The value of one of our annotations.
pub fn ours<'a>(service: &'a Service, suffix: &str) -> Option<&'a str> {
    annotation(service, &format!("{PREFIX}{suffix}"))
}

/// Whether a Service has members only, behind listeners that the user would have to make.
pub fn brings_no_listeners(service: &Service) -> bool {
    ours(service, "id").is_some() && ours(service, "force-override-listeners").is_none()
}

/// Whether a Service's load balancer is to stay when the Service goes.
pub fn preserves(service: &Service) -> bool {
    ours(service, "preserve-lb-on-delete").is_some_and(|value| !value.is_empty())
}

/// The protocol of the listener on a port, in the spelling of the annotation or that of Kubernetes.
pub fn protocol_of(service: &Service, port: &ServicePort) -> String {
    let own = port.protocol.as_deref().unwrap_or("TCP");
    let pairs = ours(service, "protocol-port").unwrap_or_default();
    let asked =
        pairs.split(',').filter_map(|pair| pair.split_once(':')).find(|(_, number)| *number == port.port.to_string());
    asked.filter(|_| own == "TCP").map_or(own, |(protocol, _)| protocol).to_owned()
}

/// The pods' port, as names of groups have it.
pub fn target(port: &ServicePort) -> String {
    match &port.target_port {
        Some(IntOrString::Int(number)) => number.to_string(),
        Some(IntOrString::String(name)) => name.clone(),
        None => port.port.to_string(),
    }
}

/// Who may come; from anywhere if empty.
pub fn ranges(service: &Service) -> std::collections::BTreeSet<String> {
    let spec = service.spec.clone().unwrap_or_default();
    spec.load_balancer_source_ranges.unwrap_or_default().into_iter().collect()
}
