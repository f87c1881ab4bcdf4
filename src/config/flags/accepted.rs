//! The flags that are accepted and do nothing, each with the reason that its warning gives.

use super::{Flag, Group, Kind};

const fn accepted(name: &'static str, kind: Kind, help: &'static str) -> Flag {
    Flag { name, short: None, kind, default: "", group: Group::WithoutEffect, help }
}

const SECURE: &str = "the secure port has fixed settings for this, those that TLS libraries recommend";
const CALLERS: &str = "callers of the secure port are known by bearer tokens, which the API server reviews";
const WEBHOOKS: &str = "there are no admission webhooks in this program";
const STDERR: &str = "the log always goes to standard error";
const FILES: &str = "the log is never written to files, it always goes to standard error";
const LINES: &str = "the form of a log line is chosen by --logging-format";
const MIGRATION: &str = "there is one Lease for all controllers, so there is nothing to migrate between Leases";
const PROFILER: &str = "there is no profiling server";

/// In the order of the documentation: first the released controller's, then the library's, then
/// what old manifests pass.
pub(super) const FLAGS: &[Flag] = &[
    accepted("cluster-name", Kind::Text, "the cluster is told apart by Global.clusterID of the cloud-config file"),
    accepted("use-service-account-credentials", Kind::Bool, "all controllers share one identity"),
    accepted("allocate-node-cidrs", Kind::Bool, "pod networks are given to nodes by kube-controller-manager"),
    accepted("allow-untagged-cloud", Kind::Bool, "what belongs to the cluster is always told by its tags"),
    accepted("max-concurrent-actions", Kind::Integer, "a load balancer refuses concurrent changes, so they go in turn"),
    accepted("max-throttling-retry-times", Kind::Integer, "throttled calls are repeated by a time budget, not a count"),
    accepted("pprof-bind-addr", Kind::Text, PROFILER),
    // klog
    accepted("vmodule", Kind::Text, "verbosity is set for the whole program, by --v"),
    accepted("logtostderr", Kind::Bool, STDERR),
    accepted("alsologtostderr", Kind::Bool, STDERR),
    accepted("stderrthreshold", Kind::Text, STDERR),
    accepted("log-dir", Kind::Text, FILES),
    accepted("log-file", Kind::Text, FILES),
    accepted("log-file-max-size", Kind::Integer, FILES),
    accepted("add-dir-header", Kind::Bool, LINES),
    accepted("skip-headers", Kind::Bool, LINES),
    accepted("skip-log-headers", Kind::Bool, FILES),
    accepted("one-output", Kind::Bool, FILES),
    accepted("log-backtrace-at", Kind::Text, "there are no Go stack traces in this program"),
    // The cloud-provider library, shared and generic
    accepted("external-cloud-volume-plugin", Kind::Text, "volumes are the business of CSI drivers"),
    accepted("cidr-allocator-type", Kind::Text, "pod networks are given to nodes by kube-controller-manager"),
    accepted("node-sync-period", Kind::Duration, "it was retired long ago; see --node-status-update-frequency"),
    accepted("concurrent-node-status-updates", Kind::Integer, "one call refreshes up to 100 nodes"),
    accepted("min-resync-period", Kind::Duration, "nothing is resynchronised by replaying the cache"),
    accepted("controller-start-interval", Kind::Duration, "controllers start together, paced by the API's limits"),
    accepted("kube-api-content-type", Kind::Text, "the API server is spoken to in JSON"),
    accepted("enable-leader-migration", Kind::Bool, MIGRATION),
    accepted("leader-migration-config", Kind::Text, MIGRATION),
    accepted("profiling", Kind::Bool, PROFILER),
    accepted("contention-profiling", Kind::Bool, PROFILER),
    accepted("feature-gates", Kind::Text, "features are chosen by Global.featureGates of the cloud-config file"),
    // Secure serving
    accepted("cert-dir", Kind::Text, SECURE),
    accepted("tls-cipher-suites", Kind::Text, SECURE),
    accepted("tls-min-version", Kind::Text, SECURE),
    accepted("tls-curve-preferences", Kind::Text, SECURE),
    accepted("tls-sni-cert-key", Kind::Text, SECURE),
    accepted("http2-max-streams-per-connection", Kind::Integer, SECURE),
    accepted("permit-address-sharing", Kind::Bool, SECURE),
    accepted("permit-port-sharing", Kind::Bool, SECURE),
    accepted("disable-http2-serving", Kind::Bool, SECURE),
    // Authentication and authorization of callers
    accepted("authentication-kubeconfig", Kind::Text, CALLERS),
    accepted("authentication-skip-lookup", Kind::Bool, CALLERS),
    accepted("authentication-tolerate-lookup-failure", Kind::Bool, CALLERS),
    accepted("client-ca-file", Kind::Text, CALLERS),
    accepted("requestheader-client-ca-file", Kind::Text, CALLERS),
    accepted("requestheader-allowed-names", Kind::Text, CALLERS),
    accepted("requestheader-username-headers", Kind::Text, CALLERS),
    accepted("requestheader-uid-headers", Kind::Text, CALLERS),
    accepted("requestheader-group-headers", Kind::Text, CALLERS),
    accepted("requestheader-extra-headers-prefix", Kind::Text, CALLERS),
    accepted("authorization-kubeconfig", Kind::Text, CALLERS),
    // Webhooks
    accepted("webhooks", Kind::Text, WEBHOOKS),
    accepted("webhook-bind-address", Kind::Text, WEBHOOKS),
    accepted("webhook-secure-port", Kind::Integer, WEBHOOKS),
    accepted("webhook-cert-dir", Kind::Text, WEBHOOKS),
    accepted("webhook-tls-cert-file", Kind::Text, WEBHOOKS),
    accepted("webhook-tls-private-key-file", Kind::Text, WEBHOOKS),
    accepted("webhook-tls-cipher-suites", Kind::Text, WEBHOOKS),
    accepted("webhook-tls-min-version", Kind::Text, WEBHOOKS),
    accepted("webhook-tls-sni-cert-key", Kind::Text, WEBHOOKS),
    accepted("webhook-disable-http2-serving", Kind::Bool, WEBHOOKS),
    // Logging
    accepted("log-flush-frequency", Kind::Duration, "every line is written at once"),
    accepted("log-json-info-buffer-size", Kind::Text, "every line is written at once"),
    accepted("log-json-split-stream", Kind::Bool, STDERR),
    accepted("log-text-info-buffer-size", Kind::Text, "every line is written at once"),
    accepted("log-text-split-stream", Kind::Bool, STDERR),
    // What old manifests pass
    accepted("address", Kind::Text, "health is served at --health-probe-bind-addr, metrics at --metrics-bind-addr"),
    accepted("port", Kind::Integer, "health is served at --health-probe-bind-addr, metrics at --metrics-bind-addr"),
];
