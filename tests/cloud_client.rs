//! The cloud client against the simulated cloud, which has its own signature check and its own
//! reading of the contract: what both agree on is right, or wrong in the same way twice.
#![cfg(feature = "sim")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "the lints see no test in the functions that tests share")]

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use ccm::{
    alibaba::{
        Alibaba, Metadata, Options,
        rpc::{
            InProcess, Metrics, Transport,
            credentials::{Cached, Fixed, RamRole, Source},
        },
    },
    clock::Clock,
    cloud::{
        Action, AddressType, Class, Effect, Instances, LoadBalancer, LoadBalancers, RouteChange, RouteOutcome, Routes,
        action::CreateLoadBalancer,
    },
    entropy::Entropy,
    sim::cloud::{Cloud, Fault, FaultKind, Options as SimOptions, World},
};

struct Setup {
    cloud: Cloud,
    alibaba: Alibaba,
    metadata: Metadata,
}

fn setup(world: World) -> Setup {
    let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
    setup_with(world, &clock, |_| Arc::new(Fixed::access_key("testid", "testsecret")))
}

fn setup_with(world: World, clock: &Clock, source: impl FnOnce(&Metadata) -> Arc<dyn Source>) -> Setup {
    let entropy = Entropy::seeded(1);
    let cloud = Cloud::new(world, SimOptions::default(), clock.clone(), entropy.fork()).unwrap();
    let transport: Arc<dyn Transport> = Arc::new(InProcess::new(cloud.router()));
    let metadata = Metadata::new("http://100.100.100.200", Arc::clone(&transport));
    let credentials = source(&metadata);
    let options = Options { metadata: Some(metadata.clone()), ..Options::new("cn-hangzhou") };
    let alibaba = Alibaba::new(options, transport, credentials, clock.clone(), entropy, Metrics::new());
    Setup { cloud, alibaba, metadata }
}

fn create() -> CreateLoadBalancer {
    CreateLoadBalancer {
        name: "a1".to_owned(),
        address_type: AddressType::Internet,
        vpc: None,
        vswitch: None,
        instance_charge_type: Some("PayByCLCU".to_owned()),
        spec: None,
        internet_charge_type: None,
        bandwidth: None,
        delete_protection: true,
        modification_protection: "ConsoleProtection".to_owned(),
        modification_protection_reason: "managed.by.ack".to_owned(),
        resource_group: None,
        master_zone: None,
        slave_zone: None,
        ip_version: None,
        address: None,
        tags: BTreeMap::from([("kubernetes.do.not.delete".to_owned(), "a1".to_owned())]),
        token: "token-1".to_owned(),
    }
}

async fn created(alibaba: &Alibaba, create: CreateLoadBalancer) -> LoadBalancer {
    match alibaba.execute(&Action::CreateLoadBalancer(create)).await.unwrap() {
        Effect::LoadBalancerCreated(load_balancer) => *load_balancer,
        other => panic!("{other:?}"),
    }
}

fn change(destination: &str, instance: &str) -> RouteChange {
    RouteChange { destination: destination.parse().unwrap(), instance: instance.into() }
}

#[tokio::test(start_paused = true)]
async fn instances_are_read_with_a_key_of_the_ram_role() {
    let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
    let world = World { metadata_token_required: true, ..World::with_nodes(120) };
    let Setup { cloud, alibaba, metadata } = setup_with(world, &clock, |metadata| {
        let role = RamRole::new(metadata.clone(), None, clock.clone());
        Arc::new(Cached::new(role, clock.clone(), Entropy::seeded(2)))
    });
    let region = metadata.region().await.unwrap();
    let ids: Vec<_> = (1..=121).map(|n| format!("i-bp1node{n:04}").into()).collect();
    for _ in 0..24 {
        let found = alibaba.instances(&region, &ids).await.unwrap();
        assert_eq!(found.len(), 120, "the last id is unknown");
        tokio::time::sleep(Duration::from_hours(1)).await;
    }
    assert!(cloud.calls().iter().all(|call| call.status == 200), "no call was made with an expired key");
    assert_eq!(cloud.calls().len(), 48);
    assert_eq!(cloud.contract_breaches(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn interfaces_are_found_and_opened_for_pod_traffic() {
    let Setup { alibaba, .. } = setup(World::with_nodes(2));
    let region = "cn-hangzhou".into();
    let ids = ["i-bp1node0001".into(), "i-bp1node0002".into()];
    let instances = alibaba.instances(&region, &ids).await.unwrap();
    let primary = instances[0].primary_interface.clone().unwrap();
    alibaba.disable_source_destination_check(&region, &primary).await.unwrap();
    let interfaces = alibaba.network_interfaces(&region, &[primary]).await.unwrap();
    assert_eq!(interfaces[0].source_destination_check, Some(false));
    assert_eq!(interfaces[0].instance.as_ref(), Some(&instances[0].id));

    let address = instances[0].private_addresses[0];
    assert_eq!(alibaba.network_interfaces_by_address(&[address]).await.unwrap(), interfaces);
    assert_eq!(alibaba.instances_by_address(&[address]).await.unwrap(), instances[..1]);
}

#[tokio::test(start_paused = true)]
async fn routes_come_and_go_with_an_outcome_each() {
    let Setup { alibaba, .. } = setup(World::with_nodes(3));
    let tables = alibaba.route_tables().await.unwrap();
    let [table] = &tables[..] else { panic!("{tables:?}") };
    let changes = [change("172.20.0.0/24", "i-bp1node0001"), change("172.20.1.0/24", "i-bp1node0002")];
    assert_eq!(alibaba.create_routes(&table.id, &changes).await.unwrap(), [RouteOutcome::Done, RouteOutcome::Done]);
    tokio::time::sleep(Duration::from_mins(1)).await;

    let more = [changes[0].clone(), change("172.20.2.0/24", "i-bp1node0003")];
    let outcomes = alibaba.create_routes(&table.id, &more).await.unwrap();
    assert_eq!(outcomes, [RouteOutcome::Duplicate, RouteOutcome::Done]);
    tokio::time::sleep(Duration::from_mins(1)).await;

    let mut routes = alibaba.routes(&table.id).await.unwrap();
    routes.sort_by_key(|route| route.destination);
    let routes: Vec<_> = routes.iter().map(|r| (r.destination.to_string(), r.instance.clone().unwrap())).collect();
    let expected = [1, 2, 3].map(|n| (format!("172.20.{}.0/24", n - 1), format!("i-bp1node000{n}").into()));
    assert_eq!(routes, expected);

    let gone = [changes[0].clone(), change("172.20.9.0/24", "i-bp1node0001")];
    assert_eq!(alibaba.delete_routes(&table.id, &gone).await.unwrap(), [RouteOutcome::Done, RouteOutcome::Done]);
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(alibaba.routes(&table.id).await.unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_is_created_found_and_deleted() {
    let Setup { cloud, alibaba, .. } = setup(World::default());
    let load_balancer = created(&alibaba, create()).await;
    let again = created(&alibaba, create()).await;
    assert_eq!(load_balancer.id, again.id, "the token makes it the same");

    let found = alibaba.find_by_tag("kubernetes.do.not.delete", "a1").await.unwrap();
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&found.id, &found.address), (&load_balancer.id, &load_balancer.address));
    assert_eq!(found.delete_protection, Some(true));
    assert_eq!(alibaba.find_by_name("a1").await.unwrap(), std::slice::from_ref(found));

    let id = load_balancer.id;
    let delete = Action::DeleteLoadBalancer { load_balancer: id.clone() };
    let error = alibaba.execute(&delete).await.unwrap_err();
    assert_eq!((error.class, error.code.as_str()), (Class::Invalid, "OperationDenied.DeleteProtectionIsOn"));
    alibaba.execute(&Action::SetDeleteProtection { load_balancer: id.clone(), on: false }).await.unwrap();
    alibaba.execute(&delete).await.unwrap();
    assert_eq!(alibaba.observe(&id).await.unwrap(), None);
    assert_eq!(alibaba.execute(&delete).await.unwrap(), Effect::Done, "gone is as good as deleted");
    assert_eq!(cloud.contract_breaches(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_does_not_make_a_second_load_balancer() {
    let Setup { cloud, alibaba, .. } = setup(World::default());
    let lose = |action: &str, kind| Fault {
        product: Some("slb".to_owned()),
        action: Some(action.to_owned()),
        skip: 0,
        times: Some(1),
        probability: None,
        kind,
    };
    cloud.inject(lose("CreateLoadBalancer", FaultKind::DropAfter));
    created(&alibaba, create()).await;
    assert_eq!(alibaba.find_by_name("a1").await.unwrap().len(), 1);
    assert_eq!(cloud.call_counts()["slb.CreateLoadBalancer"], 2);

    let load_balancer = alibaba.find_by_name("a1").await.unwrap().remove(0).id;
    cloud.inject(lose("SetLoadBalancerName", FaultKind::DropAfter));
    let rename = Action::SetName { load_balancer, name: "b1".to_owned() };
    let error = alibaba.execute(&rename).await.unwrap_err();
    assert_eq!(error.class, Class::Unknown, "without a token it is not repeated");
    assert_eq!(cloud.call_counts()["slb.SetLoadBalancerName"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_read_waits_as_long_as_it_is_told() {
    let Setup { cloud, alibaba, .. } = setup(World::default());
    cloud.inject(Fault {
        product: None,
        action: None,
        skip: 0,
        times: Some(1),
        probability: None,
        kind: FaultKind::Throttle { retry_after: Some(Duration::from_secs(20)) },
    });
    let start = tokio::time::Instant::now();
    assert!(alibaba.find_by_name("none").await.unwrap().is_empty());
    assert!(start.elapsed() >= Duration::from_secs(20));
}
