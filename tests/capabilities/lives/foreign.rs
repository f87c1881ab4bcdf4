//! What is somebody else's in the cloud, and has to stay as it is.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ccm::sim::cloud::{
    Cloud,
    ecs::SecurityGroup,
    nlb::NlbListener,
    slb::{Certificate, LoadBalancer},
    vpc::BandwidthPackage,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    marks::{CLUSTER_TAG, Kind, LEFT_TAG, OWNER_TAG},
    wish::paint,
};

/// The mark of a Service of another cluster.
const OTHER: &str = "a5e4dbfc9c2ae4642b0335607860aef6";
/// A listener that is there before any Service comes.
const PORT: &str = "8443";

/// Load balancers of others.
pub struct Foreign {
    /// Those of a user, for Services to use.
    shared: [String; 2],
    others: Vec<String>,
    looks: Vec<String>,
    /// Load balancers with a mark of ours, and the mark.
    marked: BTreeMap<String, String>,
    /// Those that were left behind, and how they looked then.
    left: BTreeMap<String, String>,
}

// === impl Foreign ===

impl Foreign {
    /// Of each kind one load balancer of nobody in particular, one of another cluster's Service, and one to share.
    pub async fn settle(cloud: &Cloud) -> Self {
        furnish(cloud);
        let tags =
            [("Tag.1.Key", OWNER_TAG), ("Tag.1.Value", OTHER), ("Tag.2.Key", CLUSTER_TAG), ("Tag.2.Value", "c2")];
        let classic = [
            create(cloud, &[("LoadBalancerName", "by-hand")], "web"),
            create(cloud, &tags, "k8s/30080/s0/default/c2"),
            create(cloud, &[("LoadBalancerName", "shared")], "mine"),
        ];
        let begun = [
            begin_network(cloud, &[("LoadBalancerName", "by-hand")], "by-hand", &[]),
            begin_network(cloud, &tags, "k8s.30080.TCP.s0.default.c2", &tags),
            begin_network(cloud, &[("LoadBalancerName", "shared")], "mine", &[]),
        ];
        // Until they take changes.
        tokio::time::sleep(Duration::from_secs(3)).await;
        for (id, group) in &begun {
            let listener = [
                ("LoadBalancerId", id.as_str()),
                ("ListenerProtocol", "TCP"),
                ("ListenerPort", PORT),
                ("ServerGroupId", group),
            ];
            cloud.administer("nlb.CreateListener", &listener).unwrap();
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        let [by_hand, other, shared] = classic;
        let [(network_by_hand, _), (network_other, _), (network_shared, _)] = begun;
        let mut foreign = Self {
            shared: [shared, network_shared],
            others: vec![by_hand, other, network_by_hand, network_other],
            looks: Vec::new(),
            marked: BTreeMap::new(),
            left: BTreeMap::new(),
        };
        foreign.looks = foreign.look(cloud);
        foreign
    }

    /// The user's load balancer of that kind.
    pub fn shared(&self, kind: Kind) -> &str {
        &self.shared[kind as usize]
    }

    /// Fails unless all looks as it did.
    pub fn check(&self, cloud: &Cloud) {
        assert_eq!(self.look(cloud), self.looks, "somebody else's things were touched");
        for (id, look) in &self.left {
            assert_eq!(left_look(cloud, id).as_ref(), Some(look), "what was left behind was touched");
        }
    }

    /// Notes what has lost our marks since the latest look, which only `preserving` Services may leave behind.
    pub fn take_over(&mut self, cloud: &Cloud, preserving: &BTreeSet<String>) {
        let now = cloud.with_state(|state| {
            let classic = state.slb.load_balancers.values().map(|lb| (&lb.id, &lb.tags));
            let all = classic.chain(state.nlb.load_balancers.values().map(|lb| (&lb.id, &lb.tags)));
            all.map(|(id, tags)| (id.clone(), tags.get(OWNER_TAG).cloned())).collect::<BTreeMap<_, _>>()
        });
        let marked = std::mem::take(&mut self.marked);
        for (id, mark) in marked {
            if now.get(&id) == Some(&None) {
                assert!(preserving.contains(&mark), "{id} was left behind, and its Service had not asked for that");
                cloud.with_state(|state| {
                    let classic = state.slb.load_balancers.get_mut(&id).map(|lb| &mut lb.tags);
                    let tags = classic.or_else(|| state.nlb.load_balancers.get_mut(&id).map(|lb| &mut lb.tags));
                    tags.map(|tags| tags.insert(LEFT_TAG.into(), "yes".into()));
                });
                self.left.extend(left_look(cloud, &id).map(|look| (id, look)));
            }
        }
        let ours = now.into_iter().filter(|(id, _)| self.is_ours(id));
        self.marked = ours.filter_map(|(id, mark)| Some((id, mark?))).collect();
    }

    /// Whether a load balancer was made by the controller.
    pub fn is_ours(&self, id: &str) -> bool {
        !self.others.iter().chain(&self.shared).chain(self.left.keys()).any(|other| other == id)
    }

    fn look(&self, cloud: &Cloud) -> Vec<String> {
        let is_other = |id: &String| self.others.contains(id);
        let is_its = |id: &String| !self.is_ours(id);
        let mut looks: Vec<String> = Vec::new();
        let theirs = |lb: &&LoadBalancer| is_other(&lb.id);
        let all = cloud.load_balancers();
        looks.extend(all.iter().filter(theirs).map(|lb| format!("{lb:?}{:?}", cloud.groups(&lb.id))));
        let [shared, _] = &self.shared;
        looks.extend(
            cloud.listeners(shared).iter().filter(|one| one.port.to_string() == PORT).map(|one| format!("{one:?}")),
        );
        looks.extend(cloud.groups(shared).iter().filter(|group| group.name == "mine").map(|one| format!("{one:?}")));
        cloud.with_state(|state| {
            let nlb = &state.nlb;
            looks.extend(nlb.load_balancers.values().filter(|lb| is_other(&lb.id)).map(|lb| format!("{lb:?}")));
            let theirs =
                nlb.listeners.values().filter(|one| is_its(&one.load_balancer) && one.port.to_string() == PORT);
            for listener in theirs {
                looks.push(format!("{listener:?}{:?}", nlb.server_groups.get(&listener.server_group)));
            }
            let users = paint::SECURITY_GROUPS.iter().filter_map(|id| state.ecs.security_groups.get(*id));
            looks.extend(users.map(|group| format!("{group:?}")));
        });
        looks
    }
}

/// A load balancer that was left behind, without its members: instances come and go.
fn left_look(cloud: &Cloud, id: &str) -> Option<String> {
    let groups = cloud.groups(id).into_iter().map(|group| group.name).collect::<Vec<_>>();
    cloud.with_state(|state| {
        if let Some(lb) = state.slb.load_balancers.get(id) {
            assert!(!lb.delete_protection, "{id} was left behind and cannot be deleted");
            return Some(format!("{:?} {:?} {:?} {groups:?}", lb.name, lb.tags, lb.listeners));
        }
        let lb = state.nlb.load_balancers.get(id)?;
        let listeners: Vec<_> = state.nlb.listeners.values().filter(|one| one.load_balancer == id).collect();
        let has = |one: &&NlbListener| state.nlb.server_groups.contains_key(&one.server_group);
        assert!(listeners.iter().all(has), "{id} was left behind without its groups");
        let listeners: Vec<_> = listeners.iter().map(|one| (&one.id, &one.server_group, &one.attributes)).collect();
        Some(format!("{:?} {:?} {:?} {listeners:?}", lb.name, lb.tags, lb.security_groups))
    })
}

/// What users can name in annotations.
fn furnish(cloud: &Cloud) {
    cloud.with_state(|state| {
        for id in paint::CERTIFICATES.into_iter().chain(["cert-3"]) {
            let certificate: Certificate = serde_json::from_value(json!({
                "id": id, "region": "cn-hangzhou", "common_name": "example.com",
                "expires": "2030-01-01T00:00:00Z".parse::<Timestamp>().unwrap(),
            }))
            .unwrap();
            state.slb.certificates.insert(id.into(), certificate);
        }
        for id in paint::PACKAGES {
            let package = BandwidthPackage { id: id.into(), name: id.into(), bandwidth: 100 };
            state.network.bandwidth_packages.insert(id.into(), package);
        }
        for id in paint::SECURITY_GROUPS {
            let group: Value = json!({ "id": id, "vpc": "vpc-bp1sim", "region": "cn-hangzhou" });
            state.ecs.security_groups.insert(id.into(), serde_json::from_value::<SecurityGroup>(group).unwrap());
        }
    });
}

/// A classic load balancer with a listener, and a group that it does not use.
fn create(cloud: &Cloud, params: &[(&str, &str)], group: &str) -> String {
    let spec = [("LoadBalancerSpec", "slb.s1.small")];
    let params: Vec<(&str, &str)> = spec.iter().chain(params).copied().collect();
    let made = cloud.administer("slb.CreateLoadBalancer", &params).unwrap();
    let id = made["LoadBalancerId"].as_str().unwrap().to_owned();
    let listener =
        [("LoadBalancerId", id.as_str()), ("ListenerPort", PORT), ("Bandwidth", "-1"), ("BackendServerPort", "80")];
    cloud.administer("slb.CreateLoadBalancerTCPListener", &listener).unwrap();
    let group = [("LoadBalancerId", id.as_str()), ("VServerGroupName", group)];
    cloud.administer("slb.CreateVServerGroup", &group).unwrap();
    id
}

/// A network load balancer and a group for its listener, which can be made when they are ready.
fn begin_network(
    cloud: &Cloud,
    params: &[(&str, &str)],
    group: &str,
    group_params: &[(&str, &str)],
) -> (String, String) {
    let zones = [
        ("VpcId", "vpc-bp1sim"),
        ("AddressType", "Internet"),
        ("ZoneMappings.1.ZoneId", "cn-hangzhou-h"),
        ("ZoneMappings.1.VSwitchId", "vsw-bp1simh"),
        ("ZoneMappings.2.ZoneId", "cn-hangzhou-i"),
        ("ZoneMappings.2.VSwitchId", "vsw-bp1simi"),
    ];
    let params: Vec<(&str, &str)> = zones.iter().chain(params).copied().collect();
    let made = cloud.administer("nlb.CreateLoadBalancer", &params).unwrap();
    let id = made["LoadbalancerId"].as_str().unwrap().to_owned();
    let group = [("VpcId", "vpc-bp1sim"), ("ServerGroupName", group)];
    let params: Vec<(&str, &str)> = group.iter().chain(group_params).copied().collect();
    let made = cloud.administer("nlb.CreateServerGroup", &params).unwrap();
    (id, made["ServerGroupId"].as_str().unwrap().to_owned())
}
