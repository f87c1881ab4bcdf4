use serde_json::json;

use super::Client;
use crate::sim::cloud::{Options, World, ecs::InstanceStatus};

#[tokio::test(start_paused = true)]
async fn instances_are_found_by_id_address_tag_and_name() {
    let client = Client::new();
    client.cloud.with_state(|state| {
        let instance = state.ecs.instances.get_mut("i-bp1node0002").unwrap();
        instance.tags.insert("cluster".to_owned(), "c1".to_owned());
        instance.name = "worker-2".to_owned();
    });
    let found = async |params: &[(&str, &str)]| -> Vec<String> {
        let answer = client.ok("ecs.DescribeInstances", params).await;
        let list = answer.list("/Instances/Instance");
        list.iter().map(|instance| instance["InstanceId"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(found(&[]).await.len(), 3);
    let ids = json!(["i-bp1node0003", "i-unknown", "i-bp1node0001"]).to_string();
    assert_eq!(found(&[("InstanceIds", &ids), ("MaxResults", "100")]).await, ["i-bp1node0001", "i-bp1node0003"]);
    assert_eq!(found(&[("PrivateIpAddresses", "[\"10.0.32.1\"]")]).await, ["i-bp1node0002"]);
    assert_eq!(found(&[("Tag.1.Key", "cluster")]).await, ["i-bp1node0002"]);
    assert!(found(&[("Tag.1.Key", "cluster"), ("Tag.1.Value", "c2")]).await.is_empty());
    assert_eq!(found(&[("InstanceName", "worker*")]).await, ["i-bp1node0002"]);
    assert!(found(&[("VpcId", "vpc-other")]).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn pages_follow_the_token_to_the_end() {
    let client = Client::with(World::with_nodes(250), Options::default());
    let (mut seen, mut token) = (0, String::new());
    for page in 1.. {
        let answer = client.ok("ecs.DescribeInstances", &[("MaxResults", "100"), ("NextToken", &token)]).await;
        seen += answer.list("/Instances/Instance").len();
        token = answer.text("/NextToken");
        if token.is_empty() {
            assert_eq!(page, 3);
            break;
        }
    }
    assert_eq!(seen, 250);
    client.refused("ecs.DescribeInstances", &[("MaxResults", "101")], "InvalidParameter").await;
}

#[tokio::test(start_paused = true)]
async fn a_stopping_instance_is_stopped_after_a_while() {
    let client = Client::slow();
    assert!(client.cloud.stop_instance("i-bp1node0001"));
    let status = async || {
        let answer = client.ok("ecs.DescribeInstances", &[("InstanceIds", "[\"i-bp1node0001\"]")]).await;
        answer.text("/Instances/Instance/0/Status")
    };
    assert_eq!(status().await, "Stopping");
    client.wait(2_000).await;
    assert_eq!(status().await, "Stopped");
    client.cloud.set_instance_status("i-bp1node0001", InstanceStatus::Running);
    assert_eq!(status().await, "Running");
    client.cloud.remove_instance("i-bp1node0001");
    let answer = client.ok("ecs.DescribeInstances", &[("InstanceIds", "[\"i-bp1node0001\"]")]).await;
    assert_eq!(answer.body["TotalCount"], 0);
}

#[tokio::test(start_paused = true)]
async fn the_source_check_of_an_interface_can_be_switched_off() {
    let client = Client::new();
    let by_address = &[("PrivateIpAddress.1", "10.0.0.1"), ("VpcId", "vpc-bp1sim"), ("Status", "InUse")];
    let answer = client.ok("ecs.DescribeNetworkInterfaces", by_address).await;
    let id = answer.text("/NetworkInterfaceSets/NetworkInterfaceSet/0/NetworkInterfaceId");
    assert_eq!(answer.body["NetworkInterfaceSets"]["NetworkInterfaceSet"][0]["SourceDestCheck"], true);
    let change = &[("NetworkInterfaceId", id.as_str()), ("SourceDestCheck", "False")];
    client.ok("ecs.ModifyNetworkInterfaceAttribute", change).await;
    client.ok("ecs.ModifyNetworkInterfaceAttribute", change).await;
    let changed: Vec<bool> = client.cloud.calls().iter().skip(1).map(|call| call.changed).collect();
    assert_eq!(changed, [true, false], "a change that changes nothing is not a change");
    let answer = client.ok("ecs.DescribeNetworkInterfaces", &[("NetworkInterfaceId.1", &id)]).await;
    assert_eq!(answer.body["NetworkInterfaceSets"]["NetworkInterfaceSet"][0]["SourceDestCheck"], false);
    let unknown = &[("NetworkInterfaceId", "eni-none")];
    client.refused("ecs.ModifyNetworkInterfaceAttribute", unknown, "InvalidEniId.NotFound").await;
}

#[tokio::test(start_paused = true)]
async fn interfaces_come_go_and_move_between_instances() {
    let client = Client::new();
    let create =
        [("VSwitchId", "vsw-bp1simh"), ("PrimaryIpAddress", "10.0.0.77"), ("SecondaryPrivateIpAddressCount", "2")];
    let created = client.ok("ecs.CreateNetworkInterface", &create).await;
    assert_eq!(created.list("/PrivateIpSets/PrivateIpSet").len(), 3);
    let id = created.text("/NetworkInterfaceId");
    let pair = [("NetworkInterfaceId", id.as_str()), ("InstanceId", "i-bp1node0001")];
    client
        .refused(
            "ecs.AttachNetworkInterface",
            &[pair[0], ("InstanceId", "i-bp1node0002")],
            "InvalidOperation.AvailabilityZoneMismatch",
        )
        .await;
    client.ok("ecs.AttachNetworkInterface", &pair).await;
    client.refused("ecs.AttachNetworkInterface", &pair, "InvalidOperation.InvalidEniState").await;
    let shown = client.ok("ecs.DescribeInstances", &[("InstanceIds", "[\"i-bp1node0001\"]")]).await;
    assert_eq!(shown.list("/Instances/Instance/0/NetworkInterfaces/NetworkInterface").len(), 2);
    client.refused("ecs.DeleteNetworkInterface", &pair[..1], "InvalidOperation.InvalidEniState").await;
    client.ok("ecs.DetachNetworkInterface", &pair).await;
    client.ok("ecs.DeleteNetworkInterface", &pair[..1]).await;
    let primary = client.cloud.instances()[0].interfaces[0].clone();
    let pair = [("NetworkInterfaceId", primary.as_str()), ("InstanceId", "i-bp1node0001")];
    client.refused("ecs.DetachNetworkInterface", &pair, "InvalidOperation.DetachPrimaryEniNotAllowed").await;
}

#[tokio::test(start_paused = true)]
async fn instances_are_described_tagged_given_roles_and_deleted() {
    let client = Client::new();
    let id = ("InstanceId", "i-bp1node0001");
    assert_eq!(
        client
            .ok("ecs.DescribeInstanceStatus", &[("InstanceId.1", id.1)])
            .await
            .text("/InstanceStatuses/InstanceStatus/0/Status"),
        "Running"
    );
    assert_eq!(client.ok("ecs.DescribeInstanceAttribute", &[id]).await.text("/IoOptimized"), "optimized");
    assert_eq!(
        client.ok("ecs.DescribeInstanceTypes", &[]).await.text("/InstanceTypes/InstanceType/0/InstanceTypeId"),
        "ecs.g7.xlarge"
    );
    let ids = ("InstanceIds", "[\"i-bp1node0001\",\"i-none\"]");
    let attached = client.ok("ecs.AttachInstanceRamRole", &[ids, ("RamRoleName", "worker")]).await;
    assert_eq!(attached.body["FailCount"], 1);
    assert_eq!(
        client
            .ok("ecs.DescribeInstanceRamRole", &[ids])
            .await
            .text("/InstanceRamRoleSets/InstanceRamRoleSet/0/RamRoleName"),
        "worker"
    );
    let resource = [("ResourceType", "instance"), ("ResourceId.1", id.1)];
    client.ok("ecs.TagResources", &[resource[0], resource[1], ("Tag.1.Key", "a"), ("Tag.1.Value", "b")]).await;
    assert_eq!(client.ok("ecs.ListTagResources", &resource).await.text("/TagResources/TagResource/0/TagValue"), "b");
    client.ok("ecs.UntagResources", &[resource[0], resource[1], ("All", "true")]).await;
    client
        .refused(
            "ecs.TagResources",
            &[("ResourceType", "disk"), resource[1], ("Tag.1.Key", "a"), ("Tag.1.Value", "b")],
            "InvalidResourceType.NotFound",
        )
        .await;
    client.refused("ecs.DeleteInstance", &[id], "IncorrectInstanceStatus").await;
    client.cloud.set_instance_status(id.1, InstanceStatus::Stopped);
    client.ok("ecs.DeleteInstance", &[id]).await;
    client.refused("ecs.DeleteInstance", &[id], "InvalidInstanceId.NotFound").await;
}
