//! Changes of server groups and their members.

use super::{run, sent};
use crate::cloud::{
    Made, Member, MemberKind, NetworkAction, NetworkEffect, NetworkGroupKind, NetworkGroupSetting,
    NetworkGroupSettings, network_action::CreateNetworkGroup,
};

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
