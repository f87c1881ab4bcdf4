//! Which cloud objects belong to which Service: the one place for names, tags and descriptions.
//!
//! The formats are those of the released controller, so that either program can take over the
//! other's load balancers. Nothing that does not carry these marks is ever changed or deleted.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;
use sha2::{Digest, Sha256};

use super::hash;
use crate::cloud::{
    LoadBalancer, LoadBalancerState, Member, NetworkGroup, NetworkLoadBalancer, NetworkProtocol, PortRange, ServerGroup,
};

/// Finalizer of Services that have a classic load balancer.
pub const FINALIZER: &str = "service.k8s.alibaba/resources";
/// Finalizer of Services that have a network load balancer.
pub const NETWORK_FINALIZER: &str = "service.k8s.alibaba/nlb";
/// Label with the id of the security group for source ranges.
pub const SECURITY_GROUP_LABEL: &str = "service.k8s.alibaba/security-group-id";
/// Label with the hash of what the Service asked for when it was last in place.
pub const HASH_LABEL: &str = "service.beta.kubernetes.io/hash";
/// Label with the id of the Service's load balancer.
pub const ID_LABEL: &str = "service.k8s.alibaba/loadbalancer-id";
/// Tag that marks a load balancer as made for one Service; its value is [`Owner::default_name`].
pub const OWNER_TAG: &str = "kubernetes.do.not.delete";
/// Tag with the cluster id.
pub const CLUSTER_TAG: &str = "ack.aliyun.com";
/// Tag on a user's own load balancer that a Service uses; its value is `true`.
pub const REUSE_TAG: &str = "kubernetes.reused.by.user";
/// The reason that goes with modification protection.
pub const PROTECTION_REASON: &str = "managed.by.ack";

/// The longest name of a group, and description of a member (SLB `CreateVServerGroup`). Names of
/// Services, namespaces and clusters can be longer together.
const LONGEST_NAME: usize = 80;
/// The longest name that the cloud takes for a server group of network load balancers.
const LONGEST_NETWORK_NAME: usize = 128;
/// Hexadecimal digits in a shortened mark.
const DIGEST: usize = 16;

/// The Service that objects are marked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    pub namespace: String,
    pub service: String,
    pub uid: String,
    pub cluster: String,
}

// === impl Owner ===

impl Owner {
    /// The owner that a Service object stands for in the cluster with this id.
    pub fn of(service: &Service, cluster: &str) -> Self {
        let meta = &service.metadata;
        Self {
            namespace: meta.namespace.clone().unwrap_or_default(),
            service: meta.name.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
            cluster: cluster.to_owned(),
        }
    }

    /// The load balancer's name unless an annotation gives another, and the value of
    /// [`OWNER_TAG`]: `a` and the Service's UID without dashes, cut to 32 characters.
    pub fn default_name(&self) -> String {
        let mut name = format!("a{}", self.uid.replace('-', ""));
        name.truncate(32);
        name
    }

    /// The tags of a load balancer made for this Service.
    pub fn tags(&self) -> BTreeMap<String, String> {
        BTreeMap::from([(OWNER_TAG.to_owned(), self.default_name()), (CLUSTER_TAG.to_owned(), self.cluster.clone())])
    }

    /// The name of the access control list made for this Service; that it is ours, its tags tell.
    pub fn access_list_name(&self) -> String {
        format!("k8s-clb-{}", self.default_name())
    }

    /// The description of the listener on `port`: `k8s/<port>/<service>/<namespace>/<cluster>`.
    pub fn listener_description(&self, port: u16) -> String {
        self.mark(&port.to_string())
    }

    /// The name of the group whose members listen on `port` (a node port, a pod port or a pod
    /// port's name), and the description of its members.
    pub fn group_name(&self, port: &str) -> String {
        let mark = self.mark(port);
        if mark.len() <= LONGEST_NAME { mark } else { self.short_mark(port) }
    }

    /// What stands for a mark that is too long: `k8s/<port>/<digest>/<service>.<namespace>`, cut.
    fn short_mark(&self, port: &str) -> String {
        let mark = format!("k8s/{port}/{}/{}.{}", self.digest(), self.service, self.namespace);
        mark.chars().take(LONGEST_NAME).collect()
    }

    fn digest(&self) -> String {
        let whole = format!("{}/{}/{}", self.service, self.namespace, self.cluster);
        hash::hex(&Sha256::digest(whole.as_bytes())).chars().take(DIGEST).collect()
    }

    fn mark(&self, port: &str) -> String {
        format!("k8s/{port}/{}/{}/{}", self.service, self.namespace, self.cluster)
    }

    /// Whether a listener with this description was made for this Service.
    pub fn owns_listener(&self, description: &str) -> bool {
        Mark::parse(description).is_some_and(|mark| mark.port.parse::<u32>().is_ok() && self.matches(&mark))
    }

    /// The other Service that a listener with this description was made for, by this controller or
    /// the released one, of this cluster or another.
    pub fn rival(&self, description: &str) -> Option<String> {
        self.name_rival(&Mark::parse(description).filter(|mark| mark.port.parse::<u32>().is_ok())?)
    }

    /// The same for listeners of network load balancers.
    pub fn network_rival(&self, description: &str) -> Option<String> {
        self.name_rival(&Mark::parse_network(description).filter(|_| is_ports_word(description))?)
    }

    fn name_rival(&self, mark: &Mark<'_>) -> Option<String> {
        if self.matches(mark) {
            return None;
        }
        let service = format!("{}/{}", mark.namespace, mark.service);
        let same_cluster = mark.cluster == self.cluster;
        Some(if same_cluster { service } else { format!("{service} in the cluster {}", mark.cluster) })
    }

    /// Whether a group with this name was made for this Service.
    pub fn owns_group(&self, name: &str) -> bool {
        Mark::parse(name).is_some_and(|mark| self.matches(&mark)) || digest_in(name) == Some(&self.digest())
    }

    /// Whether a member was put into its group for this Service.
    pub fn owns_member(&self, member: &Member) -> bool {
        self.owns_group(&member.description)
    }

    /// Whether a load balancer was made for this Service.
    pub fn owns_load_balancer(&self, load_balancer: &LoadBalancer) -> bool {
        match load_balancer.tags.get(OWNER_TAG) {
            Some(value) => *value == self.default_name(),
            // Before there were tags, the name was the mark.
            None => load_balancer.name == self.default_name(),
        }
    }

    /// The description of a network load balancer's listener:
    /// `k8s.<port>.<PROTOCOL>.<service>.<namespace>.<cluster>`; of a range both ends joined by `_`.
    pub fn network_listener_description(&self, ports: PortRange, protocol: NetworkProtocol) -> String {
        self.network_mark(&ports_word(ports), protocol)
    }

    /// The name of the server group whose members listen on `port`, and the description of its
    /// members.
    pub fn network_group_name(&self, port: &str, protocol: NetworkProtocol) -> String {
        let mark = self.network_mark(port, protocol);
        if mark.len() <= LONGEST_NETWORK_NAME { mark } else { format!("k8s.{port}.{protocol}.{}", self.digest()) }
    }

    fn network_mark(&self, port: &str, protocol: NetworkProtocol) -> String {
        format!("k8s.{port}.{protocol}.{}.{}.{}", self.service, self.namespace, self.cluster)
    }

    /// Whether a network load balancer's listener with this description was made for this Service.
    pub fn owns_network_listener(&self, description: &str) -> bool {
        is_ports_word(description) && self.owns_network_mark(description)
    }

    /// Whether a server group was made for this Service.
    pub fn owns_network_group(&self, group: &NetworkGroup) -> bool {
        self.owns_network_mark(&group.name)
            && group.tags.get(OWNER_TAG) == Some(&self.default_name())
            && group.tags.get(CLUSTER_TAG) == Some(&self.cluster)
    }

    /// Whether a member was put into its server group for this Service.
    pub fn owns_network_member(&self, member: &Member) -> bool {
        self.owns_network_mark(&member.description)
    }

    fn owns_network_mark(&self, text: &str) -> bool {
        let shortened =
            || matches!(text.split('.').collect::<Vec<_>>()[..], ["k8s", _, _, digest] if digest == self.digest());
        Mark::parse_network(text).is_some_and(|mark| self.matches(&mark)) || shortened()
    }

    /// Whether a network load balancer was made for this Service.
    pub fn owns_network_load_balancer(&self, load_balancer: &NetworkLoadBalancer) -> bool {
        match load_balancer.tags.get(OWNER_TAG) {
            Some(value) => *value == self.default_name(),
            None => load_balancer.name == self.default_name(),
        }
    }

    /// The name of the security group that lets in this Service's source ranges only.
    pub fn security_group_name(&self) -> String {
        format!("k8s-nlb-{}", self.default_name())
    }

    /// The description of that security group and of its rules.
    pub fn security_group_description(&self) -> String {
        format!("k8s.{}.{}.{}", self.namespace, self.service, self.cluster)
    }

    fn matches(&self, mark: &Mark<'_>) -> bool {
        mark.service == self.service && mark.namespace == self.namespace && mark.cluster == self.cluster
    }
}

/// Whether a group of this name, or a member or listener of this description, was made for some
/// Service, of this cluster or another.
pub fn is_mark(text: &str) -> bool {
    Mark::parse(text).is_some() || digest_in(text).is_some()
}

/// The same for groups of network load balancers, which have tags as well.
pub fn is_network_group_mark(group: &NetworkGroup) -> bool {
    Mark::parse_network(&group.name).is_some() || group.tags.contains_key(OWNER_TAG)
}

/// The digest in a shortened mark.
fn digest_in(text: &str) -> Option<&str> {
    let parts: Vec<&str> = text.split('/').collect();
    let is_digest = |text: &str| text.len() == DIGEST && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match parts[..] {
        ["k8s", _, digest, _] if is_digest(digest) => Some(digest),
        _ => None,
    }
}

/// Whether any Service has something on the load balancer, of this cluster or another.
pub fn is_used(state: &LoadBalancerState) -> bool {
    let marked = |text: &String| is_mark(text);
    let group = |group: &ServerGroup| marked(&group.name) || group.members.iter().any(|m| marked(&m.description));
    state.listeners.iter().any(|listener| marked(&listener.description)) || state.groups.iter().any(group)
}

/// A port, or both ends of a range joined by `_`.
pub fn ports_word(ports: PortRange) -> String {
    ports.single().map_or_else(|| format!("{}_{}", ports.first, ports.last), |port| port.to_string())
}

fn is_ports_word(description: &str) -> bool {
    let port = description.split('.').nth(1).unwrap_or_default();
    let (first, last) = port.split_once('_').unwrap_or((port, port));
    first.parse::<u32>().is_ok() && last.parse::<u32>().is_ok()
}

/// A parsed `k8s/<port>/<service>/<namespace>/<cluster>`.
struct Mark<'a> {
    port: &'a str,
    service: &'a str,
    namespace: &'a str,
    cluster: &'a str,
}

// === impl Mark ===

impl<'a> Mark<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split('/');
        let mut next = || parts.next();
        if next()? != "k8s" {
            return None;
        }
        let mark = Self { port: next()?, service: next()?, namespace: next()?, cluster: next()? };
        next().is_none().then_some(mark)
    }

    /// `k8s.<port>.<PROTOCOL>.<service>.<namespace>.<cluster>`
    fn parse_network(text: &'a str) -> Option<Self> {
        let parts: Vec<&str> = text.split('.').collect();
        let ["k8s", port, _, service, namespace, cluster] = parts[..] else { return None };
        Some(Self { port, service, namespace, cluster })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        Owner {
            namespace: "shop".into(),
            service: "web".into(),
            uid: "5e4dbfc9-c2ae-4642-b033-5607860aef6a".into(),
            cluster: "c1".into(),
        }
    }

    #[test]
    fn names_are_those_of_the_released_controller() {
        assert_eq!(owner().default_name(), "a5e4dbfc9c2ae4642b0335607860aef6");
        assert_eq!(owner().listener_description(443), "k8s/443/web/shop/c1");
        assert_eq!(owner().group_name("30080"), "k8s/30080/web/shop/c1");
    }

    #[test]
    fn a_name_that_would_be_too_long_is_shortened_and_known_again() {
        let long = |service: &str| Owner { service: service.into(), namespace: "n".repeat(63), ..owner() };
        let (one, other) = (long(&"s".repeat(63)), long(&"s".repeat(62)));
        let name = one.group_name("30080");
        assert!(name.len() == 80 && name.starts_with("k8s/30080/"), "{name}");
        assert!(one.owns_group(&name) && is_mark(&name));
        assert!(!other.owns_group(&name) && !owner().owns_group(&name));
        assert_ne!(one.group_name("30081"), name);
        assert!(one.owns_group(&one.mark("30080")), "as the released controller names it");
        for foreign in ["k8s/30080/0123456789abcdef", "k8s/30080/x123456789abcdef/s.n", "a/b/0123456789abcdef/c"] {
            assert!(!is_mark(foreign), "{foreign}");
        }
    }

    #[test]
    fn marks_on_network_load_balancers_name_the_protocol() {
        let owner = owner();
        let (range, ssl) = (PortRange { first: 80, last: 90 }, NetworkProtocol::TcpSsl);
        assert_eq!(owner.network_listener_description(PortRange::one(443), ssl), "k8s.443.TCPSSL.web.shop.c1");
        assert_eq!(owner.network_listener_description(range, ssl), "k8s.80_90.TCPSSL.web.shop.c1");
        assert_eq!(owner.network_group_name("http", NetworkProtocol::Tcp), "k8s.http.TCP.web.shop.c1");
        assert_eq!(owner.security_group_name(), "k8s-nlb-a5e4dbfc9c2ae4642b0335607860aef6");
        assert_eq!(owner.security_group_description(), "k8s.shop.web.c1");
        assert!(owner.owns_network_listener("k8s.80_90.TCP.web.shop.c1"));
        for foreign in
            ["", "k8s.80.TCP.web.shop.c2", "k8s.80.web.shop.c1", "k8s.http.TCP.web.shop.c1", "k8s/80/web/shop/c1"]
        {
            assert!(!owner.owns_network_listener(foreign), "{foreign}");
        }
        assert_eq!(owner.network_rival("k8s.443.TCP.other.shop.c1").as_deref(), Some("shop/other"));
        assert_eq!(owner.network_rival("k8s.443.TCP.web.shop.c2").as_deref(), Some("shop/web in the cluster c2"));
        assert_eq!(owner.network_rival("k8s.443.TCP.web.shop.c1"), None);
        assert_eq!(owner.network_rival("k8s.http.TCP.other.shop.c1"), None);
        let long = Owner { service: "s".repeat(63), namespace: "n".repeat(63), ..owner.clone() };
        let name = long.network_group_name("30080", ssl);
        assert!(name.len() <= 128 && name.starts_with("k8s.30080.TCPSSL."), "{name}");
        assert!(long.owns_network_mark(&name) && !owner.owns_network_mark(&name));
    }

    #[test]
    fn only_exact_marks_are_ours() {
        let owner = owner();
        assert!(owner.owns_listener("k8s/443/web/shop/c1"));
        assert!(owner.owns_group("k8s/http/web/shop/c1"));
        for foreign in [
            "",
            "k8s",
            "web",
            "k8s/443/web/shop/c2",
            "k8s/443/web/other/c1",
            "k8s/443/webb/shop/c1",
            "k8s/443/web/shop/c1/",
            "k9s/443/web/shop/c1",
        ] {
            assert!(!owner.owns_listener(foreign), "{foreign}");
            assert!(!owner.owns_group(foreign), "{foreign}");
        }
        assert!(!owner.owns_listener("k8s/http/web/shop/c1"), "a listener's port is a number");
        assert_eq!(owner.rival("k8s/443/web/shop/c1"), None);
        assert_eq!(owner.rival("k8s/443/api/shop/c1").as_deref(), Some("shop/api"));
        assert_eq!(owner.rival("k8s/443/web/shop/c2").as_deref(), Some("shop/web in the cluster c2"));
        assert_eq!(owner.rival("made by hand"), None);
    }
}
