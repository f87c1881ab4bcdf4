//! Settings of the service controllers.

use super::{
    super::{BackendType, ControlPlaneNodes, Service},
    Sources,
};

const DEFAULT_WORKERS: usize = 3;
const MOST_WORKERS: usize = 1000;

impl Sources<'_> {
    pub(super) fn service(&mut self) -> Service {
        Service {
            workers: self.service_workers(),
            backend_type: self.backend_type(),
            control_plane_nodes: self.control_plane_nodes(),
            only_ready_nodes: self.file.bool("serviceOnlyReadyNodes"),
            disable_public_slb: self.file.bool("disablePublicSLB"),
            server_group_batch: self.flag_within("sg-batch-size", 1, 40),
        }
    }

    /// The deprecated flag only fills in what the file does not say.
    fn service_workers(&mut self) -> usize {
        let (place, number) = match self.file.integer("serviceMaxConcurrentReconciles") {
            Some(number) => (self.file.place("serviceMaxConcurrentReconciles"), number),
            None => ("--concurrent-service-syncs".to_owned(), self.flags.integer("concurrent-service-syncs")),
        };
        match self.within(&place, number, 0, MOST_WORKERS) {
            0 => DEFAULT_WORKERS,
            workers => workers,
        }
    }

    fn backend_type(&mut self) -> BackendType {
        if let Some(forced) = self.variable("SERVICE_FORCE_BACKEND_ENI") {
            return if forced == "true" { BackendType::Eni } else { BackendType::Ecs };
        }
        match self.file.text("serviceBackendType").map(str::to_ascii_lowercase).as_deref() {
            None | Some("ecs") => BackendType::Ecs,
            Some("eni") => BackendType::Eni,
            Some(other) => {
                let place = self.file.place("serviceBackendType");
                self.problems.fail(format!("{place} is \"{other}\": expected eni or ecs"));
                BackendType::Ecs
            }
        }
    }
    fn control_plane_nodes(&mut self) -> ControlPlaneNodes {
        match self.file.text("serviceControlPlaneNodes").map(str::to_ascii_lowercase).as_deref() {
            None | Some("legacy") => ControlPlaneNodes::Legacy,
            Some("include") => ControlPlaneNodes::Include,
            Some("exclude") => ControlPlaneNodes::Exclude,
            Some(other) => {
                let place = self.file.place("serviceControlPlaneNodes");
                self.problems.fail(format!("{place} is \"{other}\": expected legacy, include or exclude"));
                ControlPlaneNodes::Legacy
            }
        }
    }
}
