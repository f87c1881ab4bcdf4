//! Leader election, servers, the API server and the log.

use std::path::{Path, PathBuf};

use super::{
    super::{BindAddress, Kubernetes, Leader, Secure, Serving, go_duration, variables::base_url_of},
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
        let mut health = self.address("health-probe-bind-addr");
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
        let secure = self.secure();
        // A command line of the Kubernetes library names the same port, and means it by TLS only.
        if let (Some(plain), Some(secure), false) = (health, &secure, self.flags.has("health-probe-bind-addr"))
            && plain.port == secure.address.port
        {
            self.problems.warn(format!(
                "health over plain HTTP is off, because --secure-port is {}: give --health-probe-bind-addr to have both",
                plain.port
            ));
            health = None;
        }
        for (flag, plain) in [("health-probe-bind-addr", health), ("metrics-bind-addr", metrics)] {
            if let (Some(plain), Some(secure)) = (plain, &secure)
                && plain.port == secure.address.port
                && (plain.host.is_none() || plain.host == secure.address.host)
            {
                self.problems.fail(format!(
                    "--secure-port and --{flag} are both {}: expected different ones, or --{flag}=0",
                    plain.port
                ));
            }
        }
        Serving { health, metrics, secure }
    }

    fn secure(&mut self) -> Option<Secure> {
        let port =
            u16::try_from(self.flag_within("secure-port", 0, usize::from(u16::MAX))).ok().filter(|port| *port > 0)?;
        let host = self.flags.text("bind-address");
        let parsed = host.parse().ok();
        if parsed.is_none() {
            self.problems.fail(format!("--bind-address is \"{host}\": expected an address such as 0.0.0.0"));
        }
        let files = (self.flags.text("tls-cert-file"), self.flags.text("tls-private-key-file"));
        let certificate = match (files.0.is_empty(), files.1.is_empty()) {
            (true, true) => None,
            (false, false) => Some((PathBuf::from(files.0), PathBuf::from(files.1))),
            _ => {
                self.problems.fail(
                    "--tls-cert-file and --tls-private-key-file belong together: set both, or none for a certificate that \
                     is made up at start"
                        .to_owned(),
                );
                None
            }
        };
        let mut open = self.flags.list("authorization-always-allow-paths");
        open.retain(|path| !path.is_empty());
        Some(Secure {
            address: BindAddress { host: parsed, port },
            certificate,
            open,
            identity_ttl: self.flags.duration("authentication-token-webhook-cache-ttl"),
            allowed_ttl: self.flags.duration("authorization-webhook-cache-authorized-ttl"),
            denied_ttl: self.flags.duration("authorization-webhook-cache-unauthorized-ttl"),
        })
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
