use super::Client;
use crate::sim::cloud::{Delays, Options, World};

const NODE: (&str, &str) = ("InstanceId", "i-bp1node0001");
const VPC: (&str, &str) = ("VpcId", "vpc-bp1sim");

#[tokio::test(start_paused = true)]
async fn an_address_goes_to_one_interface_and_a_refused_interface_takes_none() {
    let client = Client::new();
    let vswitch = ("VSwitchId", "vsw-bp1simh");
    let taken = [vswitch, ("PrimaryIpAddress", "10.0.0.77")];
    client.ok("ecs.CreateNetworkInterface", &taken).await;
    let code = "InvalidOperation.AddressAlreadyAllocated";
    client.refused("ecs.CreateNetworkInterface", &taken, code).await;
    let both = [vswitch, ("PrimaryIpAddress", "10.0.0.78"), ("PrivateIpAddress.1", "10.0.0.77")];
    client.refused("ecs.CreateNetworkInterface", &both, code).await;
    client.refused("ecs.CreateNetworkInterface", &[vswitch, ("PrimaryIpAddress", "10.9.0.1")], code).await;
    client.ok("ecs.CreateNetworkInterface", &both[..2]).await;
}

#[tokio::test(start_paused = true)]
async fn an_interface_belongs_to_instances_of_its_own_vpc() {
    let mut world = World::with_nodes(1);
    let (mut vpc, mut vswitch) = (world.vpcs[0].clone(), world.vswitches[0].clone());
    vpc.id = "vpc-other".to_owned();
    vpc.router = "vrt-other".to_owned();
    vswitch.id = "vsw-other".to_owned();
    vswitch.vpc.clone_from(&vpc.id);
    world.vpcs.push(vpc);
    world.vswitches.push(vswitch);
    let client = Client::with(world, Options { delays: Delays::none(), ..Options::default() });
    let id = client.ok("ecs.CreateNetworkInterface", &[("VSwitchId", "vsw-other")]).await.text("/NetworkInterfaceId");
    let pair = [("NetworkInterfaceId", id.as_str()), NODE];
    client.refused("ecs.AttachNetworkInterface", &pair, "InvalidEni.NotSameVpc").await;
    assert_eq!(client.cloud.instances()[0].interfaces.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_interface_is_detached_only_from_the_instance_that_has_it() {
    let client = Client::new();
    let created = client.ok("ecs.CreateNetworkInterface", &[("VSwitchId", "vsw-bp1simh")]).await;
    let id = created.text("/NetworkInterfaceId");
    let interface = ("NetworkInterfaceId", id.as_str());
    let code = "InvalidParameter.EniNotBelongEcs";
    client.refused("ecs.DetachNetworkInterface", &[interface, NODE], code).await;
    client.ok("ecs.AttachNetworkInterface", &[interface, NODE]).await;
    client.refused("ecs.DetachNetworkInterface", &[interface, ("InstanceId", "i-bp1node0002")], code).await;
    client.ok("ecs.DetachNetworkInterface", &[interface, NODE]).await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_cannot_be_deleted_before_it_is_terminated() {
    let client = Client::new();
    client.cloud.with_state(|state| {
        state.ecs.instances.get_mut(NODE.1).unwrap().charge_type = "PrePaid".to_owned();
    });
    let delete = [NODE, ("Force", "true"), ("TerminateSubscription", "true")];
    client.refused("ecs.DeleteInstance", &delete[..2], "ChargeTypeViolation").await;
    assert_eq!(client.cloud.instances().len(), 3);
    client.ok("ecs.DeleteInstance", &delete).await;
    assert_eq!(client.cloud.instances().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_description_asks_for_something_and_not_for_too_much() {
    let client = Client::new();
    let ids: Vec<(String, String)> =
        (1..=101).map(|index| (format!("InstanceId.{index}"), format!("i-{index}"))).collect();
    let ids: Vec<(&str, &str)> = ids.iter().map(|(name, id)| (name.as_str(), id.as_str())).collect();
    client.refused("ecs.DescribeInstanceStatus", &ids, "InvalidParameter.TooManyInstanceIds").await;
    client.ok("ecs.DescribeInstanceStatus", &ids[..100]).await;
    client.refused("ecs.DescribeInstanceRamRole", &[], "InvalidParameter.AllEmpty").await;
    client.ok("ecs.DescribeInstanceRamRole", &[("RamRoleName", "worker")]).await;
}

#[tokio::test(start_paused = true)]
async fn a_malformed_rule_is_named_and_not_added() {
    let client = Client::new();
    let id = client.ok("ecs.CreateSecurityGroup", &[VPC]).await.text("/SecurityGroupId");
    let group = ("SecurityGroupId", id.as_str());
    for (protocol, field, value, code) in [
        ("SCTP", "PortRange", "80/80", "InvalidIpProtocol.ValueNotSupported"),
        ("", "PortRange", "80/80", "InvalidIpProtocol.ValueNotSupported"),
        ("TCP", "Priority", "0", "InvalidPriority.ValueNotSupported"),
        ("TCP", "Priority", "101", "InvalidPriority.ValueNotSupported"),
        ("TCP", "Policy", "reject", "InvalidPolicy.Malformed"),
        ("TCP", "PortRange", "80", "InvalidParam.PortRange"),
        ("TCP", "PortRange", "http/https", "InvalidParam.PortRange"),
    ] {
        let rule = [group, ("IpProtocol", protocol), (field, value)];
        client.refused("ecs.AuthorizeSecurityGroup", &rule, code).await;
    }
    let shown = client.ok("ecs.DescribeSecurityGroupAttribute", &[group]).await;
    assert!(shown.list("/Permissions/Permission").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_full_group_takes_no_more_rules() {
    let client = Client::new();
    let id = client.ok("ecs.CreateSecurityGroup", &[VPC]).await.text("/SecurityGroupId");
    let mut rules = vec![("SecurityGroupId".to_owned(), id)];
    for index in 1..=201 {
        rules.push((format!("Permissions.{index}.IpProtocol"), "TCP".to_owned()));
        rules.push((format!("Permissions.{index}.PortRange"), format!("{index}/{index}")));
    }
    let rules: Vec<(&str, &str)> = rules.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    client.refused("ecs.AuthorizeSecurityGroup", &rules, "AuthorizationLimitExceed").await;
    client.ok("ecs.AuthorizeSecurityGroup", &rules[..401]).await;
    client.refused("ecs.AuthorizeSecurityGroup", &rules, "AuthorizationLimitExceed").await;
    client.ok("ecs.AuthorizeSecurityGroup", &rules[..3]).await;
    let shown = client.ok("ecs.DescribeSecurityGroupAttribute", &rules[..1]).await;
    assert_eq!(shown.list("/Permissions/Permission").len(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_group_of_another_product_cannot_be_changed() {
    let client = Client::new();
    let id = client.ok("ecs.CreateSecurityGroup", &[VPC, ("ServiceManaged", "true")]).await.text("/SecurityGroupId");
    let group = ("SecurityGroupId", id.as_str());
    let rule = [group, ("IpProtocol", "TCP"), ("PortRange", "80/80")];
    let code = "InvalidOperation.ResourceManagedByCloudProduct";
    client.refused("ecs.AuthorizeSecurityGroup", &rule, code).await;
    client.refused("ecs.RevokeSecurityGroup", &rule, code).await;
    client.refused("ecs.ModifySecurityGroupAttribute", &[group, ("SecurityGroupName", "mine")], code).await;
    client.refused("ecs.DeleteSecurityGroup", &[group], code).await;
    assert_eq!(client.ok("ecs.DescribeSecurityGroups", &[group]).await.body["TotalCount"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_member_joins_a_group_once_and_leaves_it_once() {
    let client = Client::new();
    let id = client.ok("ecs.CreateSecurityGroup", &[VPC]).await.text("/SecurityGroupId");
    let interface = client.cloud.instances()[0].interfaces[0].clone();
    for member in [NODE, ("NetworkInterfaceId", interface.as_str())] {
        let pair = [("SecurityGroupId", id.as_str()), member];
        client.refused("ecs.LeaveSecurityGroup", &pair, "InstanceNotInSecurityGroup").await;
        client.ok("ecs.JoinSecurityGroup", &pair).await;
        client.refused("ecs.JoinSecurityGroup", &pair, "InvalidInstanceId.AlreadyExists").await;
        client.ok("ecs.LeaveSecurityGroup", &pair).await;
        client.refused("ecs.LeaveSecurityGroup", &pair, "InstanceNotInSecurityGroup").await;
    }
}

#[tokio::test(start_paused = true)]
async fn tags_go_to_all_of_the_resources_or_to_none() {
    let client = Client::new();
    let code = "InvalidResourceId.NotFound";
    let tag = [("Tag.1.Key", "a"), ("Tag.1.Value", "b")];
    for kind in ["instance", "eni", "securitygroup"] {
        let resource = [("ResourceType", kind), ("ResourceId.1", "none")];
        client.refused("ecs.TagResources", &[&resource[..], &tag].concat(), code).await;
        client.refused("ecs.UntagResources", &[&resource[..], &[("TagKey.1", "a")]].concat(), code).await;
    }
    let resources = [("ResourceType", "instance"), ("ResourceId.1", NODE.1), ("ResourceId.2", "i-none")];
    client.refused("ecs.TagResources", &[&resources[..], &tag].concat(), code).await;
    assert!(client.cloud.instances().iter().all(|instance| instance.tags.is_empty()));
}
