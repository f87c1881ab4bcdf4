//! Certificates that are over: a listener that works keeps the one it has.

use std::time::Duration;

use ccm::sim::cloud::{Fault, FaultKind};
use serde_json::json;

use super::{annotate, expose, key, listeners, settings::furnish, settled, writes};
use crate::support::{Stage, play};

const TLS: (&str, &str) = ("protocol-port", "TCPSSL:443");

fn let_expire(stage: &Stage, id: &str) {
    stage.cloud().with_state(|state| {
        state.slb.certificates.get_mut(id).unwrap().expires = "2020-01-01T00:00:00Z".parse().unwrap();
    });
}

/// The ids of all certificates of the one listener, its own first.
fn certificates(stage: &Stage) -> Vec<String> {
    let [listener] = &listeners(stage)[..] else { panic!("{:?}", listeners(stage)) };
    listener.certificates.iter().map(|one| one.id.clone()).collect()
}

fn is_told(stage: &Stage, id: &str) -> bool {
    let about = |(reason, message): &(String, String)| {
        reason == "SyncLoadBalancerFailed" && message.contains(id) && message.contains("it is expired since 2020-01-01")
    };
    stage.told("web").iter().any(about)
}

#[test]
fn an_expired_one_is_refused_and_the_listener_keeps_working() {
    for (suffix, good, before) in
        [("cert-id", "cert-2", vec!["cert-1"]), ("additional-cert-ids", "cert-2", vec!["cert-1"])]
    {
        play(|stage| async move {
            furnish(&stage);
            let_expire(&stage, "cert-3");
            let _replica = stage.start();
            stage.joined(1).await;
            expose(&stage, &[TLS, ("cert-id", "cert-1")], json!([{ "port": 443 }]));
            settled(&stage).await;
            stage.clear_calls();
            annotate(&stage, json!({ (key(suffix)): "cert-3", (key("cps")): "100" })).await;
            assert!(is_told(&stage, "cert-3"), "{suffix}: {:?}", stage.told("web"));
            assert_eq!(certificates(&stage), before, "{suffix}");
            annotate(&stage, json!({ (key(suffix)): good })).await;
            assert!(certificates(&stage).contains(&good.to_owned()), "{suffix}: {:?}", stage.told("web"));
            assert_eq!(listeners(&stage)[0].attributes["Cps"], "100", "{suffix}");
        });
    }
}

#[test]
fn no_listener_is_made_with_an_expired_one() {
    play(|stage| async move {
        furnish(&stage);
        let_expire(&stage, "cert-3");
        let _replica = stage.start();
        stage.joined(1).await;
        expose(
            &stage,
            &[TLS, ("cert-id", "cert-3")],
            json!([{ "name": "tls", "port": 443 }, { "name": "web", "port": 80 }]),
        );
        stage.pass(Duration::from_secs(30)).await;
        let ports: Vec<u16> = listeners(&stage).into_iter().map(|listener| listener.port).collect();
        assert_eq!(ports, [80], "the other port goes on");
        assert!(is_told(&stage, "cert-3"), "{:?}", stage.told("web"));
    });
}

#[test]
fn one_that_runs_out_later_is_left_in_place_and_other_settings_go_on() {
    play(|stage| async move {
        furnish(&stage);
        let _replica = stage.start();
        stage.joined(1).await;
        expose(&stage, &[TLS, ("cert-id", "cert-1")], json!([{ "port": 443 }]));
        settled(&stage).await;
        let_expire(&stage, "cert-1");
        stage.clear_calls();
        annotate(&stage, json!({ (key("cps")): "100" })).await;
        assert_eq!(listeners(&stage)[0].attributes["Cps"], "100", "{:?}", stage.told("web"));
        assert!(!stage.words().iter().any(|word| word.contains("Certificate")), "{:?}", stage.words());
    });
}

#[test]
fn where_certificates_cannot_be_looked_up_the_cloud_has_the_word() {
    play(|stage| async move {
        furnish(&stage);
        let _replica = stage.start();
        stage.joined(1).await;
        let denied = FaultKind::Error { status: 403, code: "Forbidden.RAM".into(), message: "No.".into() };
        stage.cloud().inject(Fault::on("slb.DescribeServerCertificates", denied));
        expose(&stage, &[TLS, ("cert-id", "cert-1")], json!([{ "port": 443 }]));
        settled(&stage).await;
        assert_eq!(certificates(&stage), ["cert-1"], "{:?}", stage.told("web"));
        // As are those of which that list knows nothing.
        stage.cloud().inject(Fault::on("slb.DescribeServerCertificates", FaultKind::EmptyList));
        annotate(&stage, json!({ (key("cert-id")): "cert-2" })).await;
        assert_eq!(certificates(&stage), ["cert-2"]);
        assert_eq!(writes(&stage).last().map(String::as_str), Some("nlb.UpdateListenerAttribute"));
    });
}
