use super::Client;
use crate::sim::cloud::{Delays, Options, Quotas, World, vpc::RouteStatus};

const TABLE: (&str, &str) = ("RouteTableId", "vtb-bp1sim");

fn route<'a>(destination: &'a str, hop: &'a str) -> [(&'a str, &'a str); 4] {
    [TABLE, ("DestinationCidrBlock", destination), ("NextHopId", hop), ("NextHopType", "Instance")]
}

#[tokio::test(start_paused = true)]
async fn a_route_is_pending_before_it_is_available_and_the_vpc_is_busy_meanwhile() {
    let client = Client::slow();
    client.ok("vpc.CreateRouteEntry", &route("172.16.1.0/24", "i-bp1node0001")).await;
    assert_eq!(client.cloud.routes("vtb-bp1sim")[0].status, RouteStatus::Pending);
    let second = route("172.16.2.0/24", "i-bp1node0002");
    client.refused("vpc.CreateRouteEntry", &second, "TaskConflict").await;
    client.wait(200).await;
    assert_eq!(client.cloud.routes("vtb-bp1sim")[0].status, RouteStatus::Available);
    client.ok("vpc.CreateRouteEntry", &second).await;
    client.wait(200).await;
    client.ok("vpc.DeleteRouteEntry", &second[..3]).await;
    assert_eq!(client.cloud.routes("vtb-bp1sim").len(), 2, "still being deleted");
    client.wait(200).await;
    assert_eq!(client.cloud.routes("vtb-bp1sim").len(), 1);
    client.refused("vpc.DeleteRouteEntry", &second[..3], "InvalidRouteEntry.NotFound").await;
}

#[tokio::test(start_paused = true)]
async fn wrong_destinations_and_next_hops_are_refused() {
    let client = Client::new();
    client.ok("vpc.CreateRouteEntry", &route("172.16.1.0/24", "i-bp1node0001")).await;
    for (destination, hop, code) in [
        ("172.16.1.0/24", "i-bp1node0002", "InvalidCIDRBlock.Duplicate"),
        ("172.16.1", "i-bp1node0002", "InvalidCidrBlock.Malformed"),
        ("172.16.1.1/24", "i-bp1node0002", "InvalidCidrBlock.Malformed"),
        ("100.64.3.0/24", "i-bp1node0002", "InvalidDestinationCidrBlock"),
        ("10.0.1.0/24", "i-bp1node0002", "OperationUnsupported.DestinationCidrBlockOverlapWithVSwitch"),
        ("172.16.9.0/24", "i-none", "InvalidNextHopId.NotFound"),
    ] {
        client.refused("vpc.CreateRouteEntry", &route(destination, hop), code).await;
    }
    let table = [("RouteTableId", "vtb-0"), ("DestinationCidrBlock", "172.16.5.0/24"), ("NextHopId", "i-bp1node0001")];
    client.refused("vpc.CreateRouteEntry", &table, "InvalidRouteTableId.NotFound").await;
}

#[tokio::test(start_paused = true)]
async fn a_batch_answers_for_each_entry() {
    let client = Client::new();
    client.ok("vpc.CreateRouteEntry", &route("172.16.1.0/24", "i-bp1node0001")).await;
    let mut params = Vec::new();
    for (index, destination, hop) in [
        ("1", "172.16.1.0/24", "i-bp1node0002"),
        ("2", "172.16.2.0/24", "i-bp1node0002"),
        ("3", "172.16.3.0/24", "i-none"),
    ] {
        for (name, value) in [
            ("RouteTableId", "vtb-bp1sim"),
            ("DstCidrBlock", destination),
            ("NextHop", hop),
            ("NextHopType", "Instance"),
        ] {
            params.push((format!("RouteEntries.{index}.{name}"), value));
        }
    }
    let params: Vec<(&str, &str)> = params.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let answer = client.ok("vpc.CreateRouteEntries", &params).await;
    assert_eq!((&answer.body["SuccessCount"], &answer.body["FailedCount"]), (&1.into(), &2.into()));
    assert_eq!(answer.text("/FailedRouteEntries/0/FailedCode"), "VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE");
    assert_eq!(answer.list("/RouteEntryIds").len(), 1);
    let delete: Vec<(&str, &str)> = params.iter().filter(|(name, _)| !name.ends_with("NextHopType")).copied().collect();
    let answer = client.ok("vpc.DeleteRouteEntries", &delete).await;
    assert_eq!((&answer.body["SuccessCount"], &answer.body["FailedCount"]), (&1.into(), &2.into()));
    assert_eq!(answer.text("/FailedRouteEntries/1/FailedCode"), "VPC_ROUTER_ENTRY_NOT_EXIST");
}

#[tokio::test(start_paused = true)]
async fn the_table_is_read_in_pages_and_filtered() {
    let client = Client::new();
    for index in 0..25 {
        client.ok("vpc.CreateRouteEntry", &route(&format!("172.16.{index}.0/24"), "i-bp1node0001")).await;
    }
    let custom = ("RouteEntryType", "Custom");
    let first = client.ok("vpc.DescribeRouteEntryList", &[TABLE, custom, ("MaxResult", "20")]).await;
    assert_eq!((first.list("/RouteEntrys/RouteEntry").len(), &first.body["TotalCount"]), (20, &25.into()));
    let token = first.text("/NextToken");
    let second =
        client.ok("vpc.DescribeRouteEntryList", &[TABLE, custom, ("MaxResult", "20"), ("NextToken", &token)]).await;
    assert_eq!(second.list("/RouteEntrys/RouteEntry").len(), 5);
    assert!(second.body.get("NextToken").is_none());
    let system = client.ok("vpc.DescribeRouteEntryList", &[TABLE, ("RouteEntryType", "System")]).await;
    assert_eq!(system.body["TotalCount"], 4);
    let one = client.ok("vpc.DescribeRouteEntryList", &[TABLE, ("DestinationCidrBlock", "172.16.7.0/24")]).await;
    assert_eq!(one.text("/RouteEntrys/RouteEntry/0/NextHops/NextHop/0/NextHopId"), "i-bp1node0001");
}

#[tokio::test(start_paused = true)]
async fn a_full_table_takes_no_more() {
    let quotas = Quotas { route_entries: Some(1), ..Quotas::default() };
    let client = Client::with(World::with_nodes(1), Options { quotas, delays: Delays::none(), ..Options::default() });
    client.ok("vpc.CreateRouteEntry", &route("172.16.1.0/24", "i-bp1node0001")).await;
    client.refused("vpc.CreateRouteEntry", &route("172.16.2.0/24", "i-bp1node0001"), "QuotaExceeded").await;
}

#[tokio::test(start_paused = true)]
async fn networks_vswitches_and_tables_are_described() {
    let client = Client::new();
    let vpc = ("VpcId", "vpc-bp1sim");
    assert_eq!(client.ok("vpc.DescribeVpcAttribute", &[vpc]).await.text("/CidrBlock"), "10.0.0.0/16");
    assert_eq!(client.ok("vpc.DescribeVpcs", &[vpc]).await.body["TotalCount"], 1);
    assert_eq!(client.ok("vpc.DescribeVSwitches", &[vpc]).await.body["TotalCount"], 3);
    let tables = client.ok("vpc.DescribeRouteTableList", &[vpc]).await;
    assert_eq!(tables.text("/RouterTableList/RouterTableListType/0/RouteTableId"), "vtb-bp1sim");
    client.refused("vpc.DescribeVpcAttribute", &[("VpcId", "vpc-0")], "InvalidVpcId.NotFound").await;
}

#[tokio::test(start_paused = true)]
async fn an_elastic_address_goes_through_its_states() {
    let client = Client::slow();
    let allocated = client.ok("vpc.AllocateEipAddress", &[("Bandwidth", "10")]).await;
    let id = allocated.text("/AllocationId");
    let eip = ("AllocationId", id.as_str());
    let status = async || client.ok("vpc.DescribeEipAddresses", &[eip]).await.text("/EipAddresses/EipAddress/0/Status");
    client.ok("vpc.AssociateEipAddress", &[eip, ("InstanceId", "i-bp1node0001")]).await;
    assert_eq!(status().await, "Associating");
    client.refused("vpc.UnassociateEipAddress", &[eip], "IncorrectEipStatus").await;
    client.wait(200).await;
    assert_eq!(status().await, "InUse");
    client.refused("vpc.ReleaseEipAddress", &[eip], "IncorrectEipStatus").await;
    client.ok("vpc.UnassociateEipAddress", &[eip]).await;
    client.wait(200).await;
    assert_eq!(status().await, "Available");
    client.ok("vpc.ReleaseEipAddress", &[eip]).await;
    assert_eq!(client.ok("vpc.DescribeEipAddresses", &[eip]).await.body["TotalCount"], 0);
}

#[tokio::test(start_paused = true)]
async fn custom_tables_serve_the_vswitches_they_are_given() {
    let client = Client::new();
    let vpc = ("VpcId", "vpc-bp1sim");
    let id = client.ok("vpc.CreateRouteTable", &[vpc, ("RouteTableName", "pods")]).await.text("/RouteTableId");
    let table = ("RouteTableId", id.as_str());
    let vswitch = ("VSwitchId", "vsw-bp1simh");
    client.ok("vpc.AssociateRouteTable", &[table, vswitch]).await;
    client.refused("vpc.AssociateRouteTable", &[table, vswitch], "ResourceAlreadyAssociated.RouteTable").await;
    let shown = client.ok("vpc.DescribeVSwitches", &[vswitch]).await;
    assert_eq!(shown.text("/VSwitches/VSwitch/0/RouteTable/RouteTableId"), id);
    client.refused("vpc.DeleteRouteTable", &[table], "IncorrectRouteTableStatus").await;
    client.ok("vpc.UnassociateRouteTable", &[table, vswitch]).await;
    client.refused("vpc.UnassociateRouteTable", &[table, vswitch], "OperationFailed.VSwitchNotAssociate").await;
    let entry = [table, ("DestinationCidrBlock", "172.16.1.0/24"), ("NextHopId", "i-bp1node0001")];
    client.ok("vpc.CreateRouteEntry", &entry).await;
    let modify = [entry[0], entry[1], ("NewNextHopId", "i-bp1node0002"), ("NewNextHopType", "Instance")];
    client.ok("vpc.ModifyRouteEntry", &modify).await;
    assert_eq!(client.cloud.routes(&id)[0].next_hop, "i-bp1node0002");
    client.refused("vpc.DeleteRouteTable", &[table], "DependencyViolation.RouteEntry").await;
    client.ok("vpc.DeleteRouteEntry", &entry[..2]).await;
    client.ok("vpc.DeleteRouteTable", &[table]).await;
    client.refused("vpc.DeleteRouteTable", &[TABLE], "IncorrectRouteTableType").await;
    assert_eq!(client.ok("vpc.DescribeVRouters", &[]).await.body["TotalCount"], 1);
    assert_eq!(client.ok("vpc.DescribeRouteTables", &[("Type", "System")]).await.body["TotalCount"], 1);
}

#[tokio::test(start_paused = true)]
async fn the_small_actions_of_the_network_work() {
    let client = Client::new();
    let vswitch = ("VSwitchId", "vsw-bp1simh");
    let check = async |address: &str| {
        client.call("vpc.CheckCanAllocateVpcPrivateIpAddress", &[vswitch, ("PrivateIpAddress", address)]).await
    };
    assert_eq!(check("10.0.0.1").await.body["CanAllocate"], false);
    assert_eq!(check("10.0.0.9").await.body["CanAllocate"], true);
    assert_eq!(check("10.9.0.9").await.code(), "Mismatch.VSwitchAndPrivateIpAddress");
    client.ok("vpc.DescribeVSwitchAttributes", &[vswitch]).await;
    client.ok("vpc.DescribeCommonBandwidthPackages", &[]).await;
    client.ok("vpc.DescribeRegions", &[]).await;
    client.ok("vpc.DescribeZones", &[]).await;
    client.ok("slb.DescribeRegions", &[]).await;
    client.ok("slb.DescribeZones", &[]).await;
    client.ok("slb.DescribeAvailableResource", &[]).await;
    client.ok("ecs.DescribeZones", &[]).await;
    let eip = client.ok("vpc.AllocateEipAddress", &[]).await.text("/AllocationId");
    client.ok("vpc.ModifyEipAddressAttribute", &[("AllocationId", &eip), ("Bandwidth", "50")]).await;
    for (kind, id) in [("EIP", eip.as_str()), ("VPC", "vpc-bp1sim"), ("ROUTETABLE", "vtb-bp1sim")] {
        let base = [("ResourceType", kind), ("ResourceId.1", id)];
        client.ok("vpc.TagResources", &[base[0], base[1], ("Tag.1.Key", "a"), ("Tag.1.Value", "b")]).await;
        assert_eq!(client.ok("vpc.ListTagResources", &base).await.list("/TagResources/TagResource").len(), 1);
        client.ok("vpc.UnTagResources", &[base[0], base[1], ("TagKey.1", "a")]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn routes_of_both_families_stand_in_one_table() {
    let client = Client::new();
    client.ok("vpc.CreateRouteEntry", &route("172.16.1.0/24", "i-bp1node0001")).await;
    client.ok("vpc.CreateRouteEntry", &route("fd00:1::/64", "i-bp1node0001")).await;
    let element = |name: &'static str, value: &'static str| (name, value);
    let batch = [
        element("RouteEntries.1.RouteTableId", "vtb-bp1sim"),
        element("RouteEntries.1.DstCidrBlock", "fd00:2::/64"),
        element("RouteEntries.1.NextHop", "i-bp1node0002"),
        element("RouteEntries.1.NextHopType", "Instance"),
    ];
    let answer = client.ok("vpc.CreateRouteEntries", &batch).await;
    assert_eq!(answer.text("/FailedRouteEntries/0/FailedCode"), "InvalidCidrBlock.Malformed", "IPv4 is the default");
    let mut six = batch.to_vec();
    six.push(("RouteEntries.1.IpVersion", "6"));
    assert_eq!(client.ok("vpc.CreateRouteEntries", &six).await.body["SuccessCount"], 1);
    let shown = client.ok("vpc.DescribeRouteEntryList", &[TABLE, ("IpVersion", "ipv6")]).await;
    assert_eq!(shown.list("/RouteEntrys/RouteEntry").len(), 2);
    assert_eq!(shown.text("/RouteEntrys/RouteEntry/0/IpVersion"), "ipv6");
    client.ok("vpc.DeleteRouteEntry", &route("fd00:1::/64", "i-bp1node0001")[..3]).await;
    assert_eq!(client.cloud.routes("vtb-bp1sim").len(), 2);
}
