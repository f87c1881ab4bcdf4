//! What is somebody else's in the cloud, and has to stay as it is.

use ccm::sim::cloud::{Cloud, slb::LoadBalancer};

const OWNER_TAG: &str = "kubernetes.do.not.delete";

/// Load balancers of others.
pub struct Foreign {
    /// A user's, for Services to use.
    pub shared: String,
    others: Vec<String>,
    looks: Vec<String>,
}

// === impl Foreign ===

impl Foreign {
    /// One load balancer of nobody in particular, one of another cluster's Service, and one to share.
    pub fn settle(cloud: &Cloud) -> Self {
        let by_hand = create(cloud, &[("LoadBalancerName", "by-hand")], "web");
        let tags = [
            ("Tag.1.Key", OWNER_TAG),
            ("Tag.1.Value", "a5e4dbfc9c2ae4642b0335607860aef6"),
            ("Tag.2.Key", "ack.aliyun.com"),
            ("Tag.2.Value", "c2"),
        ];
        let other_cluster = create(cloud, &tags, "k8s/30080/s0/default/c2");
        let shared = create(cloud, &[("LoadBalancerName", "shared")], "mine");
        let mut foreign = Self { shared, others: vec![by_hand, other_cluster], looks: Vec::new() };
        foreign.looks = foreign.look(cloud);
        foreign
    }

    /// Fails unless all looks as it did.
    pub fn check(&self, cloud: &Cloud) {
        assert_eq!(self.look(cloud), self.looks, "somebody else's things were touched");
    }

    /// Whether a load balancer was made by the controller.
    pub fn is_ours(&self, lb: &LoadBalancer) -> bool {
        !self.others.contains(&lb.id) && lb.id != self.shared
    }

    /// The marks of all load balancers that are not foreign, and what Services have on the shared one.
    pub fn others(&self, cloud: &Cloud) -> Vec<String> {
        let mark = |lb: LoadBalancer| lb.tags.get(OWNER_TAG).cloned().unwrap_or(lb.id);
        cloud.load_balancers().into_iter().filter(|lb| self.is_ours(lb)).map(mark).collect()
    }

    fn look(&self, cloud: &Cloud) -> Vec<String> {
        let all = cloud.load_balancers();
        let whole =
            all.iter().filter(|lb| self.others.contains(&lb.id)).map(|lb| format!("{lb:?}{:?}", cloud.groups(&lb.id)));
        let listeners = cloud.listeners(&self.shared).into_iter().filter(|l| l.port == 8443).map(|l| format!("{l:?}"));
        let groups = cloud.groups(&self.shared).into_iter().filter(|g| g.name == "mine").map(|g| format!("{g:?}"));
        whole.chain(listeners).chain(groups).collect()
    }
}

/// A load balancer with a listener and a group that it does not use.
fn create(cloud: &Cloud, params: &[(&str, &str)], group: &str) -> String {
    let spec = [("LoadBalancerSpec", "slb.s1.small")];
    let params: Vec<(&str, &str)> = spec.iter().chain(params).copied().collect();
    let made = cloud.administer("slb.CreateLoadBalancer", &params).unwrap();
    let id = made["LoadBalancerId"].as_str().unwrap().to_owned();
    let listener =
        [("LoadBalancerId", id.as_str()), ("ListenerPort", "8443"), ("Bandwidth", "-1"), ("BackendServerPort", "80")];
    cloud.administer("slb.CreateLoadBalancerTCPListener", &listener).unwrap();
    let group = [("LoadBalancerId", id.as_str()), ("VServerGroupName", group)];
    cloud.administer("slb.CreateVServerGroup", &group).unwrap();
    id
}
