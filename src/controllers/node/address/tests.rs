use super::{
    super::fixtures::{mk_instance, mk_node},
    *,
};

fn list(text: &str) -> Vec<NodeAddress> {
    let one = |entry: &str| {
        let (kind, address) = entry.split_once('=').unwrap();
        NodeAddress { type_: kind.to_owned(), address: address.to_owned() }
    };
    text.split_whitespace().map(one).collect()
}

#[test]
fn public_before_private_before_ipv6_before_the_host_name() {
    let mut instance = mk_instance("i-1", "192.168.0.1");
    instance.public_addresses = vec!["47.0.0.1".parse().unwrap(), "47.0.0.2".parse().unwrap()];
    instance.ipv6_addresses = vec!["2408::1".parse().unwrap()];
    let node = mk_node("n").address("InternalIP", "9.9.9.9").address("Hostname", "worker-1").build();
    let single = "ExternalIP=47.0.0.1 ExternalIP=47.0.0.2 InternalIP=192.168.0.1 Hostname=worker-1";
    assert_eq!(wanted(&node, &instance, false), Ok(list(single)));
    let dual = "ExternalIP=47.0.0.1 ExternalIP=47.0.0.2 InternalIP=192.168.0.1 InternalIP=2408::1 Hostname=worker-1";
    assert_eq!(wanted(&node, &instance, true), Ok(list(dual)));
}

#[test]
fn an_address_is_listed_once_a_type() {
    let mut instance = mk_instance("i-1", "10.0.0.1");
    instance.private_addresses.push("10.0.0.1".parse().unwrap());
    instance.public_addresses = vec!["10.0.0.1".parse().unwrap()];
    let found = wanted(&mk_node("n").build(), &instance, false);
    assert_eq!(found, Ok(list("ExternalIP=10.0.0.1 InternalIP=10.0.0.1")));
}

#[test]
fn an_instance_without_addresses_is_a_problem_and_not_an_empty_list() {
    let mut instance = mk_instance("i-1", "10.0.0.1");
    instance.private_addresses.clear();
    let node = mk_node("n").address("Hostname", "h").build();
    assert_eq!(wanted(&node, &instance, true), Err(Problem::None("i-1".into())));
}

#[test]
fn provided_node_ips_go_first_and_displace_their_type() {
    for (what, cloud, provided, want) in [
        ("single InternalIP", "InternalIP=10.1.1.1", "10.1.1.1", "InternalIP=10.1.1.1"),
        (
            "external address asked for",
            "InternalIP=10.1.1.1 ExternalIP=55.55.55.55",
            "55.55.55.55",
            "ExternalIP=55.55.55.55 InternalIP=10.1.1.1",
        ),
        (
            "the same address under two types",
            "InternalIP=10.1.1.1 ExternalIP=10.1.1.1",
            "10.1.1.1",
            "InternalIP=10.1.1.1 ExternalIP=10.1.1.1",
        ),
        (
            "two types and names",
            "InternalIP=10.1.1.1 ExternalIP=10.1.1.1 InternalDNS=in.dns ExternalDNS=ex.dns",
            "10.1.1.1",
            "InternalIP=10.1.1.1 ExternalIP=10.1.1.1 InternalDNS=in.dns ExternalDNS=ex.dns",
        ),
        (
            "several InternalIPs",
            "InternalIP=10.1.1.1 InternalIP=10.1.1.2 ExternalIP=55.1.1.1 Hostname=h",
            "10.1.1.2",
            "InternalIP=10.1.1.2 ExternalIP=55.1.1.1 Hostname=h",
        ),
        (
            "IPv6 written another way",
            "InternalIP=2600:1f14:1d4:d101::ba3d InternalIP=2600:1f14:1d4:d101::1",
            "2600:1f14:1d4:d101:0:0:0:ba3d",
            "InternalIP=2600:1f14:1d4:d101::ba3d",
        ),
        (
            "dual stack, v4 first, v6 asked first",
            "InternalIP=10.1.1.1 InternalIP=fc01::1",
            "fc01::1,10.1.1.1",
            "InternalIP=fc01::1 InternalIP=10.1.1.1",
        ),
        (
            "dual stack, v6 first, v4 asked first",
            "InternalIP=fc01::1 InternalIP=10.1.1.1",
            "10.1.1.1, fc01::1",
            "InternalIP=10.1.1.1 InternalIP=fc01::1",
        ),
        (
            "dual stack with several addresses",
            "InternalIP=10.1.1.1 InternalIP=10.1.1.2 InternalIP=fc01::1 InternalIP=fc01::2",
            "10.1.1.2,fc01::1",
            "InternalIP=10.1.1.2 InternalIP=fc01::1",
        ),
        (
            "an extra ExternalIP",
            "InternalIP=10.1.1.1 InternalIP=fc01::1 ExternalIP=55.1.1.1",
            "10.1.1.1,fc01::1",
            "InternalIP=10.1.1.1 InternalIP=fc01::1 ExternalIP=55.1.1.1",
        ),
        (
            "internal and external together",
            "InternalIP=10.1.1.1 ExternalIP=55.1.1.1 InternalIP=fc01::1 ExternalIP=fd00::1",
            "55.1.1.1,fc01::1",
            "ExternalIP=55.1.1.1 InternalIP=fc01::1",
        ),
        (
            "single-stack request on dual stack",
            "InternalIP=10.1.1.1 InternalIP=fc01::1",
            "fc01::1",
            "InternalIP=fc01::1",
        ),
    ] {
        assert_eq!(prefer(provided, list(cloud)), Ok(list(want)), "{what}");
    }
}

#[test]
fn provided_node_ips_that_do_not_fit_are_refused() {
    let mismatch = |wanted: &str, known: &[&str]| {
        Err(Problem::Mismatch {
            wanted: wanted.parse().unwrap(),
            known: known.iter().map(|&ip| ip.to_owned()).collect(),
        })
    };
    assert_eq!(prefer("10.1.1.9", list("InternalIP=10.1.1.1 Hostname=h")), mismatch("10.1.1.9", &["10.1.1.1"]));
    assert_eq!(prefer("10.1.1.1,fc01::1", list("InternalIP=10.1.1.1")), mismatch("fc01::1", &["10.1.1.1"]));
    for unreadable in ["invalid-ip", "", "10.1.1.1,10.1.1.2", "10.1.1.1,fc01::1,fc01::2", "10.1.1.1,"] {
        let found = prefer(unreadable, list("InternalIP=10.1.1.1"));
        assert_eq!(found, Err(Problem::Unreadable(unreadable.into())));
    }
}

#[test]
fn only_noticeable_changes_count() {
    for (what, before, after, want) in [
        ("equal", "Hostname=h InternalIP=132.143.154.163", "Hostname=h InternalIP=132.143.154.163", false),
        ("another IP", "Hostname=h InternalIP=132.143.154.163", "Hostname=h InternalIP=132.143.154.164", true),
        ("host name gone", "InternalIP=10.0.0.1 Hostname=h", "InternalIP=10.0.0.1", true),
        ("host name new", "InternalIP=10.0.0.1", "InternalIP=10.0.0.1 Hostname=h", true),
        ("swapped types", "InternalIP=10.0.0.1 ExternalIP=47.0.0.1", "ExternalIP=10.0.0.1 InternalIP=47.0.0.1", true),
        (
            "types in another order",
            "InternalIP=10.0.0.1 ExternalIP=47.0.0.1",
            "ExternalIP=47.0.0.1 InternalIP=10.0.0.1",
            false,
        ),
        (
            "tail shuffled",
            "InternalIP=10.0.0.1 InternalIP=fc::1 InternalIP=fc::2",
            "InternalIP=10.0.0.1 InternalIP=fc::2 InternalIP=fc::1",
            false,
        ),
        ("another first", "InternalIP=10.0.0.1 InternalIP=fc::1", "InternalIP=fc::1 InternalIP=10.0.0.1", true),
    ] {
        assert_eq!(differs(&list(before), &list(after)), want, "{what}");
    }
}

#[test]
fn nodes_are_searched_by_internal_and_provided_addresses() {
    let node = mk_node("n")
        .address("InternalIP", "10.0.0.5")
        .address("ExternalIP", "47.0.0.1")
        .address("Hostname", "h")
        .annotation(PROVIDED_NODE_IP, "10.0.0.6,fc::6")
        .build();
    let ips = ["10.0.0.5", "10.0.0.6", "fc::6"].map(|ip| ip.parse().unwrap());
    assert_eq!(searchable(&node), BTreeSet::from(ips));
}
