//! The part of a pass that is about waiting pods, and the looks between passes.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt};
use tokio_util::sync::CancellationToken;

use super::{Verdict, Waiting, gate_of, gates::Seen, services_of, verdict};
use crate::{
    cloud::Member,
    controllers::{
        queue::Priority,
        service::{
            Controller, Key,
            class::{self, Wants},
            endpoints::{Endpoint, staying, unready},
            members,
        },
    },
    kubernetes::{events::reference_of, patch, pod, slice::Slice},
};

/// How many calls about the pods of one Service are under way at once.
const AT_ONCE: usize = 8;
/// The most pods that are looked at to tell that nobody serves their gate any more.
const MOST_LEFT: usize = 20;

/// Members as they should be by group, for which `verdict` looks.
pub(super) type Wanted<G> = BTreeMap<G, Vec<Member>>;

impl Controller {
    /// Looks at the pods that the Service's slices show as not ready, and notes what was seen; answers
    /// those that have the Service's gate. Pods without it are looked at once.
    pub(in crate::controllers::service) async fn look_at_pods(
        &self,
        key: &Key,
        slices: &[Arc<Slice>],
    ) -> Result<Vec<Waiting>, patch::Error> {
        let mut seen = BTreeMap::new();
        let mut asked = Vec::new();
        for endpoint in unready(slices) {
            match self.gates.seen(key, &endpoint.identity) {
                Some(Seen::WithoutGate) => drop(seen.insert(endpoint.identity.to_string(), Seen::WithoutGate)),
                _ => asked.push(endpoint),
            }
        }
        let mut waiting = Vec::new();
        for (endpoint, pod) in self.read_pods(key, asked).await? {
            if pod.uid().as_deref() != Some(&endpoint.identity) {
                continue;
            }
            if self.gates.seen(key, &endpoint.identity).is_none() {
                self.tell_of_unserved_gates(key, &pod);
            }
            let state = self.judge(key, &pod);
            if let Seen::Gated { containers_ready, .. } = state {
                waiting.push(Waiting { endpoint: endpoint.clone(), pod, containers_ready });
            }
            seen.insert(endpoint.identity.to_string(), state);
        }
        self.gates.note_all(key, seen);
        Ok(waiting)
    }

    /// Reads pods; those that are gone are not in the answer. Without the right to read pods none is:
    /// then nothing is known of gates.
    pub(super) async fn read_pods(
        &self,
        key: &Key,
        asked: Vec<Endpoint>,
    ) -> Result<Vec<(Endpoint, Pod)>, patch::Error> {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &key.namespace);
        let read = |endpoint: Endpoint| {
            let api = api.clone();
            async move {
                let name = endpoint.pod.clone().unwrap_or_default();
                (endpoint, patch::read(&api, &name).await)
            }
        };
        let answers: Vec<_> = futures::stream::iter(asked).map(read).buffered(AT_ONCE).collect().await;
        let mut pods = Vec::new();
        for (endpoint, answer) in answers {
            match answer {
                Ok(Some(pod)) => pods.push((endpoint, pod)),
                Ok(None) => {}
                Err(error) if error.is_forbidden() => {
                    for notice in self.records.new_notices(key, "pods", [error.to_string()]) {
                        tracing::warn!(reason = notice, "readiness gates of pods are not served");
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(pods)
    }

    fn judge(&self, key: &Key, pod: &Pod) -> Seen {
        if !services_of(pod).any(|service| service == key.name) {
            return Seen::WithoutGate;
        }
        let born = pod.metadata.creation_timestamp.as_ref().map_or_else(|| self.clock.now(), |time| time.0);
        let age = Duration::try_from(self.clock.now() - born).unwrap_or_default();
        Seen::gated(pod.name_any(), pod::is_true(pod, "ContainersReady"), age)
    }

    /// Tells the waiting pods whether they are registered. Each is told once, all in one go.
    /// `server_of` tells by the instance what is a member in place of pods on it.
    pub(in crate::controllers::service) async fn open_gates<G: Ord + Send + Sync>(
        &self,
        key: &Key,
        waiting: &[Waiting],
        wanted: &Wanted<G>,
        there: impl Fn(&G) -> Option<Vec<Member>>,
        nowhere: impl Fn(&IpAddr) -> bool,
        server_of: impl Fn(String) -> Option<String>,
    ) -> Result<(), patch::Error> {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &key.namespace);
        let kind = gate_of(&key.name);
        let mut patches = Vec::new();
        for Waiting { endpoint, pod, .. } in waiting.iter().filter(|waiting| waiting.containers_ready) {
            let node = endpoint.node.as_deref().and_then(|name| self.cache.nodes.get(None, name));
            let instance = node.and_then(|node| members::instance_of(&node).ok().flatten());
            let server = instance.and_then(&server_of);
            let verdict = verdict(endpoint, server.as_deref(), wanted, &there, &nowhere);
            let Some((status, reason, message)) = verdict.condition() else { continue };
            let change = pod::set_condition(pod, &kind, status, reason, message, self.clock.now());
            patches.extend(change.map(|change| (pod.name_any(), verdict, change)));
        }
        let send = |(name, verdict, change): (String, Verdict, _)| {
            let api = api.clone();
            async move {
                let sent = patch::strategic_status(&api, &name, change).await;
                tracing::debug!(pod = name, ?verdict, "told a pod whether it is registered");
                sent
            }
        };
        let answers: Vec<_> = futures::stream::iter(patches).map(send).buffered(AT_ONCE).collect().await;
        // A pod that is gone, or another of the same name by now, waits for nothing.
        let failed = answers.into_iter().filter_map(Result::err).find(|e| !e.is_not_found() && !e.is_conflict());
        failed.map_or(Ok(()), Err)
    }

    /// Looks again at pods that wait, and gives their Service a pass when their containers became ready,
    /// or stopped to be: no EndpointSlice tells of that.
    pub(in crate::controllers::service) async fn watch_gates(self, cancel: CancellationToken) {
        loop {
            let due = tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                due = self.gates.due() => due,
            };
            let look = |(key, uid, seen): (Key, String, Seen)| {
                let this = self.clone();
                async move { this.look_again(&key, &uid, seen).await }
            };
            let all = futures::stream::iter(due).map(look).buffer_unordered(AT_ONCE).collect::<Vec<()>>();
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                _ = all => {}
            }
        }
    }

    async fn look_again(&self, key: &Key, uid: &str, seen: Seen) {
        let Seen::Gated { name, containers_ready, .. } = seen else { return };
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &key.namespace);
        match patch::read(&api, &name).await {
            Ok(Some(pod)) if pod.uid().as_deref() == Some(uid) => {
                let now = self.judge(key, &pod);
                let changed = matches!(now, Seen::Gated { containers_ready: now, .. } if now != containers_ready);
                self.gates.note(key, uid, Some(now));
                if changed {
                    self.queue.add(key.clone(), Priority::Fresh);
                }
            }
            Ok(_) => self.gates.note(key, uid, None),
            Err(error) => {
                tracing::debug!(%error, service = %key, "cannot look at a pod that waits for the load balancer");
                self.gates.note(key, uid, Some(Seen::gated(name, containers_ready, Duration::MAX)));
            }
        }
    }

    /// A gate that nobody will ever open keeps its pod unready without a word; this is the word.
    fn tell_of_unserved_gates(&self, key: &Key, pod: &Pod) {
        for service in services_of(pod).filter(|service| *service != key.name) {
            let there = self.cache.services.get(Some(&key.namespace), service);
            let served = there.as_ref().is_some_and(|there| self.serves(there));
            if !served {
                let what =
                    if there.is_none() { "does not exist" } else { "gets no load balancer from this controller" };
                self.tell_of_gate(pod, service, what);
            }
        }
    }

    pub(super) fn serves(&self, service: &k8s_openapi::api::core::v1::Service) -> bool {
        class::wants(service, self.options.type_annotation) != Wants::Nothing && !class::is_deleting(service)
    }

    pub(super) fn tell_of_gate(&self, pod: &Pod, service: &str, what: &str) {
        let message = format!(
            "the readiness gate {} waits for the Service {service}, which {what}: the pod does not become ready; \
             remove the gate from the pod's template",
            gate_of(service)
        );
        self.recorder.warning(&reference_of(pod), "UnservedReadinessGate", message);
    }

    /// Tells the pods that still wait for a Service that it lets go of its load balancer. After that
    /// no pass looks at them any more.
    pub(in crate::controllers::service) async fn leave_gates(&self, key: &Key, slices: &[Arc<Slice>]) {
        self.gates.remove(key);
        let staying = staying(slices).into_iter().take(MOST_LEFT).collect();
        let pods = self.read_pods(key, staying).await.unwrap_or_else(|error| {
            tracing::debug!(%error, service = %key, "cannot look at the pods of a Service that is let go");
            Vec::new()
        });
        for (_, pod) in pods {
            let waits =
                services_of(&pod).any(|service| service == key.name) && !pod::is_true(&pod, &gate_of(&key.name));
            if waits {
                self.tell_of_gate(&pod, &key.name, "gives up its load balancer");
            }
        }
    }
}
