package sdk

import (
	"errors"
	"fmt"
	"testing"

	openapi "github.com/alibabacloud-go/darabonba-openapi/v2/client"
	teaecs "github.com/alibabacloud-go/ecs-20140526/v7/client"
	"github.com/alibabacloud-go/tea/tea"
	teavpc "github.com/alibabacloud-go/vpc-20160428/v6/client"
)

// must unwraps an answer of a Tea client.
func must[R any](t *testing.T, product, action string) func(R, error) R {
	t.Helper()
	return func(answer R, err error) R {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", action, err)
		}
		drove(product, action, "v3")
		return answer
	}
}

func failed(t *testing.T, err error, status int, code string) {
	t.Helper()
	var core *tea.SDKError
	if !errors.As(err, &core) || tea.IntValue(core.StatusCode) != status || tea.StringValue(core.Code) != code {
		t.Errorf("found %v, wanted %d %s", err, status, code)
	}
}

func equal[V comparable](t *testing.T, what string, found, wanted V) {
	t.Helper()
	if found != wanted {
		t.Errorf("%s: found %v, wanted %v", what, found, wanted)
	}
}

func TestTeaEcs(t *testing.T) {
	client, err := teaecs.NewClient(teaConfig(key{keyID, secret, ""}))
	if err != nil {
		t.Fatal(err)
	}
	request := new(teaecs.DescribeInstancesRequest).SetRegionId(region).SetInstanceName("i-bp1node*").SetMaxResults(10)
	seen := map[string]bool{}
	for {
		page := must[*teaecs.DescribeInstancesResponse](t, "ecs", "DescribeInstances")(client.DescribeInstances(request)).Body
		for _, instance := range page.Instances.Instance {
			seen[tea.StringValue(instance.InstanceId)] = true
			equal(t, "network", tea.StringValue(instance.VpcAttributes.VpcId), vpcID)
			equal(t, "addresses", len(instance.VpcAttributes.PrivateIpAddress.IpAddress), 1)
			equal(t, "cpu", tea.Int32Value(instance.Cpu), 4)
		}
		if tea.StringValue(page.NextToken) == "" {
			break
		}
		request.SetNextToken(tea.StringValue(page.NextToken))
	}
	equal(t, "instances", len(seen), nodes)

	cards := must[*teaecs.DescribeNetworkInterfacesResponse](t, "ecs", "DescribeNetworkInterfaces")(client.DescribeNetworkInterfaces(
		new(teaecs.DescribeNetworkInterfacesRequest).SetRegionId(region).SetInstanceId(node(2)))).Body
	card := cards.NetworkInterfaceSets.NetworkInterfaceSet[0]
	equal(t, "type", tea.StringValue(card.Type), "Primary")
	must[*teaecs.ModifyNetworkInterfaceAttributeResponse](t, "ecs", "ModifyNetworkInterfaceAttribute")(client.ModifyNetworkInterfaceAttribute(
		new(teaecs.ModifyNetworkInterfaceAttributeRequest).SetRegionId(region).SetNetworkInterfaceId(*card.NetworkInterfaceId).SetSourceDestCheck(true)))
	_, err = client.ModifyNetworkInterfaceAttribute(
		new(teaecs.ModifyNetworkInterfaceAttributeRequest).SetRegionId(region).SetNetworkInterfaceId("eni-none").SetDescription("x"))
	failed(t, err, 404, "InvalidEniId.NotFound")
	zones := must[*teaecs.DescribeZonesResponse](t, "ecs", "DescribeZones")(client.DescribeZones(new(teaecs.DescribeZonesRequest).SetRegionId(region))).Body
	equal(t, "zones", len(zones.Zones.Zone), 3)
}

func TestTeaVpc(t *testing.T) {
	client, err := teavpc.NewClient(teaConfig(key{keyID, secret, ""}))
	if err != nil {
		t.Fatal(err)
	}
	list := func() []*teavpc.DescribeRouteEntryListResponseBodyRouteEntrysRouteEntry {
		return must[*teavpc.DescribeRouteEntryListResponse](t, "vpc", "DescribeRouteEntryList")(client.DescribeRouteEntryList(
			new(teavpc.DescribeRouteEntryListRequest).SetRegionId(region).SetRouteTableId(systemTable).SetRouteEntryType("Custom").SetMaxResult(100))).
			Body.RouteEntrys.RouteEntry
	}
	var more []*teavpc.CreateRouteEntriesRequestRouteEntries
	var less []*teavpc.DeleteRouteEntriesRequestRouteEntries
	for number := 1; number <= 3; number++ {
		cidr := fmt.Sprintf("172.30.%d.0/24", number)
		more = append(more, new(teavpc.CreateRouteEntriesRequestRouteEntries).SetRouteTableId(systemTable).SetDstCidrBlock(cidr).
			SetNextHop(node(number)).SetNextHopType("Instance"))
		less = append(less, new(teavpc.DeleteRouteEntriesRequestRouteEntries).SetRouteTableId(systemTable).SetDstCidrBlock(cidr).SetNextHop(node(number)))
	}
	created := must[*teavpc.CreateRouteEntriesResponse](t, "vpc", "CreateRouteEntries")(client.CreateRouteEntries(
		new(teavpc.CreateRouteEntriesRequest).SetRegionId(region).SetRouteEntries(more))).Body
	equal(t, "created", tea.Int32Value(created.SuccessCount), 3)
	equal(t, "ids", len(created.RouteEntryIds), 3)
	_, err = client.CreateRouteEntries(new(teavpc.CreateRouteEntriesRequest).SetRegionId(region).SetRouteEntries(more))
	failed(t, err, 400, "TaskConflict")
	until(t, "the routes settle", func() bool { return tea.StringValue(list()[0].Status) == "Available" })
	equal(t, "routes", len(list()), 3)
	must[*teavpc.DeleteRouteEntriesResponse](t, "vpc", "DeleteRouteEntries")(client.DeleteRouteEntries(
		new(teavpc.DeleteRouteEntriesRequest).SetRegionId(region).SetRouteEntries(less)))
	until(t, "the routes are gone", func() bool { return len(list()) == 0 })

	address := must[*teavpc.AllocateEipAddressResponse](t, "vpc", "AllocateEipAddress")(client.AllocateEipAddress(
		new(teavpc.AllocateEipAddressRequest).SetRegionId(region).SetBandwidth("8"))).Body
	shown := must[*teavpc.DescribeEipAddressesResponse](t, "vpc", "DescribeEipAddresses")(client.DescribeEipAddresses(
		new(teavpc.DescribeEipAddressesRequest).SetRegionId(region).SetAllocationId(*address.AllocationId))).Body
	equal(t, "bandwidth", tea.StringValue(shown.EipAddresses.EipAddress[0].Bandwidth), "8")
	must[*teavpc.ReleaseEipAddressResponse](t, "vpc", "ReleaseEipAddress")(client.ReleaseEipAddress(
		new(teavpc.ReleaseEipAddressRequest).SetRegionId(region).SetAllocationId(*address.AllocationId)))
	_, err = client.ReleaseEipAddress(new(teavpc.ReleaseEipAddressRequest).SetRegionId(region).SetAllocationId(*address.AllocationId))
	failed(t, err, 404, "InvalidAllocationId.NotFound")
}

// A Tea client that takes its keys from the instance's role by itself.
func TestTeaWithRole(t *testing.T) {
	client, err := teavpc.NewClient(&openapi.Config{
		Credential: instanceRole(t, false), RegionId: tea.String(region), Endpoint: tea.String(endpoint), Protocol: tea.String("HTTP")})
	if err != nil {
		t.Fatal(err)
	}
	answer := must[*teavpc.DescribeVpcsResponse](t, "vpc", "DescribeVpcs")(client.DescribeVpcs(new(teavpc.DescribeVpcsRequest).SetRegionId(region))).Body
	equal(t, "vpcs", tea.Int32Value(answer.TotalCount), 1)
	all := calls(t, "vpc", "DescribeVpcs")
	if caller := all[len(all)-1].Caller; caller.Role == nil || *caller.Role != role {
		t.Errorf("the caller is %+v, wanted the role %s", caller, role)
	}
}

// Tea's older mode signs with RPC v1.
func TestTeaWithOldSignature(t *testing.T) {
	config := teaConfig(key{keyID, secret, ""})
	config.SignatureVersion, config.SignatureAlgorithm = tea.String("1.0"), tea.String("v2")
	client, err := teavpc.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.DescribeVpcs(new(teavpc.DescribeVpcsRequest).SetRegionId(region))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "vpcs", tea.Int32Value(answer.Body.TotalCount), 1)
}
