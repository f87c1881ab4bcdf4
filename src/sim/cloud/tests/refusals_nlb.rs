//! What network load balancers refuse, and that a refusal has the product's code.

use super::Client;
use crate::sim::cloud::{Delays, Options, Quotas, Tags, World, ecs::Instance, slb::Certificate, vpc::BandwidthPackage};

const H: [(&str, &str); 2] = [("ZoneMappings.1.ZoneId", "cn-hangzhou-h"), ("ZoneMappings.1.VSwitchId", "vsw-bp1simh")];
const I: [(&str, &str); 2] = [("ZoneMappings.2.ZoneId", "cn-hangzhou-i"), ("ZoneMappings.2.VSwitchId", "vsw-bp1simi")];

/// A cloud with a second VPC, an instance in it, two bandwidth packages and a certificate.
fn wide() -> Client {
    let mut world = World::with_nodes(3);
    let mut vpc = world.vpcs[0].clone();
    (vpc.id, vpc.router) = ("vpc-other".to_owned(), "vrt-other".to_owned());
    let mut vswitch = world.vswitches[0].clone();
    (vswitch.id, vswitch.vpc) = ("vsw-other".to_owned(), vpc.id.clone());
    world.vpcs.push(vpc);
    world.vswitches.push(vswitch);
    world.instances.push(Instance::new("i-foreign", "vsw-other"));
    for id in ["cbwp-1", "cbwp-2"] {
        world.bandwidth_packages.push(BandwidthPackage { id: id.to_owned(), name: id.to_owned(), bandwidth: 100 });
    }
    world.certificates.push(Certificate {
        id: "1_a".to_owned(),
        name: "1_a".to_owned(),
        region: "cn-hangzhou".to_owned(),
        common_name: "example.com".to_owned(),
        fingerprint: String::new(),
        expires: "2030-01-01T00:00:00Z".parse().unwrap(),
        tags: Tags::new(),
        created: jiff::Timestamp::default(),
    });
    Client::with(world, Options { delays: Delays::none(), ..Options::default() })
}

fn limited(quotas: Quotas) -> Client {
    Client::with(World::with_nodes(3), Options { quotas, delays: Delays::none(), ..Options::default() })
}

/// What a load balancer on the internet with places in two zones is made of, and more.
fn wanted<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [&[("VpcId", "vpc-bp1sim"), ("AddressType", "Internet")][..], &H, &I, more].concat()
}

async fn load_balancer(client: &Client) -> String {
    client.ok("nlb.CreateLoadBalancer", &wanted(&[])).await.text("/LoadbalancerId")
}

async fn group_in(client: &Client, vpc: &str, more: &[(&str, &str)]) -> String {
    let base = [("VpcId", vpc), ("ServerGroupName", "group")];
    client.ok("nlb.CreateServerGroup", &[&base[..], more].concat()).await.text("/ServerGroupId")
}

async fn group(client: &Client, more: &[(&str, &str)]) -> String {
    group_in(client, "vpc-bp1sim", more).await
}

fn listener<'a>(lb: &'a str, group: &'a str, protocol: &'a str, port: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![("LoadBalancerId", lb), ("ServerGroupId", group), ("ListenerProtocol", protocol), ("ListenerPort", port)]
}

/// The call for one server, and more of its fields.
fn server<'a>(group: &'a str, id: &'a str, kind: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let base = [("ServerGroupId", group), ("Servers.1.ServerId", id), ("Servers.1.ServerType", kind)];
    [&base[..], more].concat()
}

#[tokio::test(start_paused = true)]
async fn only_the_attached_bandwidth_package_can_be_detached() {
    let client = wide();
    let lb = load_balancer(&client).await;
    let [one, other] = ["cbwp-1", "cbwp-2"].map(|id| [("LoadBalancerId", lb.as_str()), ("BandwidthPackageId", id)]);
    let detach = "nlb.DetachCommonBandwidthPackageFromLoadBalancer";
    client.refused(detach, &one, "ResourceNotAssociated.loadbalancer").await;
    client.ok("nlb.AttachCommonBandwidthPackageToLoadBalancer", &one).await;
    client.refused(detach, &other, "ResourceNotAssociated.loadbalancer").await;
    client.ok(detach, &one).await;
}

#[tokio::test(start_paused = true)]
async fn only_encrypted_listeners_have_certificates() {
    let client = wide();
    let (lb, group) = (load_balancer(&client).await, group(&client, &[]).await);
    let id = client.ok("nlb.CreateListener", &listener(&lb, &group, "TCP", "80")).await.text("/ListenerId");
    let more = [("ListenerId", id.as_str()), ("AdditionalCertificateIds.1", "1_a")];
    client.refused("nlb.AssociateAdditionalCertificatesWithListener", &more, "OperationDenied.Protocol").await;
    client.refused("nlb.ListListenerCertificates", &more[..1], "OperationDenied.Protocol").await;
}

#[tokio::test(start_paused = true)]
async fn jobs_that_never_were_are_not_found() {
    let client = Client::new();
    client.refused("nlb.GetJobStatus", &[("JobId", "none")], "ResourceNotFound.JobId").await;
    let known = client.ok("nlb.CreateServerGroup", &[("VpcId", "vpc-bp1sim"), ("ServerGroupName", "group")]).await;
    let known = known.text("/JobId");
    client.ok("nlb.ListAsynJobs", &[("JobIds.1", &known)]).await;
    client.refused("nlb.ListAsynJobs", &[("JobIds.1", &known), ("JobIds.2", "none")], "ResourceNotFound.JobId").await;
}

#[tokio::test(start_paused = true)]
async fn a_listener_has_a_port_or_a_range_and_a_bounded_timeout() {
    let client = Client::new();
    let (lb, group) = (load_balancer(&client).await, group(&client, &[]).await);
    let ports: [(&str, &[(&str, &str)]); 5] = [
        ("0", &[]),
        ("0", &[("StartPort", "80")]),
        ("0", &[("StartPort", "0"), ("EndPort", "80")]),
        ("0", &[("StartPort", "81"), ("EndPort", "80")]),
        ("80", &[("StartPort", "80"), ("EndPort", "81")]),
    ];
    for (port, range) in ports {
        let wrong = [&listener(&lb, &group, "TCP", port)[..], range].concat();
        client.refused("nlb.CreateListener", &wrong, "IllegalParam.Port").await;
    }
    for timeout in ["0", "901"] {
        let wrong = [&listener(&lb, &group, "TCP", "80")[..], &[("IdleTimeout", timeout)]].concat();
        client.refused("nlb.CreateListener", &wrong, "IllegalParam.IdleTimeout").await;
    }
    assert!(client.cloud.with_state(|state| state.nlb.listeners.is_empty()), "a refused call makes no listener");
    let id = client.ok("nlb.CreateListener", &listener(&lb, &group, "TCP", "80")).await.text("/ListenerId");
    let update = |timeout| [("ListenerId", id.as_str()), ("IdleTimeout", timeout)];
    client.refused("nlb.UpdateListenerAttribute", &update("901"), "IllegalParam.IdleTimeout").await;
    let shown = client.ok("nlb.GetListenerAttribute", &update("1")[..1]).await;
    assert_eq!(shown.body["IdleTimeout"], 900, "a refused call changes nothing");
    client.ok("nlb.UpdateListenerAttribute", &update("1")).await;
}

#[tokio::test(start_paused = true)]
async fn a_listener_and_its_servers_share_protocol_and_network() {
    let client = wide();
    let lb = load_balancer(&client).await;
    let tcp = group(&client, &[]).await;
    let udp = group(&client, &[("Protocol", "UDP")]).await;
    let both = group(&client, &[("Protocol", "TCP_UDP")]).await;
    let foreign = group_in(&client, "vpc-other", &[]).await;
    for (group, protocol) in [(&tcp, "UDP"), (&udp, "TCP"), (&both, "TCPSSL")] {
        let wrong = listener(&lb, group, protocol, "80");
        client.refused("nlb.CreateListener", &wrong, "Mismatch.Protocol").await;
    }
    client.refused("nlb.CreateListener", &listener(&lb, &foreign, "TCP", "80"), "Mismatch.VpcId").await;
    let id = client.ok("nlb.CreateListener", &listener(&lb, &tcp, "TCP", "80")).await.text("/ListenerId");
    let update = |group| [("ListenerId", id.as_str()), ("ServerGroupId", group)];
    client.refused("nlb.UpdateListenerAttribute", &update(&udp), "Mismatch.Protocol").await;
    client.refused("nlb.UpdateListenerAttribute", &update(&foreign), "Mismatch.VpcId").await;
    client.ok("nlb.UpdateListenerAttribute", &update(&both)).await;
    let stranger = server(&tcp, "i-foreign", "Ecs", &[("Servers.1.Port", "80")]);
    client.refused("nlb.AddServersToServerGroup", &stranger, "Mismatch.VpcId").await;
}

#[tokio::test(start_paused = true)]
async fn quotas_of_load_balancers_listeners_and_servers_hold() {
    let full = "QuotaExceeded.QuotaInsufficient";
    let client = limited(Quotas {
        network_load_balancers: Some(1),
        network_listeners: Some(1),
        network_servers: Some(1),
        ..Quotas::default()
    });
    let (lb, group) = (load_balancer(&client).await, group(&client, &[]).await);
    client.refused("nlb.CreateLoadBalancer", &wanted(&[]), full).await;
    client.ok("nlb.CreateListener", &listener(&lb, &group, "TCP", "80")).await;
    client.refused("nlb.CreateListener", &listener(&lb, &group, "TCP", "81"), full).await;
    let add = |id| server(&group, id, "Ecs", &[("Servers.1.Port", "80")]);
    client.ok("nlb.AddServersToServerGroup", &add("i-bp1node0001")).await;
    client.refused("nlb.AddServersToServerGroup", &add("i-bp1node0002"), full).await;
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_is_in_few_security_groups_of_its_own_network() {
    let client = wide();
    let id = load_balancer(&client).await;
    let lb = ("LoadBalancerId", id.as_str());
    let (join, leave) = ("nlb.LoadBalancerJoinSecurityGroup", "nlb.LoadBalancerLeaveSecurityGroup");
    let create = async |vpc| client.ok("ecs.CreateSecurityGroup", &[("VpcId", vpc)]).await.text("/SecurityGroupId");
    let foreign = create("vpc-other").await;
    client.refused(join, &[lb, ("SecurityGroupIds.1", "sg-none")], "ResourceNotFound.SecurityGroup").await;
    client.refused(join, &[lb, ("SecurityGroupIds.1", &foreign)], "Mismatch.vpc").await;
    for _ in 0..4 {
        client.ok(join, &[lb, ("SecurityGroupIds.1", &create("vpc-bp1sim").await)]).await;
    }
    let fifth = create("vpc-bp1sim").await;
    let fifth = [lb, ("SecurityGroupIds.1", fifth.as_str())];
    client.refused(join, &fifth, "QuotaExceeded.QuotaInsufficient").await;
    client.refused(leave, &fifth, "ResourceNotFound.SecurityGroup").await;
    assert_eq!(client.cloud.with_state(|state| state.nlb.load_balancers[&id].security_groups.len()), 4);
}

#[tokio::test(start_paused = true)]
async fn security_policies_must_exist_to_be_used_changed_or_deleted() {
    let client = wide();
    let missing = "ResourceNotFound.securitypolicy";
    let (lb, group) = (load_balancer(&client).await, group(&client, &[]).await);
    let policy = ("SecurityPolicyId", "tls-none");
    let base = [&listener(&lb, &group, "TCPSSL", "443")[..], &[("CertificateIds.1", "1_a")]].concat();
    client.refused("nlb.CreateListener", &[&base[..], &[policy]].concat(), missing).await;
    let id = client.ok("nlb.CreateListener", &base).await.text("/ListenerId");
    client.refused("nlb.UpdateListenerAttribute", &[("ListenerId", &id), policy], missing).await;
    client.refused("nlb.UpdateSecurityPolicyAttribute", &[policy], missing).await;
    client.refused("nlb.DeleteSecurityPolicy", &[policy], missing).await;
    let tag = [("ResourceType", "securitypolicy"), ("ResourceId.1", "tls-none"), ("Tag.1.Key", "a")];
    client.refused("nlb.TagResources", &tag, missing).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_names_each_server_once_and_not_too_many() {
    let client = Client::new();
    let group = group(&client, &[]).await;
    let twice = [
        ("Servers.1.Port", "80"),
        ("Servers.2.ServerId", "i-bp1node0001"),
        ("Servers.2.ServerType", "Ecs"),
        ("Servers.2.Port", "80"),
    ];
    let twice = server(&group, "i-bp1node0001", "Ecs", &twice);
    let many = |count: u16| -> Vec<(String, String)> {
        let one = |port: u16| {
            [("ServerId", "i-bp1node0001".to_owned()), ("ServerType", "Ecs".to_owned()), ("Port", port.to_string())]
                .map(|(field, value)| (format!("Servers.{port}.{field}"), value))
        };
        let group = ("ServerGroupId".to_owned(), group.clone());
        std::iter::once(group).chain((1..=count).flat_map(one)).collect()
    };
    let (most, too_many) = (many(200), many(201));
    let [most, too_many] = [&most, &too_many]
        .map(|list| list.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect::<Vec<_>>());
    client.ok("nlb.AddServersToServerGroup", &most).await;
    for action in
        ["nlb.AddServersToServerGroup", "nlb.RemoveServersFromServerGroup", "nlb.UpdateServerGroupServersAttribute"]
    {
        client.refused(action, &twice, "DuplicatedParam.Server").await;
        client.refused(action, &too_many, "IllegalParam.Servers").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_takes_only_servers_that_fit_it() {
    let client = Client::new();
    let instances = group(&client, &[]).await;
    let addresses = group(&client, &[("ServerGroupType", "Ip")]).await;
    let any_port = group(&client, &[("AnyPortEnabled", "true")]).await;
    let (node, port) = ("i-bp1node0001", ("Servers.1.Port", "80"));
    let strange = [port, ("Servers.1.ServerIp", "192.0.2.1")];
    let port_conflict = "IllegalParam.RSPortConflictWithServerGroup";
    for (wrong, code) in [
        (server(&instances, "10.0.0.9", "Ip", &[port]), "Mismatch.ServerType"),
        (server(&addresses, node, "Ecs", &[port]), "Mismatch.ServerType"),
        (server(&addresses, "somewhere", "Ip", &[port]), "IllegalParam.IP"),
        (server(&instances, node, "Ecs", &strange), "IllegalParam.IP"),
        (server(&instances, "eci-none", "Eci", &[port]), "ResourceNotFound.Eci"),
        (server(&instances, node, "Ecs", &[]), port_conflict),
        (server(&any_port, node, "Ecs", &[port]), port_conflict),
    ] {
        client.refused("nlb.AddServersToServerGroup", &wrong, code).await;
    }
    assert!(
        client.cloud.with_state(|state| state.nlb.server_groups.values().all(|group| group.servers.is_empty())),
        "a refused call adds no server"
    );
    client.ok("nlb.AddServersToServerGroup", &server(&instances, node, "Ecs", &[port])).await;
    client.ok("nlb.AddServersToServerGroup", &server(&addresses, "10.0.0.9", "Ip", &[port])).await;
    client.ok("nlb.AddServersToServerGroup", &server(&any_port, node, "Ecs", &[])).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_group_has_a_fitting_name_and_a_bounded_drain() {
    let client = Client::new();
    let base = [("VpcId", "vpc-bp1sim"), ("ServerGroupName", "group")];
    let long = "n".repeat(129);
    for name in ["n", long.as_str()] {
        let wrong = [base[0], ("ServerGroupName", name)];
        client.refused("nlb.CreateServerGroup", &wrong, "IllegalParam.ServerGroupName").await;
    }
    let illegal = "IllegalParam.ConnectionDrainTimeout";
    for timeout in ["-1", "901"] {
        let wrong = [base[0], base[1], ("ConnectionDrainTimeout", timeout)];
        client.refused("nlb.CreateServerGroup", &wrong, illegal).await;
    }
    let id = group(&client, &[("ConnectionDrainTimeout", "900")]).await;
    let update = [("ServerGroupId", id.as_str()), ("ConnectionDrainTimeout", "901")];
    client.refused("nlb.UpdateServerGroupAttribute", &update, illegal).await;
    let renamed = [update[0], ("ServerGroupName", long.as_str())];
    client.refused("nlb.UpdateServerGroupAttribute", &renamed, "IllegalParam.ServerGroupName").await;
    let kept =
        client.cloud.with_state(|state| state.nlb.server_groups[&id].attributes["ConnectionDrainTimeout"].clone());
    assert_eq!(kept, "900", "a refused call changes nothing");
}

#[tokio::test(start_paused = true)]
async fn elastic_addresses_must_exist_and_be_free() {
    let client = Client::new();
    let missing = wanted(&[("ZoneMappings.1.AllocationId", "eip-none")]);
    client.refused("nlb.CreateLoadBalancer", &missing, "ResourceNotFound.Eip").await;
    let eip = client.ok("vpc.AllocateEipAddress", &[]).await.text("/AllocationId");
    let create = wanted(&[("ZoneMappings.1.AllocationId", &eip)]);
    let lb = client.ok("nlb.CreateLoadBalancer", &create).await.text("/LoadbalancerId");
    client.refused("nlb.CreateLoadBalancer", &create, "ResourceAlreadyAssociated.AllocationId").await;
    client.ok("nlb.DeleteLoadBalancer", &[("LoadBalancerId", &lb)]).await;
    client.ok("nlb.CreateLoadBalancer", &create).await;
}

#[tokio::test(start_paused = true)]
async fn an_elastic_address_is_for_one_zone_of_a_public_load_balancer() {
    let client = Client::new();
    let eip = client.ok("vpc.AllocateEipAddress", &[]).await.text("/AllocationId");
    let (first, second) =
        (("ZoneMappings.1.AllocationId", eip.as_str()), ("ZoneMappings.2.AllocationId", eip.as_str()));
    let twice = "ResourceAlreadyAssociated.AllocationId";
    client.refused("nlb.CreateLoadBalancer", &wanted(&[first, second]), twice).await;
    let mut private = wanted(&[first]);
    private.iter_mut().filter(|(name, _)| *name == "AddressType").for_each(|(_, value)| *value = "Intranet");
    client.refused("nlb.CreateLoadBalancer", &private, "IllegalParam.AllocationId").await;
    // What a zone has already may be said again.
    let lb = client.ok("nlb.CreateLoadBalancer", &wanted(&[first])).await.text("/LoadbalancerId");
    let mut zones = wanted(&[first, ("LoadBalancerId", &lb)]);
    zones.retain(|(name, _)| name.starts_with("ZoneMappings") || *name == "LoadBalancerId");
    client.ok("nlb.UpdateLoadBalancerZones", &zones).await;
    zones.push(second);
    client.refused("nlb.UpdateLoadBalancerZones", &zones, twice).await;
}

#[tokio::test(start_paused = true)]
async fn a_zone_needs_a_free_address() {
    let mut world = World::default();
    world.vswitches[1].cidr = "10.0.32.0/30".parse().unwrap();
    let client = Client::with(world, Options { delays: Delays::none(), ..Options::default() });
    let free = || client.cloud.with_state(|state| state.network.free_addresses("vsw-bp1simh"));
    let before = free();
    client.refused("nlb.CreateLoadBalancer", &wanted(&[]), "ResourceNotEnough.VSwitchIp").await;
    let outside = wanted(&[("ZoneMappings.2.PrivateIPv4Address", "192.0.2.1")]);
    client.refused("nlb.CreateLoadBalancer", &outside, "ResourceNotEnough.VSwitchIp").await;
    assert_eq!(free(), before, "the other zone's address is given back");
}

#[tokio::test(start_paused = true)]
async fn only_a_zone_in_use_can_be_shifted() {
    let client = Client::new();
    let lb = load_balancer(&client).await;
    let shift = [
        ("LoadBalancerId", lb.as_str()),
        ("ZoneMappings.1.ZoneId", "cn-hangzhou-j"),
        ("ZoneMappings.1.VSwitchId", "vsw-bp1simj"),
    ];
    for action in ["nlb.StartShiftLoadBalancerZones", "nlb.CancelShiftLoadBalancerZones"] {
        client.refused(action, &shift, "IncorrectStatus.ZoneId").await;
    }
}
