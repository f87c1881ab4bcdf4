//! Makes the controllers that the configuration names, each with what it may use.

use std::{sync::Arc, time::Duration};

use ipnet::IpNet;
use kube::Client;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Daemon, cloud::Connected, facts::Facts};
use crate::{
    cloud::{
        CloudProvider,
        fence::{Fence, MayWrite},
        guard::Guarded,
    },
    config::{self, Config},
    controllers::{
        node::{self, opening::Openings},
        route,
        service::{self, class::Kind, members::ControlPlaneNodes},
    },
    kubernetes::client,
};

/// How long changes of nodes and endpoints are collected before Services are looked at.
const SETTLE: Duration = Duration::from_secs(1);
/// How often each load balancer is read again.
const AUDIT_PERIOD: Duration = Duration::from_secs(6 * 60 * 60);

/// The controllers of Services, one a kind of load balancer.
pub(super) const SERVICE_CONTROLLERS: [(config::Controller, Kind); 2] =
    [(config::Controller::Service, Kind::Clb), (config::Controller::Nlb, Kind::Nlb)];

/// What controllers are made from.
pub(super) struct Parts<'a> {
    pub(super) config: &'a Config,
    pub(super) facts: &'a Facts,
    /// The way to the cloud and the cluster, with a guard over all that is written.
    pub(super) cloud: Arc<dyn CloudProvider>,
    pub(super) kube: Client,
    /// Which interfaces the node controller has opened for pods; `None` where nobody waits for that.
    pub(super) openings: Option<Arc<Openings>>,
}

// === impl Parts ===

impl Parts<'_> {
    pub(super) fn enables(&self, controller: config::Controller) -> bool {
        self.config.controllers.contains(&controller)
    }

    /// One controller does both; see its options.
    pub(super) fn enables_nodes(&self) -> bool {
        self.enables(config::Controller::Node) || self.enables(config::Controller::NodeLifecycle)
    }
}

// === impl Daemon ===

impl Daemon {
    /// Starts them; each stays until `cancel`. Nothing is written while `may_write` says no.
    pub(super) fn start_controllers(
        &self,
        tasks: &mut JoinSet<String>,
        config: &Config,
        connected: &Connected,
        may_write: &MayWrite,
        cancel: &CancellationToken,
    ) {
        let fence = Arc::new(Fence::new(may_write.clone()));
        let parts = Parts {
            config,
            facts: &connected.facts,
            cloud: Arc::new(Guarded::new(connected.cloud.clone(), fence)),
            kube: client::fenced(&self.client, may_write.clone()),
            openings: Some(Arc::default()),
        };
        if parts.enables_nodes() {
            let (controller, cancel) = (self.node_controller(&parts), cancel.clone());
            tasks.spawn(async move {
                controller.run(cancel).await;
                "the node controller".to_owned()
            });
        }
        if parts.enables(config::Controller::Route) {
            let (controller, cancel) = (self.route_controller(&parts), cancel.clone());
            tasks.spawn(async move {
                controller.run(cancel).await;
                "the route controller".to_owned()
            });
        }
        for (enabled, kind) in SERVICE_CONTROLLERS {
            if !parts.enables(enabled) {
                continue;
            }
            let (controller, cancel) = (self.service_controller(&parts, kind), cancel.clone());
            tasks.spawn(async move {
                controller.run(cancel).await;
                format!("the {} controller", kind.name())
            });
        }
    }

    pub(super) fn node_controller(&self, parts: &Parts<'_>) -> node::Controller {
        let Parts { config, facts, cloud, kube, openings } = parts;
        let c = &config.node;
        let options = node::Options {
            configure_routes: config.route.configure,
            dual_stack: config.feature_gates.ipv6_dual_stack,
            skip_source_destination_check: c.skip_source_dest_check,
            batch_size: c.batch_size,
            aggregation_wait: c.aggregation_wait,
            workers: c.workers,
            period: c.period,
            initialise: parts.enables(config::Controller::Node),
            lifecycle: parts.enables(config::Controller::NodeLifecycle),
            absence_confirmation: c.absence_confirmation,
            ..node::Options::new(facts.region.clone())
        };
        let recorder = self.recorder("node-controller");
        let (cache, clock, entropy) = (self.cache.clone(), self.clock.clone(), self.entropy.fork());
        let controller =
            node::Controller::new(options, cache, kube.clone(), cloud.clone(), recorder, clock, entropy, &self.metrics);
        match openings {
            Some(openings) => controller.sharing(openings.clone()),
            None => controller,
        }
    }

    pub(super) fn route_controller(&self, parts: &Parts<'_>) -> route::Controller {
        let Parts { config, cloud, kube, openings, .. } = parts;
        let c = &config.route;
        let scope = route::desired::Scope {
            cluster_cidrs: c.cluster_cidrs.clone(),
            // Whoever names an IPv6 range wants routes in it.
            ipv6: c.cluster_cidrs.iter().any(|cidr| matches!(cidr, IpNet::V6(_))),
        };
        let options = route::Options {
            configure: c.configure,
            tables: c.tables.clone(),
            batch_size: c.batch_size,
            aggregation_wait: c.aggregation_wait,
            period: c.period,
            ..route::Options::new(scope)
        };
        let recorder = self.recorder("route-controller");
        let (cache, clock, entropy) = (self.cache.clone(), self.clock.clone(), self.entropy.fork());
        let controller = route::Controller::new(
            options,
            cache,
            kube.clone(),
            cloud.clone(),
            recorder,
            clock,
            entropy,
            &self.metrics,
        );
        match openings {
            Some(openings) if parts.enables(config::Controller::Node) => controller.after(openings.clone()),
            _ => controller,
        }
    }

    pub(super) fn service_controller(&self, parts: &Parts<'_>, kind: Kind) -> service::Controller {
        let Parts { config, facts, cloud, kube, .. } = parts;
        let options = service::Options {
            cluster_id: config.cloud.cluster_id.clone(),
            vpc: Some(facts.vpc.clone()),
            vswitches: facts.vswitches.clone(),
            resource_group: config.cloud.resource_group.clone(),
            disable_public: config.service.disable_public_slb,
            type_annotation: config.feature_gates.load_balancer_type_annotation,
            eni_by_default: config.service.backend_type == config::BackendType::Eni,
            ipv6_members: config.feature_gates.ipv6_dual_stack,
            control_plane_nodes: match config.service.control_plane_nodes {
                config::ControlPlaneNodes::Legacy => ControlPlaneNodes::Legacy,
                config::ControlPlaneNodes::Include => ControlPlaneNodes::Include,
                config::ControlPlaneNodes::Exclude => ControlPlaneNodes::Exclude,
            },
            only_ready_nodes: config.service.only_ready_nodes,
            workers: config.service.workers,
            settle: SETTLE,
            audit_period: AUDIT_PERIOD,
            looks_for_strays: SERVICE_CONTROLLERS
                .iter()
                .find(|(enabled, _)| parts.enables(*enabled))
                .map(|found| found.1)
                == Some(kind),
        };
        let recorder = self.recorder(match kind {
            Kind::Clb => "service-controller",
            Kind::Nlb => "nlb-controller",
        });
        let (cache, clock, entropy) = (self.cache.clone(), self.clock.clone(), self.entropy.fork());
        let (kube, cloud) = (kube.clone(), cloud.clone());
        service::Controller::new(kind, options, cache, kube, cloud, recorder, clock, &entropy, &self.metrics)
    }
}
