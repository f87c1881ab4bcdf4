//! A network load balancer that somebody deletes.

use std::time::Duration;

use serde_json::json;

use super::{annotate, balancers, expose, groups, host_name, key, listeners, settled, writes};
use crate::support::{Stage, play};

async fn delete_by_hand(stage: &Stage) {
    let id = balancers(stage)[0].id.clone();
    let open = [("LoadBalancerId", id.as_str()), ("DeletionProtectionEnabled", "false")];
    stage.cloud().administer("nlb.UpdateLoadBalancerProtection", &open).unwrap();
    stage.cloud().administer("nlb.DeleteLoadBalancer", &[("LoadBalancerId", id.as_str())]).unwrap();
    stage.pass(Duration::from_secs(10)).await;
    assert!(balancers(stage).is_empty());
    stage.clear_calls();
}

fn failures(stage: &Stage) -> Vec<String> {
    let failed = |(reason, _): &(String, String)| reason == "SyncLoadBalancerFailed";
    stage.told("web").into_iter().filter(failed).map(|(_, text)| text).collect()
}

#[test]
fn without_the_annotation_it_is_told_with_the_way_out_and_with_it_a_new_one_is_made() {
    for given_at_first in [true, false] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(2).await;
            let pairs: &[(&str, &str)] = if given_at_first { &[("recreate-lb-on-loss", "on")] } else { &[] };
            expose(&stage, pairs, json!([{ "port": 80 }]));
            let first = settled(&stage).await;
            delete_by_hand(&stage).await;
            // The audit finds out.
            stage.pass(Duration::from_secs(6 * 60 * 60 + 600)).await;
            if !given_at_first {
                let told = failures(&stage);
                assert!(told.iter().any(|text| text.contains("recreate-lb-on-loss: \"on\"")), "{told:?}");
                assert!(told.iter().any(|text| text.contains(&format!("[{first}]"))), "where it was: {told:?}");
                assert_eq!((balancers(&stage).len(), writes(&stage)), (0, vec![]));
                annotate(&stage, json!({ (key("recreate-lb-on-loss")): "maybe" })).await;
                assert!(failures(&stage).iter().any(|text| text.contains("recreate-lb-on-loss is \"maybe\"")));
                annotate(&stage, json!({ (key("recreate-lb-on-loss")): "on" })).await;
            }
            let told = stage.told("web");
            let notice = told.iter().filter(|(reason, _)| reason == "RecreatedLoadBalancer").count();
            assert_eq!(notice, 1, "{told:?}");
            let service = stage.service("web").unwrap();
            let [balancer] = &balancers(&stage)[..] else { panic!("{told:?}") };
            assert_eq!(host_name(&service).as_deref(), Some(balancer.dns_name.as_str()));
            assert_ne!(balancer.dns_name, first);
            assert_eq!(service.metadata.labels.unwrap()["service.k8s.alibaba/loadbalancer-id"], balancer.id);
            assert_eq!((listeners(&stage).len(), groups(&stage).len()), (1, 1), "the group is used again");
            assert_eq!(writes(&stage), ["nlb.CreateLoadBalancer", "nlb.CreateListener"]);
            // Taken away again: the next loss is told.
            annotate(&stage, json!({ (key("recreate-lb-on-loss")): null })).await;
            delete_by_hand(&stage).await;
            stage.pass(Duration::from_secs(6 * 60 * 60 + 600)).await;
            assert_eq!((balancers(&stage).len(), writes(&stage)), (0, vec![]));
        });
    }
}

#[test]
fn one_that_only_lost_its_marks_is_not_replaced() {
    play(|stage| async move {
        let replica = stage.start_alone();
        stage.joined(1).await;
        expose(&stage, &[("recreate-lb-on-loss", "on")], json!([{ "port": 80 }]));
        settled(&stage).await;
        replica.stop().await.unwrap();
        stage.cloud().with_state(|state| {
            let balancer = state.nlb.load_balancers.values_mut().next().unwrap();
            balancer.tags = ccm::sim::cloud::Tags::default();
            "renamed".clone_into(&mut balancer.name);
        });
        stage.clear_calls();
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(60)).await;
        let told = failures(&stage);
        assert!(told.iter().any(|text| text.contains("put its tag kubernetes.do.not.delete=a")), "{told:?}");
        assert_eq!((balancers(&stage).len(), writes(&stage)), (1, vec![]));
    });
}
