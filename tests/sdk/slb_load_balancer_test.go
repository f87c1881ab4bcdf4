package sdk

import (
	"strings"
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/services/slb"
)

// loadBalancer creates a load balancer inside the VPC and deletes it after the test.
func loadBalancer(c *cloud, more set) string {
	c.Helper()
	fields := set{"AddressType": "intranet", "VSwitchId": vswitch, "LoadBalancerSpec": "slb.s2.small"}
	for name, value := range more {
		fields[name] = value
	}
	created := ok(c, c.slb.CreateLoadBalancer, slb.CreateCreateLoadBalancerRequest(), fields)
	c.Cleanup(func() {
		_, _ = send(c, c.slb.DeleteLoadBalancer, slb.CreateDeleteLoadBalancerRequest(), set{"LoadBalancerId": created.LoadBalancerId})
	})
	return created.LoadBalancerId
}

func attribute(c *cloud, id string) *slb.DescribeLoadBalancerAttributeResponse {
	c.Helper()
	return ok(c, c.slb.DescribeLoadBalancerAttribute, slb.CreateDescribeLoadBalancerAttributeRequest(), set{"LoadBalancerId": id})
}

func TestLoadBalancerLife(t *testing.T) {
	both(t, func(c *cloud) {
		created := ok(c, c.slb.CreateLoadBalancer, slb.CreateCreateLoadBalancerRequest(), set{
			"AddressType": "internet", "LoadBalancerSpec": "slb.s1.small", "LoadBalancerName": "web & more/中",
			"InternetChargeType": "paybybandwidth", "Bandwidth": "7", "DeleteProtection": "on", "ClientToken": "life-" + c.Name(),
			"Tag": []slb.CreateLoadBalancerTag{{Key: "team", Value: "a b+c"}},
		})
		id := created.LoadBalancerId
		same(c, "prefix", strings.HasPrefix(id, "lb-bp1"), true)
		same(c, "name", created.LoadBalancerName, "web & more/中")
		same(c, "network", created.NetworkType, "classic")

		shown := attribute(c, id)
		same(c, "status", shown.LoadBalancerStatus, "active")
		same(c, "address", shown.Address, created.Address)
		same(c, "charge in words", shown.InternetChargeType, "paybybandwidth")
		same(c, "bandwidth", shown.Bandwidth, 7)
		same(c, "region", shown.RegionId, region)
		same(c, "tag", shown.Tags.Tag, []slb.Tag{{TagKey: "team", TagValue: "a b+c"}})
		same(c, "protection", shown.DeleteProtection, "on")

		found := ok(c, c.slb.DescribeLoadBalancers, slb.CreateDescribeLoadBalancersRequest(), set{"LoadBalancerId": id})
		same(c, "count", found.TotalCount, 1)
		one := found.LoadBalancers.LoadBalancer[0]
		same(c, "charge as digit", one.InternetChargeType, "3")
		same(c, "charge alias", one.InternetChargeTypeAlias, "paybybandwidth")
		same(c, "both times", one.CreateTimeStamp > 0 && strings.HasSuffix(one.CreateTime, "Z"), true)

		refused(c, 400, "OperationDenied.DeleteProtectionIsOn", c.slb.DeleteLoadBalancer, slb.CreateDeleteLoadBalancerRequest(), set{"LoadBalancerId": id})
		ok(c, c.slb.SetLoadBalancerDeleteProtection, slb.CreateSetLoadBalancerDeleteProtectionRequest(), set{"LoadBalancerId": id, "DeleteProtection": "off"})
		ok(c, c.slb.SetLoadBalancerModificationProtection, slb.CreateSetLoadBalancerModificationProtectionRequest(), set{
			"LoadBalancerId": id, "ModificationProtectionStatus": "ConsoleProtection", "ModificationProtectionReason": "managed"})
		ok(c, c.slb.SetLoadBalancerName, slb.CreateSetLoadBalancerNameRequest(), set{"LoadBalancerId": id, "LoadBalancerName": "renamed"})
		ok(c, c.slb.SetLoadBalancerStatus, slb.CreateSetLoadBalancerStatusRequest(), set{"LoadBalancerId": id, "LoadBalancerStatus": "inactive"})
		ok(c, c.slb.ModifyLoadBalancerInternetSpec, slb.CreateModifyLoadBalancerInternetSpecRequest(), set{
			"LoadBalancerId": id, "InternetChargeType": "paybytraffic", "Bandwidth": "9"})
		ok(c, c.slb.ModifyLoadBalancerInstanceSpec, slb.CreateModifyLoadBalancerInstanceSpecRequest(), set{"LoadBalancerId": id, "LoadBalancerSpec": "slb.s3.small"})
		ok(c, c.slb.MoveResourceGroup, slb.CreateMoveResourceGroupRequest(), set{
			"ResourceId": id, "ResourceType": "loadbalancer", "NewResourceGroupId": "rg-other"})
		shown = attribute(c, id)
		same(c, "changed", []string{shown.LoadBalancerName, shown.LoadBalancerStatus, shown.LoadBalancerSpec, shown.ResourceGroupId,
			shown.InternetChargeType, shown.ModificationProtectionStatus, shown.ModificationProtectionReason},
			[]string{"renamed", "inactive", "slb.s3.small", "rg-other", "paybytraffic", "ConsoleProtection", "managed"})
		same(c, "bandwidth", shown.Bandwidth, 9)

		charge := set{"LoadBalancerId": id, "InstanceChargeType": "PayByCLCU"}
		ok(c, c.slb.ModifyLoadBalancerInstanceChargeType, slb.CreateModifyLoadBalancerInstanceChargeTypeRequest(), charge)
		refused(c, 400, "OperationDenied.PayByCLCU", c.slb.ModifyLoadBalancerInstanceSpec, slb.CreateModifyLoadBalancerInstanceSpecRequest(), set{
			"LoadBalancerId": id, "LoadBalancerSpec": "slb.s1.small"})
		same(c, "charged by use", attribute(c, id).InstanceChargeType, "PayByCLCU")

		ok(c, c.slb.DeleteLoadBalancer, slb.CreateDeleteLoadBalancerRequest(), set{"LoadBalancerId": id})
		refused(c, 404, "InvalidLoadBalancerId.NotFound", c.slb.DescribeLoadBalancerAttribute, slb.CreateDescribeLoadBalancerAttributeRequest(), set{"LoadBalancerId": id})
	})
}

func TestLoadBalancerPages(t *testing.T) {
	both(t, func(c *cloud) {
		name := "page-" + strings.ReplaceAll(c.Name(), "/", "-")
		for range 7 {
			loadBalancer(c, set{"LoadBalancerName": name})
		}
		seen := map[string]bool{}
		for page := 1; ; page++ {
			answer := ok(c, c.slb.DescribeLoadBalancers, slb.CreateDescribeLoadBalancersRequest(), set{
				"LoadBalancerName": name, "PageNumber": page, "PageSize": 3})
			same(c, "total", answer.TotalCount, 7)
			same(c, "page", []int{answer.PageNumber, answer.PageSize}, []int{page, 3})
			if len(answer.LoadBalancers.LoadBalancer) == 0 {
				same(c, "pages", page, 4)
				break
			}
			for _, one := range answer.LoadBalancers.LoadBalancer {
				seen[one.LoadBalancerId] = true
				same(c, "vswitch", one.VSwitchId, vswitch)
				same(c, "vpc", one.VpcId, vpcID)
			}
		}
		same(c, "seen", len(seen), 7)
		refused(c, 400, "InvalidParameter", c.slb.DescribeLoadBalancers, slb.CreateDescribeLoadBalancersRequest(), set{"PageSize": 101})
	})
}

func TestLoadBalancerIdempotency(t *testing.T) {
	both(t, func(c *cloud) {
		fields := set{"AddressType": "internet", "LoadBalancerSpec": "slb.s1.small", "ClientToken": "idem-" + c.Name()}
		first := ok(c, c.slb.CreateLoadBalancer, slb.CreateCreateLoadBalancerRequest(), fields)
		again := ok(c, c.slb.CreateLoadBalancer, slb.CreateCreateLoadBalancerRequest(), fields)
		same(c, "same load balancer", again.LoadBalancerId, first.LoadBalancerId)
		fields["Bandwidth"] = "3"
		refused(c, 400, "LX_REQUEST_TOKEN_CONFLICT", c.slb.CreateLoadBalancer, slb.CreateCreateLoadBalancerRequest(), fields)
		ok(c, c.slb.DeleteLoadBalancer, slb.CreateDeleteLoadBalancerRequest(), set{"LoadBalancerId": first.LoadBalancerId})
	})
}

func TestLoadBalancerRefusals(t *testing.T) {
	both(t, func(c *cloud) {
		create := slb.CreateCreateLoadBalancerRequest
		refused(c, 400, "MissingParam.VSwitchId", c.slb.CreateLoadBalancer, create(), set{"AddressType": "intranet", "LoadBalancerSpec": "slb.s1.small"})
		refused(c, 400, "InvalidVSwitchId.NotFound", c.slb.CreateLoadBalancer, create(), set{
			"AddressType": "intranet", "LoadBalancerSpec": "slb.s1.small", "VSwitchId": "vsw-none"})
		refused(c, 400, "ShareSlbHaltSales", c.slb.CreateLoadBalancer, create(), set{"AddressType": "internet"})
		refused(c, 400, "InvalidParameter", c.slb.CreateLoadBalancer, create(), set{"AddressType": "moon"})
		missing := refused(c, 400, "MissingParameter", c.slb.DeleteLoadBalancer, slb.CreateDeleteLoadBalancerRequest(), nil)
		same(c, "names it", strings.Contains(missing.message, `"LoadBalancerId"`), true)
	})
}

func TestSlbTags(t *testing.T) {
	both(t, func(c *cloud) {
		id := loadBalancer(c, nil)
		other := loadBalancer(c, nil)
		ok(c, c.slb.TagResources, slb.CreateTagResourcesRequest(), set{
			"ResourceType": "instance", "ResourceId": []string{id, other},
			"Tag": []slb.TagResourcesTag{{Key: "env", Value: "test"}, {Key: "owner", Value: ""}}})
		listed := ok(c, c.slb.ListTagResources, slb.CreateListTagResourcesRequest(), set{
			"ResourceType": "instance", "ResourceId": []string{id}})
		same(c, "listed", listed.TagResources.TagResource, []slb.TagResource{
			{ResourceId: id, ResourceType: "instance", TagKey: "env", TagValue: "test"},
			{ResourceId: id, ResourceType: "instance", TagKey: "owner"}})
		by := ok(c, c.slb.DescribeLoadBalancers, slb.CreateDescribeLoadBalancersRequest(), set{
			"LoadBalancerId": id + "," + other, "Tag": []slb.DescribeLoadBalancersTag{{Key: "env", Value: "test"}}})
		same(c, "by tag", by.TotalCount, 2)
		ok(c, c.slb.UntagResources, slb.CreateUntagResourcesRequest(), set{
			"ResourceType": "instance", "ResourceId": []string{id}, "TagKey": []string{"env"}})
		same(c, "left", attribute(c, id).Tags.Tag, []slb.Tag{{TagKey: "owner"}})

		ok(c, c.slb.AddTags, slb.CreateAddTagsRequest(), set{"LoadBalancerId": id, "Tags": `[{"TagKey":"old","TagValue":"way"}]`})
		sets := ok(c, c.slb.DescribeTags, slb.CreateDescribeTagsRequest(), set{"LoadBalancerId": id})
		same(c, "sets", sets.TagSets.TagSet, []slb.TagSet{{TagKey: "old", TagValue: "way", InstanceCount: 1}, {TagKey: "owner", InstanceCount: 1}})
		ok(c, c.slb.RemoveTags, slb.CreateRemoveTagsRequest(), set{"LoadBalancerId": id, "Tags": `[{"TagKey":"old"}]`})
		same(c, "without", attribute(c, id).Tags.Tag, []slb.Tag{{TagKey: "owner"}})

		// Many tags come in pages.
		var tags []slb.TagResourcesTag
		for i := range 19 {
			tags = append(tags, slb.TagResourcesTag{Key: string(rune('a' + i)), Value: "v"})
		}
		ids := []string{id, other, loadBalancer(c, nil), loadBalancer(c, nil)}
		ok(c, c.slb.UntagResources, slb.CreateUntagResourcesRequest(), set{"ResourceType": "instance", "ResourceId": ids, "All": true})
		ok(c, c.slb.TagResources, slb.CreateTagResourcesRequest(), set{"ResourceType": "instance", "ResourceId": ids, "Tag": tags})
		seen, pages, token := map[string]bool{}, 0, ""
		for {
			answer := ok(c, c.slb.ListTagResources, slb.CreateListTagResourcesRequest(), set{
				"ResourceType": "instance", "ResourceId": ids, "NextToken": token})
			for _, one := range answer.TagResources.TagResource {
				seen[one.ResourceId+one.TagKey] = true
			}
			pages++
			if token = answer.NextToken; token == "" {
				break
			}
		}
		same(c, "tags", len(seen), 4*19)
		same(c, "pages", pages, 2)
		refused(c, 400, "MissingParam.TagOrResourceId", c.slb.ListTagResources, slb.CreateListTagResourcesRequest(), set{"ResourceType": "instance"})
	})
}

func TestSlbPlaces(t *testing.T) {
	both(t, func(c *cloud) {
		regions := ok(c, c.slb.DescribeRegions, slb.CreateDescribeRegionsRequest(), nil)
		same(c, "region", regions.Regions.Region[0].RegionId, region)
		zones := ok(c, c.slb.DescribeZones, slb.CreateDescribeZonesRequest(), nil)
		same(c, "zones", len(zones.Zones.Zone), 3)
		same(c, "slaves", len(zones.Zones.Zone[0].SlaveZones.SlaveZone), 2)
		pairs := ok(c, c.slb.DescribeAvailableResource, slb.CreateDescribeAvailableResourceRequest(), set{"AddressType": "vpc"})
		same(c, "pairs", len(pairs.AvailableResources.AvailableResource), 6)
		same(c, "resource", pairs.AvailableResources.AvailableResource[0].SupportResources.SupportResource,
			[]slb.SupportResource{{AddressType: "vpc", AddressIPVersion: "ipv4"}})
	})
}
