//! What network load balancers cost in calls.

use std::{collections::BTreeSet, time::Duration};

use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use super::{balancers, expose, expose_as, expose_many, gone, groups, host_name, listeners, settled, web, writes};
use crate::support::{Stage, play, play_unheard};

#[test]
fn it_costs_four_writes_and_is_ready_as_soon_as_the_cloud_can_be() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(3).await;
        expose_as(&stage, "first", &[], json!({ "ports": [{ "port": 80 }] }));
        stage.until("the first", || host_name(&stage.service("first")?)).await;
        stage.pass(Duration::from_secs(10)).await;
        stage.clear_calls();
        let begin = tokio::time::Instant::now();
        web(&stage);
        while host_name(&stage.service("web").unwrap()).is_none() {
            stage.pass(Duration::from_millis(1)).await;
        }
        let took = begin.elapsed();
        let delays = stage.cloud().options().delays;
        let needed = delays.provisioning + delays.job;
        assert!(took <= needed.mul_f64(1.1), "took {took:?}, the cloud needs {needed:?}; {:?}", stage.words());
        stage.pass(Duration::from_secs(600)).await;
        assert_eq!(
            writes(&stage),
            ["nlb.CreateLoadBalancer", "nlb.CreateServerGroup", "nlb.AddServersToServerGroup", "nlb.CreateListener"]
        );
        let others: BTreeSet<String> = stage
            .words()
            .into_iter()
            .filter(|word| word.starts_with("nlb.List") || word.starts_with("nlb.Get"))
            .collect();
        assert_eq!(others, ["nlb.ListAsynJobs".to_owned(), "nlb.ListLoadBalancers".to_owned()].into(), "polls only");
        let calls = stage.words().into_iter().filter(|word| word.starts_with("nlb.")).count();
        assert!(calls < 20, "{:?}", stage.words());
    });
}

#[test]
fn a_member_that_comes_or_goes_is_one_write_and_no_read_but_its_job() {
    play(|stage| async move {
        let _replica = stage.start();
        let nodes = stage.joined(3).await;
        web(&stage);
        settled(&stage).await;
        stage.clear_calls();
        stage.joined(1).await;
        stage.pass(Duration::from_secs(30)).await;
        assert_eq!(writes(&stage), ["nlb.AddServersToServerGroup"]);
        let reads = |stage: &Stage| {
            stage
                .words()
                .into_iter()
                .filter(|word| word.starts_with("nlb.") && word.contains("List"))
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(reads(&stage), ["nlb.ListAsynJobs".to_owned()].into());
        stage.clear_calls();
        stage.world.set_ready(&nodes[1], "Unknown").unwrap();
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(writes(&stage), Vec::<String>::new(), "whether a node works the load balancer finds out itself");
        stage.world.kube.delete::<Node>("", &nodes[0]).unwrap();
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(writes(&stage), ["nlb.RemoveServersFromServerGroup"]);
        assert_eq!(groups(&stage)[0].servers.len(), 3);
    });
}

#[test]
fn a_deletion_is_two_writes_and_one_a_group() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        expose(&stage, &[], json!([{ "name": "a", "port": 80 }, { "name": "b", "port": 81 }]));
        settled(&stage).await;
        stage.clear_calls();
        gone(&stage).await;
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(
            writes(&stage),
            [
                "nlb.UpdateLoadBalancerProtection",
                "nlb.DeleteLoadBalancer",
                "nlb.DeleteServerGroup",
                "nlb.DeleteServerGroup"
            ]
        );
        assert!(
            stage.words().iter().all(|word| word == "nlb.ListAsynJobs" || !word.contains("List")),
            "{:?}",
            stage.words()
        );
        assert!(balancers(&stage).is_empty() && groups(&stage).is_empty());
        let told = stage.told("web");
        assert!(!told.iter().any(|(reason, _)| reason.contains("Fail")), "{told:?}");
    });
}

#[test]
fn a_restart_reads_each_kind_once_and_writes_nothing() {
    play(|stage| async move {
        let replica = stage.start_alone();
        stage.joined(3).await;
        web(&stage);
        // More than one query for listeners could name.
        expose_many(&stage, 1..25);
        stage.until("all listeners", || (listeners(&stage).len() == 25).then_some(())).await;
        stage.pass(Duration::from_secs(20)).await;
        replica.stop().await.unwrap();
        stage.clear_calls();
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(120)).await;
        let mut words: Vec<String> = stage.words().into_iter().filter(|word| word.starts_with("nlb.")).collect();
        words.sort();
        // 25 load balancers, listeners and groups with 75 members: a page of 100 each.
        assert_eq!(
            words,
            ["nlb.ListListeners", "nlb.ListLoadBalancers", "nlb.ListServerGroupServers", "nlb.ListServerGroups"]
        );
        assert!(stage.cloud().calls().iter().all(|call| !call.changed), "{:?}", stage.words());
    });
}

/// More of everything than a page holds, and a security group for every third.
#[test]
fn a_restart_reads_pages_whatever_there_is_and_each_security_group_and_writes_nothing() {
    play_unheard(|stage| async move {
        stage.cloud().configure(|options| options.check_replies = false);
        let replica = stage.start_alone();
        stage.joined(3).await;
        let ports = json!([{ "name": "a", "port": 80 }, { "name": "b", "port": 81 }]);
        for n in 0..105 {
            let ranges = if n % 3 == 0 { json!(["10.0.0.0/8", "9.9.9.0/24"]) } else { json!([]) };
            let more = json!({ "ports": ports, "loadBalancerSourceRanges": ranges });
            expose_as(&stage, &format!("s{n}"), &[], more);
        }
        let all = || (listeners(&stage).len() == 210).then_some(());
        stage.until_within(Duration::from_secs(600), "all listeners", all).await;
        stage.pass(Duration::from_secs(60)).await;
        replica.stop().await.unwrap();
        stage.clear_calls();
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(240)).await;
        assert!(stage.cloud().calls().iter().all(|call| !call.changed), "{:?}", stage.cloud().call_counts());
        let counts = stage.cloud().call_counts();
        let counts: Vec<(&str, usize)> = counts
            .iter()
            .filter(|(action, _)| action.starts_with("nlb.") || action.contains("SecurityGroup"))
            .map(|(action, count)| (action.as_str(), usize::try_from(*count).unwrap()))
            .collect();
        assert_eq!(
            counts,
            [
                ("ecs.DescribeSecurityGroupAttribute", 35),
                ("ecs.DescribeSecurityGroups", 35),
                ("nlb.ListListeners", 3),
                ("nlb.ListLoadBalancers", 2),
                // 630 members.
                ("nlb.ListServerGroupServers", 7),
                ("nlb.ListServerGroups", 3),
            ]
        );
    });
}
