//! Changes that the cloud is not done with when their calls answer.

use std::time::Duration;

use ccm::sim::cloud::{Fault, FaultKind};
use serde_json::json;

use super::{annotate, balancers, expose_many, groups, host_name, key, listeners, settled, shown, web};
use crate::support::play;

#[test]
fn jobs_of_all_services_are_asked_for_together() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        web(&stage);
        settled(&stage).await;
        stage.clear_calls();
        stage.cloud().configure(|options| options.delays.job = Duration::from_secs(3));
        let names = expose_many(&stage, 0..15);
        for name in &names {
            stage.until("a host name", || host_name(&stage.service(name)?)).await;
        }
        let words = stage.words();
        let polls = words.iter().filter(|word| *word == "nlb.ListAsynJobs").count();
        // 45 jobs of 3 s in three waves; one by one it would be some ten polls each.
        assert!(polls < 90, "{polls} polls");
        assert_eq!(words.iter().filter(|word| word.contains(' ')).count(), 0, "nothing was refused: {words:?}");
    });
}

#[test]
fn a_load_balancer_that_takes_long_holds_back_no_other_service() {
    play(|stage| async move {
        let _replica = stage.start_with(&["--concurrent-service-syncs=1"], json!({}));
        stage.joined(1).await;
        stage.cloud().configure(|options| options.delays.provisioning = Duration::from_secs(90));
        let names = expose_many(&stage, 0..5);
        stage.pass(Duration::from_secs(5)).await;
        assert_eq!(balancers(&stage).len(), 5, "all were begun");
        assert_eq!(groups(&stage).len(), 5, "and their groups");
        stage.pass(Duration::from_secs(100)).await;
        for name in &names {
            assert!(host_name(&stage.service(name).unwrap()).is_some(), "{name}");
        }
    });
}

#[test]
fn a_job_that_fails_is_told_and_done_again() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        web(&stage);
        settled(&stage).await;
        stage.cloud().with_state(|state| state.nlb.jobs_paused = true);
        stage.joined(1).await;
        stage.pass(Duration::from_secs(5)).await;
        stage.cloud().with_state(|state| {
            state.nlb.fail_held_jobs();
            state.nlb.jobs_paused = false;
            // Nothing of it became true.
            for group in state.nlb.server_groups.values_mut() {
                group.servers.truncate(1);
                group.status = ccm::sim::cloud::nlb::GroupState::Available;
            }
        });
        stage.pass(Duration::from_secs(20)).await;
        let told = stage.told("web");
        let failure = told.iter().find(|(reason, _)| reason == "SyncLoadBalancerFailed");
        assert!(
            failure.is_some_and(|(_, message)| message.contains("add 1 members") && message.contains("failed")),
            "{told:?}"
        );
        assert_eq!(groups(&stage)[0].servers.len(), 2, "done again");
    });
}

#[test]
fn an_overdue_job_is_an_error() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        web(&stage);
        shown(&stage).await;
        stage.cloud().with_state(|state| state.nlb.jobs_paused = true);
        annotate(&stage, json!({ (key("cps")): "100" })).await;
        stage.pass(Duration::from_secs(200)).await;
        let told = stage.told("web");
        assert!(
            told.iter().any(|(reason, m)| reason == "SyncLoadBalancerFailed" && m.contains("is not done after")),
            "{told:?}"
        );
        stage.cloud().with_state(|state| state.nlb.resume_jobs());
        stage.pass(Duration::from_secs(200)).await;
        assert_eq!(listeners(&stage)[0].attributes["Cps"], "100");
    });
}

#[test]
fn locks_are_waited_out_without_a_failure() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        web(&stage);
        settled(&stage).await;
        for code in ["Conflict.Lock", "IncorrectStatus.loadbalancer"] {
            let kind = FaultKind::Error { status: 400, code: code.to_owned(), message: "busy".to_owned() };
            stage.cloud().inject(Fault::on("nlb.UpdateListenerAttribute", kind).times(3));
        }
        annotate(&stage, json!({ (key("cps")): "100" })).await;
        stage.pass(Duration::from_secs(30)).await;
        assert_eq!(listeners(&stage)[0].attributes["Cps"], "100");
        let told = stage.told("web");
        assert!(!told.iter().any(|(reason, _)| reason.contains("Fail")), "{told:?}");
    });
}
