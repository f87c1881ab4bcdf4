package sdk

import (
	"strings"
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/services/ecs"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/nlb"
)

const nlbVersion = "2022-04-30"

func twoZones() []nlb.CreateLoadBalancerZoneMappings {
	return []nlb.CreateLoadBalancerZoneMappings{{ZoneId: zone, VSwitchId: vswitch}, {ZoneId: zone2, VSwitchId: vsw2}}
}

// network creates a network load balancer, waits until it is usable and deletes it after the test.
func network(c *cloud, more set) string {
	c.Helper()
	fields := set{"AddressType": "Internet", "VpcId": vpcID, "LoadBalancerName": "front", "ZoneMappings": twoZones()}
	for name, value := range more {
		fields[name] = value
	}
	// The reply spells it so.
	id := ok(c, c.nlb.CreateLoadBalancer, nlb.CreateCreateLoadBalancerRequest(), fields).LoadbalancerId
	usable(c, id)
	c.Cleanup(func() {
		_, _ = send(c, c.nlb.DeleteLoadBalancer, nlb.CreateDeleteLoadBalancerRequest(), set{"LoadBalancerId": id})
	})
	return id
}

func usable(c *cloud, id string) {
	c.Helper()
	until(c, "the load balancer is active", func() bool { return networkShown(c, id).LoadBalancerStatus == "Active" })
}

func networkShown(c *cloud, id string) *nlb.GetLoadBalancerAttributeResponse {
	c.Helper()
	return ok(c, c.nlb.GetLoadBalancerAttribute, nlb.CreateGetLoadBalancerAttributeRequest(), set{"LoadBalancerId": id})
}

// done waits for a job.
func done(c *cloud, job string) {
	c.Helper()
	if job == "" {
		c.Fatal("no JobId")
	}
	until(c, "the job ends", func() bool {
		status := ok(c, c.nlb.GetJobStatus, nlb.CreateGetJobStatusRequest(), set{"JobId": job}).Status
		if status != "Processing" && status != "Succeeded" {
			c.Fatalf("the job is %s", status)
		}
		return status == "Succeeded"
	})
}

func serverGroup(c *cloud, more set) string {
	c.Helper()
	fields := set{"ServerGroupName": "web", "VpcId": vpcID, "Protocol": "TCP"}
	for name, value := range more {
		fields[name] = value
	}
	answer := ok(c, c.nlb.CreateServerGroup, nlb.CreateCreateServerGroupRequest(), fields)
	done(c, answer.JobId)
	c.Cleanup(func() {
		_, _ = send(c, c.nlb.DeleteServerGroup, nlb.CreateDeleteServerGroupRequest(), set{"ServerGroupId": answer.ServerGroupId})
	})
	return answer.ServerGroupId
}

func TestNetworkLoadBalancerLife(t *testing.T) {
	both(t, func(c *cloud) {
		create := set{
			"AddressType": "Internet", "VpcId": vpcID, "LoadBalancerName": "life", "ZoneMappings": twoZones(), "ClientToken": "nlb-" + c.Name(),
			"Tag":                      []nlb.CreateLoadBalancerTag{{Key: "k", Value: "v"}},
			"DeletionProtectionConfig": nlb.CreateLoadBalancerDeletionProtectionConfig{Enabled: "true", Reason: "mine"}}
		id := ok(c, c.nlb.CreateLoadBalancer, nlb.CreateCreateLoadBalancerRequest(), create).LoadbalancerId
		same(c, "again", ok(c, c.nlb.CreateLoadBalancer, nlb.CreateCreateLoadBalancerRequest(), create).LoadbalancerId, id)
		create["LoadBalancerName"] = "other"
		refused(c, 400, "IdempotenceSignatureMismatch", c.nlb.CreateLoadBalancer, nlb.CreateCreateLoadBalancerRequest(), create)
		same(c, "not yet", networkShown(c, id).LoadBalancerStatus, "Provisioning")
		refused(c, 400, "IncorrectStatus.loadbalancer", c.nlb.UpdateLoadBalancerAttribute, nlb.CreateUpdateLoadBalancerAttributeRequest(), set{
			"LoadBalancerId": id, "LoadBalancerName": "early"})
		usable(c, id)

		one := networkShown(c, id)
		same(c, "facts", []string{one.LoadBalancerName, one.AddressType, one.AddressIpVersion, one.VpcId, one.RegionId, one.LoadBalancerBillingConfig.PayType},
			[]string{"life", "Internet", "ipv4", vpcID, region, "PostPay"})
		same(c, "name", strings.HasPrefix(one.DNSName, id), true)
		same(c, "zones", []string{one.ZoneMappings[0].ZoneId, one.ZoneMappings[1].VSwitchId}, []string{zone, vsw2})
		same(c, "addresses", one.ZoneMappings[0].LoadBalancerAddresses[0].PublicIPv4Address != "", true)
		same(c, "tag", []string{one.Tags[0].TagKey, one.Tags[0].TagValue}, []string{"k", "v"})
		same(c, "protected", []any{one.DeletionProtectionConfig.Enabled, one.DeletionProtectionConfig.Reason}, []any{true, "mine"})
		refused(c, 400, "OperationDenied.DeletionProtectionEnabled", c.nlb.DeleteLoadBalancer, nlb.CreateDeleteLoadBalancerRequest(), set{"LoadBalancerId": id})
		ok(c, c.nlb.UpdateLoadBalancerProtection, nlb.CreateUpdateLoadBalancerProtectionRequest(), set{
			"LoadBalancerId": id, "DeletionProtectionEnabled": "false", "ModificationProtectionStatus": "ConsoleProtection", "ModificationProtectionReason": "kept"})
		same(c, "kept", networkShown(c, id).ModificationProtectionConfig.Reason, "kept")

		job := ok(c, c.nlb.UpdateLoadBalancerAttribute, nlb.CreateUpdateLoadBalancerAttributeRequest(), set{
			"LoadBalancerId": id, "LoadBalancerName": "renamed", "CrossZoneEnabled": "false"}).JobId
		refused(c, 400, "Conflict.Lock", c.nlb.UpdateLoadBalancerAttribute, nlb.CreateUpdateLoadBalancerAttributeRequest(), set{
			"LoadBalancerId": id, "LoadBalancerName": "at once"})
		done(c, job)
		one = networkShown(c, id)
		same(c, "changed", []any{one.LoadBalancerName, one.CrossZoneEnabled, one.LoadBalancerStatus}, []any{"renamed", false, "Active"})

		done(c, ok(c, c.nlb.UpdateLoadBalancerZones, nlb.CreateUpdateLoadBalancerZonesRequest(), set{"LoadBalancerId": id,
			"ZoneMappings": []nlb.UpdateLoadBalancerZonesZoneMappings{{ZoneId: zone2, VSwitchId: vsw2}, {ZoneId: zone3, VSwitchId: vsw3}}}).JobId)
		one = networkShown(c, id)
		same(c, "moved", []string{one.ZoneMappings[0].ZoneId, one.ZoneMappings[1].ZoneId}, []string{zone2, zone3})
		ok(c, c.nlb.StartShiftLoadBalancerZones, nlb.CreateStartShiftLoadBalancerZonesRequest(), set{"LoadBalancerId": id,
			"ZoneMappings": []nlb.StartShiftLoadBalancerZonesZoneMappings{{ZoneId: zone3, VSwitchId: vsw3}}})
		same(c, "shifted", networkShown(c, id).ZoneMappings[1].Status, "Shifted")
		ok(c, c.nlb.CancelShiftLoadBalancerZones, nlb.CreateCancelShiftLoadBalancerZonesRequest(), set{"LoadBalancerId": id,
			"ZoneMappings": []nlb.CancelShiftLoadBalancerZonesZoneMappings{{ZoneId: zone3, VSwitchId: vsw3}}})
		same(c, "back", networkShown(c, id).ZoneMappings[1].Status, "Active")
		done(c, ok(c, c.nlb.UpdateLoadBalancerAddressTypeConfig, nlb.CreateUpdateLoadBalancerAddressTypeConfigRequest(), set{
			"LoadBalancerId": id, "AddressType": "Intranet"}).JobId)
		same(c, "inside", networkShown(c, id).AddressType, "Intranet")
		moved := ok(c, c.nlb.MoveResourceGroup, nlb.CreateMoveResourceGroupRequest(), set{
			"ResourceId": id, "ResourceType": "loadbalancer", "NewResourceGroupId": "rg-other"})
		same(c, "moved", []any{moved.Success, moved.Data.ResourceId}, []any{true, id})

		done(c, ok(c, c.nlb.DeleteLoadBalancer, nlb.CreateDeleteLoadBalancerRequest(), set{"LoadBalancerId": id}).JobId)
		refused(c, 404, "ResourceNotFound.loadBalancer", c.nlb.GetLoadBalancerAttribute, nlb.CreateGetLoadBalancerAttributeRequest(), set{"LoadBalancerId": id})
	})
}

func TestNetworkLoadBalancerPages(t *testing.T) {
	both(t, func(c *cloud) {
		name := "page-" + strings.ReplaceAll(c.Name(), "/", "-")
		for range 5 {
			network(c, set{"LoadBalancerName": name, "AddressType": "Intranet"})
		}
		seen, token, pages := map[string]bool{}, "", 0
		for {
			page := ok(c, c.nlb.ListLoadBalancers, nlb.CreateListLoadBalancersRequest(), set{
				"LoadBalancerNames": []string{name}, "MaxResults": 2, "NextToken": token})
			same(c, "totals", []int{page.TotalCount, page.MaxResults}, []int{5, 2})
			for _, one := range page.LoadBalancers {
				seen[one.LoadBalancerId] = true
			}
			pages++
			if token = page.NextToken; token == "" {
				break
			}
		}
		same(c, "seen", []int{len(seen), pages}, []int{5, 3})
	})
}

func TestNetworkIPv6(t *testing.T) {
	both(t, func(c *cloud) {
		id := network(c, set{"AddressIpVersion": "DualStack"})
		ok(c, c.nlb.EnableLoadBalancerIpv6Internet, nlb.CreateEnableLoadBalancerIpv6InternetRequest(), set{"LoadBalancerId": id})
		same(c, "outside", networkShown(c, id).Ipv6AddressType, "Internet")
		ok(c, c.nlb.DisableLoadBalancerIpv6Internet, nlb.CreateDisableLoadBalancerIpv6InternetRequest(), set{"LoadBalancerId": id})
		same(c, "inside", networkShown(c, id).Ipv6AddressType, "Intranet")
	})
}

func TestNetworkServerGroups(t *testing.T) {
	both(t, func(c *cloud) {
		id := serverGroup(c, set{
			"ServerGroupName": "pods", "Scheduler": "Wlc", "ConnectionDrainEnabled": "true", "ConnectionDrainTimeout": "30",
			"HealthCheckConfig": nlb.CreateServerGroupHealthCheckConfig{HealthCheckType: "HTTP", HealthCheckUrl: "/ok", HealthCheckInterval: "7",
				HealthCheckHttpCode: &[]string{"http_2xx", "http_3xx"}},
			"Tag": []nlb.CreateServerGroupTag{{Key: "k", Value: "v"}}})
		shown := func() nlb.ServerGroup {
			return ok(c, c.nlb.ListServerGroups, nlb.CreateListServerGroupsRequest(), set{"ServerGroupIds": []string{id}}).ServerGroups[0]
		}
		one := shown()
		same(c, "group", []any{one.ServerGroupName, one.ServerGroupStatus, one.Scheduler, one.ConnectionDrainTimeout, one.Protocol, one.ServerGroupType},
			[]any{"pods", "Available", "Wlc", 30, "TCP", "Instance"})
		same(c, "check", []any{one.HealthCheck.HealthCheckType, one.HealthCheck.HealthCheckUrl, one.HealthCheck.HealthCheckInterval, one.HealthCheck.HealthCheckHttpCode},
			[]any{"HTTP", "/ok", 7, []string{"http_2xx", "http_3xx"}})
		same(c, "tag", []string{one.Tags[0].Key, one.Tags[0].Value}, []string{"k", "v"})

		added := ok(c, c.nlb.AddServersToServerGroup, nlb.CreateAddServersToServerGroupRequest(), set{"ServerGroupId": id,
			"Servers": []nlb.AddServersToServerGroupServers{
				{ServerId: node(1), ServerType: "Ecs", Port: "80", Weight: "40"}, {ServerId: node(2), ServerType: "Ecs", Port: "80"}}})
		refused(c, 400, "IncorrectStatus.serverGroup", c.nlb.RemoveServersFromServerGroup, nlb.CreateRemoveServersFromServerGroupRequest(), set{
			"ServerGroupId": id, "Servers": []nlb.RemoveServersFromServerGroupServers{{ServerId: node(1), ServerType: "Ecs", Port: "80"}}})
		servers := func() []nlb.Server {
			return ok(c, c.nlb.ListServerGroupServers, nlb.CreateListServerGroupServersRequest(), set{"ServerGroupId": id}).Servers
		}
		same(c, "on its way", servers()[0].Status, "Adding")
		done(c, added.JobId)
		same(c, "server", []any{servers()[0].ServerId, servers()[0].Port, servers()[0].Weight, servers()[0].Status, servers()[0].ZoneId},
			[]any{node(1), 80, 40, "Available", zone})
		done(c, ok(c, c.nlb.UpdateServerGroupServersAttribute, nlb.CreateUpdateServerGroupServersAttributeRequest(), set{"ServerGroupId": id,
			"Servers": []nlb.UpdateServerGroupServersAttributeServers{{ServerId: node(1), ServerType: "Ecs", Port: "80", Weight: "60", Description: "d"}}}).JobId)
		same(c, "updated", []any{servers()[0].Weight, servers()[0].Description}, []any{60, "d"})
		done(c, ok(c, c.nlb.UpdateServerGroupAttribute, nlb.CreateUpdateServerGroupAttributeRequest(), set{
			"ServerGroupId": id, "ServerGroupName": "renamed", "Scheduler": "Wrr",
			"HealthCheckConfig": nlb.UpdateServerGroupAttributeHealthCheckConfig{HealthCheckEnabled: "false"}}).JobId)
		one = shown()
		same(c, "changed", []any{one.ServerGroupName, one.Scheduler, one.HealthCheck.HealthCheckEnabled, one.ServerCount}, []any{"renamed", "Wrr", false, 2})
		done(c, ok(c, c.nlb.RemoveServersFromServerGroup, nlb.CreateRemoveServersFromServerGroupRequest(), set{
			"ServerGroupId": id, "Servers": []nlb.RemoveServersFromServerGroupServers{{ServerId: node(1), ServerType: "Ecs", Port: "80"}}}).JobId)
		same(c, "left", len(servers()), 1)
		refused(c, 404, "ResourceNotFound.Ecs", c.nlb.AddServersToServerGroup, nlb.CreateAddServersToServerGroupRequest(), set{"ServerGroupId": id,
			"Servers": []nlb.AddServersToServerGroupServers{{ServerId: "i-none", ServerType: "Ecs", Port: "80"}}})
		done(c, ok(c, c.nlb.DeleteServerGroup, nlb.CreateDeleteServerGroupRequest(), set{"ServerGroupId": id}).JobId)
		refused(c, 404, "ResourceNotFound.serverGroup", c.nlb.DeleteServerGroup, nlb.CreateDeleteServerGroupRequest(), set{"ServerGroupId": id})
	})
}

func TestNetworkListeners(t *testing.T) {
	both(t, func(c *cloud) {
		lb := network(c, nil)
		group := serverGroup(c, nil)
		done(c, ok(c, c.nlb.AddServersToServerGroup, nlb.CreateAddServersToServerGroupRequest(), set{"ServerGroupId": group,
			"Servers": []nlb.AddServersToServerGroupServers{{ServerId: node(1), ServerType: "Ecs", Port: "80"}}}).JobId)
		created := ok(c, c.nlb.CreateListener, nlb.CreateCreateListenerRequest(), set{
			"LoadBalancerId": lb, "ListenerProtocol": "TCP", "ListenerPort": 80, "ServerGroupId": group, "IdleTimeout": "300", "ListenerDescription": "web",
			"Tag": []nlb.CreateListenerTag{{Key: "k", Value: "v"}}})
		id := created.ListenerId
		same(c, "id", strings.HasPrefix(id, "lsn-") && strings.HasSuffix(id, "@80"), true)
		refused(c, 400, "Conflict.Lock", c.nlb.DeleteListener, nlb.CreateDeleteListenerRequest(), set{"ListenerId": id})
		done(c, created.JobId)
		shown := func() *nlb.GetListenerAttributeResponse {
			return ok(c, c.nlb.GetListenerAttribute, nlb.CreateGetListenerAttributeRequest(), set{"ListenerId": id})
		}
		one := shown()
		same(c, "listener", []any{one.ListenerStatus, one.ListenerPort, one.ListenerProtocol, one.IdleTimeout, one.ListenerDescription, one.ServerGroupId, one.LoadBalancerId},
			[]any{"Running", 80, "TCP", 300, "web", group, lb})
		refused(c, 400, "ResourceInUse.ServerGroup", c.nlb.DeleteServerGroup, nlb.CreateDeleteServerGroupRequest(), set{"ServerGroupId": group})
		health := ok(c, c.nlb.GetListenerHealthStatus, nlb.CreateGetListenerHealthStatusRequest(), set{"ListenerId": id})
		same(c, "health", []any{health.ListenerHealthStatus[0].ListenerPort, health.ListenerHealthStatus[0].ServerGroupInfos[0].HeathCheckEnabled}, []any{80, true})

		done(c, ok(c, c.nlb.UpdateListenerAttribute, nlb.CreateUpdateListenerAttributeRequest(), set{"ListenerId": id, "IdleTimeout": "200", "ListenerDescription": "api"}).JobId)
		same(c, "changed", []any{shown().IdleTimeout, shown().ListenerDescription}, []any{200, "api"})
		job := ok(c, c.nlb.StopListener, nlb.CreateStopListenerRequest(), set{"ListenerId": id}).JobId
		same(c, "going", shown().ListenerStatus, "Stopping")
		done(c, job)
		same(c, "down", shown().ListenerStatus, "Stopped")
		done(c, ok(c, c.nlb.StartListener, nlb.CreateStartListenerRequest(), set{"ListenerId": id}).JobId)

		// A range of ports, whose ends come as text.
		ranged := ok(c, c.nlb.CreateListener, nlb.CreateCreateListenerRequest(), set{
			"LoadBalancerId": lb, "ListenerProtocol": "TCP", "ListenerPort": "0", "StartPort": "1000", "EndPort": "1010",
			"ServerGroupId": serverGroup(c, set{"AnyPortEnabled": "true"})})
		done(c, ranged.JobId)
		listed := ok(c, c.nlb.ListListeners, nlb.CreateListListenersRequest(), set{"LoadBalancerIds": []string{lb}, "ListenerIds": []string{ranged.ListenerId}})
		same(c, "range", []string{listed.Listeners[0].StartPort, listed.Listeners[0].EndPort}, []string{"1000", "1010"})
		page := ok(c, c.nlb.ListListeners, nlb.CreateListListenersRequest(), set{"LoadBalancerIds": []string{lb}, "MaxResults": 1})
		rest := ok(c, c.nlb.ListListeners, nlb.CreateListListenersRequest(), set{"LoadBalancerIds": []string{lb}, "MaxResults": 1, "NextToken": page.NextToken})
		same(c, "pages", []any{page.TotalCount, len(page.Listeners), len(rest.Listeners), rest.NextToken}, []any{2, 1, 1, ""})
		same(c, "different", page.Listeners[0].ListenerId != rest.Listeners[0].ListenerId, true)

		done(c, ok(c, c.nlb.DeleteListener, nlb.CreateDeleteListenerRequest(), set{"ListenerId": id}).JobId)
		refused(c, 404, "ResourceNotFound.listener", c.nlb.GetListenerAttribute, nlb.CreateGetListenerAttributeRequest(), set{"ListenerId": id})
	})
}

func TestNetworkCertificatesAndPolicies(t *testing.T) {
	both(t, func(c *cloud) {
		system := ok(c, c.nlb.ListSystemSecurityPolicy, nlb.CreateListSystemSecurityPolicyRequest(), nil)
		same(c, "system", system.SecurityPolicies[0].SecurityPolicyId, "tls_cipher_policy_1_0")
		policy := ok(c, c.nlb.CreateSecurityPolicy, nlb.CreateCreateSecurityPolicyRequest(), set{
			"SecurityPolicyName": "strict", "TlsVersions": []string{"TLSv1.2"}, "Ciphers": []string{"ECDHE-RSA-AES128-GCM-SHA256"}})
		done(c, policy.JobId)
		first, second := upload(c, "first.example.com"), upload(c, "second.example.com")
		lb := network(c, nil)
		listener := ok(c, c.nlb.CreateListener, nlb.CreateCreateListenerRequest(), set{
			"LoadBalancerId": lb, "ListenerProtocol": "TCPSSL", "ListenerPort": 443, "ServerGroupId": serverGroup(c, nil),
			"CertificateIds": []string{first}, "SecurityPolicyId": policy.SecurityPolicyId})
		done(c, listener.JobId)
		shown := ok(c, c.nlb.GetListenerAttribute, nlb.CreateGetListenerAttributeRequest(), set{"ListenerId": listener.ListenerId})
		same(c, "listener", []any{shown.CertificateIds, shown.SecurityPolicyId}, []any{[]string{first}, policy.SecurityPolicyId})
		refused(c, 400, "ResourceInUse.SecurityPolicy", c.nlb.DeleteSecurityPolicy, nlb.CreateDeleteSecurityPolicyRequest(), set{"SecurityPolicyId": policy.SecurityPolicyId})

		done(c, ok(c, c.nlb.AssociateAdditionalCertificatesWithListener, nlb.CreateAssociateAdditionalCertificatesWithListenerRequest(), set{
			"ListenerId": listener.ListenerId, "AdditionalCertificateIds": []string{second}}).JobId)
		certificates := func() []nlb.Certificate {
			return ok(c, c.nlb.ListListenerCertificates, nlb.CreateListListenerCertificatesRequest(), set{"ListenerId": listener.ListenerId}).Certificates
		}
		same(c, "certificates", certificates(), []nlb.Certificate{
			{CertificateId: first, IsDefault: true, Status: "Associated", CertificateType: "Server"},
			{CertificateId: second, Status: "Associated", CertificateType: "Server"}})
		job := ok(c, c.nlb.DisassociateAdditionalCertificatesWithListener, nlb.CreateDisassociateAdditionalCertificatesWithListenerRequest(), set{
			"ListenerId": listener.ListenerId, "AdditionalCertificateIds": []string{second}}).JobId
		same(c, "going", certificates()[1].Status, "Diassociating")
		done(c, job)
		same(c, "one left", len(certificates()), 1)

		done(c, ok(c, c.nlb.UpdateSecurityPolicyAttribute, nlb.CreateUpdateSecurityPolicyAttributeRequest(), set{
			"SecurityPolicyId": policy.SecurityPolicyId, "SecurityPolicyName": "renamed", "TlsVersions": []string{"TLSv1.2", "TLSv1.3"}}).JobId)
		own := ok(c, c.nlb.ListSecurityPolicy, nlb.CreateListSecurityPolicyRequest(), set{"SecurityPolicyIds": []string{policy.SecurityPolicyId}})
		same(c, "policy", []any{own.SecurityPolicies[0].SecurityPolicyName, own.SecurityPolicies[0].TlsVersion, own.SecurityPolicies[0].RelatedListeners[0].ListenerPort},
			[]any{"renamed", "TLSv1.2,TLSv1.3", int64(443)})
		done(c, ok(c, c.nlb.DeleteListener, nlb.CreateDeleteListenerRequest(), set{"ListenerId": listener.ListenerId}).JobId)
		ok(c, c.nlb.DeleteSecurityPolicy, nlb.CreateDeleteSecurityPolicyRequest(), set{"SecurityPolicyId": policy.SecurityPolicyId})
	})
}

func TestNetworkSecurityGroupsAndBandwidth(t *testing.T) {
	both(t, func(c *cloud) {
		lb := network(c, nil)
		group := ok(c, c.ecs.CreateSecurityGroup, ecs.CreateCreateSecurityGroupRequest(), set{"VpcId": vpcID, "SecurityGroupName": "front"}).SecurityGroupId
		done(c, ok(c, c.nlb.LoadBalancerJoinSecurityGroup, nlb.CreateLoadBalancerJoinSecurityGroupRequest(), set{
			"LoadBalancerId": lb, "SecurityGroupIds": []string{group}}).JobId)
		same(c, "joined", networkShown(c, lb).SecurityGroupIds, []string{group})
		done(c, ok(c, c.nlb.LoadBalancerLeaveSecurityGroup, nlb.CreateLoadBalancerLeaveSecurityGroupRequest(), set{
			"LoadBalancerId": lb, "SecurityGroupIds": []string{group}}).JobId)
		same(c, "left", len(networkShown(c, lb).SecurityGroupIds), 0)
		done(c, ok(c, c.nlb.AttachCommonBandwidthPackageToLoadBalancer, nlb.CreateAttachCommonBandwidthPackageToLoadBalancerRequest(), set{
			"LoadBalancerId": lb, "BandwidthPackageId": bandwidthPackage}).JobId)
		same(c, "attached", networkShown(c, lb).BandwidthPackageId, bandwidthPackage)
		done(c, ok(c, c.nlb.DetachCommonBandwidthPackageFromLoadBalancer, nlb.CreateDetachCommonBandwidthPackageFromLoadBalancerRequest(), set{
			"LoadBalancerId": lb, "BandwidthPackageId": bandwidthPackage}).JobId)
		refused(c, 404, "ResourceNotFound.BandwidthPackageId", c.nlb.AttachCommonBandwidthPackageToLoadBalancer,
			nlb.CreateAttachCommonBandwidthPackageToLoadBalancerRequest(), set{"LoadBalancerId": lb, "BandwidthPackageId": "cbwp-none"})
	})
}

func TestNetworkTagsAndPlaces(t *testing.T) {
	both(t, func(c *cloud) {
		same(c, "region", ok(c, c.nlb.DescribeRegions, nlb.CreateDescribeRegionsRequest(), nil).Regions[0].RegionId, region)
		same(c, "zones", len(ok(c, c.nlb.DescribeZones, nlb.CreateDescribeZonesRequest(), nil).Zones), 3)
		id := serverGroup(c, nil)
		ok(c, c.nlb.TagResources, nlb.CreateTagResourcesRequest(), set{
			"ResourceType": "servergroup", "ResourceId": []string{id}, "Tag": []nlb.TagResourcesTag{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}})
		listed := ok(c, c.nlb.ListTagResources, nlb.CreateListTagResourcesRequest(), set{"ResourceType": "servergroup", "ResourceId": []string{id}})
		same(c, "tags", []string{listed.TagResources[0].TagKey, listed.TagResources[0].TagValue, listed.TagResources[1].TagKey, listed.TagResources[0].ResourceId},
			[]string{"a", "1", "b", id})
		ok(c, c.nlb.UntagResources, nlb.CreateUntagResourcesRequest(), set{"ResourceType": "servergroup", "ResourceId": []string{id}, "TagKey": []string{"a"}})
		same(c, "left", len(ok(c, c.nlb.ListTagResources, nlb.CreateListTagResourcesRequest(), set{
			"ResourceType": "servergroup", "ResourceId": []string{id}}).TagResources), 1)
	})
}

// The classic SDK has no types for these three.
func TestNetworkUntyped(t *testing.T) {
	both(t, func(c *cloud) {
		answer := ok(c, c.nlb.CreateServerGroup, nlb.CreateCreateServerGroupRequest(), set{"ServerGroupName": "jobs", "VpcId": vpcID})
		jobs := common(c, nlbVersion, "ListAsynJobs", map[string]string{"JobIds.1": answer.JobId}, nil)
		same[any](c, "total as text", jobs["TotalCount"], "1")
		list, fits := jobs["Jobs"].([]any)
		same(c, "a bare list", fits && len(list) == 1, true)
		same[any](c, "job", list[0].(map[string]any)["Id"], answer.JobId)
		done(c, answer.JobId)
		ok(c, c.nlb.DeleteServerGroup, nlb.CreateDeleteServerGroupRequest(), set{"ServerGroupId": answer.ServerGroupId})

		monitoring := common(c, nlbVersion, "SetHdMonitorRegionConfig", nil, map[string]string{"LogProject": "p", "MetricStore": "m", "RegionId": region})
		same[any](c, "set", monitoring["LogProject"], "p")
		monitoring = common(c, nlbVersion, "DescribeHdMonitorRegionConfig", nil, map[string]string{"RegionId": region})
		same[any](c, "shown", monitoring["MetricStore"], "m")
	})
}
