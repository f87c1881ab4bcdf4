//! Changes of load balancers.

use super::{run, sent};
use crate::cloud::{AddressType, Made, NetworkAction, ZoneMapping, network_action::CreateNetworkLoadBalancer};

fn zone(n: u8) -> ZoneMapping {
    ZoneMapping {
        zone: format!("cn-hangzhou-{n}").into(),
        vswitch: format!("vsw-{n}").into(),
        private_address: None,
        allocation: None,
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
