//! One life: a cluster, its users, its administrators, and trouble, all from one seed.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use ccm::sim::{
    cloud::{Fault, FaultKind},
    kube::{Effect, Fault as KubeFault},
};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Node, Pod, Service},
    discovery::v1::EndpointSlice,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    dice::Dice,
    expected::{Cluster, default_name, lacks},
    foreign::Foreign,
    sentry::Sentry,
    wish::{Behind, NAMES, Wish},
};
use crate::support::{Replica, Stage, config, taints};

/// Nobody to share with: a renewal of the lease every two seconds is most of the work of a quiet day.
const FLAGS: &[&str] = &["--leader-elect=false", "--controllers=node,service,nlb"];
/// How long it may take until all is in place once there is no trouble any more.
const PATIENCE: Duration = Duration::from_secs(1800);
const LOOK: Duration = Duration::from_secs(15);

/// What happened, to tell when it ends badly.
pub type Diary = Arc<Mutex<Vec<String>>>;

/// A life in progress.
pub struct Life {
    stage: Stage,
    dice: Dice,
    replica: Option<Replica>,
    wishes: BTreeMap<&'static str, Wish>,
    /// Addresses of interfaces of the cloud, for slices that are made by hand.
    addresses: Vec<String>,
    foreign: Foreign,
    sentry: Sentry,
    /// Tells whether there is anything new to act on.
    changes: tokio::sync::watch::Receiver<u64>,
    diary: Diary,
}

/// Something that may happen next; what to note in the diary if it did.
type Step = fn(&mut Life) -> Option<String>;

/// All of them, and how often.
const STEPS: &[(usize, Step)] = &[
    (14, Life::expose),
    (10, Life::repaint),
    (8, Life::reopen),
    (4, Life::turn),
    (3, Life::retype),
    (3, Life::err),
    (6, Life::delete),
    (5, Life::join),
    (2, Life::leave),
    (5, Life::ready),
    (5, Life::label),
    (4, Life::cordon),
    (4, Life::scale),
    (4, Life::evict),
    (6, Life::relist),
    (7, Life::meddle),
    (4, Life::api_trouble),
];

// === impl Life ===

impl Life {
    pub async fn begin(stage: Stage, seed: u64, diary: Diary) -> Self {
        let dice = Dice::new(seed);
        stage.cloud().configure(|options| options.check_replies = false);
        (1000..1006).for_each(|number| drop(stage.world.boot(number).unwrap()));
        let addresses = stage.cloud().with_state(|state| {
            state.ecs.interfaces.values().map(|interface| interface.private_ips[0].to_string()).collect()
        });
        let sentry = Sentry::new(stage.cloud(), &stage.world.kube);
        let foreign = Foreign::settle(stage.cloud());
        let changes = stage.world.kube.changes();
        let mut life =
            Self { stage, dice, replica: None, wishes: BTreeMap::new(), addresses, foreign, sentry, changes, diary };
        for app in ["a", "b"] {
            life.stage.world.kube.create(&deployment(app)).unwrap();
        }
        life.start();
        life.stage.joined(2 + life.dice.below(2)).await;
        life.settle();
        life
    }

    /// Things happen, with trouble in between.
    pub async fn go_on(&mut self) {
        self.trouble();
        for _ in 0..8 + self.dice.below(8) {
            let total: usize = STEPS.iter().map(|(often, _)| often).sum();
            let mut at = self.dice.below(total);
            let step = STEPS.iter().find(|(often, _)| {
                let hit = at < *often;
                at = at.saturating_sub(*often);
                hit
            });
            let said = step.and_then(|(_, step)| step(self));
            self.note(said);
            if self.dice.chance(12) {
                self.restart().await;
            }
            self.settle();
            if !self.dice.chance(30) {
                self.pass(Duration::from_millis(u64::try_from(self.dice.below(20_000)).unwrap())).await;
            }
            self.check();
        }
    }

    /// No more trouble: everything becomes as it should be, and then nothing more is written.
    pub async fn calm_down(&mut self) {
        self.stage.cloud().clear_faults();
        for name in NAMES {
            if let Some(wish) = self.wishes.get_mut(name) {
                wish.think_better();
                let patch = wish.patch(name);
                self.patch(name, patch);
            }
        }
        self.bury();
        // A new process looks at everything; one that goes on would at its next audit.
        self.restart().await;
        self.reaches("all in place").await;
        self.pass(Duration::from_secs(30)).await;
        self.stage.clear_calls();
        // Longer than the period of anything that looks again.
        self.pass(Duration::from_secs(330)).await;
        let writes: Vec<String> =
            self.stage.cloud().calls().iter().filter(|call| call.changed).map(ccm::sim::cloud::Call::name).collect();
        assert_eq!(writes, Vec::<String>::new(), "all was in place, and yet something was written");
        self.check();
    }

    /// Nodes whose instances are gone are deleted, which without hurry would be the controller's part,
    /// and there is one that works.
    fn bury(&mut self) {
        let instances: Vec<String> = self.stage.cloud().instances().into_iter().map(|one| one.id).collect();
        let names = self.stage.world.kube.list::<Node>().into_iter().filter_map(|node| node.metadata.name);
        let is_gone = |name: &String| !instances.iter().any(|id| name.ends_with(id.as_str()));
        names.filter(is_gone).for_each(|name| self.stage.world.kube.delete::<Node>("", &name).unwrap());
        self.stage.world.join().unwrap();
        self.settle();
    }

    /// Every Service is deleted; nothing of any is left.
    pub async fn end(&mut self) {
        for name in NAMES {
            if self.wishes.remove(name).is_some() {
                self.stage.world.kube.delete::<Service>("default", name).unwrap();
            }
        }
        let mut waited = Duration::ZERO;
        while NAMES.iter().any(|name| self.stage.service(name).is_some()) {
            assert!(waited < PATIENCE, "still there: {:?}", self.stage.world.kube.list::<Service>());
            self.pass(LOOK).await;
            waited += LOOK;
        }
        self.pass(Duration::from_secs(5)).await;
        self.check();
        assert_eq!(self.foreign.others(self.stage.cloud()), Vec::<String>::new(), "left after the deletion of all");
    }

    fn note(&self, said: Option<String>) {
        if let Some(said) = said {
            let at = self.stage.clock.now();
            self.diary.lock().push(format!("{at} {said}"));
        }
    }

    fn start(&mut self) {
        let (client, config) = (self.stage.world.kube.client(), config(FLAGS, json!({})));
        self.replica = Some(self.stage.start_between(client, Arc::new(self.sentry.clone()), config));
    }

    async fn restart(&mut self) {
        if let Some(replica) = self.replica.take() {
            if self.dice.chance(70) {
                self.note(Some("the controller is killed".into()));
                replica.kill().await;
            } else {
                self.note(Some("the controller is stopped".into()));
                // What it could not finish in time, the next one does.
                let _ = replica.stop().await;
            }
        }
        if self.dice.chance(30) {
            self.pass(Duration::from_secs(20)).await;
        }
        self.start();
    }

    async fn pass(&mut self, time: Duration) {
        self.stage.pass(time).await;
        self.settle();
    }

    /// Everybody else in the cluster acts, if there is anything to act on.
    fn settle(&mut self) {
        if self.changes.has_changed().unwrap() {
            self.changes.borrow_and_update();
            // Somebody else may have written in between; the next turn sees it.
            let _ = self.stage.world.settle();
            self.sentry.look_around();
        }
    }

    fn check(&self) {
        assert_eq!(self.sentry.seen(), Vec::<String>::new());
        self.foreign.check(self.stage.cloud());
    }

    fn lacks(&self) -> Option<String> {
        let cluster = Cluster::of(&self.stage.world.kube, self.stage.cloud());
        let services = self.stage.world.kube.list::<Service>();
        let services: Vec<&Service> =
            services.iter().filter(|s| NAMES.contains(&s.metadata.name.as_deref().unwrap_or_default())).collect();
        if services.len() != self.wishes.len() {
            return Some("a Service is not gone yet".to_owned());
        }
        // Pods wait for it, and members for pods.
        let is_new = |node: &Node| taints(node).iter().any(|taint| taint.ends_with("/uninitialized"));
        if self.stage.world.kube.list::<Node>().iter().any(is_new) {
            return Some("a node is not initialised yet".to_owned());
        }
        services.iter().find_map(|service| lacks(&cluster, self.stage.cloud(), service)).or_else(|| {
            let owners: Vec<String> = services.iter().map(|service| default_name(service)).collect();
            self.foreign.others(self.stage.cloud()).into_iter().find(|owner| !owners.contains(owner))
        })
    }

    async fn reaches(&mut self, what: &str) {
        let mut waited = Duration::ZERO;
        while let Some(lack) = self.lacks() {
            assert!(waited < PATIENCE, "not reached: {what}. {lack}\n{:#?}", self.stage.words());
            self.pass(LOOK).await;
            waited += LOOK;
        }
    }

    // --- trouble

    fn trouble(&self) {
        let error = |status, code: &str| FaultKind::Error { status, code: code.into(), message: String::new() };
        let kinds = [
            FaultKind::DropAfter,
            FaultKind::DropBefore,
            FaultKind::Throttle { retry_after: None },
            FaultKind::Throttle { retry_after: Some(Duration::from_secs(3)) },
            FaultKind::TruncatedJson,
            FaultKind::Slow(Duration::from_secs(2)),
            error(500, "InternalError"),
            error(400, "OperationBusy"),
            error(400, "ServiceIsConfiguring"),
            error(400, "InvalidParameter"),
            FaultKind::Denied,
        ];
        for kind in kinds {
            if self.dice.chance(50) {
                let share = f64::from(u32::try_from(self.dice.below(6)).unwrap()) / 100.0;
                self.note(Some(format!("{share} of all calls: {kind:?}")));
                self.stage.cloud().inject(Fault::on("slb", kind).with_probability(share));
            }
        }
    }

    fn api_trouble(&mut self) -> Option<String> {
        let services = "/api/v1/namespaces/default/services/";
        let effects =
            [Effect::Status(500), Effect::Status(409), Effect::Status(429), Effect::Refuse, Effect::LoseAnswer];
        let kube = &self.stage.world.kube;
        match self.dice.below(7) {
            5 => kube.close_watches(),
            6 => kube.expire_history(),
            effect => kube.inject(KubeFault::on(services, effects[effect].clone()).times(2)),
        }
        Some("the API server has trouble".into())
    }

    // --- users

    fn expose(&mut self) -> Option<String> {
        let name = self.dice.choose(&NAMES);
        // A new one of this name has to wait until the old one is gone.
        if self.wishes.contains_key(name) || self.stage.service(name).is_some() {
            return None;
        }
        let wish = Wish::new(&self.dice, name, &self.foreign.shared);
        let metadata = json!({ "name": name, "namespace": "default", "annotations": wish.annotations().into_iter().collect::<BTreeMap<_, _>>() });
        let service = json!({ "metadata": metadata, "spec": wish.spec(name) });
        self.stage.world.kube.create::<Service>(&serde_json::from_value(service).unwrap()).unwrap();
        let said = format!("{name} is created: {wish:?}");
        self.wishes.insert(name, wish);
        self.write_slice(name);
        Some(said)
    }

    /// Changes the wish of a Service that is there.
    fn change(&mut self, change: impl FnOnce(&Dice, &mut Wish, &str)) -> Option<String> {
        let names: Vec<&'static str> = self.wishes.keys().copied().collect();
        let name = *self.dice.pick(&names)?;
        let wish = self.wishes.get_mut(name)?;
        change(&self.dice, wish, name);
        let (patch, said) = (wish.patch(name), format!("{name} changes: {wish:?}"));
        self.patch(name, patch);
        self.write_slice(name);
        Some(said)
    }

    fn patch(&self, name: &str, patch: Value) {
        self.stage.world.kube.patch::<Service>("default", name, patch).unwrap();
    }

    fn repaint(&mut self) -> Option<String> {
        self.change(|dice, wish, _| wish.repaint(dice))
    }

    fn reopen(&mut self) -> Option<String> {
        self.change(|dice, wish, name| wish.reopen(dice, name))
    }

    fn turn(&mut self) -> Option<String> {
        self.change(|_, wish, _| wish.turn())
    }

    fn retype(&mut self) -> Option<String> {
        self.change(|_, wish, _| wish.kind = if wish.kind == "LoadBalancer" { "ClusterIP" } else { "LoadBalancer" })
    }

    fn err(&mut self) -> Option<String> {
        self.change(|dice, wish, _| if dice.chance(50) { wish.err(dice) } else { wish.think_better() })
    }

    fn delete(&mut self) -> Option<String> {
        let names: Vec<&'static str> = self.wishes.keys().copied().collect();
        let name = *self.dice.pick(&names)?;
        self.wishes.remove(name);
        self.stage.world.kube.delete::<Service>("default", name).unwrap();
        let _ = self.stage.world.kube.delete::<EndpointSlice>("default", &format!("{name}-hand"));
        Some(format!("{name} is deleted"))
    }

    fn relist(&mut self) -> Option<String> {
        let by_hand = |(name, wish): (&&'static str, &Wish)| (wish.behind == Behind::Slices).then_some(*name);
        let names: Vec<&'static str> = self.wishes.iter().filter_map(by_hand).collect();
        let name = *self.dice.pick(&names)?;
        self.write_slice(name);
        Some(format!("other endpoints for {name}"))
    }

    /// The slice of a Service whose endpoints are made by hand.
    fn write_slice(&self, name: &str) {
        let Some(wish) = self.wishes.get(name).filter(|wish| wish.behind == Behind::Slices) else { return };
        let endpoints: Vec<Value> = self
            .addresses
            .iter()
            .filter(|_| self.dice.chance(60))
            .map(|address| {
                let target = json!({ "kind": "Pod", "name": address, "uid": format!("uid-{address}") });
                json!({ "addresses": [address], "conditions": { "ready": !self.dice.chance(20) }, "targetRef": target })
            })
            .collect();
        let ports: Vec<Value> = wish
            .ports
            .as_array()
            .unwrap()
            .iter()
            .map(|port| json!({ "name": port["name"], "port": port["targetPort"], "protocol": port["protocol"] }))
            .collect();
        let slice: EndpointSlice = serde_json::from_value(json!({
            "metadata": {
                "name": format!("{name}-hand"), "namespace": "default", "labels": { "kubernetes.io/service-name": name },
            },
            "addressType": "IPv4", "endpoints": endpoints, "ports": ports,
        }))
        .unwrap();
        let there = self.stage.world.kube.modify::<EndpointSlice>("default", &format!("{name}-hand"), |there| {
            there.endpoints.clone_from(&slice.endpoints);
            there.ports.clone_from(&slice.ports);
        });
        if there.is_err() {
            self.stage.world.kube.create(&slice).unwrap();
        }
    }

    // --- nodes and pods

    fn node(&self) -> Option<String> {
        let nodes = self.stage.world.kube.list::<Node>();
        self.dice.pick(&nodes).and_then(|node| node.metadata.name.clone())
    }

    fn join(&mut self) -> Option<String> {
        Some(format!("{} joins", self.stage.world.join().unwrap()))
    }

    fn leave(&mut self) -> Option<String> {
        let node = self.node()?;
        self.stage.world.leave(&node).unwrap();
        Some(format!("the instance of {node} is released"))
    }

    fn ready(&mut self) -> Option<String> {
        let (node, status) = (self.node()?, self.dice.choose(&["True", "True", "False", "Unknown"]));
        self.stage.world.set_ready(&node, status).unwrap();
        Some(format!("{node} becomes Ready={status}"))
    }

    fn label(&mut self) -> Option<String> {
        let node = self.node()?;
        let on = self.dice.chance(50).then_some("true");
        let (key, tainted) = ("node.kubernetes.io/exclude-from-external-load-balancers", self.dice.chance(40));
        let kube = &self.stage.world.kube;
        if tainted {
            kube.modify::<Node>("", &node, |node| {
                let taints = node.spec.get_or_insert_default().taints.get_or_insert_default();
                taints.retain(|taint| taint.key != "ToBeDeletedByClusterAutoscaler");
                if on.is_some() {
                    let taint =
                        json!({ "key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule", "value": "1" });
                    taints.push(serde_json::from_value(taint).unwrap());
                }
            })
            .unwrap();
        } else {
            kube.patch::<Node>("", &node, json!({ "metadata": { "labels": { key: on } } })).unwrap();
        }
        Some(format!(
            "{node} is {} by {}",
            if on.is_some() { "left out" } else { "taken in" },
            if tainted { "taint" } else { "label" }
        ))
    }

    fn cordon(&mut self) -> Option<String> {
        let (node, on) = (self.node()?, self.dice.chance(50).then_some(true));
        self.stage.world.kube.patch::<Node>("", &node, json!({ "spec": { "unschedulable": on } })).unwrap();
        Some(format!("{node} is unschedulable: {on:?}"))
    }

    fn scale(&mut self) -> Option<String> {
        let (app, replicas) = (self.dice.choose(&["a", "b"]), self.dice.below(5));
        self.stage.world.kube.patch::<Deployment>("default", app, json!({ "spec": { "replicas": replicas } })).unwrap();
        Some(format!("{app} is scaled to {replicas}"))
    }

    fn evict(&mut self) -> Option<String> {
        let pods = self.stage.world.kube.list::<Pod>();
        let pod = self.dice.pick(&pods)?.metadata.name.clone()?;
        let _ = self.stage.world.evict("default", &pod);
        Some(format!("{pod} is evicted"))
    }

    // --- others in the cloud's console

    /// Somebody changes something on a load balancer of ours.
    fn meddle(&mut self) -> Option<String> {
        let ours: Vec<_> =
            self.stage.cloud().load_balancers().into_iter().filter(|lb| self.foreign.is_ours(lb)).collect();
        let lb = self.dice.pick(&ours)?;
        let groups = self.stage.cloud().groups(&lb.id);
        let administer = |action: &str, params: &[(&str, &str)]| self.stage.cloud().administer(action, params);
        let said = match self.dice.below(6) {
            0 => {
                let group = self.dice.pick(&groups)?;
                let server = self.dice.pick(&group.servers)?;
                self.stage.cloud().remove_member(&group.id, &server.id);
                format!("a member is taken out of {}", group.name)
            }
            1 => {
                let group = self.dice.pick(&groups)?;
                let server = self.dice.pick(&group.servers)?;
                let servers = format!(r#"[{{"ServerId":"{}","Port":"{}","Weight":"1"}}]"#, server.id, server.port);
                let _ = administer(
                    "slb.SetVServerGroupAttribute",
                    &[("VServerGroupId", &group.id), ("BackendServers", &servers)],
                );
                format!("a weight is changed in {}", group.name)
            }
            2 => {
                let listener = self.dice.pick(&lb.listeners)?;
                let port = listener.port.to_string();
                let _ =
                    administer("slb.StopLoadBalancerListener", &[("LoadBalancerId", &lb.id), ("ListenerPort", &port)]);
                format!("the listener {port} is stopped")
            }
            3 => {
                let listener = self.dice.pick(&lb.listeners)?;
                let port = listener.port.to_string();
                let _ = administer(
                    "slb.DeleteLoadBalancerListener",
                    &[("LoadBalancerId", &lb.id), ("ListenerPort", &port)],
                );
                format!("the listener {port} is deleted")
            }
            4 => {
                let _ = administer(
                    "slb.SetLoadBalancerName",
                    &[("LoadBalancerId", &lb.id), ("LoadBalancerName", "mine now")],
                );
                "a load balancer is renamed".into()
            }
            _ => {
                let _ = administer(
                    "slb.CreateVServerGroup",
                    &[("LoadBalancerId", &lb.id), ("VServerGroupName", "by-hand")],
                );
                "a group is made by hand".into()
            }
        };
        Some(format!("{} of {:?}: {said}", lb.id, lb.tags.get("kubernetes.do.not.delete")))
    }
}

fn deployment(app: &str) -> Deployment {
    let template = json!({
        "metadata": { "labels": { "app": app } },
        "spec": { "containers": [{ "name": "main", "image": "example.com/main" }] },
    });
    let spec = json!({ "replicas": 2, "selector": { "matchLabels": { "app": app } }, "template": template });
    serde_json::from_value(json!({ "metadata": { "name": app, "namespace": "default" }, "spec": spec })).unwrap()
}
