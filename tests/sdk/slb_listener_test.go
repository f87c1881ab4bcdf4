package sdk

import (
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/services/slb"
)

// listen creates a TCP listener and starts it.
func listen(c *cloud, lb string, port int, more set) {
	c.Helper()
	fields := set{"LoadBalancerId": lb, "ListenerPort": port, "Bandwidth": "-1"}
	for name, value := range more {
		fields[name] = value
	}
	ok(c, c.slb.CreateLoadBalancerTCPListener, slb.CreateCreateLoadBalancerTCPListenerRequest(), fields)
	start(c, lb, port, "tcp")
}

func start(c *cloud, lb string, port int, protocol string) {
	c.Helper()
	ok(c, c.slb.StartLoadBalancerListener, slb.CreateStartLoadBalancerListenerRequest(), set{
		"LoadBalancerId": lb, "ListenerPort": port, "ListenerProtocol": protocol})
	until(c, "the listener runs", func() bool { return listener(c, lb, port, protocol).Status == "running" })
}

func listener(c *cloud, lb string, port int, protocol string) slb.ListenerInDescribeLoadBalancerListeners {
	c.Helper()
	found := ok(c, c.slb.DescribeLoadBalancerListeners, slb.CreateDescribeLoadBalancerListenersRequest(), set{
		"LoadBalancerId": []string{lb}, "ListenerPort": port, "ListenerProtocol": protocol})
	if len(found.Listeners) != 1 {
		c.Fatalf("found %d listeners on %d/%s", len(found.Listeners), port, protocol)
	}
	return found.Listeners[0]
}

func TestTCPListenerLife(t *testing.T) {
	both(t, func(c *cloud) {
		lb := loadBalancer(c, nil)
		id := group(c, lb, server{ServerID: node(1), Port: "80"})
		ok(c, c.slb.CreateLoadBalancerTCPListener, slb.CreateCreateLoadBalancerTCPListenerRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 80, "VServerGroupId": id, "Bandwidth": "-1", "Scheduler": "rr",
			"HealthCheckInterval": "7", "HealthCheckType": "http", "HealthCheckURI": "/live", "PersistenceTimeout": "30",
			"ConnectionDrain": "on", "ConnectionDrainTimeout": "20", "Description": "k8s",
			"Tag": []slb.CreateLoadBalancerTCPListenerTag{{Key: "k", Value: "v"}}})
		shown := func() *slb.DescribeLoadBalancerTCPListenerAttributeResponse {
			return ok(c, c.slb.DescribeLoadBalancerTCPListenerAttribute, slb.CreateDescribeLoadBalancerTCPListenerAttributeRequest(), set{
				"LoadBalancerId": lb, "ListenerPort": 80})
		}
		one := shown()
		same(c, "new ones stand still", one.Status, "stopped")
		same(c, "group", one.VServerGroupId, id)
		same(c, "scheduler", one.Scheduler, "rr")
		same(c, "numbers", []int{one.ListenerPort, one.Bandwidth, one.HealthCheckInterval, one.PersistenceTimeout, one.ConnectionDrainTimeout,
			one.HealthCheckConnectPort}, []int{80, -1, 7, 30, 20, -520})
		same(c, "check", []string{one.HealthCheck, one.HealthCheckType, one.HealthCheckURI}, []string{"on", "http", "/live"})
		same(c, "tags", one.Tags.Tag, []slb.Tag{{TagKey: "k", TagValue: "v"}})
		refused(c, 400, "ListenerAlreadyExists", c.slb.CreateLoadBalancerTCPListener, slb.CreateCreateLoadBalancerTCPListenerRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 80, "VServerGroupId": id, "Bandwidth": "-1"})

		startIt := slb.CreateStartLoadBalancerListenerRequest
		ok(c, c.slb.StartLoadBalancerListener, startIt(), set{"LoadBalancerId": lb, "ListenerPort": 80})
		refused(c, 400, "ServiceIsConfiguring", c.slb.StopLoadBalancerListener, slb.CreateStopLoadBalancerListenerRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 80})
		until(c, "it runs", func() bool { return shown().Status == "running" })
		refused(c, 400, "OperationFailed.ListenerStatusNotSupport", c.slb.StartLoadBalancerListener, startIt(), set{
			"LoadBalancerId": lb, "ListenerPort": 80})
		ok(c, c.slb.SetLoadBalancerTCPListenerAttribute, slb.CreateSetLoadBalancerTCPListenerAttributeRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 80, "Scheduler": "sch", "HealthCheckInterval": "9", "SynProxy": "enable"})
		until(c, "it is configured", func() bool { return shown().Status == "running" })
		one = shown()
		same(c, "changed", []any{one.Scheduler, one.HealthCheckInterval, one.SynProxy, one.PersistenceTimeout}, []any{"sch", 9, "enable", 30})
		ok(c, c.slb.StopLoadBalancerListener, slb.CreateStopLoadBalancerListenerRequest(), set{"LoadBalancerId": lb, "ListenerPort": 80})
		refused(c, 409, "ServiceIsStopping", c.slb.DeleteLoadBalancerListener, slb.CreateDeleteLoadBalancerListenerRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 80})
		until(c, "it stands", func() bool { return shown().Status == "stopped" })
		ports := attribute(c, lb)
		same(c, "ports", ports.ListenerPorts.ListenerPort, []int{80})
		same(c, "misspelled", ports.ListenerPortsAndProtocal.ListenerPortAndProtocal, []slb.ListenerPortAndProtocal{{ListenerPort: 80, ListenerProtocal: "tcp"}})
		same(c, "spelled", ports.ListenerPortsAndProtocol.ListenerPortAndProtocol[0].ListenerProtocol, "tcp")

		ok(c, c.slb.DeleteLoadBalancerListener, slb.CreateDeleteLoadBalancerListenerRequest(), set{"LoadBalancerId": lb, "ListenerPort": 80})
		refused(c, 404, "ResourceNotFound.Listener", c.slb.DeleteLoadBalancerListener, slb.CreateDeleteLoadBalancerListenerRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 80})
		refused(c, 404, "ListenerNotFound", c.slb.DescribeLoadBalancerTCPListenerAttribute, slb.CreateDescribeLoadBalancerTCPListenerAttributeRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 80})
	})
}

func TestUDPListener(t *testing.T) {
	both(t, func(c *cloud) {
		lb := loadBalancer(c, nil)
		id := group(c, lb)
		ok(c, c.slb.CreateLoadBalancerUDPListener, slb.CreateCreateLoadBalancerUDPListenerRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 53, "VServerGroupId": id, "Bandwidth": "-1", "HealthCheckInterval": "8", "HealthCheckReq": "ping", "HealthCheckExp": "pong"})
		// One port takes UDP and another protocol.
		listen(c, lb, 53, set{"VServerGroupId": id})
		refused(c, 400, "TooManyListeners", c.slb.StopLoadBalancerListener, slb.CreateStopLoadBalancerListenerRequest(), set{"LoadBalancerId": lb, "ListenerPort": 53})
		shown := func() *slb.DescribeLoadBalancerUDPListenerAttributeResponse {
			return ok(c, c.slb.DescribeLoadBalancerUDPListenerAttribute, slb.CreateDescribeLoadBalancerUDPListenerAttributeRequest(), set{
				"LoadBalancerId": lb, "ListenerPort": 53})
		}
		one := shown()
		same(c, "check", []any{one.HealthCheckInterval, one.HealthCheckReq, one.HealthCheckExp}, []any{8, "ping", "pong"})
		ok(c, c.slb.SetLoadBalancerUDPListenerAttribute, slb.CreateSetLoadBalancerUDPListenerAttributeRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 53, "Description": "dns"})
		same(c, "description", shown().Description, "dns")
	})
}

func TestHTTPListenerAndRules(t *testing.T) {
	both(t, func(c *cloud) {
		lb := loadBalancer(c, nil)
		id := group(c, lb)
		ok(c, c.slb.CreateLoadBalancerHTTPListener, slb.CreateCreateLoadBalancerHTTPListenerRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 80, "VServerGroupId": id, "Bandwidth": "-1", "HealthCheck": "on", "HealthCheckURI": "/ok",
			"StickySession": "on", "StickySessionType": "insert", "CookieTimeout": "1800", "XForwardedForProto": "on", "IdleTimeout": "20"})
		shown := func() *slb.DescribeLoadBalancerHTTPListenerAttributeResponse {
			return ok(c, c.slb.DescribeLoadBalancerHTTPListenerAttribute, slb.CreateDescribeLoadBalancerHTTPListenerAttributeRequest(), set{
				"LoadBalancerId": lb, "ListenerPort": 80})
		}
		one := shown()
		same(c, "session", []any{one.StickySession, one.StickySessionType, one.CookieTimeout}, []any{"on", "insert", 1800})
		same(c, "headers", []string{one.XForwardedFor, one.XForwardedForProto, one.XForwardedForSLBID}, []string{"on", "on", "off"})
		same(c, "idle", one.IdleTimeout, 20)
		ok(c, c.slb.SetLoadBalancerHTTPListenerAttribute, slb.CreateSetLoadBalancerHTTPListenerAttributeRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 80, "StickySession": "off", "HealthCheck": "off", "Bandwidth": "-1"})
		same(c, "changed", []string{shown().StickySession, shown().HealthCheck}, []string{"off", "off"})
		item := listener(c, lb, 80, "http")
		same(c, "in the list", []any{item.ListenerPort, item.HTTPListenerConfig.HealthCheck, item.HTTPListenerConfig.IdleTimeout}, []any{80, "off", 20})

		rules := ok(c, c.slb.CreateRules, slb.CreateCreateRulesRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 80, "ListenerProtocol": "http",
			"RuleList": text([]map[string]string{{"RuleName": "api", "Domain": "a.example.com", "Url": "/api", "VServerGroupId": id}})})
		rule := rules.Rules.Rule[0]
		same(c, "named", rule.RuleName, "api")
		found := ok(c, c.slb.DescribeRules, slb.CreateDescribeRulesRequest(), set{"LoadBalancerId": lb, "ListenerPort": 80, "ListenerProtocol": "http"})
		same(c, "rule", []string{found.Rules.Rule[0].RuleId, found.Rules.Rule[0].Domain, found.Rules.Rule[0].Url, found.Rules.Rule[0].VServerGroupId},
			[]string{rule.RuleId, "a.example.com", "/api", id})
		ok(c, c.slb.DeleteLoadBalancerListener, slb.CreateDeleteLoadBalancerListenerRequest(), set{"LoadBalancerId": lb, "ListenerPort": 80})
		refused(c, 400, "InvalidRuleId.NotFound", c.slb.DeleteRules, slb.CreateDeleteRulesRequest(), set{"RuleIds": text([]string{rule.RuleId})})

		ok(c, c.slb.CreateLoadBalancerHTTPListener, slb.CreateCreateLoadBalancerHTTPListenerRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 81, "VServerGroupId": id, "Bandwidth": "-1", "HealthCheck": "off"})
		rules = ok(c, c.slb.CreateRules, slb.CreateCreateRulesRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 81, "ListenerProtocol": "http",
			"RuleList": text([]map[string]string{{"RuleName": "b", "Domain": "b.example.com", "VServerGroupId": id}})})
		ok(c, c.slb.DeleteLoadBalancerListener, slb.CreateDeleteLoadBalancerListenerRequest(), set{"LoadBalancerId": lb, "ListenerPort": 81})
		other := group(c, lb)
		ok(c, c.slb.CreateLoadBalancerHTTPListener, slb.CreateCreateLoadBalancerHTTPListenerRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 82, "VServerGroupId": id, "Bandwidth": "-1", "HealthCheck": "off"})
		rules = ok(c, c.slb.CreateRules, slb.CreateCreateRulesRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 82, "ListenerProtocol": "http",
			"RuleList": text([]map[string]string{{"RuleName": "c", "Domain": "c.example.com", "VServerGroupId": other}})})
		refused(c, 400, "RspoolRuleExist", c.slb.DeleteVServerGroup, slb.CreateDeleteVServerGroupRequest(), set{"VServerGroupId": other})
		ok(c, c.slb.DeleteRules, slb.CreateDeleteRulesRequest(), set{"RuleIds": text([]string{rules.Rules.Rule[0].RuleId})})
		ok(c, c.slb.DeleteVServerGroup, slb.CreateDeleteVServerGroupRequest(), set{"VServerGroupId": other})
	})
}

func TestListenerPages(t *testing.T) {
	both(t, func(c *cloud) {
		lb := loadBalancer(c, nil)
		id := group(c, lb)
		for port := 1; port <= 5; port++ {
			ok(c, c.slb.CreateLoadBalancerTCPListener, slb.CreateCreateLoadBalancerTCPListenerRequest(), set{
				"LoadBalancerId": lb, "ListenerPort": port, "VServerGroupId": id, "Bandwidth": "-1"})
		}
		var ports []int
		token := ""
		for {
			page := ok(c, c.slb.DescribeLoadBalancerListeners, slb.CreateDescribeLoadBalancerListenersRequest(), set{
				"LoadBalancerId": []string{lb}, "MaxResults": 2, "NextToken": token})
			same(c, "totals", []int{page.TotalCount, page.MaxResults}, []int{5, 2})
			for _, one := range page.Listeners {
				ports = append(ports, one.ListenerPort)
			}
			if token = page.NextToken; token == "" {
				break
			}
		}
		same(c, "ports", ports, []int{1, 2, 3, 4, 5})
		refused(c, 400, "IllegalParam.NextToken", c.slb.DescribeLoadBalancerListeners, slb.CreateDescribeLoadBalancerListenersRequest(), set{
			"LoadBalancerId": []string{lb}, "NextToken": "made-up"})
	})
}

func TestAccessLists(t *testing.T) {
	both(t, func(c *cloud) {
		id := ok(c, c.slb.CreateAccessControlList, slb.CreateCreateAccessControlListRequest(), set{"AclName": "office"}).AclId
		ok(c, c.slb.AddAccessControlListEntry, slb.CreateAddAccessControlListEntryRequest(), set{
			"AclId": id, "AclEntrys": `[{"entry":"10.1.0.0/16","comment":"lan"},{"entry":"10.2.0.0/16"}]`})
		ok(c, c.slb.RemoveAccessControlListEntry, slb.CreateRemoveAccessControlListEntryRequest(), set{"AclId": id, "AclEntrys": `[{"entry":"10.2.0.0/16"}]`})
		lb := loadBalancer(c, nil)
		listen(c, lb, 80, set{"VServerGroupId": group(c, lb), "AclStatus": "on", "AclType": "white", "AclId": id})
		shown := ok(c, c.slb.DescribeAccessControlListAttribute, slb.CreateDescribeAccessControlListAttributeRequest(), set{"AclId": id})
		same(c, "entries", shown.AclEntrys.AclEntry, []slb.AclEntry{{AclEntryIP: "10.1.0.0/16", AclEntryComment: "lan"}})
		same(c, "listeners", shown.RelatedListeners.RelatedListener, []slb.RelatedListener{{ListenerPort: 80, AclType: "white", Protocol: "tcp", LoadBalancerId: lb}})
		all := ok(c, c.slb.DescribeAccessControlLists, slb.CreateDescribeAccessControlListsRequest(), set{"AclName": "office"})
		same(c, "found", all.Acls.Acl[len(all.Acls.Acl)-1].AclName, "office")
		refused(c, 400, "OperationFailed.AclBindedWithVip", c.slb.DeleteAccessControlList, slb.CreateDeleteAccessControlListRequest(), set{"AclId": id})
		ok(c, c.slb.SetListenerAccessControlStatus, slb.CreateSetListenerAccessControlStatusRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 80, "AccessControlStatus": "close"})
		same(c, "switched off", listener(c, lb, 80, "tcp").AclStatus, "off")
		ok(c, c.slb.DeleteLoadBalancerListener, slb.CreateDeleteLoadBalancerListenerRequest(), set{"LoadBalancerId": lb, "ListenerPort": 80})
		ok(c, c.slb.DeleteAccessControlList, slb.CreateDeleteAccessControlListRequest(), set{"AclId": id})
		refused(c, 400, "AclNotExist", c.slb.DeleteAccessControlList, slb.CreateDeleteAccessControlListRequest(), set{"AclId": id})
	})
}
