//! One life: a cluster, its users, its administrators, and trouble, all from one seed.

mod console;
mod machines;
mod trouble;
mod users;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Node, Service},
};
use parking_lot::Mutex;
use serde_json::json;

use super::{
    cluster::Cluster,
    dice::Dice,
    expected::{lacks, marks_left},
    foreign::Foreign,
    sentry::Sentry,
    wish::{Cast, NAMES, Wish},
};
use crate::support::{Replica, Stage, config, taints};

/// Routes have tests of their own.
const FLAGS: &[&str] = &["--controllers=node,service,nlb"];
/// Nobody to share with: a renewal of the lease every two seconds is most of the work of a quiet day.
const ALONE: &[&str] = &["--leader-elect=false"];
/// Where there are two, it is renewed less often.
const TWO: &[&str] =
    &["--leader-elect-lease-duration=60s", "--leader-elect-renew-deadline=40s", "--leader-elect-retry-period=10s"];
/// How long it may take until all is in place once there is no trouble any more.
const PATIENCE: Duration = Duration::from_secs(1800);
const LOOK: Duration = Duration::from_secs(15);
/// Addresses of each interface in a crowded life: more members than one call takes.
const CROWD: u8 = 12;

/// What happened, to tell when it ends badly.
pub type Diary = Arc<Mutex<Vec<String>>>;

/// A life in progress.
pub struct Life {
    stage: Stage,
    dice: Dice,
    cast: Cast,
    /// Controllers; all but one of them wait for the lease.
    replicas: Vec<Replica>,
    most_replicas: usize,
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
    (5, Life::convert),
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
    pub async fn begin(stage: Stage, seed: u64, cast: Cast, diary: Diary) -> Self {
        let dice = Dice::new(seed);
        stage.cloud().configure(|options| options.check_replies = false);
        (1000..1006).for_each(|number| drop(stage.world.boot(number).unwrap()));
        let crowd = if dice.chance(10) { CROWD } else { 1 };
        let addresses = stage.cloud().with_state(|state| {
            let mut all = Vec::new();
            for (number, interface) in (0u8..).zip(state.ecs.interfaces.values_mut()) {
                interface.private_ips.extend((1..crowd).map(|host| std::net::Ipv4Addr::new(10, 0, 200 + number, host)));
                all.extend(interface.private_ips.iter().map(ToString::to_string));
            }
            all
        });
        let sentry = Sentry::new(stage.cloud(), &stage.world.kube);
        let foreign = Foreign::settle(stage.cloud()).await;
        let changes = stage.world.kube.changes();
        let most_replicas = if dice.chance(10) { 2 } else { 1 };
        let (replicas, wishes) = (Vec::new(), BTreeMap::new());
        let mut life =
            Self { stage, dice, cast, replicas, most_replicas, wishes, addresses, foreign, sentry, changes, diary };
        for app in ["a", "b"] {
            life.stage.world.kube.create(&deployment(app)).unwrap();
        }
        (0..most_replicas).for_each(|_| life.start());
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
            self.sentry.judge();
            let said = step.and_then(|(_, step)| step(self));
            self.sentry.excuse();
            self.note(said);
            self.settle();
            if self.dice.chance(12) {
                self.restart().await;
                self.settle();
            }
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
        self.note(Some("all trouble is over".into()));
        // A new process looks at everything; one that goes on would at its next audit.
        for _ in 0..self.most_replicas {
            self.restart().await;
        }
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
        assert_eq!(marks_left(self.stage.cloud(), &[]), Vec::<String>::new(), "left after the deletion of all");
    }

    fn note(&self, said: Option<String>) {
        if let Some(said) = said {
            let at = self.stage.clock.now();
            self.diary.lock().push(format!("{at} {said}"));
        }
    }

    fn start(&mut self) {
        let election = if self.most_replicas > 1 { TWO } else { ALONE };
        let flags: Vec<&str> = FLAGS.iter().chain(election).copied().collect();
        let keys = json!({ "featureGates": format!("LoadBalancerTypeAnnotation={}", self.cast == Cast::Mixed) });
        let client = self.stage.world.kube.client();
        let replica = self.stage.start_between(client, Arc::new(self.sentry.clone()), config(&flags, keys));
        self.replicas.push(replica);
    }

    /// The one that has been there longest goes, and another one comes.
    async fn restart(&mut self) {
        let replica = self.replicas.remove(0);
        if self.dice.chance(70) {
            self.note(Some("the controller is killed".into()));
            replica.kill().await;
        } else {
            self.note(Some("the controller is stopped".into()));
            // What it could not finish in time, the next one does.
            let _ = replica.stop().await;
        }
        if self.dice.chance(30) {
            self.pass(Duration::from_secs(20)).await;
        }
        self.start();
    }

    async fn pass(&mut self, time: Duration) {
        self.stage.pass(time).await;
        self.settle();
        self.foreign.take_over(self.stage.cloud(), &self.sentry.preserving());
    }

    /// Everybody else in the cluster acts, if there is anything to act on.
    fn settle(&mut self) {
        if self.changes.has_changed().unwrap() {
            let _ = self.stage.world.settle();
            // They have nothing left to do, and nobody else has written in between.
            self.changes.borrow_and_update();
            self.sentry.look_around();
        }
    }

    fn check(&self) {
        self.sentry.judge();
        assert_eq!(self.sentry.seen(), Vec::<String>::new());
        self.foreign.check(self.stage.cloud());
    }

    fn lacks(&self) -> Option<String> {
        let cluster = Cluster::of(&self.stage.world.kube, self.stage.cloud());
        let mut services = self.stage.world.kube.list::<Service>();
        services.retain(|service| NAMES.contains(&service.metadata.name.as_deref().unwrap_or_default()));
        if services.len() != self.wishes.len() {
            return Some("a Service is not gone yet".to_owned());
        }
        // Pods wait for it, and members for pods.
        let is_new = |node: &Node| taints(node).iter().any(|taint| taint.ends_with("/uninitialized"));
        if self.stage.world.kube.list::<Node>().iter().any(is_new) {
            return Some("a node is not initialised yet".to_owned());
        }
        let cloud = self.stage.cloud();
        let lack = services.iter().find_map(|service| lacks(&cluster, cloud, service, &services));
        lack.or_else(|| marks_left(cloud, &services.iter().collect::<Vec<_>>()).pop())
    }

    async fn reaches(&mut self, what: &str) {
        let mut waited = Duration::ZERO;
        while let Some(lack) = self.lacks() {
            if waited >= PATIENCE {
                let told: Vec<_> = NAMES.iter().map(|name| (name, self.stage.told(name).pop())).collect();
                panic!("not reached: {what}. {lack}\n{told:#?}\n{:#?}", self.stage.words());
            }
            self.pass(LOOK).await;
            waited += LOOK;
        }
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
