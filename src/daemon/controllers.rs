//! Starts the controllers that the configuration names, each with what it may use.

use std::{sync::Arc, time::Duration};

use ipnet::IpNet;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Daemon, cloud::Connected};
use crate::{
    cloud::{
        CloudProvider,
        fence::{Fence, MayWrite},
        guard::Guarded,
    },
    config,
    controllers::{
        node::{self, opening::Openings},
        route, service,
    },
    kubernetes::client,
};

/// How long changes of nodes and endpoints are collected before Services are looked at.
const SETTLE: Duration = Duration::from_secs(1);
/// How often each load balancer is read again.
const AUDIT_PERIOD: Duration = Duration::from_secs(6 * 60 * 60);

impl Daemon {
    /// Starts them; each stays until `cancel`.
    pub(super) fn start_controllers(
        &self,
        tasks: &mut JoinSet<String>,
        connected: &Connected,
        may_write: &MayWrite,
        cancel: &CancellationToken,
    ) {
        let cloud: Arc<dyn CloudProvider> =
            Arc::new(Guarded::new(connected.cloud.clone(), Arc::new(Fence::new(may_write.clone()))));
        // In a dry run the cluster is not written to either.
        let dry_run = self.config.dry_run;
        let leading = may_write.clone();
        let kube = client::fenced(&self.client, Arc::new(move || !dry_run && leading()));
        let enabled = |controller| self.config.controllers.contains(&controller);
        let facts = &connected.facts;
        let openings = Arc::new(Openings::default());
        for controller in &self.config.controllers {
            let (cache, kube, cloud, cancel) = (self.cache.clone(), kube.clone(), cloud.clone(), cancel.clone());
            let (clock, entropy) = (self.clock.clone(), self.entropy.fork());
            match controller {
                // One controller does both; see the options.
                config::Controller::NodeLifecycle if enabled(config::Controller::Node) => {}
                config::Controller::Node | config::Controller::NodeLifecycle => {
                    let c = &self.config.node;
                    let options = node::Options {
                        configure_routes: self.config.route.configure,
                        dual_stack: self.config.feature_gates.ipv6_dual_stack,
                        skip_source_destination_check: c.skip_source_dest_check,
                        batch_size: c.batch_size,
                        aggregation_wait: c.aggregation_wait,
                        workers: c.workers,
                        period: c.period,
                        initialise: enabled(config::Controller::Node),
                        lifecycle: enabled(config::Controller::NodeLifecycle),
                        absence_confirmation: c.absence_confirmation,
                        ..node::Options::new(facts.region.clone())
                    };
                    let recorder = self.recorder("node-controller");
                    let controller =
                        node::Controller::new(options, cache, kube, cloud, recorder, clock, entropy, &self.metrics)
                            .sharing(openings.clone());
                    tasks.spawn(async move {
                        controller.run(cancel).await;
                        "the node controller".to_owned()
                    });
                }
                config::Controller::Route => {
                    let c = &self.config.route;
                    let options = route::Options {
                        configure: c.configure,
                        tables: c.tables.clone(),
                        batch_size: c.batch_size,
                        aggregation_wait: c.aggregation_wait,
                        period: c.period,
                        ..route::Options::new(route::desired::Scope {
                            cluster_cidrs: c.cluster_cidrs.clone(),
                            // Whoever names an IPv6 range wants routes in it.
                            ipv6: c.cluster_cidrs.iter().any(|cidr| matches!(cidr, IpNet::V6(_))),
                        })
                    };
                    let recorder = self.recorder("route-controller");
                    let mut controller =
                        route::Controller::new(options, cache, kube, cloud, recorder, clock, entropy, &self.metrics);
                    if enabled(config::Controller::Node) {
                        controller = controller.after(openings.clone());
                    }
                    tasks.spawn(async move {
                        controller.run(cancel).await;
                        "the route controller".to_owned()
                    });
                }
                config::Controller::Service => {
                    let options = service::Options {
                        cluster_id: self.config.cloud.cluster_id.clone(),
                        vpc: Some(facts.vpc.clone()),
                        vswitches: facts.vswitches.clone(),
                        resource_group: self.config.cloud.resource_group.clone(),
                        disable_public: self.config.service.disable_public_slb,
                        type_annotation: self.config.feature_gates.load_balancer_type_annotation,
                        eni_by_default: self.config.service.backend_type == config::BackendType::Eni,
                        workers: self.config.service.workers,
                        settle: SETTLE,
                        audit_period: AUDIT_PERIOD,
                        dry_run,
                    };
                    let recorder = self.recorder("service-controller");
                    let controller =
                        service::Controller::new(options, cache, kube, cloud, recorder, clock, &entropy, &self.metrics);
                    tasks.spawn(async move {
                        controller.run(cancel).await;
                        "the service controller".to_owned()
                    });
                }
            }
        }
    }
}
