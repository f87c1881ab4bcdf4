//! The flags that do something.

use super::{Flag, Group, Kind};

const fn flag(group: Group, name: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Flag {
    Flag { name, short: None, kind, default, group, help }
}

pub(super) const FLAGS: &[Flag] = &[
    flag(
        Group::Daemon,
        "controllers",
        Kind::List,
        "node,route,service,nlb",
        "Controllers to run: node, route, service, nlb; * for all, -x to leave x out. Also known by the names cloud-node, \
         cloud-node-lifecycle (together they are node), node-route and service-lb, with or without -controller at the \
         end. ingress and pvtz are accepted and do nothing",
    ),
    flag(
        Group::Daemon,
        "dry-run",
        Kind::Bool,
        "false",
        "Look at everything once, change nothing, neither in the cloud nor in the cluster, and end with a report: for people \
         on standard error, as JSON on standard output. Code 0: nothing to change, 3: changes would be made, 1: not \
         everything could be looked at",
    ),
    flag(
        Group::Cloud,
        "cloud-provider",
        Kind::Text,
        "alibabacloud",
        "Name of the cloud. There is only one, so any other name draws a warning and changes nothing",
    ),
    flag(Group::Cloud, "cloud-config", Kind::Text, "", "Path of the cloud-config file, YAML or JSON. Required"),
    flag(
        Group::Cloud,
        "network",
        Kind::Text,
        "vpc",
        "Which API endpoints to use: vpc for those inside the VPC, public for those on the internet",
    ),
    flag(Group::Cloud, "enable-imdsv2", Kind::Bool, "true", "Ask the metadata server of the instance with a token"),
    flag(
        Group::Nodes,
        "node-monitor-period",
        Kind::Duration,
        "5m",
        "How often all nodes are looked up in the cloud: to refresh addresses and labels, to mark those that are shut \
         down, to remove those that are gone. At least 10s",
    ),
    flag(
        Group::Nodes,
        "node-status-update-frequency",
        Kind::Duration,
        "5m",
        "Another name for the same period. If both are given the shorter counts",
    ),
    flag(
        Group::Nodes,
        "node-reconcile-batch-size",
        Kind::Integer,
        "100",
        "Number of new nodes to initialise together, 1 to 100",
    ),
    flag(
        Group::Nodes,
        "concurrent-node-syncs",
        Kind::Integer,
        "1",
        "Number of batches of new nodes to work on side by side",
    ),
    flag(
        Group::Nodes,
        "node-event-aggregation-wait-seconds",
        Kind::Integer,
        "1",
        "Seconds to wait for more changes of nodes before a batch is started, for nodes and for routes",
    ),
    flag(
        Group::Nodes,
        "skip-disable-source-dest-check",
        Kind::Bool,
        "false",
        "Leave the source/destination check of new nodes' network interfaces on. Pod routes need it off",
    ),
    flag(
        Group::Routes,
        "configure-cloud-routes",
        Kind::Bool,
        "true",
        "Keep a VPC route to each node's pod network. Turn it off where the network plugin needs no routes",
    ),
    flag(
        Group::Routes,
        "cluster-cidr",
        Kind::Text,
        "",
        "Network of the pods, such as 172.16.0.0/16; with a comma one of each family. Required with \
         --configure-cloud-routes. Routes outside of it are never touched",
    ),
    flag(
        Group::Routes,
        "route-reconciliation-period",
        Kind::Duration,
        "5m",
        "Time between two full comparisons of routes, at least 1m",
    ),
    flag(
        Group::Routes,
        "route-reconcile-batch-size",
        Kind::Integer,
        "50",
        "Number of routes to change in one call, 1 to 50",
    ),
    flag(
        Group::Services,
        "concurrent-service-syncs",
        Kind::Integer,
        "3",
        "Number of Services to work on side by side. Deprecated: serviceMaxConcurrentReconciles of the cloud-config \
         file wins over it",
    ),
    flag(
        Group::Services,
        "sg-batch-size",
        Kind::Integer,
        "40",
        "Largest number of backends to change in one call, 1 to 40. The API may allow fewer",
    ),
    flag(
        Group::Kubernetes,
        "kubeconfig",
        Kind::Text,
        "",
        "Path of a kubeconfig file. Without it KUBECONFIG is used, else the service account of the pod",
    ),
    flag(Group::Kubernetes, "master", Kind::Text, "", "URL of the API server in place of the one that was found"),
    flag(
        Group::Kubernetes,
        "kube-api-qps",
        Kind::Decimal,
        "200",
        "Requests a second to the API server; 0 or less is without limit",
    ),
    flag(Group::Kubernetes, "kube-api-burst", Kind::Integer, "2000", "Requests to the API server that may go at once"),
    flag(
        Group::Leader,
        "leader-elect",
        Kind::Bool,
        "true",
        "Of several replicas let only the holder of a Lease write. Without it only one replica may run",
    ),
    flag(
        Group::Leader,
        "leader-elect-lease-duration",
        Kind::Duration,
        "15s",
        "Time without renewal after which another replica takes over",
    ),
    flag(
        Group::Leader,
        "leader-elect-renew-deadline",
        Kind::Duration,
        "10s",
        "Time without successful renewal after which the leader stops; shorter than the lease",
    ),
    flag(
        Group::Leader,
        "leader-elect-retry-period",
        Kind::Duration,
        "2s",
        "Time between two attempts to acquire or renew; 1.2 times of it is shorter than the deadline",
    ),
    flag(Group::Leader, "leader-elect-resource-lock", Kind::Text, "leases", "Kind of the lock; only leases"),
    flag(Group::Leader, "leader-elect-resource-name", Kind::Text, "ccm", "Name of the Lease"),
    flag(Group::Leader, "leader-elect-resource-namespace", Kind::Text, "kube-system", "Namespace of the Lease"),
    flag(
        Group::Serving,
        "health-probe-bind-addr",
        Kind::Text,
        ":10258",
        "Address of /healthz, /livez and /readyz over plain HTTP; 0 or nothing turns it off",
    ),
    flag(
        Group::Serving,
        "metrics-bind-addr",
        Kind::Text,
        ":8080",
        "Address of /metrics over plain HTTP; 0 turns it off",
    ),
    flag(
        Group::Serving,
        "secure-port",
        Kind::Integer,
        "0",
        "Port of all of these over TLS, for callers with a bearer token whom the API server lets `get` the path; 0 turns it \
         off",
    ),
    flag(Group::Serving, "bind-address", Kind::Text, "0.0.0.0", "Address of the secure port"),
    flag(
        Group::Serving,
        "tls-cert-file",
        Kind::Text,
        "",
        "Certificate chain of the secure port, PEM; read again when it changes. Without it one is made up at start",
    ),
    flag(Group::Serving, "tls-private-key-file", Kind::Text, "", "Private key for it, PEM"),
    flag(
        Group::Serving,
        "authorization-always-allow-paths",
        Kind::List,
        "/healthz,/readyz,/livez",
        "Paths of the secure port that are for everybody; * at the end stands for all that begin so",
    ),
    flag(
        Group::Serving,
        "authentication-token-webhook-cache-ttl",
        Kind::Duration,
        "10s",
        "How long the API server's answer counts who a caller of the secure port is",
    ),
    flag(
        Group::Serving,
        "authorization-webhook-cache-authorized-ttl",
        Kind::Duration,
        "10s",
        "The same for the answer that the caller may",
    ),
    flag(
        Group::Serving,
        "authorization-webhook-cache-unauthorized-ttl",
        Kind::Duration,
        "10s",
        "The same for the answer that it may not",
    ),
    Flag {
        name: "v",
        short: Some('v'),
        kind: Kind::Integer,
        default: "0",
        group: Group::Logging,
        help: "How much to log: 0 for operators, 2 for steps, 4 and up for debugging",
    },
    flag(Group::Logging, "logging-format", Kind::Text, "text", "Form of a log line, text or json"),
];
