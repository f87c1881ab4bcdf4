use super::Client;
use crate::sim::cloud::{Delays, Options, Quotas, World};

const NODE: (&str, &str) = ("InstanceId", "i-bp1node0001");
const TABLE: (&str, &str) = ("RouteTableId", "vtb-bp1sim");
const VPC: (&str, &str) = ("VpcId", "vpc-bp1sim");

/// A cloud with two VPCs, of which the second has one vswitch and no instances.
fn two_networks(quotas: Quotas) -> Client {
    let mut world = World::with_nodes(1);
    let (mut vpc, mut vswitch) = (world.vpcs[0].clone(), world.vswitches[0].clone());
    vpc.id = "vpc-other".to_owned();
    vpc.router = "vrt-other".to_owned();
    vswitch.id = "vsw-other".to_owned();
    vswitch.vpc.clone_from(&vpc.id);
    world.vpcs.push(vpc);
    world.vswitches.push(vswitch);
    Client::with(world, Options { quotas, delays: Delays::none(), ..Options::default() })
}

#[tokio::test(start_paused = true)]
async fn each_vpc_has_so_many_custom_tables() {
    let client = two_networks(Quotas { route_tables: Some(1), ..Quotas::default() });
    client.ok("vpc.CreateRouteTable", &[VPC]).await;
    client.refused("vpc.CreateRouteTable", &[VPC], "QuotaExceeded.RouteTable").await;
    client.ok("vpc.CreateRouteTable", &[("VpcId", "vpc-other")]).await;
}

#[tokio::test(start_paused = true)]
async fn a_table_serves_vswitches_of_its_own_vpc() {
    let client = two_networks(Quotas::default());
    let id = client.ok("vpc.CreateRouteTable", &[VPC]).await.text("/RouteTableId");
    let (table, vswitch) = (("RouteTableId", id.as_str()), ("VSwitchId", "vsw-other"));
    client.refused("vpc.AssociateRouteTable", &[table, vswitch], "Forbidden.NotInSameVpc").await;
    let shown = client.ok("vpc.DescribeVSwitches", &[vswitch]).await;
    assert_eq!(shown.text("/VSwitches/VSwitch/0/RouteTable/RouteTableId"), "vtb-other");
}

#[tokio::test(start_paused = true)]
async fn a_vswitch_cannot_be_taken_from_the_system_table() {
    let client = Client::new();
    let pair = [TABLE, ("VSwitchId", "vsw-bp1simh")];
    client.refused("vpc.UnassociateRouteTable", &pair, "OperationUnsupported.SystemRouteTable").await;
}

#[tokio::test(start_paused = true)]
async fn what_is_not_simulated_says_so() {
    let client = Client::new();
    let code = "UnsupportedOperation";
    client.refused("vpc.CreateRouteTable", &[VPC, ("AssociateType", "Gateway")], code).await;
    let destination = ("DestinationCidrBlock", "172.16.1.0/24");
    let hop = ("NextHopList.1.NextHopId", NODE.1);
    client.refused("vpc.CreateRouteEntry", &[TABLE, destination, hop], code).await;
    let gateway = [("ResourceType", "NATGATEWAY"), ("ResourceId.1", "ngw-1")];
    client.refused("vpc.TagResources", &[gateway[0], gateway[1], ("Tag.1.Key", "a"), ("Tag.1.Value", "b")], code).await;
    client.refused("vpc.UnTagResources", &[gateway[0], gateway[1], ("TagKey.1", "a")], code).await;
    client.refused("vpc.ListTagResources", &gateway, code).await;
}

#[tokio::test(start_paused = true)]
async fn an_elastic_address_goes_to_an_instance_that_exists_and_has_none() {
    let client = Client::new();
    let first = client.ok("vpc.AllocateEipAddress", &[]).await.text("/AllocationId");
    let second = client.ok("vpc.AllocateEipAddress", &[]).await.text("/AllocationId");
    let (first, second) = (("AllocationId", first.as_str()), ("AllocationId", second.as_str()));
    let nat = [first, ("InstanceId", "ngw-1"), ("InstanceType", "Nat")];
    client.refused("vpc.AssociateEipAddress", &nat, "InvalidInstanceType.ValueNotSupported").await;
    for kind in ["EcsInstance", "NetworkInterface", "SlbInstance"] {
        let unknown = [first, ("InstanceId", "none"), ("InstanceType", kind)];
        client.refused("vpc.AssociateEipAddress", &unknown, "InvalidInstance.NotExist").await;
    }
    client.ok("vpc.AssociateEipAddress", &[first, NODE]).await;
    client.refused("vpc.AssociateEipAddress", &[second, NODE], "InvalidAssociation.Duplicated").await;
    client.ok("vpc.AssociateEipAddress", &[second, ("InstanceId", "i-bp1node0002")]).await;
}

#[tokio::test(start_paused = true)]
async fn a_route_needs_a_next_hop_of_a_known_kind() {
    let client = Client::new();
    let route =
        [TABLE, ("DestinationCidrBlock", "172.16.1.0/24"), ("NextHopId", NODE.1), ("NextHopType", "NatGateway")];
    client.refused("vpc.CreateRouteEntry", &route[..2], "InvalidNexthopTypeAndList.BothNull").await;
    client.refused("vpc.CreateRouteEntry", &route, "OperationFailed.InvalidNextHopType").await;
    assert!(client.cloud.routes(TABLE.1).is_empty());
    client.ok("vpc.CreateRouteEntry", &route[..3]).await;
}

#[tokio::test(start_paused = true)]
async fn a_system_entry_cannot_be_deleted_or_changed_by_its_id() {
    let client = Client::new();
    let system = [TABLE, ("RouteEntryType", "System")];
    let shown = client.ok("vpc.DescribeRouteEntryList", &system).await;
    let id = shown.text("/RouteEntrys/RouteEntry/0/RouteEntryId");
    for id in [id.as_str(), "rte-none"] {
        let entry = ("RouteEntryId", id);
        client.refused("vpc.DeleteRouteEntry", &[entry], "InvalidRouteEntryId.NotFound").await;
        client.refused("vpc.ModifyRouteEntry", &[entry, ("Description", "x")], "InvalidRouteEntryId.NotFound").await;
    }
    assert_eq!(client.ok("vpc.DescribeRouteEntryList", &system).await.body["TotalCount"], shown.body["TotalCount"]);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_table_or_vswitch_is_not_taken_for_an_empty_one() {
    let client = Client::new();
    let table = [("RouteTableId", "vtb-none")];
    client.refused("vpc.DescribeRouteEntryList", &table, "InvalidRouteTable.NotFound").await;
    let check = "vpc.CheckCanAllocateVpcPrivateIpAddress";
    let unknown = [("VSwitchId", "vsw-none"), ("PrivateIpAddress", "10.0.0.9")];
    client.refused(check, &unknown, "ResourceNotFound.VSwitchId").await;
    let malformed = [("VSwitchId", "vsw-bp1simh"), ("PrivateIpAddress", "10.0.0")];
    client.refused(check, &malformed, "IllegalParam.PrivateIpAddress").await;
}

#[tokio::test(start_paused = true)]
async fn tags_go_to_all_of_the_resources_or_to_none() {
    let client = Client::new();
    let code = "InvalidInstanceIds.NotFound";
    let tag = [("Tag.1.Key", "a"), ("Tag.1.Value", "b")];
    for kind in ["VPC", "VSWITCH", "ROUTETABLE", "EIP"] {
        let resource = [("ResourceType", kind), ("ResourceId.1", "none")];
        client.refused("vpc.TagResources", &[&resource[..], &tag].concat(), code).await;
        client.refused("vpc.UnTagResources", &[&resource[..], &[("TagKey.1", "a")]].concat(), code).await;
        client.refused("vpc.ListTagResources", &resource[..1], "BothEmpty.TagsAndResources").await;
    }
    let resources = [("ResourceType", "VPC"), ("ResourceId.1", VPC.1), ("ResourceId.2", "vpc-none")];
    client.refused("vpc.TagResources", &[&resources[..], &tag].concat(), code).await;
    let shown = client.ok("vpc.ListTagResources", &resources[..2]).await;
    assert!(shown.list("/TagResources/TagResource").is_empty());
}
