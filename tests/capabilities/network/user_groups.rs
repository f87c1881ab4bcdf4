//! Server groups of the user's own (`vgroup-port`) on a network load balancer of the user's: our members
//! come and go, others stay.

use std::time::Duration;

use serde_json::{Value, json};

use super::{annotate, assert_told, by_hand, expose, gone, group_by_hand, groups, key, listeners, settled, writes};
use crate::support::{Stage, play};

/// A load balancer and two groups, each with a server of the user's.
async fn furnish(stage: &Stage, ids: &[String]) -> (String, [String; 2]) {
    let (id, _) = by_hand(stage).await;
    let made = ["blue", "green"].map(|name| group_by_hand(stage, name, &[]));
    stage.pass(Duration::from_secs(3)).await;
    for group in &made {
        let server = [
            ("ServerGroupId", group.as_str()),
            ("Servers.1.ServerId", ids[0].as_str()),
            ("Servers.1.ServerType", "Ecs"),
            ("Servers.1.Port", "9000"),
            ("Servers.1.Weight", "7"),
        ];
        stage.cloud().administer("nlb.AddServersToServerGroup", &server).unwrap();
    }
    stage.pass(Duration::from_secs(3)).await;
    (id, made)
}

/// `instance weight` of our members of a group; the user's own must be there beside them.
fn members(stage: &Stage, id: &str) -> Vec<String> {
    let group = groups(stage).into_iter().find(|group| group.id == id).unwrap();
    let (ours, theirs): (Vec<_>, Vec<_>) =
        group.servers.into_iter().partition(|server| server.description.starts_with("k8s."));
    let [theirs] = &theirs[..] else { panic!("{theirs:?}") };
    assert_eq!((theirs.port, theirs.weight), (9000, 7));
    let mut ours: Vec<String> = ours.into_iter().map(|server| format!("{} {}", server.id, server.weight)).collect();
    ours.sort();
    ours
}

fn of(ids: &[String], weight: u8) -> Vec<String> {
    ids.iter().map(|id| format!("{id} {weight}")).collect()
}

async fn instances(stage: &Stage, count: usize) -> Vec<String> {
    let nodes = stage.joined(count).await;
    let mut ids: Vec<String> = nodes.iter().map(|node| node.split_once('.').unwrap().1.to_owned()).collect();
    ids.sort();
    ids
}

fn port() -> Value {
    json!([{ "port": 80 }])
}

#[test]
fn members_go_into_the_users_group_and_leave_it_without_touching_others() {
    play(|stage| async move {
        let _replica = stage.start();
        let ids = instances(&stage, 3).await;
        let (id, [blue, green]) = furnish(&stage, &ids).await;
        expose(&stage, &[("id", &id), ("vgroup-port", &format!("{blue}:80")), ("weight", "90")], port());
        settled(&stage).await;
        assert_eq!(members(&stage, &blue), of(&ids, 30));
        assert_eq!((groups(&stage).len(), listeners(&stage).len()), (3, 1), "no group or listener of the Service's");
        stage.clear_calls();
        annotate(&stage, json!({ (key("weight")): "60" })).await;
        assert_eq!(members(&stage, &blue), of(&ids, 20));
        assert_eq!(writes(&stage), ["nlb.UpdateServerGroupServersAttribute"]);
        annotate(&stage, json!({ (key("weight")): null })).await;
        assert_eq!(members(&stage, &blue), of(&ids, 100), "removed: as without it");
        stage.clear_calls();
        annotate(&stage, json!({ (key("weight")): "101" })).await;
        assert_told(&stage, "weight is \"101\"");
        assert_eq!(stage.words(), Vec::<String>::new());
        // Another group, then none, and back.
        annotate(&stage, json!({ (key("weight")): null, (key("vgroup-port")): format!("{green}:80") })).await;
        assert_eq!((members(&stage, &green), members(&stage, &blue)), (of(&ids, 100), vec![]), "ours left the first");
        annotate(&stage, json!({ (key("vgroup-port")): null })).await;
        assert_eq!((members(&stage, &green), groups(&stage).len()), (vec![], 4), "a group of its own");
        annotate(&stage, json!({ (key("vgroup-port")): format!("{blue}:80") })).await;
        assert_eq!((members(&stage, &blue), groups(&stage).len()), (of(&ids, 100), 3));
        stage.clear_calls();
        annotate(&stage, json!({ (key("vgroup-port")): "80" })).await;
        assert_told(&stage, "vgroup-port is \"80\"");
        assert_eq!((stage.words(), members(&stage, &blue)), (Vec::new(), of(&ids, 100)));
        // Deleting asks for no valid configuration.
        gone(&stage).await;
        assert_eq!((members(&stage, &blue), groups(&stage).len()), (vec![], 3));
    });
}

#[test]
fn members_in_a_group_that_is_not_asked_for_any_more_leave_it_after_a_restart_too() {
    for deleted in [false, true] {
        play(|stage| async move {
            let replica = stage.start_alone();
            let ids = instances(&stage, 1).await;
            let (id, [blue, green]) = furnish(&stage, &ids).await;
            expose(&stage, &[("id", &id), ("vgroup-port", &format!("{blue}:80"))], port());
            settled(&stage).await;
            replica.stop().await.unwrap();
            let other = if deleted { Value::Null } else { json!(format!("{green}:80")) };
            annotate(&stage, json!({ (key("vgroup-port")): other })).await;
            stage.clear_calls();
            if deleted {
                stage.world.kube.delete::<k8s_openapi::api::core::v1::Service>("default", "web").unwrap();
            }
            let _replica = stage.start_alone();
            stage.until("ours out of it", || members(&stage, &blue).is_empty().then_some(())).await;
            stage.pass(Duration::from_secs(10)).await;
            assert_eq!(members(&stage, &green), if deleted { vec![] } else { of(&ids, 100) });
            assert_eq!(stage.service("web").is_none(), deleted);
        });
    }
}

#[test]
fn a_group_that_cannot_be_used_is_told_and_the_members_elsewhere_stay() {
    play(|stage| async move {
        let _replica = stage.start();
        let ids = instances(&stage, 1).await;
        let (id, [blue, _]) = furnish(&stage, &ids).await;
        let marked = group_by_hand(&stage, "k8s.30000.TCP.other.default.c9", &[]);
        let by_address = group_by_hand(&stage, "addresses", &[("ServerGroupType", "Ip")]);
        let any_port = group_by_hand(&stage, "ports", &[("AnyPortEnabled", "true")]);
        stage.pass(Duration::from_secs(3)).await;
        expose(&stage, &[("id", &id), ("vgroup-port", &format!("{blue}:80"))], port());
        settled(&stage).await;
        for (group, told) in [
            ("sgp-nope", "reused server group id sgp-nope not found"),
            (&marked, "cannot reuse a ccm created server group"),
            (&by_address, "is of the type Ip; set the annotation server-group-type to Ip"),
            (&any_port, "is for all ports of its members, and goes only with the annotation listener-port-range"),
        ] {
            stage.clear_calls();
            annotate(&stage, json!({ (key("vgroup-port")): format!("{group}:80") })).await;
            let all = stage.told("web");
            assert!(all.iter().any(|(_, message)| message.contains(told)), "{told}: {all:?}");
            assert_eq!((members(&stage, &blue), writes(&stage)), (of(&ids, 100), vec![]), "{told}");
        }
    });
}

#[test]
fn a_restart_reads_the_groups_once_and_writes_nothing_and_a_change_by_hand_is_put_right() {
    play(|stage| async move {
        let replica = stage.start_alone();
        let ids = instances(&stage, 2).await;
        let (id, [blue, _]) = furnish(&stage, &ids).await;
        expose(&stage, &[("id", &id), ("vgroup-port", &format!("{blue}:80"))], port());
        settled(&stage).await;
        replica.stop().await.unwrap();
        stage.clear_calls();
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(writes(&stage), Vec::<String>::new());
        // The inventory, the load balancer with its listeners, and the group with its members.
        let words = stage.words();
        let reads = words.iter().filter(|word| word.starts_with("nlb.")).count();
        assert!(reads <= 6, "{words:?}");
        let ours = groups(&stage).into_iter().find(|g| g.id == blue).unwrap().servers;
        let ours = ours.into_iter().find(|server| server.description.starts_with("k8s.")).unwrap();
        let port = ours.port.to_string();
        let server = [
            ("ServerGroupId", blue.as_str()),
            ("Servers.1.ServerId", ours.id.as_str()),
            ("Servers.1.ServerType", "Ecs"),
            ("Servers.1.Port", port.as_str()),
        ];
        stage.cloud().administer("nlb.RemoveServersFromServerGroup", &server).unwrap();
        stage.pass(Duration::from_secs(6 * 60 * 60 + 600)).await;
        assert_eq!(members(&stage, &blue), of(&ids, 100), "{:?}", stage.told("web"));
    });
}

#[test]
fn with_override_the_listener_sends_to_the_users_group() {
    play(|stage| async move {
        let _replica = stage.start();
        let ids = instances(&stage, 1).await;
        let (id, [blue, green]) = furnish(&stage, &ids).await;
        let group = format!("{blue}:80");
        expose(&stage, &[("id", &id), ("vgroup-port", &group), ("force-override-listeners", "true")], port());
        let ours = || listeners(&stage).into_iter().find(|listener| listener.port == 80);
        let listener = stage.until("a listener", ours).await;
        assert_eq!(listener.server_group, blue);
        stage.pass(Duration::from_secs(5)).await;
        annotate(&stage, json!({ (key("vgroup-port")): format!("{green}:80") })).await;
        assert_eq!(ours().unwrap().server_group, green);
        assert_eq!((members(&stage, &blue), members(&stage, &green)), (vec![], of(&ids, 100)));
        gone(&stage).await;
        assert_eq!((listeners(&stage).len(), members(&stage, &green)), (1, vec![]));
    });
}

#[test]
fn without_a_load_balancer_of_the_users_it_has_no_effect_and_that_is_told() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        expose(&stage, &[("vgroup-port", "sgp-1:80"), ("weight", "10")], port());
        settled(&stage).await;
        let told = stage.told("web");
        assert!(
            told.iter().any(|(reason, message)| reason == "UnsupportedAnnotation" && message.contains("it needs")),
            "{told:?}"
        );
        assert_eq!(groups(&stage)[0].servers[0].weight, 100);
    });
}
