//! Calls fail, lose their answers or are slow, jobs fail, and the API server has trouble.

use std::time::Duration;

use ccm::sim::{
    cloud::{Fault, FaultKind},
    kube::{Effect, Fault as KubeFault},
};

use super::Life;

impl Life {
    pub(super) fn trouble(&self) {
        let error = |status, code: &str| FaultKind::Error { status, code: code.into(), message: String::new() };
        let everywhere = [
            FaultKind::DropAfter,
            FaultKind::DropBefore,
            FaultKind::Throttle { retry_after: None },
            FaultKind::Throttle { retry_after: Some(Duration::from_secs(3)) },
            FaultKind::TruncatedJson,
            FaultKind::Slow(Duration::from_secs(2)),
            error(500, "InternalError"),
            error(400, "InvalidParameter"),
            FaultKind::Denied,
        ];
        for product in ["slb", "nlb", "ecs"] {
            for kind in &everywhere {
                self.sometimes(product, kind);
            }
        }
        for code in ["OperationBusy", "ServiceIsConfiguring"] {
            self.sometimes("slb", &error(400, code));
        }
        for code in ["Conflict.Lock", "IncorrectStatus.loadbalancer", "IncorrectStatus.serverGroup"] {
            self.sometimes("nlb", &error(400, code));
        }
        self.sometimes("nlb", &FaultKind::FailedJob);
    }

    /// In half of the lives, in some of the calls.
    fn sometimes(&self, product: &str, kind: &FaultKind) {
        if self.dice.chance(50) {
            let share = f64::from(u32::try_from(self.dice.below(6)).unwrap()) / 100.0;
            self.note(Some(format!("{share} of all calls to {product}: {kind:?}")));
            self.stage.cloud().inject(Fault::on(product, kind.clone()).with_probability(share));
        }
    }

    pub(super) fn api_trouble(&mut self) -> Option<String> {
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
}
