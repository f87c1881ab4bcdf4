//! The commands that the documentation tells people to type show what it says.

use crate::theatre::{play_in, theatre};

#[test]
fn what_the_readme_says_to_verify_can_be_seen() {
    let theatre = theatre();
    let kubectl = |arguments: &[&str]| theatre.plane.kubectl(arguments);
    play_in(&theatre, |stage| async move {
        let _replica = stage.start();
        let nodes = stage.joined(1).await;
        kubectl(&["apply", "--validate=strict", "-f", "config/nginx.yaml"]);
        let address = stage.address("nginx").await;
        let told = || async {
            stage.told("nginx").await.iter().any(|(_, reason, _)| reason == "EnsuredLoadBalancer").then_some(())
        };
        stage.until("the event", told).await;
        let listed = kubectl(&["get", "nodes", "-L", "topology.kubernetes.io/zone", "-o", "wide"]);
        assert!(listed.contains(&nodes[0]) && listed.contains("cn-hangzhou-"), "{listed}");
        let service = kubectl(&["get", "service", "nginx"]);
        assert!(service.contains(&address), "{service}");
        let described = kubectl(&["describe", "service", "nginx"]);
        assert!(described.contains("EnsuredLoadBalancer") && described.contains(&address), "{described}");
        kubectl(&["delete", "-f", "config/nginx.yaml"]);
        assert_eq!(stage.cloud().load_balancers().len(), 0);
    });
}
