//! Changes of security groups.

use super::{run, sent};
use crate::cloud::{Made, NetworkAction, RulePolicy, SourceRule, network_action::CreateSecurityGroup};

#[tokio::test(start_paused = true)]
async fn rules_of_both_families_go_into_one_call() {
    let create = CreateSecurityGroup {
        name: "k8s-nlb-a1".to_owned(),
        description: "k8s.default.web.c1".to_owned(),
        vpc: Some("vpc-1".into()),
        resource_group: None,
        tags: [("ack.aliyun.com".to_owned(), "c1".to_owned())].into(),
    };
    let (lines, effect) = run(NetworkAction::CreateSecurityGroup(create)).await;
    assert_eq!(
        lines,
        [
            "Action=CreateSecurityGroup",
            "Description=k8s.default.web.c1",
            "SecurityGroupName=k8s-nlb-a1",
            "SecurityGroupType=enterprise",
            "Tag.1.Key=ack.aliyun.com",
            "Tag.1.Value=c1",
            "VpcId=vpc-1"
        ]
    );
    assert_eq!(effect.made, Made::SecurityGroup("sg-1".into()));
    let rule = |source: &str, policy, priority| SourceRule {
        id: String::new(),
        source: source.parse().unwrap(),
        policy,
        priority,
        description: "d".to_owned(),
    };
    let rules = vec![rule("10.0.0.0/8", RulePolicy::Accept, 1), rule("::/0", RulePolicy::Drop, 100)];
    assert_eq!(
        sent(NetworkAction::AddRules { group: "sg-1".into(), rules }).await,
        [
            "Action=AuthorizeSecurityGroup",
            "Permissions.1.Description=d",
            "Permissions.1.IpProtocol=ALL",
            "Permissions.1.Policy=accept",
            "Permissions.1.PortRange=-1/-1",
            "Permissions.1.Priority=1",
            "Permissions.1.SourceCidrIp=10.0.0.0/8",
            "Permissions.2.Description=d",
            "Permissions.2.IpProtocol=ALL",
            "Permissions.2.Ipv6SourceCidrIp=::/0",
            "Permissions.2.Policy=drop",
            "Permissions.2.PortRange=-1/-1",
            "Permissions.2.Priority=100",
            "SecurityGroupId=sg-1",
        ]
    );
    assert_eq!(
        sent(NetworkAction::RemoveRules { group: "sg-1".into(), rules: vec!["sgr-1".to_owned()] }).await,
        ["Action=RevokeSecurityGroup", "SecurityGroupId=sg-1", "SecurityGroupRuleId.1=sgr-1"]
    );
    let name =
        NetworkAction::NameSecurityGroup { group: "sg-1".into(), name: "n".to_owned(), description: "d".to_owned() };
    assert_eq!(
        sent(name).await,
        ["Action=ModifySecurityGroupAttribute", "Description=d", "SecurityGroupId=sg-1", "SecurityGroupName=n"]
    );
    assert_eq!(
        sent(NetworkAction::DeleteSecurityGroup { group: "sg-1".into() }).await,
        ["Action=DeleteSecurityGroup", "SecurityGroupId=sg-1"]
    );
}
