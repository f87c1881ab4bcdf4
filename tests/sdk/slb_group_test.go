package sdk

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/services/slb"
)

// server is a backend server as callers write it.
type server struct {
	ServerID    string `json:"ServerId"`
	Port        string `json:"Port,omitempty"`
	Weight      string `json:"Weight,omitempty"`
	Type        string `json:"Type,omitempty"`
	Description string `json:"Description,omitempty"`
}

func node(number int) string { return fmt.Sprintf("i-bp1node%04d", number) }

func text(value any) string {
	bytes, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(bytes)
}

func group(c *cloud, lb string, servers ...server) string {
	c.Helper()
	fields := set{"LoadBalancerId": lb, "VServerGroupName": "web"}
	if len(servers) > 0 {
		fields["BackendServers"] = text(servers)
	}
	return ok(c, c.slb.CreateVServerGroup, slb.CreateCreateVServerGroupRequest(), fields).VServerGroupId
}

func members(c *cloud, id string) []slb.BackendServerInDescribeVServerGroupAttribute {
	c.Helper()
	return ok(c, c.slb.DescribeVServerGroupAttribute, slb.CreateDescribeVServerGroupAttributeRequest(), set{"VServerGroupId": id}).
		BackendServers.BackendServer
}

func TestServerGroupLife(t *testing.T) {
	both(t, func(c *cloud) {
		lb := loadBalancer(c, nil)
		created := ok(c, c.slb.CreateVServerGroup, slb.CreateCreateVServerGroupRequest(), set{
			"LoadBalancerId": lb, "VServerGroupName": "web", "BackendServers": text([]server{{ServerID: node(1), Port: "80", Weight: "30", Type: "ecs"}})})
		id := created.VServerGroupId
		same(c, "created with", created.BackendServers.BackendServer, []slb.BackendServerInCreateVServerGroup{
			{ServerId: node(1), Port: 80, Weight: 30, Type: "ecs"}})

		added := ok(c, c.slb.AddVServerGroupBackendServers, slb.CreateAddVServerGroupBackendServersRequest(), set{
			"VServerGroupId": id, "BackendServers": text([]server{{ServerID: node(2), Port: "80"}, {ServerID: node(3), Port: "81", Weight: "0"}})})
		same(c, "added", len(added.BackendServers.BackendServer), 3)
		same(c, "default weight", added.BackendServers.BackendServer[1].Weight, 100)
		same(c, "no weight", added.BackendServers.BackendServer[2].Weight, 0)

		changed := ok(c, c.slb.SetVServerGroupAttribute, slb.CreateSetVServerGroupAttributeRequest(), set{
			"VServerGroupId": id, "VServerGroupName": "api", "BackendServers": text([]server{{ServerID: node(1), Port: "80", Weight: "50", Description: "first"}})})
		same(c, "renamed", changed.VServerGroupName, "api")
		same(c, "weight", changed.BackendServers.BackendServer[0].Weight, 50)
		same(c, "description", changed.BackendServers.BackendServer[0].Description, "first")

		ok(c, c.slb.ModifyVServerGroupBackendServers, slb.CreateModifyVServerGroupBackendServersRequest(), set{
			"VServerGroupId": id, "OldBackendServers": text([]server{{ServerID: node(2), Port: "80"}}),
			"NewBackendServers": text([]server{{ServerID: node(4), Port: "80", Weight: "10"}})})
		removed := ok(c, c.slb.RemoveVServerGroupBackendServers, slb.CreateRemoveVServerGroupBackendServersRequest(), set{
			"VServerGroupId": id, "BackendServers": text([]server{{ServerID: node(3), Port: "81"}, {ServerID: node(9), Port: "80"}})})
		same(c, "removed", len(removed.BackendServers.BackendServer), 2)
		left := members(c, id)
		same(c, "left", []string{left[0].ServerId, left[1].ServerId}, []string{node(1), node(4)})

		listed := ok(c, c.slb.DescribeVServerGroups, slb.CreateDescribeVServerGroupsRequest(), set{"LoadBalancerId": lb, "IncludeListener": true})
		same(c, "listed", listed.VServerGroups.VServerGroup[0].ServerCount, int64(2))
		ok(c, c.slb.DeleteVServerGroup, slb.CreateDeleteVServerGroupRequest(), set{"VServerGroupId": id})
		gone := refused(c, 404, "InvalidParameter", c.slb.DescribeVServerGroupAttribute, slb.CreateDescribeVServerGroupAttributeRequest(), set{"VServerGroupId": id})
		same(c, "says which", len(gone.message) > 40, true)
	})
}

func TestServerGroupRefusals(t *testing.T) {
	both(t, func(c *cloud) {
		lb := loadBalancer(c, nil)
		id := group(c, lb)
		add := func(status int, code string, servers any) {
			c.Helper()
			refused(c, status, code, c.slb.AddVServerGroupBackendServers, slb.CreateAddVServerGroupBackendServersRequest(), set{
				"VServerGroupId": id, "BackendServers": servers})
		}
		add(400, "ObtainIpFail", text([]server{{ServerID: "i-none", Port: "80"}}))
		add(400, "InvalidParameter", text([]server{{ServerID: node(1), Port: "80", Weight: "101"}}))
		add(400, "InvalidParameter", "{not json")
		var many []server
		for number := range 21 {
			many = append(many, server{ServerID: node(number + 1), Port: "80"})
		}
		add(400, "InvalidParameter", text(many))

		listen(c, lb, 80, set{"VServerGroupId": id})
		refused(c, 400, "RspoolVipExist", c.slb.DeleteVServerGroup, slb.CreateDeleteVServerGroupRequest(), set{"VServerGroupId": id})
	})
}

func TestDefaultServers(t *testing.T) {
	both(t, func(c *cloud) {
		lb := loadBalancer(c, nil)
		added := ok(c, c.slb.AddBackendServers, slb.CreateAddBackendServersRequest(), set{
			"LoadBalancerId": lb, "BackendServers": text([]server{{ServerID: node(1), Weight: "20"}, {ServerID: node(2)}})})
		same(c, "weight as text", added.BackendServers.BackendServer[0].Weight, "20")
		changed := ok(c, c.slb.SetBackendServers, slb.CreateSetBackendServersRequest(), set{
			"LoadBalancerId": lb, "BackendServers": text([]server{{ServerID: node(1), Weight: "60"}})})
		same(c, "changed", changed.BackendServers.BackendServer[0].Weight, "60")
		same(c, "shown", attribute(c, lb).BackendServers.BackendServer[0].Weight, 60)

		ok(c, c.slb.CreateLoadBalancerTCPListener, slb.CreateCreateLoadBalancerTCPListenerRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 90, "BackendServerPort": 9090, "Bandwidth": "-1"})
		health := ok(c, c.slb.DescribeHealthStatus, slb.CreateDescribeHealthStatusRequest(), set{"LoadBalancerId": lb, "ListenerPort": 90})
		same(c, "servers", len(health.BackendServers.BackendServer), 2)
		same(c, "health", health.BackendServers.BackendServer[0].ServerHealthStatus, "normal")
		same(c, "listener", health.BackendServers.BackendServer[0].ListenerPort, 90)

		removed := ok(c, c.slb.RemoveBackendServers, slb.CreateRemoveBackendServersRequest(), set{
			"LoadBalancerId": lb, "BackendServers": text([]string{node(1)})})
		same(c, "left", []int{len(removed.BackendServers.BackendServer), removed.BackendServers.BackendServer[0].Weight}, []int{1, 100})
	})
}
