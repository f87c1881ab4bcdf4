use serde_json::{Value, json};

use crate::{
    alibaba::rpc::testing::Script,
    cloud::{AddressType, Class, GroupsView, ListenerStatus, LoadBalancers, Member, MemberKind, Protocol, Setting},
};

const KEY: &str = "kubernetes.do.not.delete";

fn listed(ids: impl IntoIterator<Item = String>) -> Value {
    let items: Vec<_> = ids
        .into_iter()
        .map(|id| {
            json!({
                "LoadBalancerId": id, "LoadBalancerName": "a1", "Address": "47.0.0.1", "AddressType": "internet",
                "InternetChargeType": "4", "InternetChargeTypeAlias": "paybytraffic", "Bandwidth": 5120,
                "DeleteProtection": "on", "ModificationProtectionStatus": "ConsoleProtection",
                "InstanceChargeType": "PayBySpec", "LoadBalancerSpec": "slb.s1.small", "AddressIPVersion": "ipv4",
                "VpcId": "", "VSwitchId": "", "MasterZoneId": "cn-hangzhou-h", "SlaveZoneId": "cn-hangzhou-i",
                "ResourceGroupId": "rg-1", "Tags": {"Tag": [{"TagKey": KEY, "TagValue": "a1"}]}
            })
        })
        .collect();
    json!({"TotalCount": items.len(), "PageNumber": 1, "PageSize": 100, "LoadBalancers": {"LoadBalancer": items}})
}

fn listener(id: &str, port: u16, group: &str) -> Value {
    json!({
        "LoadBalancerId": id, "ListenerPort": port, "ListenerProtocol": "tcp", "Status": "running",
        "Description": "k8s/80/web/default/c1", "VServerGroupId": group, "Scheduler": "rr", "Bandwidth": -1,
        "TCPListenerConfig": {"HealthCheck": "on"}
    })
}

fn group(id: &str) -> Value {
    json!({"VServerGroupId": id, "VServerGroupName": "k8s/30080/web/default/c1", "BackendServers": {"BackendServer": [
        {"ServerId": "i-1", "Port": 30080, "Weight": 100, "Type": "ecs", "ServerIp": "10.0.0.1", "Description": "d"},
        {"ServerId": "eni-1", "Port": "8080", "Weight": "0", "Type": "eni", "ServerIp": "10.0.0.9", "Description": ""},
        {"ServerId": "x-1", "Port": 1, "Type": "lingjun"}
    ]}})
}

#[tokio::test(start_paused = true)]
async fn load_balancers_by_tag() {
    let script = Script::default();
    script.answer(200, &listed(["lb-1".to_owned()]));
    let found = script.cloud().find_by_tag(KEY, "a1").await.unwrap();
    assert_eq!(
        script.only(),
        [
            "Action=DescribeLoadBalancers",
            "PageNumber=1",
            "PageSize=100",
            "RegionId=cn-hangzhou",
            r#"Tags=[{"TagKey":"kubernetes.do.not.delete","TagValue":"a1"}]"#,
        ]
    );
    let lb = &found[0];
    assert_eq!((lb.id.as_str(), lb.name.as_str(), lb.address.as_str()), ("lb-1", "a1", "47.0.0.1"));
    assert_eq!(lb.address_type, AddressType::Internet);
    assert_eq!(lb.internet_charge_type.as_deref(), Some("paybytraffic"));
    assert_eq!((lb.bandwidth, lb.delete_protection), (Some(5120), Some(true)));
    assert_eq!((&lb.vpc, &lb.vswitch), (&None, &None), "empty text is no id");
    assert_eq!(lb.tags[KEY], "a1");
}

#[tokio::test(start_paused = true)]
async fn a_filter_that_is_ignored_does_not_make_others_load_balancers_ours() {
    let script = Script::default();
    script.answer(200, &listed(["lb-1".to_owned(), "lb-2".to_owned()]));
    assert!(script.cloud().find_by_tag(KEY, "another").await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn load_balancers_by_name_are_of_exactly_that_name() {
    let script = Script::default();
    script.answer(200, &listed(["lb-1".to_owned()])).answer(200, &listed(["lb-1".to_owned()]));
    assert_eq!(script.cloud().find_by_name("a1").await.unwrap().len(), 1);
    assert!(script.cloud().find_by_name("a").await.unwrap().is_empty());
    assert_eq!(script.params(0)["LoadBalancerName"], "a1");
}

#[tokio::test(start_paused = true)]
async fn an_inventory_of_a_few_names_them_and_reads_each_group_once() {
    let script = Script::default();
    script.answer(200, &listed(["lb-1".to_owned(), "lb-2".to_owned()]));
    script.answer(
        200,
        &json!({"NextToken": "", "Listeners": [
            listener("lb-1", 80, "rsp-1"), listener("lb-1", 443, "rsp-1"), listener("lb-2", 80, "")
        ]}),
    );
    script.answer(200, &group("rsp-1"));
    let states = script.cloud().inventory(KEY, "a1").await.unwrap();
    assert_eq!(
        script.lines(1),
        [
            "Action=DescribeLoadBalancerListeners",
            "LoadBalancerId.1=lb-1",
            "LoadBalancerId.2=lb-2",
            "MaxResults=100",
            "RegionId=cn-hangzhou"
        ]
    );
    assert_eq!(
        script.lines(2),
        ["Action=DescribeVServerGroupAttribute", "RegionId=cn-hangzhou", "VServerGroupId=rsp-1"]
    );
    let [one, two] = &states[..] else { panic!("{states:?}") };
    assert_eq!(one.groups_view, GroupsView::Referenced);
    assert_eq!(one.listeners.iter().map(|l| l.port).collect::<Vec<_>>(), [80, 443]);
    let first = &one.listeners[0];
    assert_eq!((first.protocol, first.status), (Protocol::Tcp, ListenerStatus::Running));
    assert_eq!(
        (first.settings.get(Setting::Scheduler), first.settings.get(Setting::Bandwidth)),
        (Some("rr"), Some("-1"))
    );
    assert_eq!(one.groups.len(), 1);
    assert_eq!(
        one.groups[0].members,
        [
            Member {
                kind: MemberKind::Ecs,
                server: "i-1".to_owned(),
                address: None,
                port: 30080,
                weight: 100,
                description: "d".to_owned()
            },
            Member {
                kind: MemberKind::Eni,
                server: "eni-1".to_owned(),
                address: Some("10.0.0.9".parse().unwrap()),
                port: 8080,
                weight: 0,
                description: String::new()
            },
        ]
    );
    assert_eq!((two.listeners[0].group.as_ref(), two.groups.len()), (None, 0));
}

#[tokio::test(start_paused = true)]
async fn an_inventory_of_many_reads_all_listeners_and_keeps_its_own() {
    let script = Script::default();
    script.answer(200, &listed((0..11).map(|n| format!("lb-{n}"))));
    script.answer(
        200,
        &json!({"NextToken": "n", "Listeners": [listener("lb-3", 80, ""), listener("foreign", 80, "rsp-x")]}),
    );
    script.answer(200, &json!({"Listeners": [listener("lb-10", 81, "")]}));
    let states = script.cloud().inventory(KEY, "a1").await.unwrap();
    assert_eq!(script.lines(1), ["Action=DescribeLoadBalancerListeners", "MaxResults=100", "RegionId=cn-hangzhou"]);
    let ports: Vec<_> = states.iter().flat_map(|state| &state.listeners).map(|listener| listener.port).collect();
    assert_eq!(ports, [80, 81]);
    assert_eq!(script.sent().len(), 4 - 1, "the foreign group is not read");
}

#[tokio::test(start_paused = true)]
async fn an_inventory_of_none_is_one_call() {
    let script = Script::default();
    script.answer(200, &listed([]));
    assert!(script.cloud().inventory(KEY, "a1").await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_inventory_that_lacks_a_part_fails_whole() {
    let script = Script::default();
    script.answer(200, &listed(["lb-1".to_owned()]));
    script.answer(200, &json!({"Listeners": [listener("lb-1", 80, "rsp-1")]}));
    script.refuse(403, "Forbidden.RAM", "no");
    assert_eq!(script.cloud().inventory(KEY, "a1").await.unwrap_err().class, Class::Denied);
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_in_depth() {
    let script = Script::default();
    script.answer(
        200,
        &json!({
            "RequestId": "R", "LoadBalancerId": "lb-1", "LoadBalancerName": "a1", "Address": "10.0.0.5",
            "AddressType": "intranet", "InternetChargeType": "paybytraffic", "Bandwidth": "-1",
            "VpcId": "vpc-1", "VSwitchId": "vsw-1", "Tags": {"Tag": []}
        }),
    );
    script.answer(200, &json!({"Listeners": [listener("lb-1", 80, "rsp-1")]}));
    let groups = json!([{"VServerGroupId": "rsp-1"}, {"VServerGroupId": "rsp-2"}, {"VServerGroupId": "rsp-3"}]);
    script.answer(200, &json!({"VServerGroups": {"VServerGroup": groups}}));
    script.answer(200, &group("rsp-1"));
    script.refuse(404, "InvalidParameter", "The specified VServerGroupId does not exist.");
    script.answer(200, &group("rsp-3"));
    let state = script.cloud().observe(&"lb-1".into()).await.unwrap().unwrap();
    assert_eq!(state.load_balancer.address_type, AddressType::Intranet);
    assert_eq!((state.load_balancer.vpc, state.load_balancer.bandwidth), (Some("vpc-1".into()), None));
    assert_eq!(state.groups_view, GroupsView::Complete);
    let groups: Vec<_> = state.groups.iter().map(|group| group.id.as_str()).collect();
    assert_eq!(groups, ["rsp-1", "rsp-3"], "one was deleted meanwhile");
    assert_eq!(
        script.lines(0),
        ["Action=DescribeLoadBalancerAttribute", "LoadBalancerId=lb-1", "RegionId=cn-hangzhou"]
    );
    assert_eq!(script.params(1)["LoadBalancerId.1"], "lb-1");
    assert_eq!(script.lines(2), ["Action=DescribeVServerGroups", "LoadBalancerId=lb-1", "RegionId=cn-hangzhou"]);
}

#[tokio::test(start_paused = true)]
async fn only_the_clouds_word_makes_a_load_balancer_absent() {
    let script = Script::default();
    script.refuse(404, "InvalidLoadBalancerId.NotFound", "The specified LoadBalancerId does not exist.");
    assert_eq!(script.cloud().observe(&"lb-1".into()).await.unwrap(), None);

    script.answer(200, &json!({"RequestId": "R"}));
    assert_eq!(script.cloud().observe(&"lb-1".into()).await.unwrap_err().class, Class::Malformed);

    script.answer(200, &json!({"LoadBalancerId": "lb-2"}));
    assert_eq!(script.cloud().observe(&"lb-1".into()).await.unwrap_err().class, Class::Malformed);
}
