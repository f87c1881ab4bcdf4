//! The keys below `Global`, as a table.

use super::Key;
use crate::config::value::Kind;

const fn key(name: &'static str, kind: Kind, help: &'static str) -> Key {
    Key { name, kind, help, secret: false, effect: true }
}

const fn secret(name: &'static str, help: &'static str) -> Key {
    Key { name, kind: Kind::Text, help, secret: true, effect: true }
}

const fn ignored(name: &'static str, kind: Kind, help: &'static str) -> Key {
    Key { name, kind, help, secret: false, effect: false }
}

pub(super) const KEYS: &[Key] = &[
    secret("accessKeyID", "AccessKey id in base64. Without it see the order of credentials below"),
    secret("accessKeySecret", "AccessKey secret in base64"),
    key("uid", Kind::Text, "Account of the AccessKey. Draws a warning: the key is used as it is"),
    key("assumeRoleArn", Kind::Text, "RAM role to assume with the credentials, as in `acs:ram::ACCOUNT:role/NAME`"),
    key("assumeRoleSessionName", Kind::Text, "Name of its sessions in the audit log"),
    key("assumeRoleExternalId", Kind::Text, "External id that the role asks for"),
    key("clusterID", Kind::Text, "Id of the cluster: the tag value of all that belongs to it. Default `clusterid`"),
    key("region", Kind::Text, "Region id. Without it the metadata server is asked"),
    key("vpcid", Kind::Text, "VPC id. Without it the metadata server is asked"),
    key("zoneid", Kind::Text, "Zone id. Without it the metadata server is asked"),
    key(
        "vswitchid",
        Kind::Text,
        "A vSwitch id, or a list `zone:vswitch,zone:vswitch` of which the first is the default. Without it the \
         metadata server is asked",
    ),
    key("resourceGroupID", Kind::Text, "Resource group of new load balancers"),
    key("serviceMaxConcurrentReconciles", Kind::Integer, "Services to work on side by side. 0 is the default 3"),
    key(
        "serviceBackendType",
        Kind::Text,
        "`eni` for the pods' network interfaces, `ecs` for instances: backends of Services without the backend-type \
         annotation. Default `ecs`",
    ),
    key(
        "serviceControlPlaneNodes",
        Kind::Text,
        "Whether control-plane nodes are backends. `legacy`: all but those with the label \
         `node-role.kubernetes.io/master`, as the released controller has it; `include`: the role makes no difference; \
         `exclude`: those with either role label are none. Where there are no other nodes, they are. Default `legacy`",
    ),
    key(
        "serviceOnlyReadyNodes",
        Kind::Bool,
        "Take nodes that are not ready out of all load balancers while another is ready, as the released controller does. \
         Without it this is done only where the load balancer does not check its backends. Default false",
    ),
    key("disablePublicSLB", Kind::Bool, "Refuse classic load balancers on the internet. Default false"),
    key(
        "nodeMaxConcurrentReconciles",
        Kind::Integer,
        "Batches of new nodes to work on side by side. 0 is the default 1",
    ),
    key("nodeMonitorPeriod", Kind::Integer, "As `--node-monitor-period`, in seconds. 0 is the default"),
    key("nodeAddrSyncPeriod", Kind::Integer, "As `--node-status-update-frequency`, in seconds. 0 is the default"),
    key(
        "routeTableIDs",
        Kind::Text,
        "Route tables to keep, separated by commas. Without it the VPC's table is looked up",
    ),
    key("featureGates", Kind::Text, "Feature gates, as in `IPv6DualStack=true`"),
    ignored("kubernetesClusterTag", Kind::Text, "instances are found by id or address, not by a tag"),
    ignored(
        "routeMaxConcurrentReconciles",
        Kind::Integer,
        "the cloud refuses concurrent changes to one VPC's routes, so they go in turn",
    ),
    ignored("privateZoneId", Kind::Text, "PrivateZone records are not part of this program"),
    ignored("privateZoneRecordTTL", Kind::Integer, "PrivateZone records are not part of this program"),
];
