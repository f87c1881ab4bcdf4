package sdk

import (
	"bytes"
	"encoding/json"

	teaecs "github.com/alibabacloud-go/ecs-20140526/v7/client"
	teavpc "github.com/alibabacloud-go/vpc-20160428/v6/client"
)

// teaBodies are the answers of the two products for which there are typed Tea SDKs.
var teaBodies = map[string]any{
	"ecs.AttachInstanceRamRole":               teaecs.AttachInstanceRamRoleResponseBody{},
	"ecs.AttachNetworkInterface":              teaecs.AttachNetworkInterfaceResponseBody{},
	"ecs.AuthorizeSecurityGroup":              teaecs.AuthorizeSecurityGroupResponseBody{},
	"ecs.CreateNetworkInterface":              teaecs.CreateNetworkInterfaceResponseBody{},
	"ecs.CreateSecurityGroup":                 teaecs.CreateSecurityGroupResponseBody{},
	"ecs.DeleteInstance":                      teaecs.DeleteInstanceResponseBody{},
	"ecs.DeleteNetworkInterface":              teaecs.DeleteNetworkInterfaceResponseBody{},
	"ecs.DeleteSecurityGroup":                 teaecs.DeleteSecurityGroupResponseBody{},
	"ecs.DescribeInstanceAttribute":           teaecs.DescribeInstanceAttributeResponseBody{},
	"ecs.DescribeInstanceRamRole":             teaecs.DescribeInstanceRamRoleResponseBody{},
	"ecs.DescribeInstanceStatus":              teaecs.DescribeInstanceStatusResponseBody{},
	"ecs.DescribeInstanceTypes":               teaecs.DescribeInstanceTypesResponseBody{},
	"ecs.DescribeInstances":                   teaecs.DescribeInstancesResponseBody{},
	"ecs.DescribeNetworkInterfaces":           teaecs.DescribeNetworkInterfacesResponseBody{},
	"ecs.DescribeRegions":                     teaecs.DescribeRegionsResponseBody{},
	"ecs.DescribeSecurityGroupAttribute":      teaecs.DescribeSecurityGroupAttributeResponseBody{},
	"ecs.DescribeSecurityGroups":              teaecs.DescribeSecurityGroupsResponseBody{},
	"ecs.DescribeZones":                       teaecs.DescribeZonesResponseBody{},
	"ecs.DetachNetworkInterface":              teaecs.DetachNetworkInterfaceResponseBody{},
	"ecs.JoinSecurityGroup":                   teaecs.JoinSecurityGroupResponseBody{},
	"ecs.LeaveSecurityGroup":                  teaecs.LeaveSecurityGroupResponseBody{},
	"ecs.ListTagResources":                    teaecs.ListTagResourcesResponseBody{},
	"ecs.ModifyNetworkInterfaceAttribute":     teaecs.ModifyNetworkInterfaceAttributeResponseBody{},
	"ecs.ModifySecurityGroupAttribute":        teaecs.ModifySecurityGroupAttributeResponseBody{},
	"ecs.ModifySecurityGroupRule":             teaecs.ModifySecurityGroupRuleResponseBody{},
	"ecs.RevokeSecurityGroup":                 teaecs.RevokeSecurityGroupResponseBody{},
	"ecs.TagResources":                        teaecs.TagResourcesResponseBody{},
	"ecs.UntagResources":                      teaecs.UntagResourcesResponseBody{},
	"vpc.AllocateEipAddress":                  teavpc.AllocateEipAddressResponseBody{},
	"vpc.AssociateEipAddress":                 teavpc.AssociateEipAddressResponseBody{},
	"vpc.AssociateRouteTable":                 teavpc.AssociateRouteTableResponseBody{},
	"vpc.CheckCanAllocateVpcPrivateIpAddress": teavpc.CheckCanAllocateVpcPrivateIpAddressResponseBody{},
	"vpc.CreateRouteEntries":                  teavpc.CreateRouteEntriesResponseBody{},
	"vpc.CreateRouteEntry":                    teavpc.CreateRouteEntryResponseBody{},
	"vpc.CreateRouteTable":                    teavpc.CreateRouteTableResponseBody{},
	"vpc.DeleteRouteEntries":                  teavpc.DeleteRouteEntriesResponseBody{},
	"vpc.DeleteRouteEntry":                    teavpc.DeleteRouteEntryResponseBody{},
	"vpc.DeleteRouteTable":                    teavpc.DeleteRouteTableResponseBody{},
	"vpc.DescribeCommonBandwidthPackages":     teavpc.DescribeCommonBandwidthPackagesResponseBody{},
	"vpc.DescribeEipAddresses":                teavpc.DescribeEipAddressesResponseBody{},
	"vpc.DescribeRegions":                     teavpc.DescribeRegionsResponseBody{},
	"vpc.DescribeRouteEntryList":              teavpc.DescribeRouteEntryListResponseBody{},
	"vpc.DescribeRouteTableList":              teavpc.DescribeRouteTableListResponseBody{},
	"vpc.DescribeRouteTables":                 teavpc.DescribeRouteTablesResponseBody{},
	"vpc.DescribeVRouters":                    teavpc.DescribeVRoutersResponseBody{},
	"vpc.DescribeVSwitchAttributes":           teavpc.DescribeVSwitchAttributesResponseBody{},
	"vpc.DescribeVSwitches":                   teavpc.DescribeVSwitchesResponseBody{},
	"vpc.DescribeVpcAttribute":                teavpc.DescribeVpcAttributeResponseBody{},
	"vpc.DescribeVpcs":                        teavpc.DescribeVpcsResponseBody{},
	"vpc.DescribeZones":                       teavpc.DescribeZonesResponseBody{},
	"vpc.ListTagResources":                    teavpc.ListTagResourcesResponseBody{},
	"vpc.ModifyEipAddressAttribute":           teavpc.ModifyEipAddressAttributeResponseBody{},
	"vpc.ModifyRouteEntry":                    teavpc.ModifyRouteEntryResponseBody{},
	"vpc.ReleaseEipAddress":                   teavpc.ReleaseEipAddressResponseBody{},
	"vpc.TagResources":                        teavpc.TagResourcesResponseBody{},
	"vpc.UnTagResources":                      teavpc.UnTagResourcesResponseBody{},
	"vpc.UnassociateEipAddress":               teavpc.UnassociateEipAddressResponseBody{},
	"vpc.UnassociateRouteTable":               teavpc.UnassociateRouteTableResponseBody{},
}

// lacking are fields that the contract has and these versions of the SDKs have not.
var lacking = map[string]string{
	"nlb.GetListenerAttribute":      "ProxyProtocolV2Config",
	"nlb.ListListeners":             "ProxyProtocolV2Config",
	"nlb.ListServerGroups":          "IpVersionAffinityMode",
	"vpc.DescribeRouteEntryList":    "TotalCount",
	"vpc.DescribeVSwitchAttributes": "CloudResources",
}

// fits decodes an answer into an SDK's type. It is strict where the SDKs are not: there may be no
// field that the type does not have, and no number where it has text.
func fits(c *cloud, name string, answer map[string]any, into any) {
	c.Helper()
	if field, found := lacking[name]; found {
		strip(answer, field)
	}
	text, err := json.Marshal(answer)
	if err != nil {
		c.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		c.Fatalf("%s: the answer does not fit %T: %v\n%s", name, into, err, text)
	}
}

// strip removes a field wherever it stands.
func strip(value any, field string) {
	switch value := value.(type) {
	case map[string]any:
		delete(value, field)
		for _, inner := range value {
			strip(inner, field)
		}
	case []any:
		for _, inner := range value {
			strip(inner, field)
		}
	}
}
