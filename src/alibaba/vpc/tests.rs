use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::{
    alibaba::rpc::{
        Policy, Reached,
        testing::{Script, maimed},
    },
    cloud::{Class, RouteStatus, RouteTableKind},
    entropy::Entropy,
};

fn change(destination: &str, instance: &str) -> RouteChange {
    RouteChange { destination: destination.parse().unwrap(), instance: instance.into() }
}

fn table() -> RouteTableId {
    "vtb-1".into()
}

fn changed(failed: &[(&str, &str, &str)]) -> Value {
    let failed: Vec<_> = failed
        .iter()
        .map(|(destination, hop, code)| {
            json!({"DstCidrBlock": destination, "NextHop": hop, "FailedCode": code, "FailedMessage": "why"})
        })
        .collect();
    json!({"RequestId": "R", "SuccessCount": 9, "FailedCount": failed.len(), "FailedRouteEntries": failed})
}

#[tokio::test(start_paused = true)]
async fn route_tables_of_the_vpc() {
    let script = Script::default();
    script.answer(
        200,
        &json!({"TotalCount": 3, "RouterTableList": {"RouterTableListType": [
            {"RouteTableId": "vtb-1", "RouteTableType": "System"},
            {"RouteTableId": "vtb-2", "RouteTableType": "Custom", "AssociateType": "VSwitch"},
            {"RouteTableId": "vtb-3", "RouteTableType": "Custom", "AssociateType": "Gateway"}
        ]}}),
    );
    let tables = script.cloud().route_tables().await.unwrap();
    assert_eq!(
        script.only(),
        ["Action=DescribeRouteTableList", "PageNumber=1", "PageSize=50", "RegionId=cn-hangzhou", "VpcId=vpc-1"]
    );
    let kinds: Vec<_> = tables.iter().map(|table| (table.id.as_str(), table.kind)).collect();
    assert_eq!(
        kinds,
        [("vtb-1", RouteTableKind::System), ("vtb-2", RouteTableKind::Custom), ("vtb-3", RouteTableKind::Other)]
    );
}

#[tokio::test(start_paused = true)]
async fn routes_of_a_table() {
    let script = Script::default();
    let hop = |kind, id| json!({"NextHop": [{"NextHopType": kind, "NextHopId": id}]});
    script.answer(
        200,
        &json!({"NextToken": "n", "RouteEntrys": {"RouteEntry": [
            {"DestinationCidrBlock": "10.1.0.0/24", "Type": "Custom", "Status": "Available", "NextHops": hop("Instance", "i-1")},
            {"DestinationCidrBlock": "10.1.1.0/24", "Type": "Custom", "Status": "Pending", "NextHops": hop("NatGateway", "ngw-1")}
        ]}}),
    );
    script.answer(
        200,
        &json!({"RouteEntrys": {"RouteEntry": [
            {"DestinationCidrBlock": "fd00::/64", "Type": "Custom", "Status": "Deleting", "NextHops": {"NextHop": [
                {"NextHopType": "Instance", "NextHopId": "i-1"}, {"NextHopType": "Instance", "NextHopId": "i-2"}
            ]}},
            {"DestinationCidrBlock": "10.9.0.0/24", "Type": "System", "Status": "Available"},
            {"DestinationCidrBlock": "pl-1", "Type": "Custom", "Status": "Available"}
        ]}}),
    );
    let routes = script.cloud().routes(&table()).await.unwrap();
    assert_eq!(
        script.lines(0),
        [
            "Action=DescribeRouteEntryList",
            "MaxResult=100",
            "RegionId=cn-hangzhou",
            "RouteEntryType=Custom",
            "RouteTableId=vtb-1"
        ]
    );
    assert_eq!(script.params(1)["NextToken"], "n");
    let routes: Vec<_> = routes
        .iter()
        .map(|route| (route.destination.to_string(), route.instance.is_some(), route.next_hop.as_str(), route.status))
        .collect();
    assert_eq!(
        routes,
        [
            ("10.1.0.0/24".to_owned(), true, "Instance i-1", RouteStatus::Available),
            ("10.1.1.0/24".to_owned(), false, "NatGateway ngw-1", RouteStatus::Pending),
            ("fd00::/64".to_owned(), false, "Instance i-1, Instance i-2", RouteStatus::Deleting),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn entries_are_created_with_an_outcome_each() {
    let script = Script::default();
    script.answer(
        200,
        &changed(&[
            ("10.1.1.0/24", "i-2", "VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE"),
            ("10.1.2.0/24", "", "VPC_ROUTE_ENTRY_STATUS_ERROR"),
            ("fd00:0::/64", "i-4", "QuotaExceeded.RouteEntry"),
        ]),
    );
    let changes = [
        change("10.1.0.0/24", "i-1"),
        change("10.1.1.0/24", "i-2"),
        change("10.1.2.0/24", "i-3"),
        change("fd00::/64", "i-4"),
    ];
    let outcomes = script.cloud().create_routes(&table(), &changes).await.unwrap();
    assert_eq!(
        script.only(),
        [
            "Action=CreateRouteEntries",
            "RegionId=cn-hangzhou",
            "RouteEntries.1.DstCidrBlock=10.1.0.0/24",
            "RouteEntries.1.NextHop=i-1",
            "RouteEntries.1.NextHopType=Instance",
            "RouteEntries.1.RouteTableId=vtb-1",
            "RouteEntries.2.DstCidrBlock=10.1.1.0/24",
            "RouteEntries.2.NextHop=i-2",
            "RouteEntries.2.NextHopType=Instance",
            "RouteEntries.2.RouteTableId=vtb-1",
            "RouteEntries.3.DstCidrBlock=10.1.2.0/24",
            "RouteEntries.3.NextHop=i-3",
            "RouteEntries.3.NextHopType=Instance",
            "RouteEntries.3.RouteTableId=vtb-1",
            "RouteEntries.4.DstCidrBlock=fd00::/64",
            "RouteEntries.4.IpVersion=6",
            "RouteEntries.4.NextHop=i-4",
            "RouteEntries.4.NextHopType=Instance",
            "RouteEntries.4.RouteTableId=vtb-1",
        ]
    );
    assert_eq!(outcomes[..3], [RouteOutcome::Done, RouteOutcome::Duplicate, RouteOutcome::Busy]);
    let RouteOutcome::Failed(error) = &outcomes[3] else { panic!("{:?}", outcomes[3]) };
    assert_eq!(error.class, Class::Quota);
    assert_eq!(
        error.to_string(),
        "CreateRouteEntries on fd00::/64 -> i-4 in vtb-1: why (code QuotaExceeded.RouteEntry)"
    );
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_is_gone_counts_as_deleted() {
    let script = Script::default();
    script.answer(
        200,
        &changed(&[
            ("10.1.1.0/24", "i-2", "VPC_ROUTER_ENTRY_NOT_EXIST"),
            ("10.1.2.0/24", "i-3", "VPC_ROUTE_ENTRY_STATUS_ERROR"),
        ]),
    );
    let changes = [change("10.1.0.0/24", "i-1"), change("10.1.1.0/24", "i-2"), change("10.1.2.0/24", "i-3")];
    let outcomes = script.cloud().delete_routes(&table(), &changes).await.unwrap();
    assert_eq!(outcomes, [RouteOutcome::Done, RouteOutcome::Done, RouteOutcome::Busy]);
    assert_eq!(
        script.lines(0)[..5],
        [
            "Action=DeleteRouteEntries",
            "RegionId=cn-hangzhou",
            "RouteEntries.1.DstCidrBlock=10.1.0.0/24",
            "RouteEntries.1.NextHop=i-1",
            "RouteEntries.1.RouteTableId=vtb-1",
        ]
    );

    script.refuse(404, "InvalidRouteEntry.NotFound", "gone");
    let outcomes = script.cloud().delete_routes(&table(), &changes[..1]).await.unwrap();
    assert_eq!(outcomes, [RouteOutcome::Done]);

    script.refuse(404, "InvalidRouteTableId.NotFound", "a table of another region");
    let error = script.cloud().delete_routes(&table(), &changes[..1]).await.unwrap_err();
    assert_eq!(error.class, Class::NotFound);
}

#[tokio::test(start_paused = true)]
async fn the_same_destination_is_told_apart_by_its_next_hop() {
    let script = Script::default();
    script.answer(200, &changed(&[("10.1.0.0/24", "i-2", "VPC_ROUTER_ENTRY_NOT_EXIST")]));
    let changes = [change("10.1.0.0/24", "i-1"), change("10.1.0.0/24", "i-2")];
    let outcomes = script.cloud().create_routes(&table(), &changes).await.unwrap();
    assert_eq!(outcomes[0], RouteOutcome::Done);
    assert!(matches!(outcomes[1], RouteOutcome::Failed(_)));
}

#[tokio::test(start_paused = true)]
async fn failures_that_are_counted_but_not_named_are_no_successes() {
    let script = Script::default();
    script.answer(200, &json!({"RequestId": "R", "SuccessCount": 1, "FailedCount": 1}));
    let changes = [change("10.1.0.0/24", "i-1"), change("10.1.1.0/24", "i-2")];
    let outcomes = script.cloud().create_routes(&table(), &changes).await.unwrap();
    assert!(outcomes.iter().all(|outcome| matches!(outcome, RouteOutcome::Failed(e) if e.class == Class::Unknown)));
}

#[tokio::test(start_paused = true)]
async fn fifty_entries_go_into_one_call_and_one_lost_call_does_not_hide_the_others() {
    let script = Script::default();
    script.answer(200, &changed(&[])).fail(Reached::Maybe);
    let changes: Vec<_> = (0..60).map(|n| change(&format!("10.1.{n}.0/24"), "i-1")).collect();
    let outcomes = script.cloud().create_routes(&table(), &changes).await.unwrap();
    assert_eq!(outcomes.len(), 60);
    assert!(outcomes[..50].iter().all(|outcome| *outcome == RouteOutcome::Done));
    assert!(
        outcomes[50..].iter().all(|outcome| matches!(outcome, RouteOutcome::Failed(e) if e.class == Class::Unknown))
    );
    assert!(script.params(0).contains_key("RouteEntries.50.NextHop"));
    assert!(!script.params(0).contains_key("RouteEntries.51.NextHop"));
}

#[tokio::test(start_paused = true)]
async fn a_batch_refused_for_one_entry_is_halved() {
    let script = Script::default();
    script.refuse(400, "InvalidCidrBlock.Malformed", "bad").refuse(400, "InvalidCidrBlock.Malformed", "bad");
    script.answer(200, &changed(&[]));
    let changes = [change("10.1.0.0/24", "i-1"), change("10.1.1.0/24", "i-2")];
    let outcomes = script.cloud().create_routes(&table(), &changes).await.unwrap();
    assert!(matches!(&outcomes[0], RouteOutcome::Failed(error) if error.class == Class::Invalid));
    assert_eq!(outcomes[1], RouteOutcome::Done);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_whole_is_an_error() {
    let script = Script::default();
    script.refuse(403, "Forbidden.RAM", "no");
    let error = script.cloud().create_routes(&table(), &[change("10.1.0.0/24", "i-1")]).await.unwrap_err();
    assert_eq!(error.class, Class::Denied);
}

#[tokio::test(start_paused = true)]
async fn changes_of_one_vpc_never_overlap_and_conflicts_are_retried() {
    let script = Script::default();
    script.refuse(400, "TaskConflict", "another change is under way");
    for _ in 0..2 {
        script.answer_late(Duration::from_secs(2), 200, &changed(&[]));
    }
    let cloud = Alibaba::with_client(script.client_with(Policy::default()), Some("vpc-1".into()), Vec::new(), None);
    let (a, b) = ([change("10.1.0.0/24", "i-1")], [change("10.1.1.0/24", "i-2")]);
    let start = tokio::time::Instant::now();
    let (id_a, id_b) = (table(), "vtb-2".into());
    let (one, other) = tokio::join!(cloud.create_routes(&id_a, &a), cloud.delete_routes(&id_b, &b));
    assert_eq!((one.unwrap(), other.unwrap()), (vec![RouteOutcome::Done], vec![RouteOutcome::Done]));
    assert_eq!(start.elapsed(), Duration::from_secs(4));
}

#[tokio::test(start_paused = true)]
async fn without_a_vpc_the_error_says_so() {
    let script = Script::default();
    let cloud = Alibaba::with_client(script.client(), None, Vec::new(), None);
    let error = cloud.route_tables().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "vpc-id on the metadata server: no VPC is configured, and there is no metadata server"
    );
}

#[tokio::test(start_paused = true)]
async fn no_answer_whatever_upsets_the_reading() {
    let entry = |to: &str, hop: &str| {
        let hop = json!({ "NextHopId": hop, "NextHopType": "Instance" });
        json!({ "DestinationCidrBlock": to, "RouteEntryId": to, "Type": "Custom", "Status": "Available", "NextHops": { "NextHop": [hop] } })
    };
    let reply = json!({ "RouteEntrys": { "RouteEntry": [entry("10.1.0.0/24", "i-1"), entry("fd00::/64", "i-2")] }, "TotalCount": 2 });
    for seed in 0..500 {
        let (script, entropy) = (Script::default(), Entropy::seeded(seed));
        let odd = maimed(&reply, &entropy);
        script.answer(200, &odd).answer(200, &odd);
        if let Ok(found) = script.cloud().routes(&table()).await {
            assert!(found.len() <= 2, "seed {seed}");
        }
        let (script, refusals) =
            (Script::default(), maimed(&changed(&[("10.1.0.0/24", "i-1", "QuotaExceeded")]), &entropy));
        script.answer(200, &refusals);
        if let Ok(outcomes) = script.cloud().create_routes(&table(), &[change("10.1.0.0/24", "i-1")]).await {
            assert_eq!(outcomes.len(), 1, "seed {seed}");
        }
    }
}
