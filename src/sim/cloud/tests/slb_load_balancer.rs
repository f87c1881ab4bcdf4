use super::Client;

const SPEC: (&str, &str) = ("LoadBalancerSpec", "slb.s1.small");

#[tokio::test(start_paused = true)]
async fn a_load_balancer_is_created_described_and_deleted() {
    let client = Client::new();
    let tags = [("Tag.1.Key", "kubernetes.do.not.delete"), ("Tag.1.Value", "a123")];
    let params = [SPEC, ("LoadBalancerName", "one"), ("Bandwidth", "10"), tags[0], tags[1]];
    let created = client.ok("slb.CreateLoadBalancer", &params).await;
    let id = created.text("/LoadBalancerId");
    assert!(id.starts_with("lb-bp1"));
    let found = client.ok("slb.DescribeLoadBalancers", &tags).await;
    assert_eq!(found.text("/LoadBalancers/LoadBalancer/0/LoadBalancerId"), id);
    assert_eq!(found.text("/LoadBalancers/LoadBalancer/0/InternetChargeType"), "4");
    assert_eq!(found.text("/LoadBalancers/LoadBalancer/0/InternetChargeTypeAlias"), "paybytraffic");
    let json = "[{\"TagKey\":\"kubernetes.do.not.delete\",\"TagValue\":\"other\"}]";
    assert_eq!(client.ok("slb.DescribeLoadBalancers", &[("Tags", json)]).await.body["TotalCount"], 0);
    let one = client.ok("slb.DescribeLoadBalancerAttribute", &[("LoadBalancerId", &id)]).await;
    assert_eq!(
        (one.text("/InternetChargeType"), one.text("/LoadBalancerStatus")),
        ("paybytraffic".into(), "active".into())
    );
    client.ok("slb.DeleteLoadBalancer", &[("LoadBalancerId", &id)]).await;
    let gone = client
        .refused("slb.DescribeLoadBalancerAttribute", &[("LoadBalancerId", &id)], "InvalidLoadBalancerId.NotFound")
        .await;
    assert_eq!(gone.status, 404);
}

#[tokio::test(start_paused = true)]
async fn intranet_load_balancers_take_an_address_of_their_vswitch() {
    let client = Client::new();
    let vswitch = ("VSwitchId", "vsw-bp1simh");
    let created = client.ok("slb.CreateLoadBalancer", &[SPEC, vswitch]).await;
    assert_eq!(created.text("/Address"), "10.0.0.2");
    assert_eq!(created.text("/VpcId"), "vpc-bp1sim");
    let intranet = ("AddressType", "intranet");
    client.refused("slb.CreateLoadBalancer", &[SPEC, intranet], "MissingParam.VSwitchId").await;
    client.refused("slb.CreateLoadBalancer", &[SPEC, ("VSwitchId", "vsw-0")], "InvalidVSwitchId.NotFound").await;
    client.ok("slb.DeleteLoadBalancer", &[("LoadBalancerId", &created.text("/LoadBalancerId"))]).await;
    assert_eq!(client.ok("slb.CreateLoadBalancer", &[SPEC, vswitch]).await.text("/Address"), "10.0.0.2");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_token_creates_nothing_twice() {
    let client = Client::new();
    let token = ("ClientToken", "t-1");
    let first = client.ok("slb.CreateLoadBalancer", &[SPEC, token]).await;
    let again = client.ok("slb.CreateLoadBalancer", &[SPEC, token]).await;
    assert_eq!(first.body["LoadBalancerId"], again.body["LoadBalancerId"]);
    assert_ne!(first.body["RequestId"], again.body["RequestId"]);
    assert_eq!(client.cloud.load_balancers().len(), 1);
    let other = [SPEC, token, ("LoadBalancerName", "other")];
    client.refused("slb.CreateLoadBalancer", &other, "LX_REQUEST_TOKEN_CONFLICT").await;
}

#[tokio::test(start_paused = true)]
async fn protection_and_charges_follow_their_rules() {
    let client = Client::new();
    let created = client.ok("slb.CreateLoadBalancer", &[SPEC, ("DeleteProtection", "on")]).await;
    let id = created.text("/LoadBalancerId");
    let lb = ("LoadBalancerId", id.as_str());
    client.refused("slb.DeleteLoadBalancer", &[lb], "OperationDenied.DeleteProtectionIsOn").await;
    client.ok("slb.SetLoadBalancerName", &[lb, ("LoadBalancerName", "renamed")]).await;
    client.ok("slb.ModifyLoadBalancerInstanceSpec", &[lb, ("LoadBalancerSpec", "slb.s2.small")]).await;
    let bandwidth = [lb, ("InternetChargeType", "paybybandwidth"), ("Bandwidth", "20")];
    client.ok("slb.ModifyLoadBalancerInternetSpec", &bandwidth).await;
    let protect =
        [lb, ("ModificationProtectionStatus", "ConsoleProtection"), ("ModificationProtectionReason", "managed")];
    client.ok("slb.SetLoadBalancerModificationProtection", &protect).await;
    let one = client.cloud.load_balancers().remove(0);
    assert_eq!((one.name.as_str(), one.spec.as_str(), one.bandwidth), ("renamed", "slb.s2.small", 20));
    assert_eq!(one.modification_protection_reason, "managed");
    client.ok("slb.ModifyLoadBalancerInstanceChargeType", &[lb, ("InstanceChargeType", "PayByCLCU")]).await;
    let back = [lb, ("InstanceChargeType", "PayBySpec"), SPEC];
    client.refused("slb.ModifyLoadBalancerInstanceChargeType", &back, "Forbidden.LcuToSpec").await;
    client.refused("slb.ModifyLoadBalancerInstanceSpec", &[lb, SPEC], "OperationDenied.PayByCLCU").await;
    client.ok("slb.SetLoadBalancerDeleteProtection", &[lb, ("DeleteProtection", "off")]).await;
    client.ok("slb.DeleteLoadBalancer", &[lb]).await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_cannot_be_deleted() {
    let client = Client::new();
    let created = client.ok("slb.CreateLoadBalancer", &[SPEC, ("PayType", "PrePay")]).await;
    let id = created.text("/LoadBalancerId");
    client.refused("slb.DeleteLoadBalancer", &[("LoadBalancerId", &id)], "InvalidChargeType").await;
    assert_eq!(client.cloud.load_balancers().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_locked_load_balancer_takes_no_change() {
    let client = Client::new();
    let id = client.ok("slb.CreateLoadBalancer", &[SPEC]).await.text("/LoadBalancerId");
    let port = [("LoadBalancerId", id.as_str()), ("ListenerPort", "80")];
    let listener = [&port[..], &[("BackendServerPort", "8080"), ("Bandwidth", "-1")]].concat();
    client.ok("slb.CreateLoadBalancerTCPListener", &listener).await;
    client.cloud.with_state(|state| {
        for load_balancer in state.slb.load_balancers.values_mut() {
            load_balancer.status = "locked".to_owned();
        }
    });
    client.refused("slb.StartLoadBalancerListener", &port, "Operation.NotAllowed").await;
    let group = [("LoadBalancerId", id.as_str()), ("VServerGroupName", "one")];
    client.refused("slb.CreateVServerGroup", &group, "Operation.NotAllowed").await;
}
