//! What somebody else changes on a load balancer of ours is found and put right.

use std::time::Duration;

use serde_json::json;

use crate::support::play;

#[test]
fn the_slow_audit_repairs_what_is_ours_says_so_and_leaves_the_rest_alone() {
    play(|stage| async move {
        // Nobody to share with: a renewal of the lease every two seconds of half a day is a lot of work.
        let _replica = stage.start_with(&["--leader-elect=false"], json!({}));
        stage.joined(3).await;
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(30)).await;
        let load_balancer = stage.cloud().load_balancers().remove(0);
        let group = stage.cloud().groups(&load_balancer.id).remove(0);
        let member = group.servers[0].clone();
        let by_hand = [("LoadBalancerId", load_balancer.id.as_str()), ("VServerGroupName", "by-hand")];
        stage.cloud().administer("slb.CreateVServerGroup", &by_hand).unwrap();
        let servers = format!(r#"[{{"ServerId":"{}","Port":"{}"}}]"#, member.id, member.port);
        let gone = [("VServerGroupId", group.id.as_str()), ("BackendServers", servers.as_str())];
        stage.cloud().administer("slb.RemoveVServerGroupBackendServers", &gone).unwrap();
        let stopped = [("LoadBalancerId", load_balancer.id.as_str()), ("ListenerPort", "80")];
        stage.cloud().administer("slb.StopLoadBalancerListener", &stopped).unwrap();
        assert_eq!(stage.cloud().groups(&load_balancer.id).len(), 2);
        stage.clear_calls();
        stage.pass(Duration::from_secs(6 * 60 * 60 + 600)).await;
        let groups = stage.cloud().groups(&load_balancer.id);
        assert_eq!(groups.iter().find(|g| g.id == group.id).unwrap().servers.len(), 3);
        assert!(groups.iter().any(|g| g.name == "by-hand"), "somebody else's group stays");
        let listener = stage.cloud().listeners(&load_balancer.id).remove(0);
        assert_eq!(format!("{:?}", listener.status), "Running");
        let told = stage.told("web");
        let repair = told.iter().find(|(reason, _)| reason == "RepairedLoadBalancer");
        assert!(repair.is_some_and(|(_, message)| message.contains("add 1 members")), "{told:?}");
        let writes = stage.cloud().calls().into_iter().filter(|call| call.changed && call.product == "slb").count();
        assert_eq!(writes, 2, "once: {:?}", stage.words());
    });
}
