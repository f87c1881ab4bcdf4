package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientapi "k8s.io/client-go/tools/clientcmd/api"
)

// Who may speak to the API server, by the name of the kubeconfig. RBAC knows the users of the
// system; administrators are a group.
var users = map[string]identity{
	"admin":              {name: "admin", group: "system:masters"},
	"controller-manager": {name: "system:kube-controller-manager"},
	"scheduler":          {name: "system:kube-scheduler"},
	"kwok":               {name: "kwok", group: "system:masters"},
}

// writeFiles writes all that the components read: certificates, kubeconfigs, policies.
func (p *plane) writeFiles(server string) error {
	authority, err := newAuthority()
	if err != nil {
		return err
	}
	serving, err := authority.server()
	if err != nil {
		return err
	}
	accounts, err := signingKey()
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"ca.crt":              authority.certificate,
		"apiserver.crt":       serving.certificate,
		"apiserver.key":       serving.key,
		"service-account.key": accounts,
		"audit-policy.yaml":   auditPolicy,
		"stages.yaml":         []byte(kwokStages),
	}
	for file, user := range users {
		pair, err := authority.client(user)
		if err != nil {
			return err
		}
		files[file+".crt"], files[file+".key"] = pair.certificate, pair.key
		if files[file+".kubeconfig"], err = kubeconfig(server, authority.certificate, user.name, pair); err != nil {
			return err
		}
	}
	for name, content := range files {
		if err := os.WriteFile(p.path(name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func kubeconfig(server string, ca []byte, user string, pair keyPair) ([]byte, error) {
	config := clientapi.NewConfig()
	config.Clusters["test"] = &clientapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[user] = &clientapi.AuthInfo{ClientCertificateData: pair.certificate, ClientKeyData: pair.key}
	config.Contexts["test"] = &clientapi.Context{Cluster: "test", AuthInfo: user}
	config.CurrentContext = "test"
	return clientcmd.Write(*config)
}

func (p *plane) adminClient() (*http.Client, error) {
	ca, err := os.ReadFile(p.path("ca.crt"))
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(p.path("admin.crt"), p.path("admin.key"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("no certificate in %s", p.path("ca.crt"))
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}
	return &http.Client{Transport: transport, Timeout: 5 * time.Second}, nil
}
