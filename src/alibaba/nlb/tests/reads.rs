use serde_json::{Value, json};

use crate::{
    alibaba::rpc::testing::Script,
    cloud::{
        AddressType, JobState, Member, MemberKind, NetworkGroupKind, NetworkGroupSetting, NetworkGroupStatus,
        NetworkListenerSetting, NetworkListenerStatus, NetworkLoadBalancers, NetworkProtocol, NetworkStatus, PortRange,
        RulePolicy,
    },
};

const KEY: &str = "kubernetes.do.not.delete";

fn listed(ids: &[&str]) -> Value {
    let items: Vec<_> = ids
        .iter()
        .map(|id| {
            json!({
                "LoadBalancerId": id, "LoadBalancerName": "a1", "LoadBalancerStatus": "Configuring",
                "DNSName": "nlb-1.cn-hangzhou.nlb.aliyuncsslb.com", "AddressType": "Intranet",
                "AddressIpVersion": "DualStack", "Ipv6AddressType": "Internet", "VpcId": "vpc-1",
                "CrossZoneEnabled": true, "SecurityGroupIds": ["sg-1"], "BandwidthPackageId": "",
                "DeletionProtectionConfig": {"Enabled": true}, "ResourceGroupId": "rg-1",
                "ModificationProtectionConfig": {"Status": "ConsoleProtection"},
                "ZoneMappings": [{"ZoneId": "cn-hangzhou-h", "VSwitchId": "vsw-1", "LoadBalancerAddresses": [
                    {"PrivateIPv4Address": "10.0.0.7", "AllocationId": "eip-1"}]}],
                "Tags": [{"Key": KEY, "Value": "a1"}]
            })
        })
        .collect();
    json!({"TotalCount": items.len(), "NextToken": "", "MaxResults": 100, "LoadBalancers": items})
}

fn listener(id: &str, load_balancer: &str, group: &str) -> Value {
    json!({
        "ListenerId": id, "LoadBalancerId": load_balancer, "ListenerPort": 443, "ListenerProtocol": "TCPSSL",
        "ListenerStatus": "Running", "ListenerDescription": "k8s.443.TCPSSL.web.default.c1", "ServerGroupId": group,
        "AlpnEnabled": true, "AlpnPolicy": "HTTP2Only", "CertificateIds": ["b", "a"], "Cps": 0, "IdleTimeout": 900,
        "ProxyProtocolEnabled": false, "SecurityPolicyId": "tls_cipher_policy_1_2",
        "ProxyProtocolV2Config": {"Ppv2VpcIdEnabled": true}
    })
}

fn group(id: &str, servers: usize) -> Value {
    json!({
        "ServerGroupId": id, "ServerGroupName": "k8s.30080.TCP.web.default.c1", "ServerGroupStatus": "Available",
        "ServerGroupType": "Instance", "Protocol": "TCP", "AnyPortEnabled": false, "AddressIPVersion": "ipv4",
        "ServerCount": servers, "Scheduler": "Wrr", "ConnectionDrainEnabled": false, "PreserveClientIpEnabled": true,
        "HealthCheck": {"HealthCheckEnabled": true, "HealthCheckType": "TCP", "HealthCheckInterval": 10,
            "HealthCheckHttpCode": []},
        "Tags": [{"Key": KEY, "Value": "a1"}]
    })
}

fn server(group: &str, id: &str, kind: &str, status: &str) -> Value {
    json!({
        "ServerGroupId": group, "ServerId": id, "ServerIp": "10.0.0.9", "ServerType": kind, "Port": 30080,
        "Weight": 100, "Description": "d", "Status": status
    })
}

fn page(field: &str, items: &[Value]) -> Value {
    json!({(field): items, "TotalCount": items.len(), "NextToken": ""})
}

#[tokio::test(start_paused = true)]
async fn load_balancers_by_tag() {
    let script = Script::default();
    script.answer(200, &listed(&["nlb-1"]));
    let found = script.cloud().network_load_balancers_by_tag(KEY, "a1").await.unwrap();
    assert_eq!(
        script.only(),
        [
            "Action=ListLoadBalancers",
            "MaxResults=100",
            "RegionId=cn-hangzhou",
            "Tag.1.Key=kubernetes.do.not.delete",
            "Tag.1.Value=a1"
        ]
    );
    let lb = &found[0];
    assert_eq!((lb.id.as_str(), lb.status), ("nlb-1", NetworkStatus::Changing));
    assert_eq!(lb.dns_name, "nlb-1.cn-hangzhou.nlb.aliyuncsslb.com");
    assert_eq!((lb.address_type, lb.ipv6_address_type), (AddressType::Intranet, Some(AddressType::Internet)));
    assert_eq!((lb.cross_zone, lb.delete_protection), (Some(true), Some(true)));
    assert_eq!(lb.bandwidth_package, None, "empty text is no id");
    assert_eq!(lb.security_groups, ["sg-1".into()].into());
    assert_eq!(lb.zones[0].private_address, Some("10.0.0.7".parse().unwrap()));
    assert_eq!(lb.zones[0].allocation, Some("eip-1".into()));
    assert_eq!(lb.tags[KEY], "a1");
}

#[tokio::test(start_paused = true)]
async fn a_filter_that_is_ignored_makes_nothing_ours() {
    let script = Script::default();
    script.answer(200, &listed(&["nlb-1"])).answer(200, &page("ServerGroups", &[group("sgp-1", 0)]));
    let cloud = script.cloud();
    assert!(cloud.network_load_balancers_by_tag(KEY, "another").await.unwrap().is_empty());
    let tags = [(KEY.to_owned(), "another".to_owned())].into();
    assert!(cloud.network_groups_by_tags(&tags).await.unwrap().is_empty());
    let script = Script::default();
    script.answer(200, &listed(&["nlb-1"])).answer(200, &listed(&["nlb-1", "nlb-2"]));
    let cloud = script.cloud();
    assert!(cloud.network_load_balancers_by_name("a").await.unwrap().is_empty());
    assert_eq!(cloud.network_load_balancers(&["nlb-2".into()]).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_inventory_reads_each_kind_once() {
    let script = Script::default();
    script
        .answer(200, &listed(&["nlb-1", "nlb-2"]))
        .answer(
            200,
            &page("Listeners", &[listener("lsn-1@443", "nlb-1", "sgp-1"), listener("lsn-9@443", "nlb-9", "x")]),
        )
        .answer(200, &page("ServerGroups", &[group("sgp-1", 1), group("sgp-2", 2)]))
        .answer(
            200,
            &page(
                "Servers",
                &[
                    server("sgp-1", "i-1", "Ecs", "Available"),
                    server("sgp-2", "eni-1", "Eni", "Adding"),
                    server("sgp-2", "i-2", "Ecs", "Removing"),
                    server("sgp-9", "i-9", "Ecs", "Available"),
                ],
            ),
        );
    let inventory = script.cloud().network_inventory(KEY, "a1").await.unwrap();
    assert_eq!(script.sent().len(), 4);
    let [first, second] = &inventory.load_balancers[..] else { panic!("{inventory:?}") };
    assert!(second.listeners.is_empty());
    let [listener] = &first.listeners[..] else { panic!("{first:?}") };
    assert_eq!((listener.protocol, listener.ports), (NetworkProtocol::TcpSsl, PortRange::one(443)));
    assert_eq!(listener.status, NetworkListenerStatus::Running);
    for (setting, value) in [
        (NetworkListenerSetting::Certificates, Some("a,b")),
        (NetworkListenerSetting::AlpnEnabled, Some("true")),
        (NetworkListenerSetting::ProxyVpc, Some("true")),
        (NetworkListenerSetting::ProxyEndpoint, None),
        (NetworkListenerSetting::IdleTimeout, Some("900")),
    ] {
        assert_eq!(listener.settings.get(setting), value, "{setting:?}");
    }
    let [first, second] = &inventory.groups[..] else { panic!("{inventory:?}") };
    assert_eq!((first.kind, first.status), (NetworkGroupKind::Instance, NetworkGroupStatus::Available));
    assert_eq!(first.settings.get(NetworkGroupSetting::Scheduler), Some("wrr"), "in one case");
    assert_eq!(first.settings.get(NetworkGroupSetting::HealthCheckInterval), Some("10"));
    let instance = Member {
        kind: MemberKind::Ecs,
        server: "i-1".to_owned(),
        address: None,
        port: 30080,
        weight: 100,
        description: "d".to_owned(),
    };
    assert_eq!(first.members, [instance]);
    assert_eq!(second.members.len(), 1, "what is on its way out is no member: {second:?}");
    assert_eq!(second.members[0].address, Some("10.0.0.9".parse().unwrap()));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_without_any_is_two_calls() {
    let script = Script::default();
    script.answer(200, &listed(&[])).answer(200, &page("ServerGroups", &[]));
    assert_eq!(script.cloud().network_inventory(KEY, "a1").await.unwrap(), crate::cloud::NetworkInventory::default());
}

#[tokio::test(start_paused = true)]
async fn groups_without_members_are_not_asked_for_any() {
    let script = Script::default();
    script
        .answer(200, &page("ServerGroups", &[group("sgp-1", 0), group("sgp-2", 1)]))
        .answer(200, &page("Servers", &[server("sgp-2", "10.0.0.9", "Ip", "Available")]));
    let tags = [(KEY.to_owned(), "a1".to_owned())].into();
    let groups = script.cloud().network_groups_by_tags(&tags).await.unwrap();
    assert_eq!(script.params(1)["ServerGroupId"], "sgp-2");
    assert_eq!(groups[1].members[0].kind, MemberKind::Ip);
    assert!(groups[0].members.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_range_of_ports_comes_as_text() {
    let mut item = listener("lsn-1@0", "nlb-1", "sgp-1");
    item["ListenerPort"] = json!(0);
    item["StartPort"] = json!("80");
    item["EndPort"] = json!("90");
    let script = Script::default();
    script.answer(200, &page("Listeners", &[item]));
    let listeners = script.cloud().network_listeners(&"nlb-1".into()).await.unwrap();
    assert_eq!(listeners[0].ports, PortRange { first: 80, last: 90 });
}

#[tokio::test(start_paused = true)]
async fn jobs_are_asked_for_together_and_an_unknown_one_does_not_hide_the_others() {
    let ids: Vec<crate::cloud::JobId> = (0..21).map(|n| format!("job-{n:02}").into()).collect();
    let script = Script::default();
    let jobs = |range: std::ops::Range<usize>, status: &str| {
        let jobs: Vec<_> = range.map(|n| json!({"Id": format!("job-{n:02}"), "Status": status})).collect();
        json!({"Jobs": jobs, "TotalCount": jobs.len().to_string()})
    };
    script
        .answer(200, &jobs(0..20, "processing"))
        .answer(200, &json!({"Jobs": [{"Id": "job-20", "Status": "Failed"}], "TotalCount": "1"}));
    let states = script.cloud().jobs(&ids).await.unwrap();
    assert_eq!(script.sent().len(), 2);
    assert_eq!(states.values().filter(|state| **state == JobState::Processing).count(), 20);
    assert_eq!(states[&"job-20".into()], JobState::Failed);

    let script = Script::default();
    script
        .refuse(404, "ResourceNotFound.JobId", "")
        .refuse(404, "ResourceNotFound.JobId", "")
        .answer(200, &jobs(1..2, "Succeeded"));
    let states = script.cloud().jobs(&ids[..2]).await.unwrap();
    assert_eq!((states[&ids[0]], states[&ids[1]]), (JobState::Unknown, JobState::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn additional_certificates_are_neither_default_nor_leaving() {
    let script = Script::default();
    script.answer(
        200,
        &page(
            "Certificates",
            &[
                json!({"CertificateId": "a", "IsDefault": true, "Status": "Associated"}),
                json!({"CertificateId": "b", "IsDefault": false, "Status": "Associated"}),
                json!({"CertificateId": "c", "IsDefault": false, "Status": "Diassociating"}),
            ],
        ),
    );
    assert_eq!(script.cloud().additional_certificates(&"lsn-1@443".into()).await.unwrap(), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn security_groups_come_with_rules_about_address_ranges() {
    let script = Script::default();
    script
        .answer(
            200,
            &json!({"SecurityGroups": {"SecurityGroup": [{"SecurityGroupId": "sg-1", "SecurityGroupName": "k8s-nlb-a1",
                "Description": "d", "Tags": {"Tag": [{"TagKey": KEY, "TagValue": "a1"}]}}]}, "TotalCount": 1}),
        )
        .answer(
            200,
            &json!({"Permissions": {"Permission": [
                {"SecurityGroupRuleId": "sgr-1", "Policy": "Accept", "Priority": "1", "IpProtocol": "ALL",
                 "PortRange": "-1/-1", "SourceCidrIp": "10.0.0.0/8", "Description": "d"},
                {"SecurityGroupRuleId": "sgr-2", "Policy": "Drop", "Priority": "100", "IpProtocol": "ALL",
                 "PortRange": "-1/-1", "SourceCidrIp": "", "Ipv6SourceCidrIp": "::/0", "Description": "d"},
                {"SecurityGroupRuleId": "sgr-3", "Policy": "Accept", "Priority": "1", "IpProtocol": "TCP",
                 "PortRange": "22/22", "SourceCidrIp": "10.0.0.0/8"},
                {"SecurityGroupRuleId": "sgr-4", "Policy": "Accept", "Priority": "1", "IpProtocol": "ALL",
                 "PortRange": "-1/-1", "SourceGroupId": "sg-2"},
                {"SecurityGroupRuleId": "sgr-5", "Policy": "Accept", "Priority": "1", "IpProtocol": "ALL",
                 "PortRange": "-1/-1", "SourcePortRange": "1/80", "SourceCidrIp": "10.0.0.0/8", "Description": "d"},
                {"SecurityGroupRuleId": "sgr-6", "Policy": "Accept", "Priority": "1", "IpProtocol": "ALL",
                 "PortRange": "-1/-1", "SourceCidrIp": "10.0.0.0/8", "DestCidrIp": "10.0.0.1", "Description": "d"}]}}),
        );
    let groups = script.cloud().security_groups_by_tag(KEY, "a1").await.unwrap();
    let rules = &groups[0].rules;
    assert_eq!(rules.len(), 2, "the others are not about address ranges alone: {rules:?}");
    assert_eq!(
        (rules[0].policy, rules[0].priority, rules[0].source.to_string()),
        (RulePolicy::Accept, 1, "10.0.0.0/8".to_owned())
    );
    assert_eq!((rules[1].policy, rules[1].source.to_string()), (RulePolicy::Drop, "::/0".to_owned()));
    let others: Vec<(&str, &str)> = groups[0].others.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
    assert_eq!(others, [("sgr-3", ""), ("sgr-4", ""), ("sgr-5", "d"), ("sgr-6", "d")]);
}
