use serde_json::json;

use crate::{
    alibaba::rpc::testing::Script,
    cloud::{
        AddressType, Class, Made, Member, MemberKind, NetworkAction, NetworkEffect, NetworkGroupKind,
        NetworkGroupSetting, NetworkGroupSettings, NetworkListenerSetting, NetworkListenerSettings,
        NetworkLoadBalancers, NetworkProtocol, PortRange, RulePolicy, SourceRule, ZoneMapping,
        network_action::{
            CreateNetworkGroup, CreateNetworkListener, CreateNetworkLoadBalancer, CreateSecurityGroup,
            NetworkListenerChange,
        },
    },
};

/// Carries out an action and returns what was sent, without region and fresh token, and its effect.
async fn run(action: NetworkAction) -> (Vec<String>, NetworkEffect) {
    let script = Script::default();
    script.answer(
        200,
        &json!({"RequestId": "R", "LoadbalancerId": "nlb-1", "ServerGroupId": "sgp-1", "ListenerId": "lsn-1@80",
            "SecurityGroupId": "sg-1", "JobId": "job-1"}),
    );
    let effect = script.cloud().execute_network(&action).await.unwrap();
    let mut lines = script.only();
    lines.retain(|line| line != "RegionId=cn-hangzhou");
    let takes_none = matches!(
        action,
        NetworkAction::CreateLoadBalancer(_)
            | NetworkAction::DeleteSecurityGroup { .. }
            | NetworkAction::NameSecurityGroup { .. }
    );
    if !takes_none {
        let token = lines.iter().position(|line| line.starts_with("ClientToken=")).expect("a token");
        lines.remove(token);
    }
    (lines, effect)
}

async fn sent(action: NetworkAction) -> Vec<String> {
    run(action).await.0
}

fn zone(n: u8) -> ZoneMapping {
    ZoneMapping {
        zone: format!("cn-hangzhou-{n}").into(),
        vswitch: format!("vsw-{n}").into(),
        private_address: None,
        allocation: None,
    }
}

fn member() -> Member {
    Member {
        kind: MemberKind::Ecs,
        server: "i-1".to_owned(),
        address: None,
        port: 30080,
        weight: 100,
        description: "k8s.30080.TCP.web.default.c1".to_owned(),
    }
}

fn by_address(kind: MemberKind, server: &str, port: u16) -> Member {
    Member {
        kind,
        server: server.to_owned(),
        address: Some("10.0.0.9".parse().unwrap()),
        port,
        weight: 50,
        description: String::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_is_created_and_no_empty_address_is_sent() {
    let create = CreateNetworkLoadBalancer {
        name: "a1".to_owned(),
        address_type: AddressType::Intranet,
        ip_version: Some("DualStack".to_owned()),
        vpc: Some("vpc-1".into()),
        zones: vec![
            zone(1),
            ZoneMapping {
                private_address: Some("10.0.0.5".parse().unwrap()),
                allocation: Some("eip-1".into()),
                ..zone(2)
            },
        ],
        bandwidth_package: None,
        resource_group: Some("rg-1".to_owned()),
        protection_reason: "managed.by.ack".to_owned(),
        tags: [("ack.aliyun.com".to_owned(), "c1".to_owned())].into(),
        token: "token-1".to_owned(),
    };
    let (lines, effect) = run(NetworkAction::CreateLoadBalancer(create)).await;
    assert_eq!(
        lines,
        [
            "Action=CreateLoadBalancer",
            "AddressIpVersion=DualStack",
            "AddressType=Intranet",
            "ClientToken=token-1",
            "DeletionProtectionConfig.Enabled=true",
            "DeletionProtectionConfig.Reason=managed.by.ack",
            "LoadBalancerName=a1",
            "ModificationProtectionConfig.Reason=managed.by.ack",
            "ModificationProtectionConfig.Status=ConsoleProtection",
            "ResourceGroupId=rg-1",
            "Tag.1.Key=ack.aliyun.com",
            "Tag.1.Value=c1",
            "VpcId=vpc-1",
            "ZoneMappings.1.VSwitchId=vsw-1",
            "ZoneMappings.1.ZoneId=cn-hangzhou-1",
            "ZoneMappings.2.AllocationId=eip-1",
            "ZoneMappings.2.PrivateIPv4Address=10.0.0.5",
            "ZoneMappings.2.VSwitchId=vsw-2",
            "ZoneMappings.2.ZoneId=cn-hangzhou-2",
        ]
    );
    assert_eq!(effect.made, Made::LoadBalancer("nlb-1".into()));
}

#[tokio::test(start_paused = true)]
async fn attributes_of_a_load_balancer_are_one_call_each() {
    let id = || "nlb-1".into();
    for (action, name, rest) in [
        (NetworkAction::DeleteLoadBalancer { load_balancer: id() }, "DeleteLoadBalancer", vec![]),
        (
            NetworkAction::Unprotect { load_balancer: id() },
            "UpdateLoadBalancerProtection",
            vec!["DeletionProtectionEnabled=false", "ModificationProtectionStatus=NonProtection"],
        ),
        (
            NetworkAction::SetAttributes { load_balancer: id(), name: Some("x".into()), cross_zone: Some(false) },
            "UpdateLoadBalancerAttribute",
            vec!["CrossZoneEnabled=false", "LoadBalancerName=x"],
        ),
        (
            NetworkAction::SetAddressType {
                load_balancer: id(),
                address_type: AddressType::Internet,
                zones: vec![zone(1), ZoneMapping { allocation: Some("eip-1".into()), ..zone(2) }],
            },
            "UpdateLoadBalancerAddressTypeConfig",
            vec![
                "AddressType=Internet",
                "ZoneMappings.1.AllocationId=eip-1",
                "ZoneMappings.1.VSwitchId=vsw-2",
                "ZoneMappings.1.ZoneId=cn-hangzhou-2",
            ],
        ),
        (
            NetworkAction::SetZones { load_balancer: id(), zones: vec![zone(3)] },
            "UpdateLoadBalancerZones",
            vec!["ZoneMappings.1.VSwitchId=vsw-3", "ZoneMappings.1.ZoneId=cn-hangzhou-3"],
        ),
        (
            NetworkAction::SetIpv6AddressType { load_balancer: id(), address_type: AddressType::Internet },
            "EnableLoadBalancerIpv6Internet",
            vec![],
        ),
        (
            NetworkAction::SetIpv6AddressType { load_balancer: id(), address_type: AddressType::Intranet },
            "DisableLoadBalancerIpv6Internet",
            vec![],
        ),
        (
            NetworkAction::JoinSecurityGroups { load_balancer: id(), groups: vec!["sg-1".into(), "sg-2".into()] },
            "LoadBalancerJoinSecurityGroup",
            vec!["SecurityGroupIds.1=sg-1", "SecurityGroupIds.2=sg-2"],
        ),
        (
            NetworkAction::LeaveSecurityGroups { load_balancer: id(), groups: vec!["sg-1".into()] },
            "LoadBalancerLeaveSecurityGroup",
            vec!["SecurityGroupIds.1=sg-1"],
        ),
        (
            NetworkAction::AttachBandwidthPackage { load_balancer: id(), package: "cbwp-1".into() },
            "AttachCommonBandwidthPackageToLoadBalancer",
            vec!["BandwidthPackageId=cbwp-1"],
        ),
        (
            NetworkAction::DetachBandwidthPackage { load_balancer: id(), package: "cbwp-1".into() },
            "DetachCommonBandwidthPackageFromLoadBalancer",
            vec!["BandwidthPackageId=cbwp-1"],
        ),
    ] {
        let mut expected: Vec<String> = rest.into_iter().map(str::to_owned).collect();
        expected.extend([format!("Action={name}"), "LoadBalancerId=nlb-1".to_owned()]);
        expected.sort();
        let (lines, effect) = run(action).await;
        assert_eq!(lines, expected);
        assert_eq!(effect.job, Some("job-1".into()));
    }
}

#[tokio::test(start_paused = true)]
async fn tags_name_what_they_are_on() {
    let tags = [("team".to_owned(), "shop".to_owned())].into();
    assert_eq!(
        sent(NetworkAction::Tag { load_balancer: "nlb-1".into(), tags }).await,
        [
            "Action=TagResources",
            "ResourceId.1=nlb-1",
            "ResourceType=loadbalancer",
            "Tag.1.Key=team",
            "Tag.1.Value=shop"
        ]
    );
    assert_eq!(
        sent(NetworkAction::Untag { load_balancer: "nlb-1".into(), keys: vec!["team".into()] }).await,
        ["Action=UntagResources", "ResourceId.1=nlb-1", "ResourceType=loadbalancer", "TagKey.1=team"]
    );
    let groups = vec!["sgp-1".into(), "sgp-2".into()];
    assert_eq!(
        sent(NetworkAction::UntagGroups { groups, keys: vec!["team".into()] }).await,
        [
            "Action=UntagResources",
            "ResourceId.1=sgp-1",
            "ResourceId.2=sgp-2",
            "ResourceType=servergroup",
            "TagKey.1=team"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_group_is_created_and_changed_with_what_is_asked_for_only() {
    let create = CreateNetworkGroup {
        name: "k8s.30080.TCP.web.default.c1".to_owned(),
        kind: NetworkGroupKind::Instance,
        protocol: "TCP",
        any_port: false,
        vpc: Some("vpc-1".into()),
        ip_version: None,
        resource_group: None,
        settings: NetworkGroupSettings::default(),
        tags: [("ack.aliyun.com".to_owned(), "c1".to_owned())].into(),
    };
    let (lines, effect) = run(NetworkAction::CreateGroup(create.clone())).await;
    assert_eq!(
        lines,
        [
            "Action=CreateServerGroup",
            "Protocol=TCP",
            "ServerGroupName=k8s.30080.TCP.web.default.c1",
            "ServerGroupType=Instance",
            "Tag.1.Key=ack.aliyun.com",
            "Tag.1.Value=c1",
            "VpcId=vpc-1"
        ]
    );
    assert_eq!(effect, NetworkEffect { job: Some("job-1".into()), made: Made::Group("sgp-1".into()) });
    let any = CreateNetworkGroup { any_port: true, ip_version: Some("DualStack".into()), ..create };
    let lines = sent(NetworkAction::CreateGroup(any)).await;
    assert!(lines.contains(&"AnyPortEnabled=true".to_owned()), "{lines:?}");
    assert!(lines.contains(&"AddressIPVersion=DualStack".to_owned()), "{lines:?}");
    let settings = NetworkGroupSettings::default()
        .with(NetworkGroupSetting::Scheduler, "wrr")
        .with(NetworkGroupSetting::ConnectionDrain, "true")
        .with(NetworkGroupSetting::HealthCheck, "true")
        .with(NetworkGroupSetting::HealthCheckHttpCode, "http_2xx,http_3xx")
        .with(NetworkGroupSetting::HealthCheckMethod, "GET");
    assert_eq!(
        sent(NetworkAction::UpdateGroup { group: "sgp-1".into(), settings }).await,
        [
            "Action=UpdateServerGroupAttribute",
            "ConnectionDrainEnabled=true",
            "HealthCheckConfig.HealthCheckEnabled=true",
            "HealthCheckConfig.HealthCheckHttpCode.1=http_2xx",
            "HealthCheckConfig.HealthCheckHttpCode.2=http_3xx",
            "HealthCheckConfig.HttpCheckMethod=GET",
            "Scheduler=Wrr",
            "ServerGroupId=sgp-1"
        ]
    );
    assert_eq!(
        sent(NetworkAction::DeleteGroup { group: "sgp-1".into() }).await,
        ["Action=DeleteServerGroup", "ServerGroupId=sgp-1"]
    );
}

#[tokio::test(start_paused = true)]
async fn members_of_all_kinds_are_named_in_full() {
    let members = vec![member(), by_address(MemberKind::Eni, "eni-1", 8080), by_address(MemberKind::Ip, "10.0.0.9", 0)];
    assert_eq!(
        sent(NetworkAction::AddMembers { group: "sgp-1".into(), members }).await,
        [
            "Action=AddServersToServerGroup",
            "ServerGroupId=sgp-1",
            "Servers.1.Description=k8s.30080.TCP.web.default.c1",
            "Servers.1.Port=30080",
            "Servers.1.ServerId=i-1",
            "Servers.1.ServerType=Ecs",
            "Servers.1.Weight=100",
            "Servers.2.Port=8080",
            "Servers.2.ServerId=eni-1",
            "Servers.2.ServerIp=10.0.0.9",
            "Servers.2.ServerType=Eni",
            "Servers.2.Weight=50",
            "Servers.3.Port=0",
            "Servers.3.ServerId=10.0.0.9",
            "Servers.3.ServerIp=10.0.0.9",
            "Servers.3.ServerType=Ip",
            "Servers.3.Weight=50",
        ]
    );
    assert_eq!(
        sent(NetworkAction::RemoveMembers { group: "sgp-1".into(), members: vec![member()] }).await,
        [
            "Action=RemoveServersFromServerGroup",
            "ServerGroupId=sgp-1",
            "Servers.1.Port=30080",
            "Servers.1.ServerId=i-1",
            "Servers.1.ServerType=Ecs",
        ]
    );
    let lines = sent(NetworkAction::UpdateMembers { group: "sgp-1".into(), members: vec![member()] }).await;
    assert_eq!(lines[0], "Action=UpdateServerGroupServersAttribute");
    assert!(lines.contains(&"Servers.1.Weight=100".to_owned()), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn a_listener_has_one_port_or_a_range_and_settings_in_three_forms() {
    let create = |ports| CreateNetworkListener {
        load_balancer: "nlb-1".into(),
        protocol: NetworkProtocol::TcpSsl,
        ports,
        description: "k8s.443.TCPSSL.web.default.c1".to_owned(),
        group: "sgp-1".into(),
        settings: NetworkListenerSettings::default()
            .with(NetworkListenerSetting::Certificates, "cert-1,cert-2")
            .with(NetworkListenerSetting::AlpnEnabled, "true")
            .with(NetworkListenerSetting::ProxyVpc, "true")
            .with(NetworkListenerSetting::ProxyEndpoint, "false"),
    };
    let (lines, effect) = run(NetworkAction::CreateListener(create(PortRange::one(443)))).await;
    assert_eq!(
        lines,
        [
            "Action=CreateListener",
            "AlpnEnabled=true",
            "CertificateIds.1=cert-1",
            "CertificateIds.2=cert-2",
            "ListenerDescription=k8s.443.TCPSSL.web.default.c1",
            "ListenerPort=443",
            "ListenerProtocol=TCPSSL",
            "LoadBalancerId=nlb-1",
            r#"ProxyProtocolV2Config={"Ppv2PrivateLinkEpIdEnabled":false,"Ppv2VpcIdEnabled":true}"#,
            "ServerGroupId=sgp-1",
        ]
    );
    assert_eq!(effect.made, Made::Listener("lsn-1@80".into()));
    let lines = sent(NetworkAction::CreateListener(create(PortRange { first: 80, last: 90 }))).await;
    for expected in ["ListenerPort=0", "StartPort=80", "EndPort=90"] {
        assert!(lines.contains(&expected.to_owned()), "{lines:?}");
    }
    let change = NetworkListenerChange {
        load_balancer: "nlb-1".into(),
        listener: "lsn-1@443".into(),
        description: None,
        group: Some("sgp-2".into()),
        settings: NetworkListenerSettings::default().with(NetworkListenerSetting::Cps, "100"),
    };
    assert_eq!(
        sent(NetworkAction::UpdateListener(change)).await,
        ["Action=UpdateListenerAttribute", "Cps=100", "ListenerId=lsn-1@443", "ServerGroupId=sgp-2"]
    );
    let (load_balancer, listener) = (|| "nlb-1".into(), || "lsn-1@443".into());
    let certificates = || vec!["cert-3".to_owned()];
    for (action, name, certificate) in [
        (
            NetworkAction::AddCertificates {
                load_balancer: load_balancer(),
                listener: listener(),
                certificates: certificates(),
            },
            "AssociateAdditionalCertificatesWithListener",
            true,
        ),
        (
            NetworkAction::RemoveCertificates {
                load_balancer: load_balancer(),
                listener: listener(),
                certificates: certificates(),
            },
            "DisassociateAdditionalCertificatesWithListener",
            true,
        ),
        (NetworkAction::StartListener { load_balancer: load_balancer(), listener: listener() }, "StartListener", false),
        (
            NetworkAction::DeleteListener { load_balancer: load_balancer(), listener: listener() },
            "DeleteListener",
            false,
        ),
    ] {
        let mut expected = vec![format!("Action={name}"), "ListenerId=lsn-1@443".to_owned()];
        if certificate {
            expected.insert(1, "AdditionalCertificateIds.1=cert-3".to_owned());
        }
        assert_eq!(sent(action).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn rules_of_both_families_go_into_one_call() {
    let create = CreateSecurityGroup {
        name: "k8s-nlb-a1".to_owned(),
        description: "k8s.default.web.c1".to_owned(),
        vpc: Some("vpc-1".into()),
        resource_group: None,
        tags: [("ack.aliyun.com".to_owned(), "c1".to_owned())].into(),
    };
    let (lines, effect) = run(NetworkAction::CreateSecurityGroup(create)).await;
    assert_eq!(
        lines,
        [
            "Action=CreateSecurityGroup",
            "Description=k8s.default.web.c1",
            "SecurityGroupName=k8s-nlb-a1",
            "SecurityGroupType=enterprise",
            "Tag.1.Key=ack.aliyun.com",
            "Tag.1.Value=c1",
            "VpcId=vpc-1"
        ]
    );
    assert_eq!(effect.made, Made::SecurityGroup("sg-1".into()));
    let rule = |source: &str, policy, priority| SourceRule {
        id: String::new(),
        source: source.parse().unwrap(),
        policy,
        priority,
        description: "d".to_owned(),
    };
    let rules = vec![rule("10.0.0.0/8", RulePolicy::Accept, 1), rule("::/0", RulePolicy::Drop, 100)];
    assert_eq!(
        sent(NetworkAction::AddRules { group: "sg-1".into(), rules }).await,
        [
            "Action=AuthorizeSecurityGroup",
            "Permissions.1.Description=d",
            "Permissions.1.IpProtocol=ALL",
            "Permissions.1.Policy=accept",
            "Permissions.1.PortRange=-1/-1",
            "Permissions.1.Priority=1",
            "Permissions.1.SourceCidrIp=10.0.0.0/8",
            "Permissions.2.Description=d",
            "Permissions.2.IpProtocol=ALL",
            "Permissions.2.Ipv6SourceCidrIp=::/0",
            "Permissions.2.Policy=drop",
            "Permissions.2.PortRange=-1/-1",
            "Permissions.2.Priority=100",
            "SecurityGroupId=sg-1",
        ]
    );
    assert_eq!(
        sent(NetworkAction::RemoveRules { group: "sg-1".into(), rules: vec!["sgr-1".to_owned()] }).await,
        ["Action=RevokeSecurityGroup", "SecurityGroupId=sg-1", "SecurityGroupRuleId.1=sgr-1"]
    );
    let name =
        NetworkAction::NameSecurityGroup { group: "sg-1".into(), name: "n".to_owned(), description: "d".to_owned() };
    assert_eq!(
        sent(name).await,
        ["Action=ModifySecurityGroupAttribute", "Description=d", "SecurityGroupId=sg-1", "SecurityGroupName=n"]
    );
    assert_eq!(
        sent(NetworkAction::DeleteSecurityGroup { group: "sg-1".into() }).await,
        ["Action=DeleteSecurityGroup", "SecurityGroupId=sg-1"]
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_counts_as_deleted_and_what_is_busy_is_told_at_once() {
    let script = Script::default();
    script.refuse(404, "ResourceNotFound.loadBalancer", "");
    let gone =
        script.cloud().execute_network(&NetworkAction::DeleteLoadBalancer { load_balancer: "nlb-1".into() }).await;
    assert_eq!(gone.unwrap(), NetworkEffect { job: None, made: Made::Nothing });
    let script = Script::default();
    script.refuse(400, "Conflict.Lock", "");
    let client = script.client_with(crate::alibaba::rpc::Policy::default());
    let cloud = crate::alibaba::Alibaba::with_client(client, None, Vec::new(), None);
    let busy = cloud.execute_network(&NetworkAction::DeleteLoadBalancer { load_balancer: "nlb-1".into() }).await;
    assert_eq!(busy.unwrap_err().class, Class::Busy);
    assert_eq!(script.sent().len(), 1, "it is the caller who waits");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_attempt_carries_the_same_token() {
    let script = Script::default();
    script.fail(crate::alibaba::rpc::Reached::Maybe);
    script.answer(200, &json!({"RequestId": "R", "JobId": "job-1"}));
    script.answer(200, &json!({"RequestId": "R", "JobId": "job-2"}));
    let client = script.client_with(crate::alibaba::rpc::Policy::default());
    let cloud = crate::alibaba::Alibaba::with_client(client, None, Vec::new(), None);
    let action = NetworkAction::DeleteGroup { group: "sgp-1".into() };
    cloud.execute_network(&action).await.unwrap();
    cloud.execute_network(&action).await.unwrap();
    let tokens: Vec<String> = (0..3).map(|n| script.params(n)["ClientToken"].clone()).collect();
    assert_eq!(tokens[0], tokens[1]);
    assert_ne!(tokens[1], tokens[2], "another change has another token");
}
