//! The waiting room: what the cloud is still at, and which Service waits for it.
//!
//! All jobs of all Services are asked for together, 20 a call, at intervals that start at
//! [`SHORTEST`] and grow with the age of what is waited for, up to [`LONGEST`]. Load balancers that
//! are being made have no job and are asked for by their status, together as well. Nobody waits in
//! here: a Service is woken when what it waits for has ended.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use super::known::Known;
use crate::{
    cloud::{
        Class, CloudProvider, Error, JobId, JobState, LoadBalancerId, NetworkLoadBalancer, NetworkStatus,
        network_action::Lock,
    },
    controllers::service::Key,
};

/// The first interval.
pub const SHORTEST: Duration = Duration::from_millis(200);
/// No interval is longer.
pub const LONGEST: Duration = Duration::from_secs(5);
/// Jobs take seconds. One that takes this long has gone wrong.
const OVERDUE: Duration = Duration::from_secs(180);
/// The same for load balancers in the making.
const OVERDUE_LOAD_BALANCER: Duration = Duration::from_secs(300);
/// A load balancer that was just made need not be in lists yet.
const NOT_YET_LISTED: Duration = Duration::from_secs(10);
/// When asking fails, the client has tried long enough; this is how long it rests.
const REST: Duration = Duration::from_secs(2);

/// What the cloud is still at.
#[derive(Default)]
pub struct Jobs {
    inner: Mutex<Inner>,
    changed: Notify,
}

#[derive(Default)]
struct Inner {
    jobs: BTreeMap<JobId, Job>,
    load_balancers: BTreeMap<LoadBalancerId, Watched>,
    failures: BTreeMap<Key, Vec<Error>>,
}

struct Job {
    /// Whose change it is, and who is told of its failure.
    key: Key,
    /// Who else waits for it.
    others: BTreeSet<Key>,
    /// Default name of the Service, which marks what is its.
    owner: String,
    /// The change it carries out.
    what: String,
    lock: Option<Lock>,
    pace: Pace,
}

/// A load balancer whose status is in the way.
struct Watched {
    keys: BTreeSet<Key>,
    pace: Pace,
}

/// Since when, and when to look next.
struct Pace {
    since: Instant,
    due: Instant,
}

// === impl Jobs ===

impl Jobs {
    /// The Service waits for this job, which works on `lock`.
    pub fn wait_for(&self, job: JobId, key: &Key, owner: String, what: String, lock: Option<Lock>) {
        let job_of = Job { key: key.clone(), others: BTreeSet::new(), owner, what, lock, pace: Pace::new() };
        self.inner.lock().jobs.insert(job, job_of);
        self.changed.notify_one();
    }

    /// The Service waits for jobs of others that work on `lock`.
    pub fn wait_with(&self, lock: &Lock, key: &Key) {
        for job in self.inner.lock().jobs.values_mut().filter(|job| job.lock.as_ref() == Some(lock) && job.key != *key)
        {
            job.others.insert(key.clone());
        }
    }

    /// The Service waits until the load balancer takes changes, or is gone.
    pub fn watch(&self, id: &LoadBalancerId, key: &Key) {
        let mut inner = self.inner.lock();
        let watched = inner.load_balancers.entry(id.clone());
        watched.or_insert_with(|| Watched { keys: BTreeSet::new(), pace: Pace::new() }).keys.insert(key.clone());
        self.changed.notify_one();
    }

    /// Whether the Service will be woken.
    pub fn is_waiting(&self, key: &Key) -> bool {
        let inner = self.inner.lock();
        inner.jobs.values().any(|job| job.key == *key || job.others.contains(key))
            || inner.load_balancers.values().any(|watched| watched.keys.contains(key))
    }

    /// Whether the end of what holds this lock will be noticed.
    pub fn knows(&self, lock: &Lock) -> bool {
        let inner = self.inner.lock();
        let watched = matches!(lock, Lock::LoadBalancer(id) if inner.load_balancers.contains_key(id));
        watched || inner.jobs.values().any(|job| job.lock.as_ref() == Some(lock))
    }

    /// What of the Service's changes failed after it had begun.
    pub fn take_failures(&self, key: &Key) -> Vec<Error> {
        self.inner.lock().failures.remove(key).unwrap_or_default()
    }

    /// The Service is gone.
    pub fn forget(&self, key: &Key) {
        let mut inner = self.inner.lock();
        inner.failures.remove(key);
        inner.jobs.retain(|_, job| job.key != *key || !job.others.is_empty());
        for job in inner.jobs.values_mut() {
            job.others.remove(key);
        }
        for watched in inner.load_balancers.values_mut() {
            watched.keys.remove(key);
        }
        inner.load_balancers.retain(|_, watched| !watched.keys.is_empty());
    }

    /// Asks for what is waited for and wakes who waits, until dropped.
    pub async fn poll(&self, cloud: &dyn CloudProvider, known: &Known, wake: &(dyn Fn(&Key) + Send + Sync)) {
        loop {
            let Some(due) = self.next_due() else {
                self.changed.notified().await;
                continue;
            };
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(due) => {}
                () = self.changed.notified() => continue,
            }
            self.look_at_jobs(cloud, known, wake).await;
            self.look_at_load_balancers(cloud, known, wake).await;
        }
    }

    fn next_due(&self) -> Option<Instant> {
        let inner = self.inner.lock();
        let jobs = inner.jobs.values().map(|job| job.pace.due);
        jobs.chain(inner.load_balancers.values().map(|watched| watched.pace.due)).min()
    }

    async fn look_at_jobs(&self, cloud: &dyn CloudProvider, known: &Known, wake: &(dyn Fn(&Key) + Send + Sync)) {
        let ids: Vec<JobId> = {
            let inner = self.inner.lock();
            inner.jobs.iter().filter(|(_, job)| job.pace.is_due()).map(|(id, _)| id.clone()).collect()
        };
        if ids.is_empty() {
            return;
        }
        let states = match cloud.jobs(&ids).await {
            Ok(states) => states,
            Err(error) => {
                tracing::warn!(%error, "cannot ask how far changes of network load balancers are");
                let mut inner = self.inner.lock();
                inner.jobs.values_mut().filter(|job| job.pace.is_due()).for_each(|job| job.pace.rest());
                return;
            }
        };
        for (id, state) in states {
            let ended = {
                let mut inner = self.inner.lock();
                let Some(job) = inner.jobs.get_mut(&id) else { continue };
                if state == JobState::Processing && job.pace.age() < OVERDUE {
                    job.pace.next();
                    continue;
                }
                inner.jobs.remove(&id)
            };
            if let Some(job) = ended {
                self.end(&id, job, state, known, wake);
            }
        }
    }

    fn end(&self, id: &JobId, job: Job, state: JobState, known: &Known, wake: &(dyn Fn(&Key) + Send + Sync)) {
        let Job { key, others, owner, what, lock, pace } = job;
        let failure = match state {
            JobState::Succeeded => None,
            JobState::Failed => Some(format!("the cloud reports that its job {id} failed")),
            JobState::Processing => Some(format!("its job {id} is not done after {} s", pace.age().as_secs())),
            JobState::Unknown => Some(format!("the cloud does not know its job {id} any more")),
        };
        match (&lock, &failure) {
            (Some(lock), None) => known.settle(lock),
            (Some(lock), Some(_)) => known.doubt_lock(lock),
            (None, _) => {}
        }
        if let Some(message) = failure {
            // What was deleted counted as gone, and what was made as there.
            known.doubt_groups_of(&owner);
            let error = Error::new(Class::Unknown, what, "", message);
            self.inner.lock().failures.entry(key.clone()).or_default().push(error);
        }
        others.iter().chain([&key]).for_each(wake);
    }

    async fn look_at_load_balancers(
        &self,
        cloud: &dyn CloudProvider,
        known: &Known,
        wake: &(dyn Fn(&Key) + Send + Sync),
    ) {
        let ids: Vec<LoadBalancerId> = {
            let inner = self.inner.lock();
            let due = inner.load_balancers.iter().filter(|(_, watched)| watched.pace.is_due());
            due.map(|(id, _)| id.clone()).collect()
        };
        if ids.is_empty() {
            return;
        }
        let found = match cloud.network_load_balancers(&ids).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, "cannot ask how far network load balancers are");
                let mut inner = self.inner.lock();
                inner.load_balancers.values_mut().filter(|w| w.pace.is_due()).for_each(|w| w.pace.rest());
                return;
            }
        };
        for id in ids {
            let there = found.iter().find(|lb| lb.id == id);
            let ended = {
                let mut inner = self.inner.lock();
                let Some(watched) = inner.load_balancers.get_mut(&id) else { continue };
                let age = watched.pace.age();
                let goes_on = match there {
                    None => age < NOT_YET_LISTED && known.is_provisioning(&id),
                    Some(there) => is_under_way(there) && age < OVERDUE_LOAD_BALANCER,
                };
                if goes_on {
                    watched.pace.next();
                    continue;
                }
                inner.load_balancers.remove(&id)
            };
            let Some(Watched { keys, pace }) = ended else { continue };
            match there {
                // What is gone is not made again by repeating the request that made it.
                None => known.vanished(&id),
                Some(there) => known.refresh(there.clone()),
            }
            for key in keys {
                if there.is_some_and(is_under_way) {
                    let message = format!("it does not take changes since {} s", pace.age().as_secs());
                    let error = Error::new(Class::Busy, "ListLoadBalancers", id.to_string(), message);
                    self.inner.lock().failures.entry(key.clone()).or_default().push(error);
                }
                wake(&key);
            }
        }
    }
}

fn is_under_way(load_balancer: &NetworkLoadBalancer) -> bool {
    matches!(load_balancer.status, NetworkStatus::Provisioning | NetworkStatus::Changing | NetworkStatus::Deleting)
}

// === impl Pace ===

impl Pace {
    fn new() -> Self {
        let now = Instant::now();
        Self { since: now, due: now + SHORTEST }
    }

    fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// Who is nearly due goes along with who is.
    fn is_due(&self) -> bool {
        self.due <= Instant::now() + SHORTEST / 4
    }

    /// A tenth of its age later: the end is noticed at most a tenth late.
    fn next(&mut self) {
        self.due = Instant::now() + (self.age() / 10).clamp(SHORTEST, LONGEST);
    }

    fn rest(&mut self) {
        self.due = Instant::now() + REST;
    }
}
