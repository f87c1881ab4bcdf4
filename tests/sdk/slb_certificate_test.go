package sdk

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/aliyun/alibaba-cloud-sdk-go/services/slb"
)

// certificate makes a self-signed certificate and its key.
func certificate(c *cloud, name string) (string, string) {
	c.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2040, 2, 3, 4, 5, 6, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		c.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		c.Fatal(err)
	}
	block := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return block("CERTIFICATE", der), block("PRIVATE KEY", private)
}

func upload(c *cloud, name string) string {
	c.Helper()
	public, private := certificate(c, name)
	answer := ok(c, c.slb.UploadServerCertificate, slb.CreateUploadServerCertificateRequest(), set{
		"ServerCertificate": public, "PrivateKey": private, "ServerCertificateName": name})
	same(c, "common name", answer.CommonName, name)
	same(c, "end", []any{answer.ExpireTime, answer.ExpireTimeStamp}, []any{"2040-02-03T04:05:06Z", time.Date(2040, 2, 3, 4, 5, 6, 0, time.UTC).UnixMilli()})
	return answer.ServerCertificateId
}

func TestHTTPSListenerAndDomains(t *testing.T) {
	both(t, func(c *cloud) {
		first, second := upload(c, "first.example.com"), upload(c, "second.example.com")
		public, _ := certificate(c, "ca.example.com")
		authority := ok(c, c.slb.UploadCACertificate, slb.CreateUploadCACertificateRequest(), set{"CACertificate": public, "CACertificateName": "ca"})
		listed := ok(c, c.slb.DescribeCACertificates, slb.CreateDescribeCACertificatesRequest(), set{"CACertificateId": authority.CACertificateId})
		same(c, "ca", []string{listed.CACertificates.CACertificate[0].CommonName, listed.CACertificates.CACertificate[0].CACertificateName}, []string{"ca.example.com", "ca"})

		lb := loadBalancer(c, nil)
		id := group(c, lb)
		create := set{"LoadBalancerId": lb, "ListenerPort": 443, "VServerGroupId": id, "Bandwidth": "-1", "HealthCheck": "off", "ServerCertificateId": "none"}
		refused(c, 400, "CertificateNotExist", c.slb.CreateLoadBalancerHTTPSListener, slb.CreateCreateLoadBalancerHTTPSListenerRequest(), create)
		create["ServerCertificateId"], create["TLSCipherPolicy"] = first, "tls_cipher_policy_1_2"
		ok(c, c.slb.CreateLoadBalancerHTTPSListener, slb.CreateCreateLoadBalancerHTTPSListenerRequest(), create)
		shown := func() *slb.DescribeLoadBalancerHTTPSListenerAttributeResponse {
			return ok(c, c.slb.DescribeLoadBalancerHTTPSListenerAttribute, slb.CreateDescribeLoadBalancerHTTPSListenerAttributeRequest(), set{
				"LoadBalancerId": lb, "ListenerPort": 443})
		}
		same(c, "listener", []string{shown().ServerCertificateId, shown().TLSCipherPolicy, shown().EnableHttp2}, []string{first, "tls_cipher_policy_1_2", "on"})
		ok(c, c.slb.SetLoadBalancerHTTPSListenerAttribute, slb.CreateSetLoadBalancerHTTPSListenerAttributeRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 443, "EnableHttp2": "off", "CACertificateId": authority.CACertificateId, "Bandwidth": "-1"})
		same(c, "changed", []string{shown().EnableHttp2, shown().CACertificateId}, []string{"off", authority.CACertificateId})

		ok(c, c.slb.CreateLoadBalancerHTTPListener, slb.CreateCreateLoadBalancerHTTPListenerRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 80, "ListenerForward": "on", "ForwardPort": 443, "Bandwidth": "-1", "HealthCheck": "off"})
		refused(c, 400, "ListenerForwardExist", c.slb.DeleteLoadBalancerListener, slb.CreateDeleteLoadBalancerListenerRequest(), set{"LoadBalancerId": lb, "ListenerPort": 443})

		extension := ok(c, c.slb.CreateDomainExtension, slb.CreateCreateDomainExtensionRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 443, "Domain": "*.example.com", "ServerCertificateId": first})
		refused(c, 400, "DomainExtensionExist", c.slb.CreateDomainExtension, slb.CreateCreateDomainExtensionRequest(), set{
			"LoadBalancerId": lb, "ListenerPort": 443, "Domain": "*.example.com", "ServerCertificateId": second})
		ok(c, c.slb.SetDomainExtensionAttribute, slb.CreateSetDomainExtensionAttributeRequest(), set{
			"DomainExtensionId": extension.DomainExtensionId, "ServerCertificateId": second})
		all := ok(c, c.slb.DescribeDomainExtensions, slb.CreateDescribeDomainExtensionsRequest(), set{"LoadBalancerId": lb, "ListenerPort": 443})
		same(c, "extension", []string{all.DomainExtensions.DomainExtension[0].Domain, all.DomainExtensions.DomainExtension[0].ServerCertificateId},
			[]string{"*.example.com", second})
		refused(c, 400, "CertificateRelatedDomainExtensionExist", c.slb.DeleteServerCertificate, slb.CreateDeleteServerCertificateRequest(), set{"ServerCertificateId": second})
		refused(c, 400, "CertificateAndPrivateKeyIsRefered", c.slb.DeleteServerCertificate, slb.CreateDeleteServerCertificateRequest(), set{"ServerCertificateId": first})
		single := ok(c, c.slb.DescribeDomainExtensionAttribute, slb.CreateDescribeDomainExtensionAttributeRequest(), set{"DomainExtensionId": extension.DomainExtensionId})
		same(c, "single", []any{single.LoadBalancerId, single.ListenerPort}, []any{lb, 443})
		ok(c, c.slb.DeleteDomainExtension, slb.CreateDeleteDomainExtensionRequest(), set{"DomainExtensionId": extension.DomainExtensionId})

		ok(c, c.slb.SetServerCertificateName, slb.CreateSetServerCertificateNameRequest(), set{"ServerCertificateId": second, "ServerCertificateName": "renamed"})
		certificates := ok(c, c.slb.DescribeServerCertificates, slb.CreateDescribeServerCertificatesRequest(), set{"ServerCertificateId": second})
		same(c, "certificate", []any{certificates.ServerCertificates.ServerCertificate[0].ServerCertificateName,
			certificates.ServerCertificates.ServerCertificate[0].IsAliCloudCertificate}, []any{"renamed", 0})
		ok(c, c.slb.DeleteServerCertificate, slb.CreateDeleteServerCertificateRequest(), set{"ServerCertificateId": second})
		refused(c, 404, "ServerCertificateId.NotFound", c.slb.DeleteServerCertificate, slb.CreateDeleteServerCertificateRequest(), set{"ServerCertificateId": second})
		refused(c, 400, "CertificateFormatInvalid", c.slb.UploadServerCertificate, slb.CreateUploadServerCertificateRequest(), set{
			"ServerCertificate": "no certificate", "PrivateKey": "no key"})
	})
}
