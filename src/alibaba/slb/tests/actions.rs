use serde_json::json;

use crate::{
    alibaba::rpc::testing::Script,
    cloud::{
        Action, AddressType, Class, Effect, ListenerSettings, LoadBalancers, Member, MemberKind, Protocol, Setting,
        action::{CreateLoadBalancer, ListenerChange},
    },
};

/// Carries out an action and returns what was sent, without the region.
async fn sent(action: Action) -> Vec<String> {
    let script = Script::default();
    script.answer(
        200,
        &json!({"RequestId": "R", "LoadBalancerId": "lb-1", "Address": "1.1.1.1", "VServerGroupId": "rsp-1"}),
    );
    script.cloud().execute(&action).await.unwrap();
    let mut lines = script.only();
    let before = lines.len();
    lines.retain(|line| line != "RegionId=cn-hangzhou");
    assert_eq!(lines.len() + 1, before, "the region is always sent");
    lines
}

fn create() -> CreateLoadBalancer {
    CreateLoadBalancer {
        name: "a1".to_owned(),
        address_type: AddressType::Intranet,
        vpc: Some("vpc-1".into()),
        vswitch: Some("vsw-1".into()),
        instance_charge_type: Some("PayBySpec".to_owned()),
        spec: Some("slb.s1.small".to_owned()),
        internet_charge_type: Some("paybytraffic".to_owned()),
        bandwidth: Some(100),
        delete_protection: true,
        modification_protection: "ConsoleProtection".to_owned(),
        modification_protection_reason: "managed.by.ack".to_owned(),
        resource_group: Some("rg-1".to_owned()),
        master_zone: None,
        slave_zone: None,
        ip_version: None,
        address: None,
        tags: [
            ("kubernetes.do.not.delete".to_owned(), "a1".to_owned()),
            ("ack.aliyun.com".to_owned(), "c1".to_owned()),
        ]
        .into(),
        token: "token-1".to_owned(),
    }
}

fn member() -> Member {
    Member {
        kind: MemberKind::Ecs,
        server: "i-1".to_owned(),
        address: None,
        port: 30080,
        weight: 100,
        description: "k8s/30080/web/default/c1".to_owned(),
    }
}

fn eni() -> Member {
    Member {
        kind: MemberKind::Eni,
        server: "eni-1".to_owned(),
        address: Some("10.0.0.9".parse().unwrap()),
        port: 8080,
        weight: 50,
        description: String::new(),
    }
}

fn change(protocol: Protocol) -> ListenerChange {
    ListenerChange {
        load_balancer: "lb-1".into(),
        port: 80,
        protocol,
        description: Some("k8s/80/web/default/c1".to_owned()),
        group: Some("rsp-1".into()),
        settings: ListenerSettings::default(),
    }
}

const MEMBERS: &str = concat!(
    "BackendServers=[",
    r#"{"Description":"k8s/30080/web/default/c1","Port":30080,"ServerId":"i-1","Type":"ecs","Weight":100},"#,
    r#"{"Port":8080,"ServerId":"eni-1","ServerIp":"10.0.0.9","Type":"eni","Weight":50}"#,
    "]"
);

#[tokio::test(start_paused = true)]
async fn a_load_balancer_is_created_from_all_that_is_set() {
    assert_eq!(
        sent(Action::CreateLoadBalancer(create())).await,
        [
            "Action=CreateLoadBalancer",
            "AddressType=intranet",
            "Bandwidth=100",
            "ClientToken=token-1",
            "DeleteProtection=on",
            "InstanceChargeType=PayBySpec",
            "InternetChargeType=paybytraffic",
            "LoadBalancerName=a1",
            "LoadBalancerSpec=slb.s1.small",
            "ModificationProtectionReason=managed.by.ack",
            "ModificationProtectionStatus=ConsoleProtection",
            "ResourceGroupId=rg-1",
            "Tag.1.Key=ack.aliyun.com",
            "Tag.1.Value=c1",
            "Tag.2.Key=kubernetes.do.not.delete",
            "Tag.2.Value=a1",
            "VSwitchId=vsw-1",
            "VpcId=vpc-1",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_not_set_is_not_sent() {
    let create = CreateLoadBalancer {
        address_type: AddressType::Internet,
        vpc: None,
        vswitch: None,
        instance_charge_type: None,
        spec: None,
        internet_charge_type: None,
        bandwidth: None,
        delete_protection: false,
        modification_protection: "NonProtection".to_owned(),
        modification_protection_reason: String::new(),
        resource_group: None,
        tags: [].into(),
        ..create()
    };
    assert_eq!(
        sent(Action::CreateLoadBalancer(create)).await,
        [
            "Action=CreateLoadBalancer",
            "AddressType=internet",
            "ClientToken=token-1",
            "DeleteProtection=off",
            "LoadBalancerName=a1",
            "ModificationProtectionStatus=NonProtection",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_creation_tells_what_now_exists() {
    let script = Script::default();
    script.answer(200, &json!({"LoadBalancerId": "lb-9", "Address": "10.0.0.7", "VpcId": "vpc-2", "VSwitchId": ""}));
    let effect = script.cloud().execute(&Action::CreateLoadBalancer(create())).await.unwrap();
    let Effect::LoadBalancerCreated(lb) = effect else { panic!("{effect:?}") };
    assert_eq!((lb.id.as_str(), lb.address.as_str()), ("lb-9", "10.0.0.7"));
    assert_eq!((lb.vpc, lb.vswitch), (Some("vpc-2".into()), Some("vsw-1".into())));

    script.answer(200, &json!({"VServerGroupId": "rsp-9"}));
    let action = Action::CreateServerGroup { load_balancer: "lb-9".into(), name: "g".to_owned(), members: Vec::new() };
    assert_eq!(script.cloud().execute(&action).await.unwrap(), Effect::ServerGroupCreated("rsp-9".into()));

    script.answer(200, &json!({"RequestId": "R"}));
    let error = script.cloud().execute(&action).await.unwrap_err();
    assert_eq!(error.class, Class::Malformed, "no id, no group to speak of");
}

#[tokio::test(start_paused = true)]
async fn load_balancer_settings() {
    let load_balancer = || "lb-1".into();
    for (action, lines) in [
        (
            Action::DeleteLoadBalancer { load_balancer: load_balancer() },
            vec!["Action=DeleteLoadBalancer", "LoadBalancerId=lb-1"],
        ),
        (
            Action::SetDeleteProtection { load_balancer: load_balancer(), on: false },
            vec!["Action=SetLoadBalancerDeleteProtection", "DeleteProtection=off", "LoadBalancerId=lb-1"],
        ),
        (
            Action::SetModificationProtection {
                load_balancer: load_balancer(),
                status: "NonProtection".to_owned(),
                reason: String::new(),
            },
            vec![
                "Action=SetLoadBalancerModificationProtection",
                "LoadBalancerId=lb-1",
                "ModificationProtectionStatus=NonProtection",
            ],
        ),
        (
            Action::SetName { load_balancer: load_balancer(), name: "n".to_owned() },
            vec!["Action=SetLoadBalancerName", "LoadBalancerId=lb-1", "LoadBalancerName=n"],
        ),
        (
            Action::SetInternetSpec {
                load_balancer: load_balancer(),
                charge_type: Some("paybybandwidth".to_owned()),
                bandwidth: Some(10),
            },
            vec![
                "Action=ModifyLoadBalancerInternetSpec",
                "Bandwidth=10",
                "InternetChargeType=paybybandwidth",
                "LoadBalancerId=lb-1",
            ],
        ),
        (
            Action::SetSpec { load_balancer: load_balancer(), spec: "slb.s2.small".to_owned() },
            vec!["Action=ModifyLoadBalancerInstanceSpec", "LoadBalancerId=lb-1", "LoadBalancerSpec=slb.s2.small"],
        ),
        (
            Action::SetInstanceChargeType {
                load_balancer: load_balancer(),
                charge_type: "PayByCLCU".to_owned(),
                spec: None,
            },
            vec!["Action=ModifyLoadBalancerInstanceChargeType", "InstanceChargeType=PayByCLCU", "LoadBalancerId=lb-1"],
        ),
        (
            Action::Tag { load_balancer: load_balancer(), tags: [("k".to_owned(), "v".to_owned())].into() },
            vec!["Action=TagResources", "ResourceId.1=lb-1", "ResourceType=instance", "Tag.1.Key=k", "Tag.1.Value=v"],
        ),
        (
            Action::Untag { load_balancer: load_balancer(), keys: vec!["a".to_owned(), "b".to_owned()] },
            vec!["Action=UntagResources", "ResourceId.1=lb-1", "ResourceType=instance", "TagKey.1=a", "TagKey.2=b"],
        ),
    ] {
        assert_eq!(sent(action).await, lines);
    }
}

#[tokio::test(start_paused = true)]
async fn groups_and_members() {
    let (load_balancer, group, members) = (|| "lb-1".into(), || "rsp-1".into(), || vec![member(), eni()]);
    for (action, lines) in [
        (
            Action::CreateServerGroup { load_balancer: load_balancer(), name: "g".to_owned(), members: members() },
            vec!["Action=CreateVServerGroup", MEMBERS, "LoadBalancerId=lb-1", "VServerGroupName=g"],
        ),
        (
            Action::CreateServerGroup { load_balancer: load_balancer(), name: "g".to_owned(), members: vec![] },
            vec!["Action=CreateVServerGroup", "LoadBalancerId=lb-1", "VServerGroupName=g"],
        ),
        (
            Action::AddMembers { load_balancer: load_balancer(), group: group(), members: members() },
            vec!["Action=AddVServerGroupBackendServers", MEMBERS, "VServerGroupId=rsp-1"],
        ),
        (
            Action::UpdateMembers { load_balancer: load_balancer(), group: group(), members: members() },
            vec!["Action=SetVServerGroupAttribute", MEMBERS, "VServerGroupId=rsp-1"],
        ),
        (
            Action::RemoveMembers { load_balancer: load_balancer(), group: group(), members: members() },
            vec!["Action=RemoveVServerGroupBackendServers", MEMBERS, "VServerGroupId=rsp-1"],
        ),
        (
            Action::DeleteServerGroup { load_balancer: load_balancer(), group: group() },
            vec!["Action=DeleteVServerGroup", "VServerGroupId=rsp-1"],
        ),
    ] {
        assert_eq!(sent(action).await, lines);
    }
}

#[expect(clippy::too_many_lines, reason = "one table")]
#[tokio::test(start_paused = true)]
async fn listeners() {
    for (action, lines) in [
        (
            Action::CreateListener(ListenerChange {
                settings: ListenerSettings::default()
                    .with(Setting::Scheduler, "rr")
                    .with(Setting::Bandwidth, "-1")
                    .with(Setting::HealthCheck, "on")
                    .with(Setting::HealthCheckInterval, "5")
                    // Not a setting of TCP.
                    .with(Setting::IdleTimeout, "5"),
                ..change(Protocol::Tcp)
            }),
            vec![
                "Action=CreateLoadBalancerTCPListener",
                "Bandwidth=-1",
                "Description=k8s/80/web/default/c1",
                "HealthCheckSwitch=on",
                "ListenerPort=80",
                "LoadBalancerId=lb-1",
                "Scheduler=rr",
                "VServerGroupId=rsp-1",
                "healthCheckInterval=5",
            ],
        ),
        (
            Action::CreateListener(ListenerChange {
                settings: ListenerSettings::default().with(Setting::Scheduler, "wrr").with(Setting::Bandwidth, "5"),
                description: None,
                ..change(Protocol::Udp)
            }),
            vec![
                "Action=CreateLoadBalancerUDPListener",
                "Bandwidth=5",
                "ListenerPort=80",
                "LoadBalancerId=lb-1",
                "Scheduler=wrr",
                "VServerGroupId=rsp-1",
            ],
        ),
        (
            Action::UpdateListener(change(Protocol::Tcp)),
            vec![
                "Action=SetLoadBalancerTCPListenerAttribute",
                "Description=k8s/80/web/default/c1",
                "ListenerPort=80",
                "LoadBalancerId=lb-1",
                "VServerGroup=on",
                "VServerGroupId=rsp-1",
            ],
        ),
        (
            Action::UpdateListener(ListenerChange {
                settings: ListenerSettings::default()
                    .with(Setting::Scheduler, "wlc")
                    .with(Setting::HealthCheckInterval, "5"),
                description: None,
                group: None,
                ..change(Protocol::Udp)
            }),
            vec![
                "Action=SetLoadBalancerUDPListenerAttribute",
                "HealthCheckInterval=5",
                "ListenerPort=80",
                "LoadBalancerId=lb-1",
                "Scheduler=wlc",
            ],
        ),
        (
            Action::CreateListener(ListenerChange {
                settings: ListenerSettings::default()
                    .with(Setting::HealthCheck, "off")
                    .with(Setting::ForwardPort, "443"),
                description: None,
                group: None,
                ..change(Protocol::Http)
            }),
            vec![
                "Action=CreateLoadBalancerHTTPListener",
                "ForwardPort=443",
                "HealthCheck=off",
                "ListenerForward=on",
                "ListenerPort=80",
                "LoadBalancerId=lb-1",
            ],
        ),
        (
            Action::DeleteDomainExtension { load_balancer: "lb-1".into(), port: 443, id: "de-1".into() },
            vec!["Action=DeleteDomainExtension", "DomainExtensionId=de-1"],
        ),
        (
            Action::SetDomainExtension {
                load_balancer: "lb-1".into(),
                port: 443,
                id: "de-1".into(),
                certificate: "cert-2".into(),
            },
            vec!["Action=SetDomainExtensionAttribute", "DomainExtensionId=de-1", "ServerCertificateId=cert-2"],
        ),
        (
            Action::StartListener { load_balancer: "lb-1".into(), port: 80, protocol: Protocol::Tcp },
            vec!["Action=StartLoadBalancerListener", "ListenerPort=80", "ListenerProtocol=tcp", "LoadBalancerId=lb-1"],
        ),
        (
            Action::DeleteListener { load_balancer: "lb-1".into(), port: 53, protocol: Protocol::Udp },
            vec!["Action=DeleteLoadBalancerListener", "ListenerPort=53", "ListenerProtocol=udp", "LoadBalancerId=lb-1"],
        ),
    ] {
        assert_eq!(sent(action).await, lines);
    }
}

#[tokio::test(start_paused = true)]
async fn deleting_what_is_gone_is_a_success_and_changing_it_is_not() {
    let (load_balancer, group) = (|| "lb-1".into(), || "rsp-1".into());
    for action in [
        Action::DeleteLoadBalancer { load_balancer: load_balancer() },
        Action::DeleteServerGroup { load_balancer: load_balancer(), group: group() },
        Action::RemoveMembers { load_balancer: load_balancer(), group: group(), members: vec![member()] },
        Action::DeleteListener { load_balancer: load_balancer(), port: 80, protocol: Protocol::Tcp },
    ] {
        let script = Script::default();
        script.refuse(404, "InvalidParameter", "The specified resource does not exist.");
        assert_eq!(script.cloud().execute(&action).await.unwrap(), Effect::Done);
        script.refuse(400, "OperationDenied.DeleteProtectionIsOn", "protected");
        assert_eq!(script.cloud().execute(&action).await.unwrap_err().class, Class::Invalid);
    }
    let script = Script::default();
    script.refuse(404, "InvalidLoadBalancerId.NotFound", "gone");
    let action = Action::SetName { load_balancer: load_balancer(), name: "n".to_owned() };
    assert_eq!(script.cloud().execute(&action).await.unwrap_err().class, Class::NotFound);
}
