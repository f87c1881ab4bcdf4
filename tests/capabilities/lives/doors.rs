//! Where clients may come from, and where users ever asked that they may.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ccm::sim::cloud::{
    State, nlb,
    slb::{Listener, ListenerStatus},
};
use k8s_openapi::api::core::v1::Service;
use tokio::time::Instant;

use super::marks::{Kind, LEFT_TAG, is_marked, kind_of, ours, ranges};

/// How long something may still be done that was decided on before the user changed their mind.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where clients may come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Open {
    All,
    Only(BTreeSet<String>),
}

/// Listener of this cluster that takes connections → the Service, and from where.
pub type Doors = BTreeMap<String, (String, Open)>;

/// What users asked for, by Service.
#[derive(Default)]
pub struct Permits(BTreeMap<String, Asked>);

/// What the user of one Service asked for and since when, oldest first; without what is history:
/// once it was replaced for a while, and what is there follows the latest.
struct Asked {
    uid: Option<String>,
    wishes: Vec<(Open, Instant)>,
}

// === impl Open ===

impl Open {
    /// What a Service asks for; nothing new if it does not want a load balancer.
    fn asked(service: &Service) -> Option<Self> {
        let kind = kind_of(service)?;
        let ranges = ranges(service);
        // Who may reach a network load balancer of the user's is the user's business.
        let is_users = kind == Kind::Network && ours(service, "id").is_some();
        Some(if is_users || ranges.is_empty() { Self::All } else { Self::Only(ranges) })
    }

    /// Whether each of these sources is in one of `wishes`.
    fn is_within<'a>(&self, wishes: impl Iterator<Item = &'a Self> + Clone) -> bool {
        let anybody = wishes.clone().any(|wish| *wish == Self::All);
        let has = |wish: &Self, range: &String| matches!(wish, Self::Only(set) if set.contains(range));
        let in_one = |range: &String| wishes.clone().any(|wish| has(wish, range));
        anybody || matches!(self, Self::Only(set) if set.iter().all(in_one))
    }
}

// === impl Permits ===

impl Permits {
    /// To be told after each change of the cluster.
    pub fn hear(&mut self, services: &[Service]) {
        let name = |service: &Service| service.metadata.name.clone().unwrap_or_default();
        self.0.retain(|known, _| services.iter().any(|service| name(service) == *known));
        for service in services {
            let uid = &service.metadata.uid;
            let asked = self.0.entry(name(service)).or_insert_with(|| Asked { uid: uid.clone(), wishes: Vec::new() });
            if asked.uid != *uid {
                *asked = Asked { uid: uid.clone(), wishes: Vec::new() };
            }
            if let Some(wish) = Open::asked(service)
                && asked.wishes.last().is_none_or(|(latest, _)| *latest != wish)
            {
                asked.wishes.push((wish, Instant::now()));
            }
        }
    }

    /// The doors that were opened wider than anybody asked.
    pub fn trespasses(&mut self, before: &Doors, after: &Doors) -> Vec<String> {
        let mut found = Vec::new();
        for (door, (service, open)) in after {
            let Some(asked) = self.0.get(service) else { continue };
            let was = before.get(door).map(|(_, open)| open);
            let wishes = asked.wishes.iter().map(|(wish, _)| wish);
            if !open.is_within(wishes.clone()) && !was.is_some_and(|was| open.is_within([was].into_iter())) {
                let wishes: Vec<&Open> = wishes.collect();
                found.push(format!("{door} of {service} is open to {open:?}, was to {was:?}, asked for: {wishes:?}"));
            }
        }
        for (service, asked) in &mut self.0 {
            let mut theirs = after.values().filter(|(of, _)| of == service).map(|(_, open)| open).peekable();
            let latest = asked.wishes.last().map(|(wish, _)| wish);
            if theirs.peek().is_some() && theirs.all(|open| Some(open) == latest) {
                let old = asked.wishes.windows(2).take_while(|pair| pair[1].1.elapsed() > PATIENCE).count();
                asked.wishes.drain(..old);
            }
        }
        found
    }
}

pub fn doors(state: &State) -> Doors {
    let mut doors = Doors::new();
    for lb in state.slb.load_balancers.values().filter(|lb| !lb.tags.contains_key(LEFT_TAG)) {
        for listener in lb.listeners.iter().filter(|one| one.status != ListenerStatus::Stopped) {
            // `k8s/<port>/<name>/<namespace>/<cluster>`
            let mark: Vec<&str> = listener.setting("Description").unwrap_or_default().split('/').collect();
            if let ["k8s", _, name, _, "c1"] = mark[..] {
                let door = format!("{} {}/{}", lb.id, listener.port, listener.protocol.as_str());
                doors.insert(door, (name.to_owned(), classic(state, listener)));
            }
        }
    }
    let is_left = |id: &str| state.nlb.load_balancers.get(id).is_some_and(|lb| lb.tags.contains_key(LEFT_TAG));
    for listener in state.nlb.listeners.values().filter(|one| !is_left(&one.load_balancer)) {
        let is_shut = matches!(listener.status, nlb::ListenerState::Stopped | nlb::ListenerState::Deleting);
        let mark = listener.attributes.get("ListenerDescription").map(String::as_str).unwrap_or_default();
        // `k8s.<port>.<protocol>.<name>.<namespace>.<cluster>`
        let mark: Vec<&str> = mark.split('.').collect();
        if let ["k8s", _, _, name, _, "c1"] = mark[..]
            && !is_shut
        {
            doors.insert(listener.id.clone(), (name.to_owned(), network(state, &listener.load_balancer)));
        }
    }
    doors
}

/// A list of nobody lets everybody in.
fn classic(state: &State, listener: &Listener) -> Open {
    let is_limited = listener.setting("AclStatus") == Some("on") && listener.setting("AclType") == Some("white");
    let list = listener.setting("AclId").filter(|_| is_limited).and_then(|id| state.slb.acls.get(id));
    match list.map(|list| list.entries.keys().cloned().collect::<BTreeSet<_>>()) {
        Some(entries) if !entries.is_empty() => Open::Only(entries),
        _ => Open::All,
    }
}

/// By the group that was made for this: one of its type lets in whom its rules name, and nobody else.
fn network(state: &State, load_balancer: &str) -> Open {
    let groups =
        state.nlb.load_balancers.get(load_balancer).map(|lb| lb.security_groups.as_slice()).unwrap_or_default();
    let groups = groups.iter().filter_map(|id| state.ecs.security_groups.get(id));
    let mut own = groups.filter(|group| is_marked(&group.tags)).peekable();
    if own.peek().is_none() {
        return Open::All;
    }
    let rules = own.flat_map(|group| &group.rules).filter(|rule| rule.policy.eq_ignore_ascii_case("accept"));
    Open::Only(rules.map(|rule| rule.source.clone()).collect())
}
