//! `--dry-run` under the shipped role: the audit log shows that it only reads.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};

use crate::{
    audit,
    program::{Program, Served},
    stage::{PREFIX, Stage},
    theatre::{ACCOUNT, Theatre, play_in, theatre},
};

/// Runs one to its end; answers its exit code, its report, and the verbs that the API server saw.
async fn rehearse(theatre: &Theatre, cloud: &Served, stage: &Stage) -> (Option<i32>, Value, BTreeSet<String>) {
    let log = &theatre.plane.told.audit_log;
    let (before, writes) = (audit::read(log).len(), stage.writes().len());
    let mut program = Program::start_flagged(theatre, cloud, 1, &["--dry-run"]);
    let code = program.ended().await;
    assert_eq!(stage.writes().len(), writes, "{:?}", stage.calls());
    let printed = program.printed();
    let report = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}\n{}", program.log()));
    let own = audit::read(log).split_off(before).into_iter().filter(|entry| entry.user.username == ACCOUNT);
    (code, report, own.map(|entry| entry.verb).collect())
}

fn reads(verbs: &BTreeSet<String>) -> bool {
    verbs.contains("list") && verbs.iter().all(|verb| ["get", "list", "watch"].contains(&verb.as_str()))
}

#[test]
fn a_dry_run_under_the_shipped_role_tells_what_would_change_and_writes_nothing() {
    let theatre = theatre();
    play_in(&theatre, async |stage: Stage| {
        let cloud = Served::start(&stage).await;
        let nodes = [stage.join().await, stage.join().await];
        for name in &nodes {
            let has_network = |node: Node| node.spec?.pod_cidr;
            stage.until("its pod network", || async { has_network(stage.node(name).await?) }).await;
        }
        stage.expose_web().await;
        stage.expose_on_network("net", &[]).await;
        let wrong = format!("{PREFIX}bandwidth");
        let ports = json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] });
        stage.expose("wrong", &[(&wrong, "much")], ports).await;

        let (code, report, verbs) = rehearse(&theatre, &cloud, &stage).await;
        assert_eq!((code, &report["result"]), (Some(3), &json!("changes")), "{report:#}");
        assert!(reads(&verbs), "{verbs:?}");
        let said = |list: &str, field: &str, part: &str| {
            let changes = report[list].as_array().unwrap().iter();
            changes.filter(|change| change[field].as_str().unwrap().contains(part)).count()
        };
        for (kind, count) in [("route", 2), ("networkInterface", 2)] {
            assert_eq!(said("cloudChanges", "kind", kind), count, "{kind}: {report:#}");
        }
        let kinds = report["cloudChanges"].as_array().unwrap().iter().map(|change| change["kind"].as_str().unwrap());
        let kinds: BTreeSet<&str> = kinds.collect();
        assert!(kinds.contains("loadBalancer") && kinds.contains("networkLoadBalancer"), "{report:#}");
        for object in nodes
            .iter()
            .map(|name| format!("Node {name}"))
            .chain(["Service default/web".into(), "Service default/net".into()])
        {
            assert!(said("clusterChanges", "object", &object) > 0, "{object}: {report:#}");
        }
        assert_eq!(said("warnings", "object", "Service default/wrong"), 1, "{report:#}");
        stage.delete_service("wrong").await;

        // And where all is in order, that is said.
        let leader = Program::start(&theatre, &cloud, 2);
        stage.ensured("web").await;
        stage.ensured("net").await;
        let routed =
            || async { (stage.told(&nodes[0]).await.len() + stage.told(&nodes[1]).await.len() > 1).then_some(()) };
        stage.until("the nodes told", routed).await;
        drop(leader);
        let (code, report, verbs) = rehearse(&theatre, &cloud, &stage).await;
        assert_eq!((code, &report["result"]), (Some(0), &json!("unchanged")), "{report:#}");
        assert!(reads(&verbs), "{verbs:?}");
    });
}
