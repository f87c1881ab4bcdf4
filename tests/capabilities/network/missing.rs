//! Annotations that name what the cloud does not have: that is told, and holds back nothing else.

use std::time::Duration;

use serde_json::json;

use super::{annotate, assert_told, balancers, expose, groups, key, settings::furnish, settled};
use crate::support::play;

const TLS: [(&str, &str); 2] = [("protocol-port", "TCPSSL:443"), ("cert-id", "cert-1")];

#[test]
fn what_is_not_there_is_told_and_members_and_other_settings_go_on() {
    for (suffix, missing, good, told) in [
        (
            "cert-id",
            "cert-none",
            "cert-2",
            "network load balancers take theirs from the certificate management service",
        ),
        ("additional-cert-ids", "cert-none", "cert-2", "ResourceNotFound.Certificate"),
        ("tls-cipher-policy", "tls_none", "tls_cipher_policy_1_1", "ResourceNotFound.securitypolicy"),
        ("bandwidth-package-id", "cbwp-none", "cbwp-1", "ResourceNotFound.BandwidthPackageId"),
        ("security-group-ids", "sg-none", "sg-1", "sg-none"),
        (
            "zone-maps",
            "cn-hangzhou-h:vsw-bp1simh,cn-hangzhou-i:vsw-bp1simi,cn-hangzhou-j:vsw-none",
            "cn-hangzhou-h:vsw-bp1simh,cn-hangzhou-i:vsw-bp1simi,cn-hangzhou-j:vsw-bp1simj",
            "vsw-none",
        ),
    ] {
        play(|stage| async move {
            furnish(&stage);
            let _replica = stage.start_alone();
            stage.joined(1).await;
            expose(&stage, &TLS, json!([{ "port": 443 }]));
            settled(&stage).await;
            // Written only when all is in place.
            let hash =
                || stage.service("web").unwrap().metadata.labels.unwrap()["service.beta.kubernetes.io/hash"].clone();
            let before = hash();
            annotate(&stage, json!({ (key(suffix)): missing, (key("name")): "other", (key("scheduler")): "rr" })).await;
            stage.joined(1).await;
            stage.pass(Duration::from_secs(30)).await;
            assert_told(&stage, told);
            let (balancer, group) = (balancers(&stage).remove(0), groups(&stage).remove(0));
            assert_eq!(
                (balancer.name.as_str(), group.attributes["Scheduler"].as_str(), group.servers.len()),
                ("other", "rr", 2),
                "{suffix}: {:?} {:?}",
                stage.told("web"),
                stage.words()
            );
            assert_eq!(hash(), before, "{suffix}");
            annotate(&stage, json!({ (key(suffix)): good })).await;
            stage.pass(Duration::from_secs(60)).await;
            assert_ne!(hash(), before, "{suffix}: {:?}", stage.told("web"));
        });
    }
}
