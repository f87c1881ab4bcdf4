package sdk

import (
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/services/ecs"
)

func TestInstanceFacts(t *testing.T) {
	both(t, func(c *cloud) {
		states := ok(c, c.ecs.DescribeInstanceStatus, ecs.CreateDescribeInstanceStatusRequest(), set{"InstanceId": []string{node(5), node(6)}})
		same(c, "states", states.InstanceStatuses.InstanceStatus, []ecs.InstanceStatus{{InstanceId: node(5), Status: "Running"}, {InstanceId: node(6), Status: "Running"}})
		one := ok(c, c.ecs.DescribeInstanceAttribute, ecs.CreateDescribeInstanceAttributeRequest(), set{"InstanceId": node(5)})
		same(c, "attribute", []any{one.InstanceId, one.Status, one.IoOptimized, one.Cpu, one.VpcAttributes.VpcId}, []any{node(5), "Running", "optimized", 4, vpcID})
		refused(c, 404, "InvalidInstanceId.NotFound", c.ecs.DescribeInstanceAttribute, ecs.CreateDescribeInstanceAttributeRequest(), set{"InstanceId": "i-none"})
		types := ok(c, c.ecs.DescribeInstanceTypes, ecs.CreateDescribeInstanceTypesRequest(), set{"InstanceTypes": []string{"ecs.g7.xlarge"}})
		same(c, "type", []any{types.InstanceTypes.InstanceType[0].CpuCoreCount, types.InstanceTypes.InstanceType[0].MemorySize}, []any{4, 16.0})

		attached := ok(c, c.ecs.AttachInstanceRamRole, ecs.CreateAttachInstanceRamRoleRequest(), set{"RamRoleName": "worker", "InstanceIds": text([]string{node(5), "i-none"})})
		same(c, "counts", []int{attached.TotalCount, attached.FailCount}, []int{2, 1})
		roles := ok(c, c.ecs.DescribeInstanceRamRole, ecs.CreateDescribeInstanceRamRoleRequest(), set{"InstanceIds": text([]string{node(5)})})
		same(c, "role", roles.InstanceRamRoleSets.InstanceRamRoleSet[0].RamRoleName, "worker")
		ok(c, c.ecs.TagResources, ecs.CreateTagResourcesRequest(), set{"ResourceType": "instance", "ResourceId": []string{node(5)}, "Tag": []ecs.TagResourcesTag{{Key: "k", Value: "v"}}})
		tags := ok(c, c.ecs.ListTagResources, ecs.CreateListTagResourcesRequest(), set{"ResourceType": "instance", "ResourceId": []string{node(5)}})
		same(c, "tags", tags.TagResources.TagResource, []ecs.TagResource{{ResourceId: node(5), ResourceType: "instance", TagKey: "k", TagValue: "v"}})
		found := ok(c, c.ecs.DescribeInstances, ecs.CreateDescribeInstancesRequest(), set{"Tag": []ecs.DescribeInstancesTag{{Key: "k", Value: "v"}}})
		same(c, "by tag", found.Instances.Instance[0].InstanceId, node(5))
		ok(c, c.ecs.UntagResources, ecs.CreateUntagResourcesRequest(), set{"ResourceType": "instance", "ResourceId": []string{node(5)}, "TagKey": []string{"k"}})
		same(c, "untagged", len(ok(c, c.ecs.ListTagResources, ecs.CreateListTagResourcesRequest(), set{
			"ResourceType": "instance", "ResourceId": []string{node(5)}}).TagResources.TagResource), 0)
	})
}

func TestInterfaceLife(t *testing.T) {
	both(t, func(c *cloud) {
		group := ok(c, c.ecs.CreateSecurityGroup, ecs.CreateCreateSecurityGroupRequest(), set{"VpcId": vpcID, "SecurityGroupName": "cards"}).SecurityGroupId
		created := ok(c, c.ecs.CreateNetworkInterface, ecs.CreateCreateNetworkInterfaceRequest(), set{
			"VSwitchId": vswitch, "SecurityGroupId": group, "NetworkInterfaceName": "pods", "SecondaryPrivateIpAddressCount": "2",
			"Tag": []ecs.CreateNetworkInterfaceTag{{Key: "k", Value: "v"}}})
		id := created.NetworkInterfaceId
		same(c, "created", []any{created.ZoneId, created.VpcId, len(created.PrivateIpSets.PrivateIpSet)}, []any{zone, vpcID, 3})
		// The first and every third node lie in the first zone.
		ok(c, c.ecs.AttachNetworkInterface, ecs.CreateAttachNetworkInterfaceRequest(), set{"NetworkInterfaceId": id, "InstanceId": node(4)})
		cards := ok(c, c.ecs.DescribeNetworkInterfaces, ecs.CreateDescribeNetworkInterfacesRequest(), set{"InstanceId": node(4)}).NetworkInterfaceSets.NetworkInterfaceSet
		same(c, "cards", len(cards), 2)
		refused(c, 400, "InvalidOperation.InvalidEniState", c.ecs.DeleteNetworkInterface, ecs.CreateDeleteNetworkInterfaceRequest(), set{"NetworkInterfaceId": id})
		ok(c, c.ecs.DetachNetworkInterface, ecs.CreateDetachNetworkInterfaceRequest(), set{"NetworkInterfaceId": id, "InstanceId": node(4)})
		refused(c, 403, "InvalidOperation.AvailabilityZoneMismatch", c.ecs.AttachNetworkInterface, ecs.CreateAttachNetworkInterfaceRequest(), set{
			"NetworkInterfaceId": id, "InstanceId": node(5)})
		ok(c, c.ecs.DeleteNetworkInterface, ecs.CreateDeleteNetworkInterfaceRequest(), set{"NetworkInterfaceId": id})
		refused(c, 404, "InvalidEniId.NotFound", c.ecs.DeleteNetworkInterface, ecs.CreateDeleteNetworkInterfaceRequest(), set{"NetworkInterfaceId": id})
		ok(c, c.ecs.DeleteSecurityGroup, ecs.CreateDeleteSecurityGroupRequest(), set{"SecurityGroupId": group})
	})
}

func TestSecurityGroups(t *testing.T) {
	both(t, func(c *cloud) {
		id := ok(c, c.ecs.CreateSecurityGroup, ecs.CreateCreateSecurityGroupRequest(), set{
			"VpcId": vpcID, "SecurityGroupName": "nodes", "Tag": []ecs.CreateSecurityGroupTag{{Key: "sg", Value: c.Name()}}}).SecurityGroupId
		authorize := func(fields set) {
			c.Helper()
			fields["SecurityGroupId"] = id
			ok(c, c.ecs.AuthorizeSecurityGroup, ecs.CreateAuthorizeSecurityGroupRequest(), fields)
		}
		shown := func() *ecs.DescribeSecurityGroupAttributeResponse {
			return ok(c, c.ecs.DescribeSecurityGroupAttribute, ecs.CreateDescribeSecurityGroupAttributeRequest(), set{"SecurityGroupId": id})
		}
		authorize(set{"Permissions": []ecs.AuthorizeSecurityGroupPermissions{
			{IpProtocol: "TCP", PortRange: "80/80", SourceCidrIp: "10.0.0.0/8", Priority: "1", Policy: "accept"},
			{IpProtocol: "UDP", PortRange: "53/53", SourceCidrIp: "10.0.0.0/8"}}})
		authorize(set{"IpProtocol": "tcp", "PortRange": "80/80", "SourceCidrIp": "10.0.0.0/8"})
		same(c, "a rule that exists adds nothing", len(shown().Permissions.Permission), 2)
		rule := shown().Permissions.Permission[0]
		same(c, "rule", []string{rule.IpProtocol, rule.PortRange, rule.SourceCidrIp, rule.Policy, rule.Priority, rule.Direction},
			[]string{"TCP", "80/80", "10.0.0.0/8", "Accept", "1", "ingress"})
		ok(c, c.ecs.ModifySecurityGroupRule, ecs.CreateModifySecurityGroupRuleRequest(), set{
			"SecurityGroupId": id, "SecurityGroupRuleId": rule.SecurityGroupRuleId, "Priority": "5", "Description": "web"})
		rule = shown().Permissions.Permission[0]
		same(c, "modified", []string{rule.Priority, rule.Description}, []string{"5", "web"})
		page := ok(c, c.ecs.DescribeSecurityGroupAttribute, ecs.CreateDescribeSecurityGroupAttributeRequest(), set{"SecurityGroupId": id, "MaxResults": 1})
		rest := ok(c, c.ecs.DescribeSecurityGroupAttribute, ecs.CreateDescribeSecurityGroupAttributeRequest(), set{
			"SecurityGroupId": id, "MaxResults": 1, "NextToken": page.NextToken})
		same(c, "pages", []any{len(page.Permissions.Permission), len(rest.Permissions.Permission), rest.NextToken}, []any{1, 1, ""})
		ok(c, c.ecs.RevokeSecurityGroup, ecs.CreateRevokeSecurityGroupRequest(), set{"SecurityGroupId": id, "SecurityGroupRuleId": []string{rule.SecurityGroupRuleId}})
		refused(c, 400, "InvalidParam.SecurityGroupRuleId", c.ecs.RevokeSecurityGroup, ecs.CreateRevokeSecurityGroupRequest(), set{
			"SecurityGroupId": id, "SecurityGroupRuleId": []string{rule.SecurityGroupRuleId}})
		ok(c, c.ecs.RevokeSecurityGroup, ecs.CreateRevokeSecurityGroupRequest(), set{
			"SecurityGroupId": id, "Permissions": []ecs.RevokeSecurityGroupPermissions{{IpProtocol: "ICMP", PortRange: "-1/-1", SourceCidrIp: "0.0.0.0/0"}}})
		same(c, "left", len(shown().Permissions.Permission), 1)

		ok(c, c.ecs.ModifySecurityGroupAttribute, ecs.CreateModifySecurityGroupAttributeRequest(), set{"SecurityGroupId": id, "SecurityGroupName": "renamed"})
		ok(c, c.ecs.JoinSecurityGroup, ecs.CreateJoinSecurityGroupRequest(), set{"SecurityGroupId": id, "InstanceId": node(7)})
		found := ok(c, c.ecs.DescribeSecurityGroups, ecs.CreateDescribeSecurityGroupsRequest(), set{"SecurityGroupId": id})
		same(c, "group", []any{found.SecurityGroups.SecurityGroup[0].SecurityGroupName, found.SecurityGroups.SecurityGroup[0].EcsCount}, []any{"renamed", 1})
		refused(c, 403, "DependencyViolation", c.ecs.DeleteSecurityGroup, ecs.CreateDeleteSecurityGroupRequest(), set{"SecurityGroupId": id})
		ok(c, c.ecs.LeaveSecurityGroup, ecs.CreateLeaveSecurityGroupRequest(), set{"SecurityGroupId": id, "InstanceId": node(7)})
		ok(c, c.ecs.DeleteSecurityGroup, ecs.CreateDeleteSecurityGroupRequest(), set{"SecurityGroupId": id})
		refused(c, 404, "InvalidSecurityGroupId.NotFound", c.ecs.DescribeSecurityGroupAttribute, ecs.CreateDescribeSecurityGroupAttributeRequest(), set{"SecurityGroupId": id})
	})
}

func TestInstanceDeletion(t *testing.T) {
	doomed := map[string]string{"v1": "i-bp1doomed1", "v3": "i-bp1doomed3"}
	both(t, func(c *cloud) {
		id := doomed["v1"]
		if c.tea != nil {
			id = doomed["v3"]
		}
		refused(c, 403, "IncorrectInstanceStatus", c.ecs.DeleteInstance, ecs.CreateDeleteInstanceRequest(), set{"InstanceId": id})
		ok(c, c.ecs.DeleteInstance, ecs.CreateDeleteInstanceRequest(), set{"InstanceId": id, "Force": "true"})
		same(c, "gone", ok(c, c.ecs.DescribeInstances, ecs.CreateDescribeInstancesRequest(), set{"InstanceIds": text([]string{id})}).TotalCount, 0)
		refused(c, 404, "InvalidInstanceId.NotFound", c.ecs.DeleteInstance, ecs.CreateDeleteInstanceRequest(), set{"InstanceId": id})
	})
}
