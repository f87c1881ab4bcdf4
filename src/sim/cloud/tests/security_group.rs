use super::Client;

#[tokio::test(start_paused = true)]
async fn rules_are_added_once_changed_and_revoked() {
    let client = Client::new();
    let tag = [("Tag.1.Key", "kubernetes.do.not.delete"), ("Tag.1.Value", "a1")];
    let create =
        [&[("VpcId", "vpc-bp1sim"), ("SecurityGroupName", "sg"), ("SecurityGroupType", "enterprise")][..], &tag]
            .concat();
    let id = client.ok("ecs.CreateSecurityGroup", &create).await.text("/SecurityGroupId");
    let group = ("SecurityGroupId", id.as_str());
    let found = client.ok("ecs.DescribeSecurityGroups", &tag).await;
    assert_eq!(found.text("/SecurityGroups/SecurityGroup/0/SecurityGroupId"), id);
    let rules = [
        group,
        ("Permissions.1.IpProtocol", "All"),
        ("Permissions.1.PortRange", "-1/-1"),
        ("Permissions.1.SourceCidrIp", "10.0.0.0/8"),
        ("Permissions.1.Policy", "accept"),
        ("Permissions.1.Priority", "1"),
        ("Permissions.2.IpProtocol", "All"),
        ("Permissions.2.PortRange", "-1/-1"),
        ("Permissions.2.SourceCidrIp", "0.0.0.0/0"),
        ("Permissions.2.Policy", "drop"),
        ("Permissions.2.Priority", "100"),
    ];
    client.ok("ecs.AuthorizeSecurityGroup", &rules).await;
    client.ok("ecs.AuthorizeSecurityGroup", &rules).await;
    assert!(!client.cloud.calls().last().unwrap().changed, "rules that exist are no change");
    let shown = client.ok("ecs.DescribeSecurityGroupAttribute", &[group]).await;
    assert_eq!(shown.list("/Permissions/Permission").len(), 2);
    assert_eq!(shown.text("/Permissions/Permission/1/Policy"), "Drop");
    let rule = shown.text("/Permissions/Permission/0/SecurityGroupRuleId");
    let rule = ("SecurityGroupRuleId", rule.as_str());
    client.ok("ecs.ModifySecurityGroupRule", &[group, rule, ("Description", "new")]).await;
    let shown = client.ok("ecs.DescribeSecurityGroupAttribute", &[group]).await;
    assert_eq!(shown.text("/Permissions/Permission/0/Description"), "new");
    client.ok("ecs.RevokeSecurityGroup", &[group, ("SecurityGroupRuleId.1", rule.1)]).await;
    client
        .refused(
            "ecs.RevokeSecurityGroup",
            &[group, ("SecurityGroupRuleId.1", rule.1)],
            "InvalidParam.SecurityGroupRuleId",
        )
        .await;
    client.ok("ecs.RevokeSecurityGroup", &rules).await;
    client.ok("ecs.RevokeSecurityGroup", &rules).await;
    assert_eq!(
        client.ok("ecs.DescribeSecurityGroups", &[group]).await.body["SecurityGroups"]["SecurityGroup"][0]["RuleCount"],
        0
    );
    client
        .refused(
            "ecs.AuthorizeSecurityGroup",
            &[group, ("IpProtocol", "all"), ("SourceCidrIp", "x")],
            "InvalidParam.SourceCidrIp",
        )
        .await;
    client.ok("ecs.ModifySecurityGroupAttribute", &[group, ("SecurityGroupName", "renamed")]).await;
    client.ok("ecs.JoinSecurityGroup", &[group, ("InstanceId", "i-bp1node0001")]).await;
    client.refused("ecs.DeleteSecurityGroup", &[group], "DependencyViolation").await;
    client.ok("ecs.LeaveSecurityGroup", &[group, ("InstanceId", "i-bp1node0001")]).await;
    client.ok("ecs.DeleteSecurityGroup", &[group]).await;
    client.refused("ecs.DeleteSecurityGroup", &[group], "InvalidSecurityGroup.NotFound").await;
}
