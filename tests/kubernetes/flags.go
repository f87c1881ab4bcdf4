package main

import "strconv"

// Where pods and Services of the cluster live. The pods' network is the one that the stories give
// to the controller under test as --cluster-cidr.
const (
	podNetwork     = "172.20.0.0/16"
	serviceNetwork = "10.96.0.0/16"
)

// The label of nodes that kwok keeps alive. A node that loses it is a machine that went silent.
// An annotation would not do: losing it ends no watch.
const machineLabel = "machine.test/running=true"

func etcdFlags(p *plane, client string) []string {
	peer := "http://127.0.0.1:0" // a single member has no peers
	return []string{
		"--data-dir=" + p.path("etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func apiserverFlags(p *plane, etcd string, port int) []string {
	return []string{
		"--etcd-servers=" + etcd,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		// Pods do not run, so nobody needs the Service "kubernetes" to lead anywhere.
		"--endpoint-reconciler-type=none",
		"--cert-dir=" + p.path("certificates"),
		"--tls-cert-file=" + p.path("apiserver.crt"),
		"--tls-private-key-file=" + p.path("apiserver.key"),
		"--client-ca-file=" + p.path("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + p.path("service-account.key"),
		"--service-account-signing-key-file=" + p.path("service-account.key"),
		"--authorization-mode=Node,RBAC",
		"--service-cluster-ip-range=" + serviceNetwork,
		"--audit-policy-file=" + p.path("audit-policy.yaml"),
		"--audit-log-path=" + p.path("audit.log"),
		"--audit-log-mode=blocking", // what was answered is in the log
		"--shutdown-delay-duration=0s",
	}
}

func controllerManagerFlags(p *plane) []string {
	return []string{
		"--kubeconfig=" + p.path("controller-manager.kubeconfig"),
		"--service-account-private-key-file=" + p.path("service-account.key"),
		"--root-ca-file=" + p.path("ca.crt"),
		"--use-service-account-credentials",
		"--leader-elect=false",
		"--secure-port=0",
		"--cloud-provider=external",
		"--allocate-node-cidrs",
		"--cluster-cidr=" + podNetwork,
		"--service-cluster-ip-range=" + serviceNetwork,
		// A silent machine is noticed in seconds rather than in most of a minute.
		"--node-monitor-period=1s",
		"--node-monitor-grace-period=10s",
	}
}

func schedulerFlags(p *plane) []string {
	return []string{
		"--kubeconfig=" + p.path("scheduler.kubeconfig"),
		"--leader-elect=false",
		"--secure-port=0",
	}
}

func kwokFlags(p *plane) []string {
	return []string{
		"--kubeconfig=" + p.path("kwok.kubeconfig"),
		"--config=" + p.path("stages.yaml"),
		"--manage-nodes-with-label-selector=" + machineLabel,
		"--node-lease-duration-seconds=8",
		"--node-ip=", // addresses are for the controller under test to tell
		"--server-address=",
		"--node-port=0",
	}
}
