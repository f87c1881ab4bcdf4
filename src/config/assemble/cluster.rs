//! Leader election, servers, the API server and the log.

use std::path::{Path, PathBuf};

use super::{
    super::{BindAddress, Kubernetes, Leader, Serving, go_duration, variables::base_url_of},
    Sources,
};
use crate::telemetry::{self, Format};

/// client-go stretches the retry period by up to this factor, so the deadline must be longer.
const RETRY_JITTER: f64 = 1.2;

impl Sources<'_> {
    pub(super) fn leader(&mut self) -> Leader {
        let leader = Leader {
            elect: self.flags.bool("leader-elect"),
            lease_duration: self.flags.duration("leader-elect-lease-duration"),
            renew_deadline: self.flags.duration("leader-elect-renew-deadline"),
            retry_period: self.flags.duration("leader-elect-retry-period"),
            namespace: self.flags.text("leader-elect-resource-namespace"),
            name: self.flags.text("leader-elect-resource-name"),
            hostname: self.hostname(),
        };
        if leader.elect {
            self.check_leader(&leader);
        }
        leader
    }

    fn check_leader(&mut self, leader: &Leader) {
        let lock = self.flags.text("leader-elect-resource-lock");
        if lock != "leases" {
            self.problems.fail(format!("--leader-elect-resource-lock is \"{lock}\": expected leases"));
        }
        for (flag, text) in
            [("leader-elect-resource-name", &leader.name), ("leader-elect-resource-namespace", &leader.namespace)]
        {
            let fits = text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c));
            if text.is_empty() || text.len() > 253 || !fits {
                self.problems.fail(format!(
                    "--{flag} is \"{text}\": expected a Kubernetes name of lower-case letters, digits, dashes and dots"
                ));
            }
        }
        let (lease, renew, retry) = (leader.lease_duration, leader.renew_deadline, leader.retry_period);
        if retry.is_zero() {
            self.problems.fail("--leader-elect-retry-period is 0s: expected a longer time".to_owned());
        }
        // A Lease stores whole seconds.
        if lease.as_secs() == 0 {
            self.problems.fail(format!(
                "--leader-elect-lease-duration is {}: expected at least a second",
                go_duration::format(lease)
            ));
        }
        if lease <= renew {
            self.problems.fail(format!(
                "--leader-elect-lease-duration is {}: expected more than --leader-elect-renew-deadline, which is {}",
                go_duration::format(lease),
                go_duration::format(renew)
            ));
        }
        if renew <= retry.mul_f64(RETRY_JITTER) {
            self.problems.fail(format!(
                "--leader-elect-renew-deadline is {}: expected more than {RETRY_JITTER} times \
                 --leader-elect-retry-period, which is {}",
                go_duration::format(renew),
                go_duration::format(retry)
            ));
        }
    }

    fn hostname(&self) -> String {
        let kernel = self.environment.file(Path::new("/proc/sys/kernel/hostname")).ok();
        kernel
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .or_else(|| self.variable("HOSTNAME"))
            .unwrap_or_else(|| "unknown".to_owned())
    }

    pub(super) fn serving(&mut self) -> Serving {
        let health = self.address("health-probe-bind-addr");
        // The released controller's library takes nothing as the default here.
        let metrics = if self.flags.text("metrics-bind-addr").is_empty() {
            Some(BindAddress { host: None, port: 8080 })
        } else {
            self.address("metrics-bind-addr")
        };
        if let (Some(health), Some(metrics)) = (health, metrics)
            && health == metrics
            && health.port != 0
        {
            self.problems.fail(format!(
                "--health-probe-bind-addr and --metrics-bind-addr are both {health}: expected different ones"
            ));
        }
        Serving { health, metrics }
    }

    fn address(&mut self, flag: &str) -> Option<BindAddress> {
        let text = self.flags.text(flag);
        if text.is_empty() || text == "0" {
            return None;
        }
        let address = BindAddress::parse(&text);
        if address.is_none() {
            self.problems.fail(format!(
                "--{flag} is \"{text}\": expected an address such as :8080 or 127.0.0.1:8080, or 0 to turn it off"
            ));
        }
        address
    }

    pub(super) fn kubernetes(&mut self) -> Kubernetes {
        let path = |text: String| (!text.is_empty()).then(|| PathBuf::from(text));
        Kubernetes {
            kubeconfig: path(self.flags.text("kubeconfig")),
            kubeconfig_env: self.variable("KUBECONFIG"),
            home: self.variable("HOME").and_then(path),
            master: self.master(),
            qps: self.flags.decimal("kube-api-qps"),
            burst: u32::try_from(self.flag_within("kube-api-burst", 1, 100_000)).unwrap_or(u32::MAX),
        }
    }

    fn master(&mut self) -> Option<String> {
        let text = self.flags.text("master");
        if text.is_empty() {
            return None;
        }
        if base_url_of(&text).is_none() {
            self.problems.fail("--master is not a URL: expected one such as https://10.0.0.1:6443".to_owned());
        }
        Some(text)
    }

    pub(super) fn logging(&mut self) -> telemetry::Options {
        let format = match self.flags.text("logging-format").as_str() {
            "text" => Format::Text,
            "json" => Format::Json,
            other => {
                self.problems.fail(format!("--logging-format is \"{other}\": expected text or json"));
                Format::Text
            }
        };
        let verbosity = u8::try_from(self.flags.integer("v").clamp(0, i64::from(u8::MAX))).unwrap_or(u8::MAX);
        telemetry::Options { format, verbosity, filter: self.variable("RUST_LOG") }
    }
}
