use serde_json::json;

use super::Client;
use crate::sim::cloud::{Delays, Options, Quotas, World, ecs::InstanceStatus};

async fn prepared(client: &Client, internal: bool) -> String {
    let mut params = vec![("LoadBalancerSpec", "slb.s1.small")];
    if internal {
        params.push(("VSwitchId", "vsw-bp1simh"));
    }
    let lb = client.ok("slb.CreateLoadBalancer", &params).await.text("/LoadBalancerId");
    client
        .ok("slb.CreateVServerGroup", &[("LoadBalancerId", &lb), ("VServerGroupName", "g")])
        .await
        .text("/VServerGroupId")
}

fn servers(list: &[(&str, u16, u8)]) -> String {
    let item = |(id, port, weight): &(&str, u16, u8)| json!({ "ServerId": id, "Port": port.to_string(), "Weight": weight, "Type": "ecs" });
    json!(list.iter().map(item).collect::<Vec<_>>()).to_string()
}

#[tokio::test(start_paused = true)]
async fn members_are_added_removed_weighted_and_swapped() {
    let client = Client::new();
    let group = prepared(&client, true).await;
    let group = ("VServerGroupId", group.as_str());
    let (a, b, c) = ("i-bp1node0001", "i-bp1node0002", "i-bp1node0003");
    let members = || -> Vec<(String, u16, u8)> {
        let groups = client.cloud.with_state(|state| state.slb.groups[group.1].servers.clone());
        groups.into_iter().map(|server| (server.id, server.port, server.weight)).collect()
    };
    let call = async |action: &str, list: &str| {
        client.ok(&format!("slb.{action}"), &[group, ("BackendServers", list)]).await;
        client.cloud.calls().last().unwrap().changed
    };
    assert!(call("AddVServerGroupBackendServers", &servers(&[(a, 30080, 100), (b, 30080, 100)])).await);
    assert!(!call("AddVServerGroupBackendServers", &servers(&[(a, 30080, 50)])).await, "it is there already");
    assert!(call("SetVServerGroupAttribute", &servers(&[(b, 30080, 0)])).await);
    assert_eq!(members(), [(a.into(), 30080, 100), (b.into(), 30080, 0)]);
    assert!(call("RemoveVServerGroupBackendServers", &servers(&[(a, 30080, 100), (c, 30080, 100)])).await);
    assert!(!call("RemoveVServerGroupBackendServers", &servers(&[(c, 30080, 100)])).await, "absent ones are no error");
    let swap =
        [group, ("OldBackendServers", &servers(&[(b, 30080, 0)])), ("NewBackendServers", &servers(&[(c, 30081, 10)]))];
    client.ok("slb.ModifyVServerGroupBackendServers", &swap).await;
    assert_eq!(members(), [(c.into(), 30081, 10)]);
    let shown = client.ok("slb.DescribeVServerGroupAttribute", &[group]).await;
    assert_eq!(shown.body["BackendServers"]["BackendServer"][0]["Port"], 30081);
    assert_eq!(shown.body["BackendServers"]["BackendServer"][0]["Weight"], 10);
    let absent = [group, ("BackendServers", &servers(&[(a, 1, 1)]))];
    client.refused("slb.SetVServerGroupAttribute", &absent, "InvalidParameter").await;
}

#[tokio::test(start_paused = true)]
async fn only_running_servers_of_the_same_network_become_members() {
    let mut world = World::with_nodes(3);
    let mut vpc = world.vpcs[0].clone();
    vpc.id = "vpc-other".to_owned();
    vpc.router = "vrt-other".to_owned();
    let mut vswitch = world.vswitches[0].clone();
    (vswitch.id, vswitch.vpc) = ("vsw-other".to_owned(), vpc.id.clone());
    world.vpcs.push(vpc);
    world.vswitches.push(vswitch);
    world.instances.push(crate::sim::cloud::ecs::Instance::new("i-foreign", "vsw-other"));
    let client = Client::with(world, Options { delays: Delays::none(), ..Options::default() });
    client.cloud.set_instance_status("i-bp1node0002", InstanceStatus::Stopped);
    let group = prepared(&client, true).await;
    let add = async |list: &str| {
        client.call("slb.AddVServerGroupBackendServers", &[("VServerGroupId", &group), ("BackendServers", list)]).await
    };
    assert_eq!(add(&servers(&[("i-none", 80, 1)])).await.code(), "ObtainIpFail");
    assert_eq!(add(&servers(&[("i-bp1node0002", 80, 1)])).await.code(), "ObtainIpFail");
    assert_eq!(add(&servers(&[("i-foreign", 80, 1)])).await.code(), "NetworkConflict");
    assert_eq!(add(&servers(&[("i-bp1node0001", 0, 1)])).await.code(), "InvalidParameter");
    assert_eq!(add(&servers(&[("i-bp1node0001", 80, 101)])).await.code(), "InvalidParameter");
    assert_eq!(add("[{\"Port\":80}]").await.code(), "InvalidParameter");
    let many: Vec<(&str, u16, u8)> = (1..=21).map(|port| ("i-bp1node0001", port, 1)).collect();
    assert_eq!(add(&servers(&many)).await.code(), "InvalidParameter");
    assert_eq!(add(&servers(&many[..20])).await.status, 200);
    client.cloud.remove_instance("i-bp1node0001");
    assert!(
        client.cloud.with_state(|state| state.slb.groups[&group].servers.is_empty()),
        "a released server is taken out"
    );
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_takes_so_many_servers_and_no_more() {
    let quotas = Quotas { backend_servers: Some(2), ..Quotas::default() };
    let client = Client::with(World::with_nodes(3), Options { quotas, ..Options::default() });
    let group = prepared(&client, false).await;
    let two = servers(&[("i-bp1node0001", 80, 1), ("i-bp1node0002", 80, 1)]);
    client.ok("slb.AddVServerGroupBackendServers", &[("VServerGroupId", &group), ("BackendServers", &two)]).await;
    let third = servers(&[("i-bp1node0003", 80, 1)]);
    let add = [("VServerGroupId", group.as_str()), ("BackendServers", third.as_str())];
    client.refused("slb.AddVServerGroupBackendServers", &add, "InstanceBackendServerNumberOverLimit").await;
}

#[tokio::test(start_paused = true)]
async fn interfaces_join_with_one_of_their_addresses() {
    let client = Client::new();
    let group = prepared(&client, true).await;
    let eni = client.cloud.instances()[0].interfaces[0].clone();
    let one =
        |ip: &str| json!([{ "ServerId": eni, "Port": 8080, "Weight": 100, "Type": "eni", "ServerIp": ip }]).to_string();
    let add = async |list: &str| {
        client.call("slb.AddVServerGroupBackendServers", &[("VServerGroupId", &group), ("BackendServers", list)]).await
    };
    assert_eq!(add(&one("10.9.9.9")).await.code(), "InvalidParameter");
    let added = add(&one("10.0.0.1")).await;
    assert_eq!(added.text("/BackendServers/BackendServer/0/ServerIp"), "10.0.0.1");
}

#[tokio::test(start_paused = true)]
async fn groups_are_listed_with_what_uses_them_and_deleted_when_free() {
    let client = Client::new();
    let group = prepared(&client, false).await;
    let lb = client.cloud.load_balancers()[0].id.clone();
    let lb = ("LoadBalancerId", lb.as_str());
    client
        .ok(
            "slb.CreateLoadBalancerTCPListener",
            &[lb, ("ListenerPort", "80"), ("Bandwidth", "-1"), ("VServerGroupId", &group)],
        )
        .await;
    let list = client.ok("slb.DescribeVServerGroups", &[lb, ("IncludeListener", "true")]).await;
    let first = "/VServerGroups/VServerGroup/0";
    assert_eq!(list.text(&format!("{first}/VServerGroupName")), "g");
    assert_eq!(list.list(&format!("{first}/AssociatedObjects/Listeners/Listener"))[0]["Port"], 80);
    let group = ("VServerGroupId", group.as_str());
    client.refused("slb.DeleteVServerGroup", &[group], "RspoolVipExist").await;
    client.ok("slb.DeleteLoadBalancerListener", &[lb, ("ListenerPort", "80")]).await;
    client.ok("slb.DeleteVServerGroup", &[group]).await;
    let gone = client.refused("slb.DeleteVServerGroup", &[group], "InvalidParameter").await;
    assert_eq!(gone.status, 404);
    assert!(gone.text("/Message").starts_with("The specified VServerGroupId does not exist."));
}

#[tokio::test(start_paused = true)]
async fn tags_of_every_kind_are_written_listed_and_removed() {
    let client = Client::new();
    let group = prepared(&client, false).await;
    let lb = client.cloud.load_balancers()[0].id.clone();
    let listener =
        [("LoadBalancerId", lb.as_str()), ("ListenerPort", "80"), ("Bandwidth", "-1"), ("VServerGroupId", &group)];
    client.ok("slb.CreateLoadBalancerTCPListener", &listener).await;
    let listener = format!("{lb}_tcp_80");
    for (kind, id) in [("instance", &lb), ("vservergroup", &group), ("listener", &listener)] {
        let base = [("ResourceType", kind), ("ResourceId.1", id.as_str())];
        let with = |more: &[(&'static str, &'static str)]| [&base[..], more].concat();
        client.ok("slb.TagResources", &with(&[("Tag.1.Key", "a"), ("Tag.1.Value", "1"), ("Tag.2.Key", "b")])).await;
        let found = client.ok("slb.ListTagResources", &with(&[("Tag.1.Key", "a")])).await;
        assert_eq!(found.list("/TagResources/TagResource").len(), 2);
        client.ok("slb.UntagResources", &with(&[("TagKey.1", "a")])).await;
        let left = client.ok("slb.ListTagResources", &base).await;
        assert_eq!(left.text("/TagResources/TagResource/0/TagKey"), "b");
        client.ok("slb.UntagResources", &with(&[("All", "true")])).await;
        assert!(client.ok("slb.ListTagResources", &base).await.list("/TagResources/TagResource").is_empty());
    }
    let unknown = [("ResourceType", "instance"), ("ResourceId.1", "lb-0"), ("Tag.1.Key", "a")];
    client.refused("slb.TagResources", &unknown, "ResourceNotExist").await;
    let reserved = [("ResourceType", "instance"), ("ResourceId.1", lb.as_str()), ("Tag.1.Key", "acs:x")];
    client.refused("slb.TagResources", &reserved, "InvalidParam.TagKey").await;
    client.refused("slb.ListTagResources", &[("ResourceType", "instance")], "MissingParam.TagOrResourceId").await;
    client.ok("slb.AddTags", &[("LoadBalancerId", &lb), ("Tags", "[{\"TagKey\":\"old\",\"TagValue\":\"way\"}]")]).await;
    assert_eq!(
        client.ok("slb.DescribeTags", &[("LoadBalancerId", &lb)]).await.text("/TagSets/TagSet/0/TagValue"),
        "way"
    );
    client.ok("slb.RemoveTags", &[("LoadBalancerId", &lb), ("Tags", "[{\"TagKey\":\"old\"}]")]).await;
}

#[tokio::test(start_paused = true)]
async fn default_servers_serve_listeners_without_a_group() {
    let client = Client::new();
    prepared(&client, true).await;
    let lb = client.cloud.load_balancers()[0].id.clone();
    let lb = ("LoadBalancerId", lb.as_str());
    let one = ("BackendServers", "[{\"ServerId\":\"i-bp1node0001\",\"Weight\":\"50\"}]");
    client.ok("slb.AddBackendServers", &[lb, one]).await;
    client
        .ok(
            "slb.CreateLoadBalancerTCPListener",
            &[lb, ("ListenerPort", "80"), ("Bandwidth", "-1"), ("BackendServerPort", "8080")],
        )
        .await;
    let health = client.ok("slb.DescribeHealthStatus", &[lb]).await;
    let server = &health.list("/BackendServers/BackendServer")[0];
    assert_eq!((&server["Port"], &server["ServerHealthStatus"]), (&8080.into(), &"normal".into()));
    client
        .ok("slb.SetBackendServers", &[lb, ("BackendServers", "[{\"ServerId\":\"i-bp1node0001\",\"Weight\":\"5\"}]")])
        .await;
    let shown = client.ok("slb.DescribeLoadBalancerAttribute", &[lb]).await;
    assert_eq!(shown.body["BackendServers"]["BackendServer"][0]["Weight"], 5);
    client.ok("slb.RemoveBackendServers", &[lb, ("BackendServers", "[\"i-bp1node0001\"]")]).await;
    assert!(client.cloud.load_balancers()[0].servers.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_group_is_busy_after_a_change_if_that_is_wanted() {
    let delays = Delays { group_change: std::time::Duration::from_secs(1), ..Delays::none() };
    let client = Client::with(World::with_nodes(3), Options { delays, ..Options::default() });
    let group = prepared(&client, false).await;
    let add = servers(&[("i-bp1node0001", 80, 1)]);
    let add = [("VServerGroupId", group.as_str()), ("BackendServers", add.as_str())];
    client.ok("slb.AddVServerGroupBackendServers", &add).await;
    client.refused("slb.RemoveVServerGroupBackendServers", &add, "VServerGroupProcessing").await;
    client.refused("slb.DeleteVServerGroup", &add[..1], "VServerGroupProcessing").await;
    client.ok("slb.DescribeVServerGroupAttribute", &add[..1]).await;
    client.wait(1_000).await;
    client.ok("slb.RemoveVServerGroupBackendServers", &add).await;
}
