use serde_json::{Value, json};

use super::Client;
use crate::sim::cloud::{Delays, Options, Quotas, World};

const SPEC: (&str, &str) = ("LoadBalancerSpec", "slb.s1.small");

/// Parameters whose names are made up here.
type Made = Vec<(String, String)>;

fn limited(quotas: Quotas) -> Client {
    Client::with(World::with_nodes(1), Options { quotas, delays: Delays::none(), ..Options::default() })
}

async fn load_balancer(client: &Client) -> String {
    client.ok("slb.CreateLoadBalancer", &[SPEC]).await.text("/LoadBalancerId")
}

fn with<'a>(params: &[(&'a str, &'a str)], made: &'a [(String, String)]) -> Vec<(&'a str, &'a str)> {
    let made = made.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    params.iter().copied().chain(made).collect()
}

/// So many tags of different keys.
fn tags(count: usize) -> Made {
    (1..=count).map(|index| (format!("Tag.{index}.Key"), format!("key-{index}"))).collect()
}

/// `name.1`, `name.2`, … all with that value.
fn repeated(name: &str, count: usize, value: &str) -> Made {
    (1..=count).map(|index| (format!("{name}.{index}"), value.to_owned())).collect()
}

/// Tags from one number to another, as the older actions take them.
fn old_tags(from: usize, to: usize) -> String {
    let list: Vec<Value> = (from..=to).map(|index| json!({ "TagKey": format!("key-{index}") })).collect();
    json!(list).to_string()
}

fn certificate() -> (String, String) {
    let params = rcgen::CertificateParams::new(vec!["www.example.com".to_owned()]).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

#[tokio::test(start_paused = true)]
async fn an_account_has_so_many_access_lists_and_no_more() {
    let client = limited(Quotas { acls: Some(1), ..Quotas::default() });
    let acl = client.ok("slb.CreateAccessControlList", &[("AclName", "one")]).await.text("/AclId");
    let second = [("AclName", "two")];
    client.refused("slb.CreateAccessControlList", &second, "AclNumberOverLimit").await;
    client.ok("slb.DeleteAccessControlList", &[("AclId", &acl)]).await;
    client.ok("slb.CreateAccessControlList", &second).await;
}

#[tokio::test(start_paused = true)]
async fn an_access_list_takes_three_hundred_entries() {
    let client = Client::new();
    let acl = client.ok("slb.CreateAccessControlList", &[("AclName", "office")]).await.text("/AclId");
    let acl = ("AclId", acl.as_str());
    for network in 0..6 {
        let list: Vec<Value> = (0..50).map(|host| json!({ "entry": format!("10.0.{network}.{host}/32") })).collect();
        client.ok("slb.AddAccessControlListEntry", &[acl, ("AclEntrys", &json!(list).to_string())]).await;
    }
    let one_more = [acl, ("AclEntrys", "[{\"entry\":\"10.1.0.0/32\"}]")];
    client.refused("slb.AddAccessControlListEntry", &one_more, "AclEntryExceedLimit").await;
    let one = client.ok("slb.DescribeAccessControlListAttribute", &[acl]).await;
    assert_eq!(one.body["TotalAclEntry"], 300);
}

#[tokio::test(start_paused = true)]
async fn additional_domains_need_a_certificate_and_a_free_place() {
    let client = limited(Quotas { domain_extensions: Some(1), ..Quotas::default() });
    let lb = load_balancer(&client).await;
    let port = [("LoadBalancerId", lb.as_str()), ("ListenerPort", "443")];
    let (pem, key) = certificate();
    let upload = [("ServerCertificate", pem.as_str()), ("PrivateKey", &key), ("ServerCertificateName", "web")];
    let id = client.ok("slb.UploadServerCertificate", &upload).await.text("/ServerCertificateId");
    let id = ("ServerCertificateId", id.as_str());
    let listener = [port[0], port[1], id, ("Bandwidth", "-1"), ("BackendServerPort", "8080"), ("HealthCheck", "off")];
    client.ok("slb.CreateLoadBalancerHTTPSListener", &listener).await;
    let unknown = ("ServerCertificateId", "1_x");
    let first = [port[0], port[1], ("Domain", "a.example.com")];
    let without = [first[0], first[1], first[2], unknown];
    client.refused("slb.CreateDomainExtension", &without, "InvalidParameter.ServerCertificateId").await;
    let first = [first[0], first[1], first[2], id];
    let extension = client.ok("slb.CreateDomainExtension", &first).await.text("/DomainExtensionId");
    let change = [("DomainExtensionId", extension.as_str()), unknown];
    client.refused("slb.SetDomainExtensionAttribute", &change, "InvalidParameter.ServerCertificateId").await;
    let second = [port[0], port[1], ("Domain", "b.example.com"), id];
    client.refused("slb.CreateDomainExtension", &second, "DomainExtensionNumberOverLimit").await;
    let shown = client.ok("slb.DescribeDomainExtensions", &port).await;
    assert_eq!(shown.list("/DomainExtensions/DomainExtension").len(), 1);
    assert_eq!(shown.text("/DomainExtensions/DomainExtension/0/ServerCertificateId"), id.1);
}

#[tokio::test(start_paused = true)]
async fn a_listener_forwards_only_to_an_https_listener_that_is_there() {
    let client = Client::new();
    let lb = load_balancer(&client).await;
    let forward = [
        ("LoadBalancerId", lb.as_str()),
        ("ListenerPort", "80"),
        ("HealthCheck", "off"),
        ("ListenerForward", "on"),
        ("ForwardPort", "443"),
    ];
    client.refused("slb.CreateLoadBalancerHTTPListener", &forward, "ListenerForwardNotExist").await;
    assert!(client.cloud.listeners(&lb).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_tcp_listener_has_no_rules_and_no_white_list_of_its_own() {
    let client = Client::new();
    let lb = load_balancer(&client).await;
    let port = [("LoadBalancerId", lb.as_str()), ("ListenerPort", "80")];
    let listener = [port[0], port[1], ("Bandwidth", "-1"), ("BackendServerPort", "8080")];
    client.ok("slb.CreateLoadBalancerTCPListener", &listener).await;
    client.refused("slb.DescribeRules", &port, "OperationFailed.ActionNotSupport").await;
    let rules = [port[0], port[1], ("RuleList", "[]")];
    client.refused("slb.CreateRules", &rules, "OperationFailed.ActionNotSupport").await;
    let open = [port[0], port[1], ("AccessControlStatus", "open_white_list")];
    client.refused("slb.SetListenerAccessControlStatus", &open, "OperationUnsupported.SetAccessControl").await;
    client.ok("slb.SetListenerAccessControlStatus", &[port[0], port[1], ("AccessControlStatus", "close")]).await;
}

#[tokio::test(start_paused = true)]
async fn listeners_are_listed_in_pages_and_for_few_load_balancers() {
    let client = Client::new();
    let lb = load_balancer(&client).await;
    let list = "slb.DescribeLoadBalancerListeners";
    client.ok(list, &with(&[("MaxResults", "100")], &repeated("LoadBalancerId", 10, &lb))).await;
    let many = repeated("LoadBalancerId", 11, &lb);
    client.refused(list, &with(&[], &many), "IllegalParamSize.LoadBalancerId").await;
    for size in ["0", "101"] {
        client.refused(list, &[("MaxResults", size)], "IllegalParam.MaxResults").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_is_placed_only_in_the_vpc_of_its_vswitch() {
    let client = Client::new();
    let vswitch = ("VSwitchId", "vsw-bp1simh");
    let other = [SPEC, vswitch, ("VpcId", "vpc-other")];
    client.refused("slb.CreateLoadBalancer", &other, "InvalidParameter.Mismatch").await;
    assert!(client.cloud.load_balancers().is_empty());
    client.ok("slb.CreateLoadBalancer", &[SPEC, vswitch, ("VpcId", "vpc-bp1sim")]).await;
}

#[tokio::test(start_paused = true)]
async fn bandwidth_stays_within_its_bounds() {
    let client = Client::new();
    let by_bandwidth = ("InternetChargeType", "paybybandwidth");
    let code = "InvalidParameter.Bandwidth";
    client.refused("slb.CreateLoadBalancer", &[SPEC, ("Bandwidth", "5121")], code).await;
    client.refused("slb.CreateLoadBalancer", &[SPEC, by_bandwidth, ("Bandwidth", "-1")], code).await;
    let by_use = [("InstanceChargeType", "PayByCLCU"), by_bandwidth, ("Bandwidth", "5")];
    client.refused("slb.CreateLoadBalancer", &by_use, "Instance.InternetChargeTypeNotAllowed").await;
    let id = load_balancer(&client).await;
    let lb = ("LoadBalancerId", id.as_str());
    client.refused("slb.ModifyLoadBalancerInternetSpec", &[lb, by_bandwidth, ("Bandwidth", "0")], code).await;
    let one = client.cloud.load_balancers().remove(0);
    assert_eq!((one.internet_charge_type.as_str(), one.bandwidth), ("paybytraffic", 5120));
    for bandwidth in ["0", "5121", "-2"] {
        let listener = [lb, ("ListenerPort", "80"), ("BackendServerPort", "8080"), ("Bandwidth", bandwidth)];
        client.refused("slb.CreateLoadBalancerTCPListener", &listener, code).await;
    }
    assert!(client.cloud.listeners(&id).is_empty());
}

#[tokio::test(start_paused = true)]
async fn servers_of_an_unknown_type_join_no_group() {
    let client = Client::new();
    let lb = load_balancer(&client).await;
    let server = |kind: &str| json!([{ "ServerId": "i-bp1node0001", "Port": 80, "Type": kind }]).to_string();
    let unknown = server("eci");
    let create = [("LoadBalancerId", lb.as_str()), ("BackendServers", &unknown)];
    client.refused("slb.CreateVServerGroup", &create, "BackendServer.InvalidType").await;
    let group = client.ok("slb.CreateVServerGroup", &create[..1]).await.text("/VServerGroupId");
    let group = ("VServerGroupId", group.as_str());
    let add = "slb.AddVServerGroupBackendServers";
    client.refused(add, &[group, ("BackendServers", &unknown)], "BackendServer.InvalidType").await;
    client.ok(add, &[group, ("BackendServers", &server("ecs"))]).await;
}

#[tokio::test(start_paused = true)]
async fn the_older_tag_actions_take_five_at_a_time_and_ten_in_all() {
    let client = Client::new();
    let id = load_balancer(&client).await;
    let lb = ("LoadBalancerId", id.as_str());
    for bad in [old_tags(1, 0), old_tags(1, 6)] {
        client.refused("slb.AddTags", &[lb, ("Tags", &bad)], "MissingParameter.Tags").await;
        client.refused("slb.RemoveTags", &[lb, ("Tags", &bad)], "MissingParameter.Tags").await;
    }
    client.ok("slb.AddTags", &[lb, ("Tags", &old_tags(1, 5))]).await;
    client.ok("slb.AddTags", &[lb, ("Tags", &old_tags(6, 10))]).await;
    client.refused("slb.AddTags", &[lb, ("Tags", &old_tags(10, 11))], "QuotaExceed.TagsPerResource").await;
    assert_eq!(client.cloud.load_balancers()[0].tags.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_listener_has_forty_rules_and_no_more() {
    let client = Client::new();
    let lb = load_balancer(&client).await;
    let port = [("LoadBalancerId", lb.as_str()), ("ListenerPort", "80")];
    let group = client.ok("slb.CreateVServerGroup", &port[..1]).await.text("/VServerGroupId");
    let listener = [port[0], port[1], ("HealthCheck", "off"), ("VServerGroupId", &group)];
    client.ok("slb.CreateLoadBalancerHTTPListener", &listener).await;
    let rule = |index: u32| json!({ "RuleName": "r", "Url": format!("/{index}"), "VServerGroupId": group });
    let rules = |from: u32, to: u32| json!((from..=to).map(rule).collect::<Vec<_>>()).to_string();
    let over = "RuleNumberOverLimit";
    client.refused("slb.CreateRules", &[port[0], port[1], ("RuleList", &rules(1, 41))], over).await;
    client.ok("slb.CreateRules", &[port[0], port[1], ("RuleList", &rules(1, 40))]).await;
    client.refused("slb.CreateRules", &[port[0], port[1], ("RuleList", &rules(41, 41))], over).await;
    assert_eq!(client.ok("slb.DescribeRules", &port).await.list("/Rules/Rule").len(), 40);
}

#[tokio::test(start_paused = true)]
async fn a_reason_is_given_only_for_a_protection() {
    let client = Client::new();
    let id = load_balancer(&client).await;
    let lb = ("LoadBalancerId", id.as_str());
    let reason = ("ModificationProtectionReason", "managed");
    let open = ("ModificationProtectionStatus", "NonProtection");
    let change = "slb.SetLoadBalancerModificationProtection";
    client.refused(change, &[lb, open, reason], "InvalidParam.ModificationProtectionReason").await;
    assert_eq!(client.cloud.load_balancers()[0].modification_protection_reason, "");
    client.ok(change, &[lb, open]).await;
}

#[tokio::test(start_paused = true)]
async fn the_charge_type_changes_only_to_another_known_one() {
    let client = Client::new();
    let id = load_balancer(&client).await;
    let lb = ("LoadBalancerId", id.as_str());
    let change = "slb.ModifyLoadBalancerInstanceChargeType";
    client.refused(change, &[lb, ("InstanceChargeType", "PayBySpec"), SPEC], "OperationDenied.PayBySpec").await;
    client.refused(change, &[lb, ("InstanceChargeType", "PayByHour")], "IllegalParam.InstanceChargeType").await;
    assert_eq!(client.cloud.load_balancers()[0].instance_charge_type, "PayBySpec");
}

#[tokio::test(start_paused = true)]
async fn only_load_balancers_move_to_another_resource_group() {
    let client = Client::new();
    let acl = client.ok("slb.CreateAccessControlList", &[("AclName", "office")]).await.text("/AclId");
    let target = ("NewResourceGroupId", "rg-other");
    let move_acl = [("ResourceId", acl.as_str()), ("ResourceType", "acl"), target];
    client.refused("slb.MoveResourceGroup", &move_acl, "UnsupportedOperation").await;
    let lb = load_balancer(&client).await;
    client.ok("slb.MoveResourceGroup", &[("ResourceId", &lb), ("ResourceType", "loadbalancer"), target]).await;
    assert_eq!(client.cloud.load_balancers()[0].resource_group, "rg-other");
}

#[tokio::test(start_paused = true)]
async fn at_most_twenty_resources_are_tagged_in_one_call() {
    let client = Client::new();
    let lb = load_balancer(&client).await;
    let (kind, key) = (("ResourceType", "instance"), ("Tag.1.Key", "key"));
    let (twenty, more) = (repeated("ResourceId", 20, &lb), repeated("ResourceId", 21, &lb));
    let code = "SizeLimitExceeded.ResourceId";
    client.ok("slb.TagResources", &with(&[kind, key], &twenty)).await;
    client.refused("slb.TagResources", &with(&[kind, key], &more), code).await;
    client.refused("slb.ListTagResources", &with(&[kind], &more), code).await;
    client.refused("slb.UntagResources", &with(&[kind, ("TagKey.1", "key")], &more), code).await;
    assert_eq!(client.cloud.load_balancers()[0].tags.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn tags_are_well_formed_and_given_once() {
    let client = Client::new();
    let create = async |tags: &[(&str, &str)], code: &str| {
        client.refused("slb.CreateLoadBalancer", &[&[SPEC][..], tags].concat(), code).await;
    };
    create(&[("Tag.1.Value", "value")], "MissingParam.TagKey").await;
    create(&[("Tag.1.Key", "key"), ("Tag.1.Value", &"x".repeat(129))], "InvalidParam.TagValue").await;
    create(&[("Tag.1.Key", "key"), ("Tag.1.Value", "a"), ("Tag.2.Key", "key")], "Duplicate.TagKey").await;
    create(&with(&[], &tags(21)), "SizeLimitExceeded.Tag").await;
    assert!(client.cloud.load_balancers().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_resource_carries_at_most_twenty_tags() {
    let client = Client::new();
    let id = client.ok("slb.CreateLoadBalancer", &with(&[SPEC], &tags(20))).await.text("/LoadBalancerId");
    let resource = [("ResourceType", "instance"), ("ResourceId.1", id.as_str())];
    let tag = |key: &'static str| [resource[0], resource[1], ("Tag.1.Key", key), ("Tag.1.Value", "new")];
    client.refused("slb.TagResources", &tag("key-21"), "QuotaLimitExceeds").await;
    client.ok("slb.TagResources", &tag("key-20")).await;
    let found = client.cloud.load_balancers().remove(0).tags;
    assert_eq!((found.len(), found["key-20"].as_str()), (20, "new"));
}
