//! What somebody else changes on what belongs to a network load balancer is found and put right.

use std::time::Duration;

use ccm::sim::cloud::ecs::SecurityGroup;
use serde_json::json;

use super::{expose_with, groups, listeners, settled, shown, writes};
use crate::support::{Stage, play};

const AUDIT: Duration = Duration::from_secs(6 * 60 * 60 + 600);

fn own_group(stage: &Stage) -> SecurityGroup {
    let all: Vec<SecurityGroup> =
        stage.cloud().with_state(|state| state.ecs.security_groups.values().cloned().collect());
    all.into_iter().find(|group| group.tags.contains_key("kubernetes.do.not.delete")).unwrap()
}

fn rules(stage: &Stage) -> Vec<String> {
    let mut words: Vec<String> = own_group(stage)
        .rules
        .iter()
        .map(|rule| {
            let ports = format!("{} {}{}", rule.protocol, rule.ports, rule.destination);
            format!("{} {} {} {ports} {}", rule.policy, rule.source, rule.priority, rule.description)
        })
        .collect();
    words.sort();
    words
}

async fn limited(stage: &Stage) {
    expose_with(
        stage,
        &[],
        json!({ "ports": [{ "port": 80 }], "loadBalancerSourceRanges": ["10.0.0.0/8", "9.9.9.0/24"] }),
    );
    shown(stage).await;
    stage.pass(Duration::from_secs(30)).await;
}

#[test]
fn the_security_group_gets_its_name_and_its_rules_back_and_keeps_those_of_others() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        limited(&stage).await;
        let (before, as_it_was) = (own_group(&stage), rules(&stage));
        let id = ("SecurityGroupId", before.id.as_str());
        let administer = |action: &str, more: &[(&str, &str)]| {
            let params: Vec<(&str, &str)> = [id].into_iter().chain(more.iter().copied()).collect();
            stage.cloud().administer(action, &params).unwrap();
        };
        administer("ecs.ModifySecurityGroupAttribute", &[("SecurityGroupName", "mine"), ("Description", "by hand")]);
        let gone = before.rules.iter().find(|rule| rule.source == "10.0.0.0/8").unwrap();
        administer("ecs.RevokeSecurityGroup", &[("SecurityGroupRuleId.1", &gone.id)]);
        let rule = |source: &'static str, description: &'static str| {
            [
                ("Permissions.1.Policy", "accept"),
                ("Permissions.1.SourceCidrIp", source),
                ("Permissions.1.Priority", "1"),
                ("Permissions.1.IpProtocol", "ALL"),
                ("Permissions.1.PortRange", "-1/-1"),
                ("Permissions.1.Description", description),
            ]
        };
        administer("ecs.AuthorizeSecurityGroup", &rule("7.7.7.0/24", "of somebody else"));
        administer("ecs.AuthorizeSecurityGroup", &rule("8.8.8.0/24", "k8s.default.web.c1"));
        stage.clear_calls();
        stage.pass(AUDIT).await;
        let mut expected = as_it_was;
        expected.push("Accept 7.7.7.0/24 1 ALL -1/-1 of somebody else".to_owned());
        expected.sort();
        assert_eq!(rules(&stage), expected, "{:?}", stage.told("web"));
        let after = own_group(&stage);
        assert_eq!((after.name, after.description), (before.name, before.description));
        let mut words = writes(&stage);
        words.sort();
        assert_eq!(
            words,
            ["ecs.AuthorizeSecurityGroup", "ecs.ModifySecurityGroupAttribute", "ecs.RevokeSecurityGroup"],
            "once"
        );
        assert!(stage.told("web").iter().any(|(reason, _)| reason == "RepairedLoadBalancer"));
        // And nothing more from then on.
        stage.clear_calls();
        stage.pass(AUDIT).await;
        assert_eq!(writes(&stage), Vec::<String>::new());
    });
}

/// Somebody leaves less of our rules: of a port, of a protocol, of a destination, of other clients.
#[test]
fn rules_that_were_narrowed_are_made_whole_and_nothing_is_left_of_them() {
    let narrowings: [&[(&str, &str)]; 4] = [
        &[("IpProtocol", "TCP"), ("PortRange", "80/80")],
        &[("DestCidrIp", "10.0.0.1/32")],
        &[("Priority", "50"), ("IpProtocol", "UDP")],
        &[("SourceCidrIp", "10.9.0.0/16")],
    ];
    for narrowing in narrowings {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            limited(&stage).await;
            let as_it_was = rules(&stage);
            let group = own_group(&stage);
            for rule in &group.rules {
                let rule = [("SecurityGroupId", group.id.as_str()), ("SecurityGroupRuleId", rule.id.as_str())];
                stage.cloud().administer("ecs.ModifySecurityGroupRule", &[&rule, narrowing].concat()).unwrap();
            }
            assert_ne!(rules(&stage), as_it_was);
            stage.clear_calls();
            stage.pass(AUDIT).await;
            assert_eq!(rules(&stage), as_it_was, "{narrowing:?}");
            assert_eq!(writes(&stage), ["ecs.AuthorizeSecurityGroup", "ecs.RevokeSecurityGroup"], "once");
        });
    }
}

#[test]
fn a_rule_that_only_has_another_description_by_now_is_as_good_as_ours() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        limited(&stage).await;
        let group = own_group(&stage);
        let rule = group.rules.iter().find(|rule| rule.source == "10.0.0.0/8").unwrap();
        let change = [
            ("SecurityGroupId", group.id.as_str()),
            ("SecurityGroupRuleId", rule.id.as_str()),
            ("Description", "renamed"),
        ];
        stage.cloud().administer("ecs.ModifySecurityGroupRule", &change).unwrap();
        stage.clear_calls();
        stage.pass(AUDIT).await;
        assert_eq!(writes(&stage), Vec::<String>::new());
        assert_eq!(rules(&stage).len(), 3, "{:?}", rules(&stage));
    });
}

#[test]
fn settings_and_groups_are_put_right_and_listeners_of_others_stay() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        super::expose(&stage, &[("cps", "100"), ("scheduler", "rr"), ("name", "shop")], json!([{ "port": 80 }]));
        settled(&stage).await;
        let (listener, group) = (listeners(&stage).remove(0), groups(&stage).remove(0));
        let balancer = listener.load_balancer.as_str();
        stage.cloud().administer("nlb.UpdateListenerAttribute", &[("ListenerId", &listener.id), ("Cps", "7")]).unwrap();
        stage.pass(Duration::from_secs(3)).await;
        let by_hand = [
            ("LoadBalancerId", balancer),
            ("ListenerProtocol", "TCP"),
            ("ListenerPort", "9000"),
            ("ServerGroupId", group.id.as_str()),
        ];
        stage.cloud().administer("nlb.CreateListener", &by_hand).unwrap();
        stage
            .cloud()
            .administer("nlb.UpdateServerGroupAttribute", &[("ServerGroupId", &group.id), ("Scheduler", "Wlc")])
            .unwrap();
        stage.pass(Duration::from_secs(3)).await;
        let name = [("LoadBalancerId", balancer), ("LoadBalancerName", "mine")];
        stage.cloud().administer("nlb.UpdateLoadBalancerAttribute", &name).unwrap();
        stage.pass(Duration::from_secs(3)).await;
        stage.clear_calls();
        stage.pass(AUDIT).await;
        let mut words = writes(&stage);
        words.sort();
        assert_eq!(
            words,
            ["nlb.UpdateListenerAttribute", "nlb.UpdateLoadBalancerAttribute", "nlb.UpdateServerGroupAttribute"],
            "{:?}",
            stage.told("web")
        );
        let ours = listeners(&stage).into_iter().find(|listener| listener.port == 80).unwrap();
        assert_eq!(
            (ours.attributes["Cps"].as_str(), groups(&stage)[0].attributes["Scheduler"].as_str()),
            ("100", "rr")
        );
        assert_eq!(super::balancers(&stage)[0].name, "shop");
        assert_eq!(listeners(&stage).len(), 2, "what somebody else made stays");
    });
}

/// Row 20 of the released controller's faults: marks come back, and tags of others stay.
#[test]
fn marks_that_somebody_took_off_come_back_and_tags_of_others_stay() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        super::expose(&stage, &[("additional-resource-tags", "team=a")], json!([{ "port": 80 }]));
        settled(&stage).await;
        let tags = || super::balancers(&stage).remove(0).tags;
        let mut expected = tags();
        stage.cloud().with_state(|state| {
            let tags = &mut state.nlb.load_balancers.values_mut().next().unwrap().tags;
            tags.remove("ack.aliyun.com");
            tags.insert("cost-centre".to_owned(), "7".to_owned());
        });
        expected.insert("cost-centre".to_owned(), "7".to_owned());
        stage.clear_calls();
        stage.pass(AUDIT).await;
        assert_eq!((tags(), writes(&stage)), (expected.clone(), vec!["nlb.TagResources".to_owned()]));
        super::annotate(&stage, json!({ (super::key("additional-resource-tags")): "team=b" })).await;
        expected.insert("team".to_owned(), "b".to_owned());
        assert_eq!(tags(), expected);
    });
}
