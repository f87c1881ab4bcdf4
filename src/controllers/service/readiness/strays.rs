//! Pods that wait for a Service which will never tell them, and that are in no EndpointSlice of a Service
//! of ours, so that no pass comes across them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::services_of;
use crate::{
    controllers::service::{
        Controller, Key,
        endpoints::{Endpoint, unready},
    },
    kubernetes::slice::Slice,
};

/// How often they are looked for.
const PERIOD: Duration = Duration::from_secs(60);
/// A pod that is not ready for this long is looked at; most are ready before.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most pods that are looked at in one round.
const MOST: usize = 20;

/// Pods by UID: since when they are not ready, and whether they were looked at.
type Seen = BTreeMap<Arc<str>, (Instant, bool)>;

impl Controller {
    /// Looks at each such pod once, and tells it if it waits in vain.
    pub(in crate::controllers::service) async fn look_for_strays(self, cancel: CancellationToken) {
        let mut seen = Seen::new();
        loop {
            let pause = self.entropy.jitter(PERIOD);
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                () = self.look_once(&mut seen) => {}
            }
        }
    }

    async fn look_once(&self, seen: &mut Seen) {
        let slices = self.slices_by_service();
        let unserved = |key: &Key| {
            let service = self.cache.services.get(Some(&key.namespace), &key.name);
            !service.is_some_and(|service| self.serves(&service))
        };
        let mut due: BTreeMap<&Key, Vec<Endpoint>> = BTreeMap::new();
        let mut there = BTreeSet::new();
        let mut room = MOST;
        for (key, slices) in slices.iter().filter(|(key, _)| unserved(key)) {
            for endpoint in unready(slices) {
                there.insert(endpoint.identity.clone());
                let (since, looked) = seen.entry(endpoint.identity.clone()).or_insert_with(|| (Instant::now(), false));
                if !*looked && since.elapsed() >= PATIENCE && room > 0 {
                    room -= 1;
                    *looked = true;
                    due.entry(key).or_default().push(endpoint);
                }
            }
        }
        seen.retain(|uid, _| there.contains(uid));
        for (key, endpoints) in due {
            let uids: Vec<Arc<str>> = endpoints.iter().map(|endpoint| endpoint.identity.clone()).collect();
            match self.read_pods(key, endpoints).await {
                Ok(pods) => pods.iter().for_each(|(_, pod)| self.tell_of_gates_in_vain(&key.namespace, pod, &slices)),
                Err(error) => {
                    tracing::debug!(%error, service = %key, "cannot look at pods that may wait for a load balancer");
                    for uid in uids {
                        seen.remove(&uid);
                    }
                }
            }
        }
    }

    fn tell_of_gates_in_vain(&self, namespace: &str, pod: &Pod, slices: &BTreeMap<Key, Vec<Arc<Slice>>>) {
        for service in services_of(pod) {
            let key = Key { namespace: namespace.to_owned(), name: service.to_owned() };
            let lists_it = || {
                let slices = slices.get(&key).map_or(&[][..], Vec::as_slice);
                unready(slices).iter().any(|endpoint| Some(&*endpoint.identity) == pod.uid().as_deref())
            };
            match self.cache.services.get(Some(namespace), service) {
                None => self.tell_of_gate(pod, service, "does not exist"),
                Some(there) if !self.serves(&there) => {
                    self.tell_of_gate(pod, service, "gets no load balancer from this controller");
                }
                Some(_) if !lists_it() => self.tell_of_gate(pod, service, "does not select the pod"),
                Some(_) => {}
            }
        }
    }
}
