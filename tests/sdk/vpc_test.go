package sdk

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/services/ecs"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/slb"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/vpc"
)

const systemTable = "vtb-bp1sim"

func routes(c *cloud, table string, more set) []vpc.RouteEntry {
	c.Helper()
	fields := set{"RouteTableId": table, "RouteEntryType": "Custom", "MaxResult": 500}
	for name, value := range more {
		fields[name] = value
	}
	return ok(c, c.vpc.DescribeRouteEntryList, vpc.CreateDescribeRouteEntryListRequest(), fields).RouteEntrys.RouteEntry
}

// settled waits until no route of the table is on its way.
func settled(c *cloud, table string) {
	c.Helper()
	until(c, "the routes settle", func() bool {
		return !slices.ContainsFunc(routes(c, table, nil), func(entry vpc.RouteEntry) bool { return entry.Status != "Available" })
	})
}

func TestRouteLife(t *testing.T) {
	both(t, func(c *cloud) {
		create := func(cidr, hop string) set {
			return set{"RouteTableId": systemTable, "DestinationCidrBlock": cidr, "NextHopType": "Instance", "NextHopId": hop, "RouteEntryName": "pods"}
		}
		created := ok(c, c.vpc.CreateRouteEntry, vpc.CreateCreateRouteEntryRequest(), create("172.20.1.0/24", node(1)))
		same(c, "prefix", strings.HasPrefix(created.RouteEntryId, "rte-bp1"), true)
		same(c, "pending", routes(c, systemTable, nil)[0].Status, "Pending")
		refused(c, 400, "TaskConflict", c.vpc.CreateRouteEntry, vpc.CreateCreateRouteEntryRequest(), create("172.20.2.0/24", node(2)))
		settled(c, systemTable)
		refused(c, 400, "InvalidCIDRBlock.Duplicate", c.vpc.CreateRouteEntry, vpc.CreateCreateRouteEntryRequest(), create("172.20.1.0/24", node(2)))
		refused(c, 404, "InvalidNextHopId.NotFound", c.vpc.CreateRouteEntry, vpc.CreateCreateRouteEntryRequest(), create("172.20.2.0/24", "i-none"))
		refused(c, 400, "InvalidCidrBlock.Malformed", c.vpc.CreateRouteEntry, vpc.CreateCreateRouteEntryRequest(), create("172.20.2.1/24", node(2)))
		one := routes(c, systemTable, set{"DestinationCidrBlock": "172.20.1.0/24"})[0]
		same(c, "entry", []string{one.RouteEntryId, one.RouteEntryName, one.Type, one.Status, one.IpVersion},
			[]string{created.RouteEntryId, "pods", "Custom", "Available", "ipv4"})
		same(c, "hop", []string{one.NextHops.NextHop[0].NextHopId, one.NextHops.NextHop[0].NextHopType}, []string{node(1), "Instance"})
		ok(c, c.vpc.DeleteRouteEntry, vpc.CreateDeleteRouteEntryRequest(), set{"RouteTableId": systemTable, "DestinationCidrBlock": "172.20.1.0/24", "NextHopId": node(1)})
		until(c, "the route is gone", func() bool { return len(routes(c, systemTable, nil)) == 0 })
		refused(c, 400, "InvalidRouteEntry.NotFound", c.vpc.DeleteRouteEntry, vpc.CreateDeleteRouteEntryRequest(), set{
			"RouteTableId": systemTable, "DestinationCidrBlock": "172.20.1.0/24", "NextHopId": node(1)})
	})
}

func TestRouteBatchesAndPages(t *testing.T) {
	both(t, func(c *cloud) {
		var batch []vpc.CreateRouteEntriesRouteEntries
		for number := 1; number <= 12; number++ {
			batch = append(batch, vpc.CreateRouteEntriesRouteEntries{
				RouteTableId: systemTable, DstCidrBlock: fmt.Sprintf("172.21.%d.0/24", number), NextHop: node(number), NextHopType: "Instance", Name: "pods"})
		}
		batch = append(batch, vpc.CreateRouteEntriesRouteEntries{RouteTableId: systemTable, DstCidrBlock: "172.21.1.0/24", NextHop: node(2), NextHopType: "Instance"})
		answer := ok(c, c.vpc.CreateRouteEntries, vpc.CreateCreateRouteEntriesRequest(), set{"RouteEntries": batch})
		same(c, "counts", []int{answer.SuccessCount, answer.FailedCount, len(answer.RouteEntryIds)}, []int{12, 1, 12})
		failed := answer.FailedRouteEntries[0]
		same(c, "failed", []string{failed.DstCidrBlock, failed.NextHop, failed.FailedCode}, []string{"172.21.1.0/24", node(2), "VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE"})
		settled(c, systemTable)

		var seen []string
		token := ""
		for {
			page := ok(c, c.vpc.DescribeRouteEntryList, vpc.CreateDescribeRouteEntryListRequest(), set{
				"RouteTableId": systemTable, "RouteEntryType": "Custom", "MaxResult": 5, "NextToken": token})
			for _, entry := range page.RouteEntrys.RouteEntry {
				seen = append(seen, entry.RouteEntryId)
			}
			if token = page.NextToken; token == "" {
				break
			}
		}
		slices.Sort(seen)
		slices.Sort(answer.RouteEntryIds)
		same(c, "paged", seen, answer.RouteEntryIds)

		var less []vpc.DeleteRouteEntriesRouteEntries
		for _, entry := range batch[:12] {
			less = append(less, vpc.DeleteRouteEntriesRouteEntries{RouteTableId: systemTable, DstCidrBlock: entry.DstCidrBlock, NextHop: entry.NextHop})
		}
		less = append(less, vpc.DeleteRouteEntriesRouteEntries{RouteTableId: systemTable, DstCidrBlock: "172.22.0.0/24", NextHop: node(1)})
		gone := ok(c, c.vpc.DeleteRouteEntries, vpc.CreateDeleteRouteEntriesRequest(), set{"RouteEntries": less})
		same(c, "counts", []int{gone.SuccessCount, gone.FailedCount}, []int{12, 1})
		same(c, "why", gone.FailedRouteEntries[0].FailedCode, "VPC_ROUTER_ENTRY_NOT_EXIST")
		until(c, "the routes are gone", func() bool { return len(routes(c, systemTable, nil)) == 0 })
	})
}

func TestVpcPlaces(t *testing.T) {
	both(t, func(c *cloud) {
		same(c, "region", ok(c, c.vpc.DescribeRegions, vpc.CreateDescribeRegionsRequest(), nil).Regions.Region[0].RegionId, region)
		same(c, "zones", len(ok(c, c.vpc.DescribeZones, vpc.CreateDescribeZonesRequest(), nil).Zones.Zone), 3)
		networks := ok(c, c.vpc.DescribeVpcs, vpc.CreateDescribeVpcsRequest(), set{"VpcId": vpcID})
		same(c, "vpc", []string{networks.Vpcs.Vpc[0].CidrBlock, networks.Vpcs.Vpc[0].VRouterId, networks.Vpcs.Vpc[0].Status}, []string{"10.0.0.0/16", "vrt-bp1sim", "Available"})
		one := ok(c, c.vpc.DescribeVpcAttribute, vpc.CreateDescribeVpcAttributeRequest(), set{"VpcId": vpcID})
		same(c, "vswitches", one.VSwitchIds.VSwitchId, []string{vswitch, vsw2, vsw3})
		refused(c, 404, "InvalidVpcId.NotFound", c.vpc.DescribeVpcAttribute, vpc.CreateDescribeVpcAttributeRequest(), set{"VpcId": "vpc-none"})
		tables := ok(c, c.vpc.DescribeRouteTableList, vpc.CreateDescribeRouteTableListRequest(), set{"VpcId": vpcID, "RouteTableType": "System"})
		same(c, "table", tables.RouterTableList.RouterTableListType[0].RouteTableId, systemTable)
		same(c, "served", len(tables.RouterTableList.RouterTableListType[0].VSwitchIds.VSwitchId) > 0, true)
		all := ok(c, c.vpc.DescribeVSwitches, vpc.CreateDescribeVSwitchesRequest(), set{"VpcId": vpcID, "PageSize": 2, "PageNumber": 2})
		same(c, "second page", []any{all.TotalCount, len(all.VSwitches.VSwitch), all.VSwitches.VSwitch[0].VSwitchId}, []any{3, 1, vsw3})
		same(c, "free addresses", all.VSwitches.VSwitch[0].AvailableIpAddressCount > 0, true)
		single := ok(c, c.vpc.DescribeVSwitchAttributes, vpc.CreateDescribeVSwitchAttributesRequest(), set{"VSwitchId": vswitch})
		same(c, "vswitch", []string{single.ZoneId, single.CidrBlock, single.VpcId}, []string{zone, "10.0.0.0/19", vpcID})
	})
}

func TestElasticAddressLife(t *testing.T) {
	both(t, func(c *cloud) {
		created := ok(c, c.vpc.AllocateEipAddress, vpc.CreateAllocateEipAddressRequest(), set{
			"Bandwidth": "12", "InternetChargeType": "PayByTraffic", "Name": "front", "ClientToken": "eip-" + c.Name()})
		id := created.AllocationId
		shown := func() vpc.EipAddress {
			found := ok(c, c.vpc.DescribeEipAddresses, vpc.CreateDescribeEipAddressesRequest(), set{"AllocationId": id})
			same(c, "found", found.TotalCount, 1)
			return found.EipAddresses.EipAddress[0]
		}
		one := shown()
		same(c, "new", []string{one.IpAddress, one.Status, one.Bandwidth, one.InternetChargeType, one.Name},
			[]string{created.EipAddress, "Available", "12", "PayByTraffic", "front"})
		lb := loadBalancer(c, nil)
		ok(c, c.vpc.AssociateEipAddress, vpc.CreateAssociateEipAddressRequest(), set{"AllocationId": id, "InstanceId": lb, "InstanceType": "SlbInstance"})
		same(c, "on its way", shown().Status, "Associating")
		refused(c, 400, "IncorrectEipStatus", c.vpc.ReleaseEipAddress, vpc.CreateReleaseEipAddressRequest(), set{"AllocationId": id})
		until(c, "it is in use", func() bool { return shown().Status == "InUse" })
		same(c, "instance", []string{shown().InstanceId, shown().InstanceType}, []string{lb, "SlbInstance"})
		ok(c, c.vpc.UnassociateEipAddress, vpc.CreateUnassociateEipAddressRequest(), set{"AllocationId": id, "InstanceId": lb, "InstanceType": "SlbInstance"})
		until(c, "it is free", func() bool { return shown().Status == "Available" })
		same(c, "no instance", shown().InstanceId, "")
		ok(c, c.vpc.ReleaseEipAddress, vpc.CreateReleaseEipAddressRequest(), set{"AllocationId": id})
		refused(c, 404, "InvalidAllocationId.NotFound", c.vpc.ReleaseEipAddress, vpc.CreateReleaseEipAddressRequest(), set{"AllocationId": id})
		ok(c, c.slb.DeleteLoadBalancer, slb.CreateDeleteLoadBalancerRequest(), set{"LoadBalancerId": lb})
	})
}

func TestInstances(t *testing.T) {
	both(t, func(c *cloud) {
		same(c, "region", ok(c, c.ecs.DescribeRegions, ecs.CreateDescribeRegionsRequest(), nil).Regions.Region[0].RegionId, region)
		same(c, "zones", len(ok(c, c.ecs.DescribeZones, ecs.CreateDescribeZonesRequest(), nil).Zones.Zone), 3)
		two := ok(c, c.ecs.DescribeInstances, ecs.CreateDescribeInstancesRequest(), set{"InstanceIds": text([]string{node(1), node(2), "i-none"}), "PageSize": 10})
		same(c, "found", two.TotalCount, 2)
		one := two.Instances.Instance[0]
		same(c, "instance", []string{one.InstanceId, one.Status, one.ZoneId, one.InstanceType, one.VpcAttributes.VpcId, one.VpcAttributes.VSwitchId},
			[]string{node(1), "Running", zone, "ecs.g7.xlarge", vpcID, vswitch})
		same(c, "addresses", len(one.VpcAttributes.PrivateIpAddress.IpAddress), 1)
		eni := one.NetworkInterfaces.NetworkInterface[0]
		same(c, "interface", []string{eni.Type, eni.PrimaryIpAddress}, []string{"Primary", one.VpcAttributes.PrivateIpAddress.IpAddress[0]})

		// Both ways to page.
		seen, token := map[string]bool{}, ""
		for {
			page := ok(c, c.ecs.DescribeInstances, ecs.CreateDescribeInstancesRequest(), set{"VpcId": vpcID, "InstanceName": "i-bp1node*", "MaxResults": 10, "NextToken": token})
			for _, instance := range page.Instances.Instance {
				seen[instance.InstanceId] = true
			}
			if token = page.NextToken; token == "" {
				break
			}
		}
		same(c, "by token", len(seen), nodes)
		last := ok(c, c.ecs.DescribeInstances, ecs.CreateDescribeInstancesRequest(), set{"InstanceName": "i-bp1node*", "PageNumber": 3, "PageSize": 10})
		same(c, "by number", []int{last.TotalCount, len(last.Instances.Instance), last.PageNumber}, []int{nodes, 5, 3})

		found := ok(c, c.ecs.DescribeNetworkInterfaces, ecs.CreateDescribeNetworkInterfacesRequest(), set{"NetworkInterfaceId": []string{eni.NetworkInterfaceId}})
		card := found.NetworkInterfaceSets.NetworkInterfaceSet[0]
		same(c, "card", []string{card.InstanceId, card.PrivateIpAddress, card.Status, card.Type}, []string{node(1), eni.PrimaryIpAddress, "InUse", "Primary"})
		ok(c, c.ecs.ModifyNetworkInterfaceAttribute, ecs.CreateModifyNetworkInterfaceAttributeRequest(), set{
			"NetworkInterfaceId": eni.NetworkInterfaceId, "SourceDestCheck": "false", "Description": "pods"})
		found = ok(c, c.ecs.DescribeNetworkInterfaces, ecs.CreateDescribeNetworkInterfacesRequest(), set{"InstanceId": node(1)})
		card = found.NetworkInterfaceSets.NetworkInterfaceSet[0]
		same(c, "modified", []any{card.SourceDestCheck, card.Description}, []any{false, "pods"})
		refused(c, 404, "InvalidEniId.NotFound", c.ecs.ModifyNetworkInterfaceAttribute, ecs.CreateModifyNetworkInterfaceAttributeRequest(), set{
			"NetworkInterfaceId": "eni-none", "Description": "x"})
	})
}
