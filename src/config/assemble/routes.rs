//! Settings of the route controller.

use std::{collections::BTreeSet, time::Duration};

use ipnet::IpNet;

use super::{
    super::{Controller, Route, go_duration},
    Sources, is_id,
};
use crate::cloud::RouteTableId;

const SHORTEST_PERIOD: Duration = Duration::from_secs(60);

impl Sources<'_> {
    pub(super) fn route(&mut self, controllers: &BTreeSet<Controller>, aggregation_wait: Duration) -> Route {
        let configure = self.configure(controllers);
        Route {
            configure,
            cluster_cidrs: if configure { self.cluster_cidrs() } else { Vec::new() },
            period: self.route_period(),
            batch_size: self.flag_within("route-reconcile-batch-size", 1, 50),
            aggregation_wait,
            tables: self.route_tables(),
        }
    }

    /// Without the controller nobody would ever declare a new node's network available, so
    /// that it must not start out as unavailable either.
    fn configure(&mut self, controllers: &BTreeSet<Controller>) -> bool {
        let flag = "configure-cloud-routes";
        let wanted = self.flags.bool(flag);
        let runs = controllers.contains(&Controller::Route);
        if wanted && !runs && self.flags.has(flag) {
            self.problems.warn(format!("--{flag} has no effect: --controllers leaves out the route controller"));
        }
        wanted && runs
    }

    fn cluster_cidrs(&mut self) -> Vec<IpNet> {
        let text = self.flags.text("cluster-cidr");
        if text.is_empty() {
            self.problems.fail(
                "--cluster-cidr must be set when --configure-cloud-routes=true: pass the network of the pods, or \
                 --configure-cloud-routes=false where the network plugin needs no routes"
                    .to_owned(),
            );
            return Vec::new();
        }
        let mut networks: Vec<IpNet> = Vec::new();
        for entry in text.split(',').map(str::trim) {
            let Ok(network) = entry.parse::<IpNet>() else {
                self.problems.fail(format!("--cluster-cidr has \"{entry}\": expected a network such as 172.16.0.0/16"));
                return Vec::new();
            };
            networks.push(network.trunc());
        }
        let of_one_family = |v4| networks.iter().filter(|network| network.addr().is_ipv4() == v4).count();
        if of_one_family(true) > 1 || of_one_family(false) > 1 {
            self.problems.fail(format!("--cluster-cidr is \"{text}\": expected one network, or one of each family"));
        }
        networks
    }

    fn route_period(&mut self) -> Duration {
        let flag = "route-reconciliation-period";
        let period = self.flags.duration(flag);
        if period < SHORTEST_PERIOD {
            self.problems.warn(format!(
                "--{flag} is {}, below the minimum: {} is used; changes of nodes are acted on at once anyway",
                go_duration::format(period),
                go_duration::format(SHORTEST_PERIOD)
            ));
        }
        period.max(SHORTEST_PERIOD)
    }

    fn route_tables(&mut self) -> Vec<RouteTableId> {
        let text = self.file.text("routeTableIDs").unwrap_or_default().to_owned();
        let mut tables: Vec<RouteTableId> = Vec::new();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let table = RouteTableId::new(entry);
            if !is_id(entry) {
                let place = self.file.place("routeTableIDs");
                self.problems.fail(format!(
                    "{place} has \"{entry}\": expected ids such as vtb-bp145q7glnuzd separated by commas"
                ));
            } else if !tables.contains(&table) {
                tables.push(table);
            }
        }
        tables
    }
}
