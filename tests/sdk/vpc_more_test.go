package sdk

import (
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/services/ecs"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/vpc"
)

func TestCustomRouteTables(t *testing.T) {
	both(t, func(c *cloud) {
		id := ok(c, c.vpc.CreateRouteTable, vpc.CreateCreateRouteTableRequest(), set{"VpcId": vpcID, "RouteTableName": "custom"}).RouteTableId
		ok(c, c.vpc.AssociateRouteTable, vpc.CreateAssociateRouteTableRequest(), set{"RouteTableId": id, "VSwitchId": vsw3})
		listed := ok(c, c.vpc.DescribeRouteTableList, vpc.CreateDescribeRouteTableListRequest(), set{"RouteTableId": id}).RouterTableList.RouterTableListType[0]
		same(c, "table", []any{listed.RouteTableType, listed.RouteTableName, listed.VSwitchIds.VSwitchId}, []any{"Custom", "custom", []string{vsw3}})
		same(c, "served by it", ok(c, c.vpc.DescribeVSwitchAttributes, vpc.CreateDescribeVSwitchAttributesRequest(), set{"VSwitchId": vsw3}).RouteTable.RouteTableId, id)
		refused(c, 400, "IncorrectRouteTableStatus", c.vpc.DeleteRouteTable, vpc.CreateDeleteRouteTableRequest(), set{"RouteTableId": id})

		created := ok(c, c.vpc.CreateRouteEntry, vpc.CreateCreateRouteEntryRequest(), set{
			"RouteTableId": id, "DestinationCidrBlock": "172.25.0.0/24", "NextHopType": "Instance", "NextHopId": node(1)})
		settled(c, id)
		ok(c, c.vpc.ModifyRouteEntry, vpc.CreateModifyRouteEntryRequest(), set{"RouteEntryId": created.RouteEntryId, "RouteEntryName": "renamed"})
		settled(c, id)
		same(c, "renamed", routes(c, id, nil)[0].RouteEntryName, "renamed")
		old := ok(c, c.vpc.DescribeRouteTables, vpc.CreateDescribeRouteTablesRequest(), set{"RouteTableId": id, "Type": "Custom"}).RouteTables.RouteTable[0]
		same(c, "older form", []string{old.RouteEntrys.RouteEntry[0].DestinationCidrBlock, old.RouteEntrys.RouteEntry[0].InstanceId}, []string{"172.25.0.0/24", node(1)})
		ok(c, c.vpc.DeleteRouteEntry, vpc.CreateDeleteRouteEntryRequest(), set{"RouteEntryId": created.RouteEntryId})
		until(c, "the route is gone", func() bool { return len(routes(c, id, nil)) == 0 })

		ok(c, c.vpc.UnassociateRouteTable, vpc.CreateUnassociateRouteTableRequest(), set{"RouteTableId": id, "VSwitchId": vsw3})
		ok(c, c.vpc.DeleteRouteTable, vpc.CreateDeleteRouteTableRequest(), set{"RouteTableId": id})
		refused(c, 404, "InvalidRouteTableId.NotFound", c.vpc.DeleteRouteTable, vpc.CreateDeleteRouteTableRequest(), set{"RouteTableId": id})
		refused(c, 400, "IncorrectRouteTableType", c.vpc.DeleteRouteTable, vpc.CreateDeleteRouteTableRequest(), set{"RouteTableId": systemTable})
	})
}

func TestVpcOddities(t *testing.T) {
	both(t, func(c *cloud) {
		routers := ok(c, c.vpc.DescribeVRouters, vpc.CreateDescribeVRoutersRequest(), set{"VRouterId": "vrt-bp1sim"})
		same(c, "router", routers.VRouters.VRouter[0].VpcId, vpcID)
		address := ok(c, c.ecs.DescribeInstances, ecs.CreateDescribeInstancesRequest(), set{"InstanceIds": text([]string{node(1)})}).
			Instances.Instance[0].VpcAttributes.PrivateIpAddress.IpAddress[0]
		free := ok(c, c.vpc.CheckCanAllocateVpcPrivateIpAddress, vpc.CreateCheckCanAllocateVpcPrivateIpAddressRequest(), set{
			"VSwitchId": vswitch, "PrivateIpAddress": "10.0.31.200"})
		same(c, "free", free.CanAllocate, true)
		taken := ok(c, c.vpc.CheckCanAllocateVpcPrivateIpAddress, vpc.CreateCheckCanAllocateVpcPrivateIpAddressRequest(), set{
			"VSwitchId": vswitch, "PrivateIpAddress": address})
		same(c, "taken", taken.CanAllocate, false)
		packages := ok(c, c.vpc.DescribeCommonBandwidthPackages, vpc.CreateDescribeCommonBandwidthPackagesRequest(), set{"BandwidthPackageId": bandwidthPackage})
		same(c, "package", packages.CommonBandwidthPackages.CommonBandwidthPackage[0].Bandwidth, "100")

		eip := ok(c, c.vpc.AllocateEipAddress, vpc.CreateAllocateEipAddressRequest(), nil).AllocationId
		ok(c, c.vpc.ModifyEipAddressAttribute, vpc.CreateModifyEipAddressAttributeRequest(), set{"AllocationId": eip, "Bandwidth": "33", "Name": "renamed"})
		ok(c, c.vpc.TagResources, vpc.CreateTagResourcesRequest(), set{"ResourceType": "EIP", "ResourceId": []string{eip}, "Tag": []vpc.TagResourcesTag{{Key: "k", Value: "v"}}})
		tags := ok(c, c.vpc.ListTagResources, vpc.CreateListTagResourcesRequest(), set{"ResourceType": "EIP", "ResourceId": []string{eip}}).TagResources.TagResource
		same(c, "tag", []string{tags[0].ResourceId, tags[0].TagKey, tags[0].TagValue}, []string{eip, "k", "v"})
		found := ok(c, c.vpc.DescribeEipAddresses, vpc.CreateDescribeEipAddressesRequest(), set{"AllocationId": eip}).EipAddresses.EipAddress[0]
		same(c, "modified", []string{found.Bandwidth, found.Name, found.Tags.Tag[0].Key}, []string{"33", "renamed", "k"})
		ok(c, c.vpc.UnTagResources, vpc.CreateUnTagResourcesRequest(), set{"ResourceType": "EIP", "ResourceId": []string{eip}, "TagKey": []string{"k"}})
		same(c, "untagged", len(ok(c, c.vpc.ListTagResources, vpc.CreateListTagResourcesRequest(), set{
			"ResourceType": "EIP", "ResourceId": []string{eip}}).TagResources.TagResource), 0)
		ok(c, c.vpc.ReleaseEipAddress, vpc.CreateReleaseEipAddressRequest(), set{"AllocationId": eip})
	})
}
