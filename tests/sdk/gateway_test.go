package sdk

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	openapi "github.com/alibabacloud-go/darabonba-openapi/v2/client"
	"github.com/alibabacloud-go/tea/dara"
	"github.com/alibabacloud-go/tea/tea"
	sdkerrors "github.com/aliyun/alibaba-cloud-sdk-go/sdk/errors"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/slb"
)

// of runs a scenario for callers with that key in both signature versions.
func of(t *testing.T, key key, scenario func(c *cloud)) {
	t.Helper()
	t.Run("v1", func(t *testing.T) { scenario(v1(t, key)) })
	t.Run("v3", func(t *testing.T) { scenario(v3(t, key)) })
}

func TestWrongKeys(t *testing.T) {
	of(t, key{"nobody", secret, ""}, func(c *cloud) {
		refused(c, 404, "InvalidAccessKeyId.NotFound", c.slb.DescribeRegions, slb.CreateDescribeRegionsRequest(), nil)
	})
	of(t, key{keyID, secret, "CAISmade-up"}, func(c *cloud) {
		refused(c, 400, "InvalidSecurityToken.MismatchWithAccessKey", c.slb.DescribeRegions, slb.CreateDescribeRegionsRequest(), nil)
	})
	of(t, key{keyID, secret, "nonsense"}, func(c *cloud) {
		refused(c, 400, "InvalidSecurityToken.Malformed", c.slb.DescribeRegions, slb.CreateDescribeRegionsRequest(), nil)
	})
	of(t, key{keyID, "wrong", ""}, func(c *cloud) {
		_, err := send(c, c.slb.DescribeRegions, slb.CreateDescribeRegionsRequest(), nil)
		found := refusalOf(c.T, err)
		same(c, "status", found.status, 400)
		same(c, "code", found.code, "SignatureDoesNotMatch")
		// The classic SDK compares the server's text with its own and tells a wrong secret from a
		// wrong computation by that.
		if c.tea == nil {
			var server *sdkerrors.ServerError
			same(c, "a server's error", errors.As(err, &server), true)
			same(c, "the texts agree", strings.Contains(server.Error(), "InvalidAccessKeySecret"), true)
		} else {
			same(c, "the text is told", strings.Contains(found.message, "server string to sign is:ACS3-HMAC-SHA256"), true)
		}
	})
}

func TestUnknownAndUnfit(t *testing.T) {
	both(t, func(c *cloud) {
		for _, one := range []struct {
			version, action string
			query           map[string]string
			status          int
			code            string
		}{
			{"2014-05-15", "NoSuchAction", nil, 404, "InvalidAction.NotFound"},
			{"1999-01-01", "DescribeRegions", nil, 404, "InvalidVersion"},
			{"2014-05-15", "DescribeLoadBalancers", map[string]string{"Colour": "red"}, 400, "InvalidParameter"},
			{"2014-05-15", "DescribeLoadBalancers", map[string]string{"PageNumber": "many"}, 400, "InvalidParameter"},
			{"2014-05-15", "SetLoadBalancerName", nil, 400, "MissingParameter"},
		} {
			found := refusalOf(c.T, commonError(c, one.version, one.action, one.query))
			same(c, one.action, []any{found.status, found.code}, []any{one.status, one.code})
		}
	})
}

// commonError makes an untyped call that must fail.
func commonError(c *cloud, version, action string, query map[string]string) error {
	c.Helper()
	var err error
	if c.tea != nil {
		_, err = c.callTea(version, action, http.MethodPost, pointers(query), nil)
	} else {
		request := requests.NewCommonRequest()
		request.Method, request.Scheme, request.Domain = http.MethodPost, "HTTP", endpoint
		request.Version, request.ApiName, request.Product = version, action, "Slb"
		for name, value := range query {
			request.QueryParams[name] = value
		}
		_, err = c.slb.ProcessCommonRequest(request)
	}
	if err == nil {
		c.Fatalf("%s succeeded", action)
	}
	return err
}

func TestThrottling(t *testing.T) {
	both(t, func(c *cloud) {
		fault(c.T, "slb", "DescribeZones", 1, map[string]any{"throttle": map[string]any{"retry_after": "3s"}})
		_, err := send(c, c.slb.DescribeZones, slb.CreateDescribeZonesRequest(), nil)
		found := refusalOf(c.T, err)
		same(c, "refusal", []any{found.status, found.code}, []any{400, "Throttling.User"})
		if c.tea == nil {
			var server *sdkerrors.ServerError
			if errors.As(err, &server) {
				same(c, "the hint", http.Header(server.RespHeaders).Get("x-acs-retry-after"), "3000")
			}
		}
		ok(c, c.slb.DescribeZones, slb.CreateDescribeZonesRequest(), nil)
	})
}

// The Tea core has an error of its own for throttling, which carries the hint; and its retry
// policy waits for as long as that says.
func TestThrottlingHintInTea(t *testing.T) {
	client, err := openapi.NewClient(teaConfig(key{keyID, secret, ""}))
	if err != nil {
		t.Fatal(err)
	}
	client.DisableSDKError = tea.Bool(true)
	call := func(runtime *dara.RuntimeOptions) error {
		_, err := client.CallApi(&openapi.Params{
			Action: tea.String("DescribeZones"), Version: tea.String("2014-05-15"), Protocol: tea.String("HTTP"), Pathname: tea.String("/"),
			Method: tea.String("POST"), AuthType: tea.String("AK"), Style: tea.String("RPC"), ReqBodyType: tea.String("formData"), BodyType: tea.String("json"),
		}, &openapi.OpenApiRequest{Query: pointers(map[string]string{"RegionId": region})}, runtime)
		return err
	}
	fault(t, "slb", "DescribeZones", 1, map[string]any{"throttle": map[string]any{"retry_after": "2500ms"}})
	var throttled *openapi.ThrottlingError
	if err := call(&dara.RuntimeOptions{}); !errors.As(err, &throttled) {
		t.Fatalf("not a throttling error: %T %v", err, err)
	}
	if hint := tea.Int64Value(throttled.RetryAfter); hint != 2500 {
		t.Errorf("the hint is %d ms, wanted 2500", hint)
	}

	client.RetryOptions = &dara.RetryOptions{Retryable: true, RetryCondition: []*dara.RetryCondition{
		{MaxAttempts: 3, MaxDelay: 20_000, ErrorCode: []string{"Throttling.User"}}}}
	before := len(calls(t, "slb", "DescribeZones"))
	fault(t, "slb", "DescribeZones", 2, map[string]any{"throttle": map[string]any{"retry_after": "20ms"}})
	if err := call(&dara.RuntimeOptions{}); err != nil {
		t.Errorf("not tried again: %v", err)
	}
	if tries := len(calls(t, "slb", "DescribeZones")) - before; tries != 3 {
		t.Errorf("%d tries, wanted 3", tries)
	}
}

func TestServerFailures(t *testing.T) {
	both(t, func(c *cloud) {
		fault(c.T, "slb", "DescribeZones", 1, map[string]any{"error": map[string]any{"status": 503, "code": "ServiceUnavailable", "message": "later"}})
		found := refused(c, 503, "ServiceUnavailable", c.slb.DescribeZones, slb.CreateDescribeZonesRequest(), nil)
		same(c, "message", strings.Contains(found.message, "later"), true)
		fault(c.T, "slb", "DescribeZones", 1, "denied")
		refused(c, 403, "Forbidden.RAM", c.slb.DescribeZones, slb.CreateDescribeZonesRequest(), nil)
		fault(c.T, "slb", "DescribeZones", 1, "truncated_json")
		_, err := send(c, c.slb.DescribeZones, slb.CreateDescribeZonesRequest(), nil)
		same(c, "half an answer is an error", err != nil, true)
	})
}

// The classic SDK retries by itself: with a new nonce and signature, or the service would refuse
// the second try.
func TestAutomaticRetry(t *testing.T) {
	c := v1(t, key{keyID, secret, ""})
	c.slb.GetConfig().AutoRetry = true
	c.slb.GetConfig().MaxRetryTime = 3
	c.slb.SetReadTimeout(5 * time.Second)
	before := len(calls(t, "slb", "DescribeZones"))
	fault(t, "slb", "DescribeZones", 2, map[string]any{"error": map[string]any{"status": 500, "code": "InternalError"}})
	ok(c, c.slb.DescribeZones, slb.CreateDescribeZonesRequest(), nil)
	same(c, "three tries", len(calls(t, "slb", "DescribeZones"))-before, 3)
}

// A lost answer leaves its effect; the same client token finds it again.
func TestLostAnswer(t *testing.T) {
	both(t, func(c *cloud) {
		fields := set{"AddressType": "internet", "LoadBalancerSpec": "slb.s1.small", "LoadBalancerName": "lost", "ClientToken": "lost-" + c.Name()}
		fault(c.T, "slb", "CreateLoadBalancer", 1, "drop_after")
		_, err := send(c, c.slb.CreateLoadBalancer, slb.CreateCreateLoadBalancerRequest(), fields)
		same(c, "an error", err != nil, true)
		found := ok(c, c.slb.DescribeLoadBalancers, slb.CreateDescribeLoadBalancersRequest(), set{"LoadBalancerName": "lost"})
		same(c, "it exists", found.TotalCount, 1)
		again := ok(c, c.slb.CreateLoadBalancer, slb.CreateCreateLoadBalancerRequest(), fields)
		same(c, "the same one", again.LoadBalancerId, found.LoadBalancers.LoadBalancer[0].LoadBalancerId)
		ok(c, c.slb.DeleteLoadBalancer, slb.CreateDeleteLoadBalancerRequest(), set{"LoadBalancerId": again.LoadBalancerId})
	})
}

func TestCallLog(t *testing.T) {
	both(t, func(c *cloud) {
		id := loadBalancer(c, set{"LoadBalancerName": "logged"})
		all := calls(c.T, "slb", "CreateLoadBalancer")
		last := all[len(all)-1]
		same(c, "parameters", []string{last.Params["LoadBalancerName"], last.Params["VSwitchId"]}, []string{"logged", vswitch})
		same(c, "caller", last.Caller.AccessKey, keyID)
		same(c, "changed", last.Changed, true)
		attribute(c, id)
		all = calls(c.T, "slb", "DescribeLoadBalancerAttribute")
		same(c, "a read changes nothing", all[len(all)-1].Changed, false)
	})
}
