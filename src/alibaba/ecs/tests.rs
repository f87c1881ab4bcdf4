use serde_json::{Value, json};

use super::*;
use crate::{
    alibaba::rpc::testing::{Script, maimed},
    cloud::{InstanceStatus, RegionId},
    entropy::Entropy,
};

fn region() -> RegionId {
    "cn-hangzhou".into()
}

fn ids(names: &[&str]) -> Vec<InstanceId> {
    names.iter().map(|name| InstanceId::new(*name)).collect()
}

fn instances(names: &[&str]) -> Value {
    let items: Vec<_> = names.iter().map(|name| json!({"InstanceId": name, "Status": "Running"})).collect();
    json!({"RequestId": "R", "NextToken": "", "TotalCount": names.len(), "Instances": {"Instance": items}})
}

#[tokio::test(start_paused = true)]
async fn instances_by_id() {
    let script = Script::default();
    script.answer(
        200,
        &json!({"RequestId": "R", "TotalCount": 1, "NextToken": "", "Instances": {"Instance": [{
            "InstanceId": "i-1", "RegionId": "cn-beijing", "ZoneId": "cn-beijing-h", "Status": "Stopped",
            "InstanceName": "worker one", "HostName": "worker-1", "InstanceType": "ecs.g7.large",
            "InstanceChargeType": "PostPaid", "SpotStrategy": "NoSpot",
            "PublicIpAddress": {"IpAddress": ["47.0.0.1"]}, "EipAddress": {"IpAddress": "47.0.0.2", "AllocationId": ""},
            "InnerIpAddress": {"IpAddress": []},
            "VpcAttributes": {"VpcId": "vpc-1", "PrivateIpAddress": {"IpAddress": ["10.0.0.1"]}},
            "NetworkInterfaces": {"NetworkInterface": [
                {"NetworkInterfaceId": "eni-2", "Type": "Secondary", "Ipv6Sets": {"Ipv6Set": [{"Ipv6Address": "fd00::2"}]}},
                {"NetworkInterfaceId": "eni-1", "Type": "Primary", "Ipv6Sets": {"Ipv6Set": [{"Ipv6Address": "fd00::1"}]}}
            ]},
            "Tags": {"Tag": [{"TagKey": "team", "TagValue": "a"}]}
        }]}}),
    );
    let found = script.cloud().instances(&"cn-beijing".into(), &ids(&["i-1", "i-2"])).await.unwrap();
    assert_eq!(
        script.only(),
        [
            "Action=DescribeInstances",
            "AdditionalAttributes.1=NETWORK_PRIMARY_ENI_IP",
            r#"InstanceIds=["i-1","i-2"]"#,
            "MaxResults=100",
            "RegionId=cn-beijing",
        ]
    );
    assert_eq!(
        found,
        [Instance {
            id: "i-1".into(),
            region: "cn-beijing".into(),
            zone: Some("cn-beijing-h".into()),
            status: InstanceStatus::Stopped,
            name: "worker one".to_owned(),
            host_name: "worker-1".to_owned(),
            instance_type: "ecs.g7.large".to_owned(),
            charge_type: "PostPaid".to_owned(),
            spot_strategy: "NoSpot".to_owned(),
            public_addresses: vec!["47.0.0.1".parse().unwrap(), "47.0.0.2".parse().unwrap()],
            private_addresses: vec!["10.0.0.1".parse().unwrap()],
            ipv6_addresses: vec!["fd00::1".parse().unwrap()],
            primary_interface: Some("eni-1".into()),
            tags: [("team".to_owned(), "a".to_owned())].into(),
        }]
    );
}

#[tokio::test(start_paused = true)]
async fn no_ids_need_no_call() {
    assert!(Script::default().cloud().instances(&region(), &[]).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_hundred_ids_go_into_one_call() {
    let script = Script::default();
    script.answer(200, &instances(&[])).answer(200, &instances(&[])).answer(200, &instances(&[]));
    let many: Vec<_> = (0..201).map(|n| InstanceId::new(format!("i-{n}"))).collect();
    script.cloud().instances(&region(), &many).await.unwrap();
    let sizes: Vec<_> =
        (0..3).map(|n| serde_json::from_str::<Vec<String>>(&script.params(n)["InstanceIds"]).unwrap().len()).collect();
    assert_eq!(sizes, [100, 100, 1]);
}

#[tokio::test(start_paused = true)]
async fn one_bad_id_does_not_lose_the_others() {
    let script = Script::default();
    let bad = |script: &Script| {
        script.refuse(400, "InvalidInstanceId.Malformed", "bad");
    };
    bad(&script); // all four
    script.answer(200, &instances(&["i-1", "i-2"]));
    bad(&script); // bad, i-4
    bad(&script); // bad
    script.answer(200, &instances(&["i-4"]));
    let found = script.cloud().instances(&region(), &ids(&["i-1", "i-2", "bad", "i-4"])).await.unwrap();
    let found: Vec<_> = found.iter().map(|instance| instance.id.as_str()).collect();
    assert_eq!(found, ["i-1", "i-2", "i-4"]);
}

#[tokio::test(start_paused = true)]
async fn one_bad_id_alone_is_an_error() {
    let script = Script::default();
    script.refuse(400, "InvalidInstanceId.Malformed", "bad");
    let error = script.cloud().instances(&region(), &ids(&["bad"])).await.unwrap_err();
    assert_eq!((error.class, error.subject.as_str()), (Class::Invalid, "bad"));
}

#[tokio::test(start_paused = true)]
async fn a_denied_batch_is_not_halved() {
    let script = Script::default();
    script.refuse(403, "Forbidden.RAM", "no");
    let error = script.cloud().instances(&region(), &ids(&["i-1", "i-2"])).await.unwrap_err();
    assert_eq!((error.class, error.subject.as_str()), (Class::Denied, "2 instances in cn-hangzhou"));
}

#[tokio::test(start_paused = true)]
async fn instances_by_address() {
    let script = Script::default();
    script.answer(200, &instances(&["i-1"])).answer(200, &instances(&["i-1"]));
    let addresses = ["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()];
    assert_eq!(script.cloud().instances_by_address(&addresses).await.unwrap().len(), 1);
    assert_eq!(
        script.lines(0),
        [
            "Action=DescribeInstances",
            "AdditionalAttributes.1=NETWORK_PRIMARY_ENI_IP",
            "InstanceNetworkType=vpc",
            "MaxResults=100",
            r#"PrivateIpAddresses=["10.0.0.1"]"#,
            "RegionId=cn-hangzhou",
            "VpcId=vpc-1",
        ]
    );
    assert_eq!(
        script.lines(1),
        [
            "Action=DescribeInstances",
            "AdditionalAttributes.1=NETWORK_PRIMARY_ENI_IP",
            "Ipv6Address.1=fd00::1",
            "MaxResults=100",
            "RegionId=cn-hangzhou",
            "VpcId=vpc-1",
        ]
    );
}

fn interfaces() -> Value {
    json!({"NetworkInterfaceSets": {"NetworkInterfaceSet": [{
        "NetworkInterfaceId": "eni-1", "InstanceId": "i-1", "Type": "Primary", "SourceDestCheck": true,
        "PrivateIpAddress": "10.0.0.1",
        "PrivateIpSets": {"PrivateIpSet": [
            {"PrivateIpAddress": "10.0.0.1", "Primary": true}, {"PrivateIpAddress": "10.0.0.9", "Primary": false}
        ]},
        "Ipv6Sets": {"Ipv6Set": [{"Ipv6Address": "fd00::1"}]}
    }]}})
}

#[tokio::test(start_paused = true)]
async fn interfaces_by_id() {
    let script = Script::default();
    script.answer(200, &interfaces());
    let found = script.cloud().network_interfaces(&region(), &["eni-1".into(), "eni-2".into()]).await.unwrap();
    assert_eq!(
        script.only(),
        [
            "Action=DescribeNetworkInterfaces",
            "MaxResults=100",
            "NetworkInterfaceId.1=eni-1",
            "NetworkInterfaceId.2=eni-2",
            "RegionId=cn-hangzhou",
        ]
    );
    assert_eq!(
        found,
        [NetworkInterface {
            id: "eni-1".into(),
            instance: Some("i-1".into()),
            primary: true,
            source_destination_check: Some(true),
            addresses: ["10.0.0.1", "10.0.0.9", "fd00::1"].map(|text| text.parse().unwrap()).to_vec(),
        }]
    );
}

#[tokio::test(start_paused = true)]
async fn interfaces_by_address() {
    let script = Script::default();
    script.answer(200, &interfaces()).answer(200, &interfaces());
    let addresses = ["fd00::1".parse().unwrap(), "10.0.0.9".parse().unwrap()];
    assert_eq!(script.cloud().network_interfaces_by_address(&addresses).await.unwrap().len(), 1);
    assert_eq!(
        script.lines(0),
        [
            "Action=DescribeNetworkInterfaces",
            "MaxResults=100",
            "PrivateIpAddress.1=10.0.0.9",
            "RegionId=cn-hangzhou",
            "Status=InUse",
            "VpcId=vpc-1",
        ]
    );
    assert_eq!(script.params(1)["Ipv6Address.1"], "fd00::1");
}

#[tokio::test(start_paused = true)]
async fn forwarding_is_allowed_on_an_interface() {
    let script = Script::default();
    script.answer(200, &json!({"RequestId": "R"}));
    script.cloud().disable_source_destination_check(&region(), &"eni-1".into()).await.unwrap();
    assert_eq!(
        script.only(),
        [
            "Action=ModifyNetworkInterfaceAttribute",
            "NetworkInterfaceId=eni-1",
            "RegionId=cn-hangzhou",
            "SourceDestCheck=false",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_instance_with_odd_parts_spoils_no_other() {
    let script = Script::default();
    let odd = json!({
        "InstanceId": "i-2", "Status": "Hibernating", "VpcAttributes": null, "EipAddress": null, "Tags": { "Tag": [{ "TagKey": null }] },
        "PublicIpAddress": { "IpAddress": [null, "nonsense"] }, "InnerIpAddress": null, "ZoneId": null, "InstanceType": null,
        "NetworkInterfaces": { "NetworkInterface": [{ "NetworkInterfaceId": null, "Type": "Primary", "Ipv6Sets": null }] },
    });
    let mut reply = instances(&["i-1"]);
    reply["Instances"]["Instance"].as_array_mut().unwrap().push(odd);
    script.answer(200, &reply);
    let found = script.cloud().instances(&region(), &ids(&["i-1", "i-2"])).await.unwrap();
    assert_eq!(found.len(), 2);
    let odd = found.iter().find(|instance| instance.id.as_str() == "i-2").unwrap();
    assert_eq!(odd.status, InstanceStatus::Other("Hibernating".to_owned()));
    assert!(odd.private_addresses.is_empty() && odd.public_addresses.is_empty() && odd.primary_interface.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_primary_interfaces_primary_address_comes_first() {
    let script = Script::default();
    let interface = |id: &str, kind: &str, address: &str| json!({ "NetworkInterfaceId": id, "Type": kind, "PrimaryIpAddress": address });
    script.answer(
        200,
        &json!({ "Instances": { "Instance": [{
            "InstanceId": "i-1",
            "VpcAttributes": { "PrivateIpAddress": { "IpAddress": ["10.0.0.9", "10.0.0.7", "10.0.0.5"] } },
            "NetworkInterfaces": { "NetworkInterface": [
                interface("eni-2", "Secondary", "10.0.0.7"), interface("eni-3", "Secondary", "10.0.0.9"),
                interface("eni-1", "Primary", "10.0.0.5"),
            ] },
        }] } }),
    );
    let found = script.cloud().instances(&region(), &ids(&["i-1"])).await.unwrap().remove(0);
    assert_eq!(found.private_addresses[0].to_string(), "10.0.0.5");
    assert_eq!(found.primary_interface.unwrap().as_str(), "eni-1");
}

#[tokio::test(start_paused = true)]
async fn no_answer_whatever_upsets_the_reading() {
    for seed in 0..500 {
        let (script, entropy) = (Script::default(), Entropy::seeded(seed));
        let (one, other) = (maimed(&instances(&["i-1", "i-2"]), &entropy), maimed(&interfaces(), &entropy));
        for answer in [&one, &one, &other, &other] {
            script.answer(200, answer);
        }
        if let Ok(found) = script.cloud().instances(&region(), &ids(&["i-1", "i-2"])).await {
            assert!(found.len() <= 2, "seed {seed}");
        }
        let script = Script::default();
        script.answer(200, &other).answer(200, &other);
        if let Ok(found) = script.cloud().network_interfaces(&region(), &["eni-1".into()]).await {
            assert!(found.len() <= 1, "seed {seed}");
        }
    }
}
