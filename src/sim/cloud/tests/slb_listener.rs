use super::Client;
use crate::sim::cloud::slb::ListenerStatus;

const SPEC: (&str, &str) = ("LoadBalancerSpec", "slb.s1.small");

/// A load balancer with a group.
async fn prepared(client: &Client) -> (String, String) {
    let lb = client.ok("slb.CreateLoadBalancer", &[SPEC]).await.text("/LoadBalancerId");
    let group = client.ok("slb.CreateVServerGroup", &[("LoadBalancerId", &lb)]).await.text("/VServerGroupId");
    (lb, group)
}

#[tokio::test(start_paused = true)]
async fn a_new_listener_is_stopped_until_it_is_started() {
    let client = Client::slow();
    let (lb, group) = prepared(&client).await;
    let lb = ("LoadBalancerId", lb.as_str());
    let port = ("ListenerPort", "80");
    let create = [lb, port, ("Bandwidth", "-1"), ("VServerGroupId", &group), ("healthCheckInterval", "7")];
    client.ok("slb.CreateLoadBalancerTCPListener", &create).await;
    let attribute = async || client.ok("slb.DescribeLoadBalancerTCPListenerAttribute", &[lb, port]).await;
    let one = attribute().await;
    assert_eq!((one.text("/Status"), one.text("/HealthCheck")), ("stopped".into(), "on".into()));
    assert_eq!((&one.body["HealthCheckInterval"], &one.body["HealthCheckConnectPort"]), (&7.into(), &(-520).into()));
    let start = [lb, port, ("ListenerProtocol", "tcp")];
    client.ok("slb.StartLoadBalancerListener", &start).await;
    assert_eq!(attribute().await.text("/Status"), "starting");
    let set = [lb, port, ("Scheduler", "rr")];
    client.refused("slb.SetLoadBalancerTCPListenerAttribute", &set, "ServiceIsConfiguring").await;
    client.refused("slb.DeleteLoadBalancerListener", &start, "ServiceIsConfiguring").await;
    client.wait(200).await;
    assert_eq!(attribute().await.text("/Status"), "running");
    client.refused("slb.StartLoadBalancerListener", &start, "OperationFailed.ListenerStatusNotSupport").await;
    client.ok("slb.SetLoadBalancerTCPListenerAttribute", &set).await;
    assert_eq!(attribute().await.text("/Scheduler"), "rr");
    client.ok("slb.StopLoadBalancerListener", &start).await;
    let stopping = client.refused("slb.SetLoadBalancerTCPListenerAttribute", &set, "ServiceIsStopping").await;
    assert_eq!(stopping.status, 409);
    client.wait(200).await;
    assert_eq!(client.cloud.listeners(lb.1)[0].status, ListenerStatus::Stopped);
    client.ok("slb.DeleteLoadBalancerListener", &start).await;
    let gone = client.refused("slb.DeleteLoadBalancerListener", &start, "ResourceNotFound.Listener").await;
    assert_eq!(gone.status, 404);
    let gone = client.refused("slb.StartLoadBalancerListener", &start, "ListenerNotFound").await;
    assert!(gone.text("/Message").contains("The specified resource does not exist"));
}

#[tokio::test(start_paused = true)]
async fn one_port_serves_udp_and_one_other_protocol() {
    let client = Client::new();
    let (lb, group) = prepared(&client).await;
    let lb = ("LoadBalancerId", lb.as_str());
    let create = [lb, ("ListenerPort", "53"), ("Bandwidth", "-1"), ("VServerGroupId", &group)];
    client.ok("slb.CreateLoadBalancerTCPListener", &create).await;
    client.ok("slb.CreateLoadBalancerUDPListener", &create).await;
    client.refused("slb.CreateLoadBalancerUDPListener", &create, "ListenerAlreadyExists").await;
    let http = [create[0], create[1], create[3], ("HealthCheck", "off")];
    client.refused("slb.CreateLoadBalancerHTTPListener", &http, "ListenerAlreadyExists").await;
    let start = [lb, ("ListenerPort", "53")];
    client.refused("slb.StartLoadBalancerListener", &start, "TooManyListeners").await;
    client.ok("slb.StartLoadBalancerListener", &[start[0], start[1], ("ListenerProtocol", "udp")]).await;
    let list = client.ok("slb.DescribeLoadBalancerListeners", &[("LoadBalancerId.1", lb.1)]).await;
    let listed = list.list("/Listeners");
    assert_eq!(listed.len(), 2);
    assert_eq!((&listed[0]["ListenerProtocol"], &listed[0]["Status"]), (&"tcp".into(), &"stopped".into()));
    assert_eq!(listed[0]["TCPListenerConfig"]["EstablishedTimeout"], 900);
    assert_eq!((&listed[1]["ListenerProtocol"], &listed[1]["Status"]), (&"udp".into(), &"running".into()));
    let attribute = client.ok("slb.DescribeLoadBalancerAttribute", &[lb]).await;
    assert_eq!(attribute.list("/ListenerPortsAndProtocal/ListenerPortAndProtocal").len(), 2);
    assert_eq!(attribute.list("/ListenerPorts/ListenerPort"), [53]);
    client.refused("slb.DeleteVServerGroup", &[("VServerGroupId", &group)], "RspoolVipExist").await;
}

#[tokio::test(start_paused = true)]
async fn http_and_https_listeners_have_their_own_attributes() {
    let client = Client::new();
    let (lb, group) = prepared(&client).await;
    let lb = ("LoadBalancerId", lb.as_str());
    let common = [lb, ("ListenerPort", "443"), ("Bandwidth", "-1"), ("VServerGroupId", &group), ("HealthCheck", "on")];
    client.refused("slb.CreateLoadBalancerHTTPSListener", &common, "MissingParameter").await;
    let unknown = [&common[..], &[("ServerCertificateId", "1_x")]].concat();
    client.refused("slb.CreateLoadBalancerHTTPSListener", &unknown, "CertificateNotExist").await;
    let (pem, key) = certificate();
    let upload = [("ServerCertificate", pem.as_str()), ("PrivateKey", &key), ("ServerCertificateName", "web")];
    let uploaded = client.ok("slb.UploadServerCertificate", &upload).await;
    assert_eq!(uploaded.text("/CommonName"), "www.example.com");
    let id = uploaded.text("/ServerCertificateId");
    let https =
        [&common[..], &[("ServerCertificateId", id.as_str()), ("TLSCipherPolicy", "tls_cipher_policy_1_2")]].concat();
    client.ok("slb.CreateLoadBalancerHTTPSListener", &https).await;
    let one = client.ok("slb.DescribeLoadBalancerHTTPSListenerAttribute", &common[..2]).await;
    assert_eq!(
        (one.text("/TLSCipherPolicy"), one.text("/ServerCertificateId")),
        ("tls_cipher_policy_1_2".into(), id.clone())
    );
    client
        .refused("slb.DeleteServerCertificate", &[("ServerCertificateId", &id)], "CertificateAndPrivateKeyIsRefered")
        .await;

    let forward =
        [lb, ("ListenerPort", "80"), ("HealthCheck", "off"), ("ListenerForward", "on"), ("ForwardPort", "443")];
    client.ok("slb.CreateLoadBalancerHTTPListener", &forward).await;
    client.refused("slb.DeleteLoadBalancerListener", &common[..2], "ListenerForwardExist").await;

    let domain = [lb, common[1], ("Domain", "a.example.com"), ("ServerCertificateId", &id)];
    let extension = client.ok("slb.CreateDomainExtension", &domain).await.text("/DomainExtensionId");
    let list = client.ok("slb.DescribeDomainExtensions", &domain[..2]).await;
    assert_eq!(list.text("/DomainExtensions/DomainExtension/0/Domain"), "a.example.com");
    let extension = ("DomainExtensionId", extension.as_str());
    client.ok("slb.SetDomainExtensionAttribute", &[extension, ("ServerCertificateId", &id)]).await;
    client.ok("slb.DescribeDomainExtensionAttribute", &[extension]).await;
    client.ok("slb.DeleteDomainExtension", &[extension]).await;
    client.refused("slb.DeleteDomainExtension", &[extension], "InvalidParameter.DomainExtensionId").await;

    let rules =
        format!("[{{\"RuleName\":\"r\",\"Domain\":\"b.example.com\",\"Url\":\"/x\",\"VServerGroupId\":\"{group}\"}}]");
    let rules = [lb, common[1], ("RuleList", rules.as_str())];
    let rule = client.ok("slb.CreateRules", &rules).await.text("/Rules/Rule/0/RuleId");
    client.refused("slb.CreateRules", &rules, "DomainExist").await;
    assert_eq!(client.ok("slb.DescribeRules", &rules[..2]).await.list("/Rules/Rule").len(), 1);
    client.ok("slb.DeleteRules", &[("RuleIds", &format!("[\"{rule}\"]"))]).await;
    client.refused("slb.DeleteRules", &[("RuleIds", &rule)], "InvalidRuleId.NotFound").await;
}

#[tokio::test(start_paused = true)]
async fn access_lists_are_kept_while_listeners_use_them() {
    let client = Client::new();
    let (lb, group) = prepared(&client).await;
    let acl = client.ok("slb.CreateAccessControlList", &[("AclName", "office")]).await.text("/AclId");
    let acl = ("AclId", acl.as_str());
    let entries = ("AclEntrys", "[{\"entry\":\"10.0.0.0/8\",\"comment\":\"inside\"}]");
    client.ok("slb.AddAccessControlListEntry", &[acl, entries]).await;
    client.refused("slb.AddAccessControlListEntry", &[acl, entries], "InvalidParam.AclEntryExists").await;
    client.refused("slb.AddAccessControlListEntry", &[acl, ("AclEntrys", "[{\"entry\":\"x\"}]")], "InvalidEntry").await;
    let listener =
        [("LoadBalancerId", lb.as_str()), ("ListenerPort", "80"), ("Bandwidth", "-1"), ("VServerGroupId", &group)];
    let with = |more: &[(&'static str, &'static str)]| [&listener[..], more].concat();
    let params = [&with(&[("AclStatus", "on"), ("AclType", "white")])[..], &[acl]].concat();
    client.refused("slb.CreateLoadBalancerTCPListener", &with(&[("AclStatus", "on")]), "MissingParameter").await;
    client.ok("slb.CreateLoadBalancerTCPListener", &params).await;
    client.refused("slb.DeleteAccessControlList", &[acl], "OperationFailed.AclBindedWithVip").await;
    let one = client.ok("slb.DescribeAccessControlListAttribute", &[acl]).await;
    assert_eq!(one.text("/RelatedListeners/RelatedListener/0/LoadBalancerId"), lb);
    assert_eq!(client.ok("slb.DescribeAccessControlLists", &[]).await.body["TotalCount"], 1);
    client.ok("slb.RemoveAccessControlListEntry", &[acl, entries]).await;
    client.ok("slb.DeleteLoadBalancer", &listener[..1]).await;
    client.ok("slb.DeleteAccessControlList", &[acl]).await;
}

fn certificate() -> (String, String) {
    let mut params = rcgen::CertificateParams::new(vec!["www.example.com".to_owned()]).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, "www.example.com");
    let key = rcgen::KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}
