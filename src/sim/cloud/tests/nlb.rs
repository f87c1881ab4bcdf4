use super::{Client, client::Answer};
use crate::sim::cloud::{Delays, Fault, FaultKind, Options, World};

const ZONES: [(&str, &str); 4] = [
    ("ZoneMappings.1.ZoneId", "cn-hangzhou-h"),
    ("ZoneMappings.1.VSwitchId", "vsw-bp1simh"),
    ("ZoneMappings.2.ZoneId", "cn-hangzhou-i"),
    ("ZoneMappings.2.VSwitchId", "vsw-bp1simi"),
];

fn create<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [&[("VpcId", "vpc-bp1sim"), ("AddressType", "internet")][..], &ZONES, more].concat()
}

/// A load balancer and a server group, both ready.
async fn prepared(client: &Client) -> (String, String) {
    let lb = client.ok("nlb.CreateLoadBalancer", &create(&[])).await.text("/LoadbalancerId");
    let group = [("VpcId", "vpc-bp1sim"), ("ServerGroupName", "group")];
    let group = client.ok("nlb.CreateServerGroup", &group).await.text("/ServerGroupId");
    client.wait(2_000).await;
    (lb, group)
}

async fn job(client: &Client, answer: &Answer) -> String {
    client.ok("nlb.GetJobStatus", &[("JobId", &answer.text("/JobId"))]).await.text("/Status")
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_is_provisioned_before_it_is_active() {
    let client = Client::slow();
    let id = client.ok("nlb.CreateLoadBalancer", &create(&[("Tag.1.Key", "k"), ("Tag.1.Value", "v")])).await;
    let id = id.text("/LoadbalancerId");
    let lb = ("LoadBalancerId", id.as_str());
    let get = async || client.ok("nlb.GetLoadBalancerAttribute", &[lb]).await;
    assert_eq!(get().await.text("/LoadBalancerStatus"), "Provisioning");
    client.refused("nlb.DeleteLoadBalancer", &[lb], "IncorrectStatus.loadbalancer").await;
    client.wait(1_000).await;
    let shown = get().await;
    assert_eq!(shown.text("/LoadBalancerStatus"), "Active");
    assert_eq!(shown.text("/AddressType"), "Internet", "a choice is taken in any case and shown as written");
    assert_eq!(shown.text("/Tags/0/TagKey"), "k");
    assert_eq!(shown.list("/ZoneMappings").len(), 2);
    let listed = client.ok("nlb.ListLoadBalancers", &[("Tag.1.Key", "k"), ("Tag.1.Value", "v")]).await;
    assert_eq!(listed.text("/LoadBalancers/0/Tags/0/Key"), "k");
    let gone = client.ok("nlb.DeleteLoadBalancer", &[lb]).await;
    assert_eq!(get().await.text("/LoadBalancerStatus"), "Deleting");
    assert_eq!(job(&client, &gone).await, "Processing");
    client.wait(500).await;
    assert_eq!(job(&client, &gone).await, "Succeeded");
    client.refused("nlb.GetLoadBalancerAttribute", &[lb], "ResourceNotFound.loadBalancer").await;
}

#[tokio::test(start_paused = true)]
async fn wrong_zones_are_refused() {
    let client = Client::new();
    let before = client.cloud.with_state(|state| state.network.addresses.clone());
    let base = [("VpcId", "vpc-bp1sim"), ("AddressType", "Intranet")];
    client.refused("nlb.CreateLoadBalancer", &[&base[..], &ZONES[..2]].concat(), "InvalidZones").await;
    let mut wrong = [&base[..], &ZONES].concat();
    wrong[5].1 = "vsw-bp1simj";
    client.refused("nlb.CreateLoadBalancer", &wrong, "Mismatch.ZoneIdAndVswitchId").await;
    wrong[5].1 = "vsw-none";
    client.refused("nlb.CreateLoadBalancer", &wrong, "ResourceNotFound.VSwitch").await;
    assert!(client.cloud.with_state(|state| state.network.addresses == before), "nothing was taken");
}

#[tokio::test(start_paused = true)]
async fn a_job_locks_its_load_balancer() {
    let client = Client::slow();
    let (lb, group) = prepared(&client).await;
    let listener = [
        ("LoadBalancerId", lb.as_str()),
        ("ListenerProtocol", "TCP"),
        ("ListenerPort", "80"),
        ("ServerGroupId", group.as_str()),
    ];
    let created = client.ok("nlb.CreateListener", &listener).await;
    let id = created.text("/ListenerId");
    assert!(id.ends_with("@80"));
    let second = [listener[0], listener[1], ("ListenerPort", "81"), listener[3]];
    client.refused("nlb.CreateListener", &second, "Conflict.Lock").await;
    client
        .refused(
            "nlb.UpdateLoadBalancerProtection",
            &[listener[0], ("DeletionProtectionEnabled", "true")],
            "Conflict.Lock",
        )
        .await;
    client.wait(500).await;
    assert_eq!(job(&client, &created).await, "Succeeded");
    let jobs = client.ok("nlb.ListAsynJobs", &[("JobIds.1", &created.text("/JobId"))]).await;
    assert_eq!((jobs.text("/TotalCount"), jobs.text("/Jobs/0/Status")), ("1".to_owned(), "Succeeded".to_owned()));
    let one = client.ok("nlb.GetListenerAttribute", &[("ListenerId", &id)]).await;
    assert_eq!(one.text("/ListenerStatus"), "Running", "no start is needed");
    client.refused("nlb.CreateListener", &listener, "Conflict.Port").await;
    client.refused("nlb.DeleteServerGroup", &[listener[3]], "ResourceInUse.ServerGroup").await;
    let update = [("ListenerId", id.as_str()), ("IdleTimeout", "60"), ("ProxyProtocolEnabled", "true")];
    client.ok("nlb.UpdateListenerAttribute", &update).await;
    client.wait(500).await;
    let shown = client.ok("nlb.ListListeners", &[("LoadBalancerIds.1", &lb)]).await;
    assert_eq!(shown.body["Listeners"][0]["IdleTimeout"], 60);
    assert_eq!(shown.body["Listeners"][0]["ProxyProtocolEnabled"], true);
    client.ok("nlb.StopListener", &update[..1]).await;
    client.wait(500).await;
    client.refused("nlb.StopListener", &update[..1], "IncorrectStatus.listener").await;
    client.ok("nlb.StartListener", &update[..1]).await;
    client.wait(500).await;
    client.ok("nlb.DeleteListener", &update[..1]).await;
    client.wait(500).await;
    client.refused("nlb.GetListenerAttribute", &update[..1], "ResourceNotFound.listener").await;
}

#[tokio::test(start_paused = true)]
async fn servers_come_change_and_go_by_jobs() {
    let client = Client::slow();
    let (_, group) = prepared(&client).await;
    let group = ("ServerGroupId", group.as_str());
    let server = |id: &'static str, weight: &'static str| {
        vec![
            group,
            ("Servers.1.ServerId", id),
            ("Servers.1.ServerType", "Ecs"),
            ("Servers.1.Port", "30080"),
            ("Servers.1.Weight", weight),
        ]
    };
    let list = async || client.ok("nlb.ListServerGroupServers", &[group]).await.list("/Servers");
    client.refused("nlb.AddServersToServerGroup", &server("i-none", "1"), "ResourceNotFound.Ecs").await;
    client.ok("nlb.AddServersToServerGroup", &server("i-bp1node0001", "100")).await;
    assert_eq!(list().await[0]["Status"], "Adding");
    client.refused("nlb.AddServersToServerGroup", &server("i-bp1node0002", "1"), "IncorrectStatus.serverGroup").await;
    client.wait(500).await;
    assert_eq!(list().await[0]["Status"], "Available");
    client.ok("nlb.UpdateServerGroupServersAttribute", &server("i-bp1node0001", "7")).await;
    client.wait(500).await;
    assert_eq!(list().await[0]["Weight"], 7);
    client
        .refused(
            "nlb.RemoveServersFromServerGroup",
            &server("i-bp1node0002", "1")[..4],
            "ResourceNotFound.BackendServer",
        )
        .await;
    client.ok("nlb.RemoveServersFromServerGroup", &server("i-bp1node0001", "1")[..4]).await;
    assert_eq!(list().await[0]["Status"], "Removing");
    client.wait(500).await;
    assert!(list().await.is_empty());
    let change = [group, ("Scheduler", "rr"), ("HealthCheckConfig.HealthCheckInterval", "7")];
    client.ok("nlb.UpdateServerGroupAttribute", &change).await;
    client.wait(500).await;
    let shown = client.ok("nlb.ListServerGroups", &[("ServerGroupIds.1", group.1)]).await;
    assert_eq!(shown.text("/ServerGroups/0/Scheduler"), "rr");
    assert_eq!(shown.body["ServerGroups"][0]["HealthCheck"]["HealthCheckInterval"], 7);
    client.ok("nlb.DeleteServerGroup", &[group]).await;
    client.wait(500).await;
    client.refused("nlb.DeleteServerGroup", &[group], "ResourceNotFound.serverGroup").await;
}

#[tokio::test(start_paused = true)]
async fn paused_jobs_end_when_they_are_resumed_or_failed() {
    let client = Client::slow();
    let (lb, _) = prepared(&client).await;
    let rename = [("LoadBalancerId", lb.as_str()), ("LoadBalancerName", "other")];
    client.cloud.with_state(|state| state.nlb.jobs_paused = true);
    let first = client.ok("nlb.UpdateLoadBalancerAttribute", &rename).await;
    client.wait(60_000).await;
    assert_eq!(job(&client, &first).await, "Processing");
    client.cloud.with_state(|state| state.nlb.fail_held_jobs());
    assert_eq!(job(&client, &first).await, "Failed");
    let second = client.ok("nlb.UpdateLoadBalancerAttribute", &rename).await;
    client.wait(60_000).await;
    client.cloud.with_state(|state| state.nlb.resume_jobs());
    assert_eq!(job(&client, &second).await, "Succeeded");
}

#[tokio::test(start_paused = true)]
async fn zones_security_groups_and_bandwidth_follow_their_rules() {
    let mut world = World::with_nodes(3);
    world.bandwidth_packages.push(crate::sim::cloud::vpc::BandwidthPackage {
        id: "cbwp-1".to_owned(),
        name: "shared".to_owned(),
        bandwidth: 100,
    });
    let client = Client::with(world, Options { delays: Delays::none(), ..Options::default() });
    let (lb, _) = prepared(&client).await;
    let lb = ("LoadBalancerId", lb.as_str());
    let zones = [
        lb,
        ZONES[2],
        ZONES[3],
        ("ZoneMappings.3.ZoneId", "cn-hangzhou-j"),
        ("ZoneMappings.3.VSwitchId", "vsw-bp1simj"),
    ];
    client.ok("nlb.UpdateLoadBalancerZones", &zones).await;
    let shown = client.ok("nlb.GetLoadBalancerAttribute", &[lb]).await;
    let names: Vec<String> =
        shown.list("/ZoneMappings").iter().map(|one| one["ZoneId"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["cn-hangzhou-i", "cn-hangzhou-j"], "what is left out is removed");

    let group = client.ok("ecs.CreateSecurityGroup", &[("VpcId", "vpc-bp1sim")]).await.text("/SecurityGroupId");
    let join = [lb, ("SecurityGroupIds.1", group.as_str())];
    client.ok("nlb.LoadBalancerJoinSecurityGroup", &join).await;
    client.refused("nlb.LoadBalancerJoinSecurityGroup", &join, "Conflict.SecurityGroup").await;
    client.refused("ecs.DeleteSecurityGroup", &[("SecurityGroupId", &group)], "DependencyViolation").await;
    client.ok("nlb.LoadBalancerLeaveSecurityGroup", &join).await;
    client.ok("ecs.DeleteSecurityGroup", &[("SecurityGroupId", &group)]).await;

    let package = [lb, ("BandwidthPackageId", "cbwp-1")];
    client.ok("nlb.AttachCommonBandwidthPackageToLoadBalancer", &package).await;
    client
        .refused("nlb.AttachCommonBandwidthPackageToLoadBalancer", &package, "ResourceAlreadyAssociated.loadbalancer")
        .await;
    client.ok("nlb.DetachCommonBandwidthPackageFromLoadBalancer", &package).await;
    client
        .refused(
            "nlb.UpdateLoadBalancerAddressTypeConfig",
            &[lb, ("AddressType", "Internet")],
            "OperationDenied.AddressTypeNotChanged",
        )
        .await;
    client.ok("nlb.UpdateLoadBalancerAddressTypeConfig", &[lb, ("AddressType", "Intranet")]).await;
    client
        .refused("nlb.AttachCommonBandwidthPackageToLoadBalancer", &package, "OperationDenied.IntranetLoadBalancer")
        .await;
    client.refused("nlb.EnableLoadBalancerIpv6Internet", &[lb], "OperationDenied.NonDualStackInstance").await;
    client
        .ok(
            "nlb.UpdateLoadBalancerProtection",
            &[lb, ("DeletionProtectionEnabled", "true"), ("DeletionProtectionReason", "r")],
        )
        .await;
    client.refused("nlb.DeleteLoadBalancer", &[lb], "OperationDenied.DeletionProtectionEnabled").await;
    client
        .ok(
            "nlb.StartShiftLoadBalancerZones",
            &[lb, ("ZoneMappings.1.ZoneId", "cn-hangzhou-i"), ("ZoneMappings.1.VSwitchId", "vsw-bp1simi")],
        )
        .await;
    client
        .ok(
            "nlb.CancelShiftLoadBalancerZones",
            &[lb, ("ZoneMappings.1.ZoneId", "cn-hangzhou-i"), ("ZoneMappings.1.VSwitchId", "vsw-bp1simi")],
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn tls_listeners_have_certificates_and_policies() {
    let client = Client::new();
    client.cloud.with_state(|state| {
        for id in ["1_a", "1_b"] {
            let certificate = crate::sim::cloud::slb::Certificate {
                id: id.to_owned(),
                name: id.to_owned(),
                region: "cn-hangzhou".to_owned(),
                common_name: "example.com".to_owned(),
                fingerprint: String::new(),
                expires: "2030-01-01T00:00:00Z".parse().unwrap(),
                tags: crate::sim::cloud::Tags::new(),
                created: jiff::Timestamp::default(),
            };
            state.slb.certificates.insert(id.to_owned(), certificate);
        }
    });
    let (lb, group) = prepared(&client).await;
    let base = [
        ("LoadBalancerId", lb.as_str()),
        ("ListenerProtocol", "TCPSSL"),
        ("ListenerPort", "443"),
        ("ServerGroupId", group.as_str()),
    ];
    client.refused("nlb.CreateListener", &base, "MissingParam.Certificate").await;
    let unknown = [&base[..], &[("CertificateIds.1", "1_x")]].concat();
    client.refused("nlb.CreateListener", &unknown, "ResourceNotFound.Certificate").await;
    let policy = [("Ciphers.1", "AES128-SHA"), ("TlsVersions.1", "TLSv1.2"), ("SecurityPolicyName", "own")];
    let policy = client.ok("nlb.CreateSecurityPolicy", &policy).await.text("/SecurityPolicyId");
    let good = [&base[..], &[("CertificateIds.1", "1_a"), ("SecurityPolicyId", policy.as_str())]].concat();
    let id = client.ok("nlb.CreateListener", &good).await.text("/ListenerId");
    client.refused("nlb.DeleteSecurityPolicy", &[("SecurityPolicyId", &policy)], "ResourceInUse.SecurityPolicy").await;
    let policies = client.ok("nlb.ListSecurityPolicy", &[]).await;
    assert_eq!(policies.text("/SecurityPolicies/0/RelatedListeners/0/ListenerId"), id);
    client.ok("nlb.ListSystemSecurityPolicy", &[]).await;
    let more = [("ListenerId", id.as_str()), ("AdditionalCertificateIds.1", "1_b")];
    client.ok("nlb.AssociateAdditionalCertificatesWithListener", &more).await;
    client
        .refused("nlb.AssociateAdditionalCertificatesWithListener", &more, "ResourceAlreadyAssociated.Certificate")
        .await;
    assert_eq!(client.ok("nlb.ListListenerCertificates", &more[..1]).await.list("/Certificates").len(), 2);
    client.ok("nlb.DisassociateAdditionalCertificatesWithListener", &more).await;
    client
        .refused("nlb.DisassociateAdditionalCertificatesWithListener", &more, "ResourceNotAssociated.Certificate")
        .await;
    let default = [("ListenerId", id.as_str()), ("AdditionalCertificateIds.1", "1_a")];
    client
        .refused(
            "nlb.DisassociateAdditionalCertificatesWithListener",
            &default,
            "OperationDenied.DefaultCertificateUsed",
        )
        .await;
    client.ok("nlb.GetListenerHealthStatus", &more[..1]).await;
    for (kind, id) in [("loadbalancer", &lb), ("servergroup", &group), ("securitypolicy", &policy)] {
        let base = [("ResourceType", kind), ("ResourceId.1", id.as_str())];
        client.ok("nlb.TagResources", &[&base[..], &[("Tag.1.Key", "a")]].concat()).await;
        assert_eq!(client.ok("nlb.ListTagResources", &base).await.body["TotalCount"], 1);
        client.ok("nlb.UntagResources", &[&base[..], &[("TagKey.1", "a")]].concat()).await;
        client.ok("nlb.MoveResourceGroup", &[base[0], ("ResourceId", id), ("NewResourceGroupId", "rg-2")]).await;
    }
    client.ok("nlb.DescribeRegions", &[]).await;
    client.ok("nlb.DescribeZones", &[]).await;
    client.ok("nlb.SetHdMonitorRegionConfig", &[("LogProject", "p"), ("MetricStore", "s")]).await;
    client.ok("nlb.DescribeHdMonitorRegionConfig", &[]).await;
    client
        .ok("nlb.UpdateSecurityPolicyAttribute", &[("SecurityPolicyId", &policy), ("SecurityPolicyName", "new")])
        .await;
    client.refused("nlb.CreateLoadBalancer", &create(&[("DryRun", "true")]), "DryRunOperation").await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_fails_has_locked_its_load_balancer_and_changed_nothing() {
    let client = Client::slow();
    let (lb, group) = prepared(&client).await;
    let listener = [
        ("LoadBalancerId", lb.as_str()),
        ("ListenerPort", "80"),
        ("ListenerProtocol", "TCP"),
        ("ServerGroupId", group.as_str()),
    ];
    client.cloud.inject(Fault::on("nlb", FaultKind::FailedJob).times(2));
    let listed = client.ok("nlb.ListListeners", &[("LoadBalancerIds.1", lb.as_str())]).await;
    assert_eq!(listed.list("/Listeners").len(), 0, "a call without a job is served");
    let begun = client.ok("nlb.CreateListener", &listener).await;
    assert_eq!(job(&client, &begun).await, "Processing");
    client.refused("nlb.CreateListener", &listener, "Conflict.Lock").await;
    client.wait(500).await;
    assert_eq!(job(&client, &begun).await, "Failed");
    assert_eq!(client.cloud.with_state(|state| state.nlb.listeners.len()), 0);
    client.ok("nlb.CreateListener", &listener).await;
}
