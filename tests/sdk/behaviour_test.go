package sdk

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdkerrors "github.com/aliyun/alibaba-cloud-sdk-go/sdk/errors"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/ecs"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/nlb"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/slb"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/sts"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/vpc"
)

// change speaks to the control interface and must succeed.
func change(t *testing.T, method, path string, body any) {
	t.Helper()
	if err := control(method, path, body, nil); err != nil {
		t.Fatal(err)
	}
}

func TestDryRun(t *testing.T) {
	both(t, func(c *cloud) {
		refused(c, 400, "DryRunOperation", c.nlb.CreateServerGroup, nlb.CreateCreateServerGroupRequest(), set{
			"ServerGroupName": "never", "VpcId": vpcID, "DryRun": "true"})
		same(c, "not made", ok(c, c.nlb.ListServerGroups, nlb.CreateListServerGroupsRequest(), set{"ServerGroupNames": []string{"never"}}).TotalCount, 0)
		refused(c, 404, "ResourceNotFound.Vpc", c.nlb.CreateServerGroup, nlb.CreateCreateServerGroupRequest(), set{
			"ServerGroupName": "never", "VpcId": "vpc-none", "DryRun": "true"})
		refused(c, 400, "DryRunOperation", c.ecs.DescribeInstances, ecs.CreateDescribeInstancesRequest(), set{"DryRun": "true"})
	})
}

// GET takes the same parameters as POST.
func TestGet(t *testing.T) {
	both(t, func(c *cloud) {
		request := slb.CreateDescribeLoadBalancersRequest()
		request.Method = http.MethodGet
		ok(c, c.slb.DescribeLoadBalancers, request, set{"LoadBalancerName": "no one & nothing", "PageSize": 1})
		all := calls(c.T, "slb", "DescribeLoadBalancers")
		same(c, "parameter", all[len(all)-1].Params["LoadBalancerName"], "no one & nothing")
	})
}

// The older format of all products.
func TestXML(t *testing.T) {
	c := v1(t, key{keyID, secret, ""})
	regions := slb.CreateDescribeRegionsRequest()
	regions.AcceptFormat = "XML"
	same(c, "region", ok(c, c.slb.DescribeRegions, regions, nil).Regions.Region[0].RegionId, region)
	vswitches := vpc.CreateDescribeVSwitchesRequest()
	vswitches.AcceptFormat = "XML"
	found := ok(c, c.vpc.DescribeVSwitches, vswitches, set{"VpcId": vpcID})
	same(c, "vswitches", []any{found.TotalCount, len(found.VSwitches.VSwitch), found.VSwitches.VSwitch[2].ZoneId}, []any{3, 3, zone3})
	missing := slb.CreateDescribeLoadBalancerAttributeRequest()
	missing.AcceptFormat = "XML"
	_, err := send(c, c.slb.DescribeLoadBalancerAttribute, missing, set{"LoadBalancerId": "lb-none"})
	var server *sdkerrors.ServerError
	same(c, "an error", errors.As(err, &server) && strings.Contains(server.Message(), "<Code>InvalidLoadBalancerId.NotFound</Code>"), true)
}

// tape keeps the last request that went through it.
type tape struct{ last *http.Request }

func (tape *tape) RoundTrip(request *http.Request) (*http.Response, error) {
	tape.last = request.Clone(context.Background())
	tape.last.Body = http.NoBody
	return http.DefaultTransport.RoundTrip(request)
}

func TestReplay(t *testing.T) {
	c := v1(t, key{keyID, secret, ""})
	recorder := &tape{}
	c.slb.SetTransport(recorder)
	ok(c, c.slb.DescribeZones, slb.CreateDescribeZonesRequest(), nil)
	again, err := http.DefaultTransport.RoundTrip(recorder.last)
	if err != nil {
		t.Fatal(err)
	}
	found := sdkerrors.NewServerError(again.StatusCode, body(t, again), "")
	same(c, "refusal", []any{found.HttpStatus(), found.ErrorCode()}, []any{400, "SignatureNonceUsed"})
}

func TestKeysThatEnd(t *testing.T) {
	both(t, func(c *cloud) {
		session := ok(c, c.sts.AssumeRole, sts.CreateAssumeRoleRequest(), set{"RoleArn": roleArn, "RoleSessionName": "short"}).Credentials
		change(c.T, "POST", "/_sim/credentials/expire", nil)
		of(c.T, key{session.AccessKeyId, session.AccessKeySecret, session.SecurityToken}, func(c *cloud) {
			refused(c, 400, "InvalidSecurityToken.Expired", c.slb.DescribeRegions, slb.CreateDescribeRegionsRequest(), nil)
		})
		change(c.T, "PATCH", "/_sim/keys/"+keyID, map[string]any{"active": false})
		_, err := send(c, c.slb.DescribeRegions, slb.CreateDescribeRegionsRequest(), nil)
		change(c.T, "PATCH", "/_sim/keys/"+keyID, map[string]any{"active": true})
		found := refusalOf(c.T, err)
		same(c, "disabled", []any{found.status, found.code}, []any{400, "InvalidAccessKeyId.Inactive"})
	})
}

func TestRates(t *testing.T) {
	both(t, func(c *cloud) {
		rate := map[string]any{"actions": "slb.DescribeZones", "calls": 2, "window": "1m"}
		change(c.T, "PATCH", "/_sim/options", map[string]any{"rates": []any{rate}})
		defer change(c.T, "PATCH", "/_sim/options", map[string]any{"rates": []any{}})
		// A window of its own.
		change(c.T, "POST", "/_sim/clock", map[string]any{"step": "2m"})
		for range 2 {
			ok(c, c.slb.DescribeZones, slb.CreateDescribeZonesRequest(), nil)
		}
		refused(c, 400, "Throttling.User", c.slb.DescribeZones, slb.CreateDescribeZonesRequest(), nil)
		change(c.T, "POST", "/_sim/clock", map[string]any{"step": "2m"})
		ok(c, c.slb.DescribeZones, slb.CreateDescribeZonesRequest(), nil)
	})
}

func TestQuotas(t *testing.T) {
	both(t, func(c *cloud) {
		lb := loadBalancer(c, nil)
		change(c.T, "PATCH", "/_sim/options", map[string]any{"quotas": map[string]any{"listeners": 1}})
		defer change(c.T, "PATCH", "/_sim/options", map[string]any{"quotas": map[string]any{"listeners": nil}})
		listen(c, lb, 80, set{"VServerGroupId": group(c, lb)})
		refused(c, 400, "ListenerNumberOverLimit", c.slb.CreateLoadBalancerTCPListener, slb.CreateCreateLoadBalancerTCPListenerRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 81, "Bandwidth": "-1", "BackendServerPort": 80})
	})
}

// What a caller sees of a list that comes incomplete.
func TestListsThatLose(t *testing.T) {
	both(t, func(c *cloud) {
		describe := func() *ecs.DescribeInstancesResponse {
			return ok(c, c.ecs.DescribeInstances, ecs.CreateDescribeInstancesRequest(), set{"InstanceName": "i-bp1node*", "MaxResults": 10})
		}
		fault(c.T, "ecs", "DescribeInstances", 1, "missing_page")
		page := describe()
		same(c, "a lost page", []any{page.TotalCount, len(page.Instances.Instance), page.NextToken != ""}, []any{nodes, 0, true})
		fault(c.T, "ecs", "DescribeInstances", 1, "empty_list")
		page = describe()
		same(c, "an empty list", []any{page.TotalCount, len(page.Instances.Instance), page.NextToken}, []any{0, 0, ""})
		fault(c.T, "ecs", "DescribeInstances", 1, "drop_before")
		_, err := send(c, c.ecs.DescribeInstances, ecs.CreateDescribeInstancesRequest(), nil)
		same(c, "a broken connection", err != nil, true)
		same(c, "whole again", len(describe().Instances.Instance), 10)
	})
}

// What somebody else changes is what the SDK sees.
func TestEditsBehindTheBack(t *testing.T) {
	both(t, func(c *cloud) {
		states := func() string {
			return ok(c, c.ecs.DescribeInstanceStatus, ecs.CreateDescribeInstanceStatusRequest(), set{"InstanceId": []string{node(20)}}).
				InstanceStatuses.InstanceStatus[0].Status
		}
		change(c.T, "PATCH", "/_sim/instances/"+node(20), map[string]any{"status": "Stopped"})
		same(c, "stopped", states(), "Stopped")
		lb := loadBalancer(c, nil)
		refused(c, 400, "ObtainIpFail", c.slb.CreateVServerGroup, slb.CreateCreateVServerGroupRequest(), set{
			"LoadBalancerId": lb, "BackendServers": text([]server{{ServerID: node(20), Port: "80"}})})
		change(c.T, "PATCH", "/_sim/instances/"+node(20), map[string]any{"status": "Running"})
		same(c, "running", states(), "Running")
		change(c.T, "DELETE", "/_sim/load-balancers/"+lb, nil)
		refused(c, 404, "InvalidLoadBalancerId.NotFound", c.slb.DescribeLoadBalancerAttribute, slb.CreateDescribeLoadBalancerAttributeRequest(), set{"LoadBalancerId": lb})
	})
}

// A metadata server that insists on sessions, as instances can be told to.
func TestRoleWithSessionsRequired(t *testing.T) {
	world, err := os.ReadFile("world.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "world.yaml")
	if err := os.WriteFile(path, append([]byte("metadata_token_required: true\n"), world...), 0o600); err != nil {
		t.Fatal(err)
	}
	address, stop, err := launch(path)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	first := simulator
	simulator = address
	defer func() { simulator = first }()
	if status, _ := metadata(t, "GET", "/latest/meta-data/region-id", nil); status != 403 {
		t.Errorf("without a session: %d, wanted 403", status)
	}
	for name, sessionsOnly := range map[string]bool{"with or without session": false, "session only": true} {
		issued, err := instanceRole(t, sessionsOnly).GetCredential()
		if err != nil || !strings.HasPrefix(*issued.AccessKeyId, "STS.") {
			t.Errorf("%s: %v %v", name, issued, err)
		}
	}
}
