//! Members beyond what a group may have.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use super::{annotate, expose, groups, key, settled};
use crate::support::play;

#[test]
fn members_beyond_the_quota_come_after_those_that_leave_and_the_group_is_never_empty() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let nodes = stage.joined(12).await;
        for (number, node) in nodes.iter().enumerate() {
            let label = json!({ "metadata": { "labels": { "half": if number < 6 { "a" } else { "b" } } } });
            stage.world.kube.patch::<Node>("", node, label).unwrap();
        }
        stage.cloud().configure(|options| options.quotas.network_servers = Some(6));
        expose(&stage, &[("backend-label", "half=a")], json!([{ "port": 80 }]));
        settled(&stage).await;
        let servers = || groups(&stage)[0].servers.iter().map(|server| server.id.clone()).collect::<Vec<_>>();
        let before = servers();
        assert_eq!(before.len(), 6);
        annotate(&stage, json!({ (key("backend-label")): "half=b" })).await;
        for _ in 0..600 {
            stage.pass(Duration::from_millis(100)).await;
            assert!(!servers().is_empty());
        }
        let after = servers();
        assert_eq!(after.len(), 6, "{:?} {:?}", stage.words(), stage.told("web"));
        assert!(after.iter().all(|server| !before.contains(server)));
        let told = stage.told("web");
        let room =
            |(reason, text): &(String, String)| reason == "QuotaExceeded" && text.contains("left before new ones");
        assert!(told.iter().any(room), "{told:?}");
    });
}

#[test]
fn a_group_is_filled_as_far_as_the_quota_goes_and_the_rest_is_told_and_tried_seldom() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(6).await;
        stage.cloud().configure(|options| options.quotas.network_servers = Some(4));
        expose(&stage, &[], json!([{ "port": 80 }]));
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(groups(&stage)[0].servers.len(), 4, "{:?}", stage.told("web"));
        assert!(stage.told("web").iter().any(|(reason, _)| reason == "QuotaExceeded"), "{:?}", stage.told("web"));
        stage.clear_calls();
        stage.pass(Duration::from_secs(900)).await;
        assert!(stage.words().len() < 20, "{:?}", stage.words());
        stage.cloud().configure(|options| options.quotas.network_servers = Some(400));
        stage.pass(Duration::from_secs(600)).await;
        assert_eq!(groups(&stage)[0].servers.len(), 6);
    });
}
