package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// identity is what a client certificate says: RBAC reads the common name as the user and the
// organisation as a group.
type identity struct{ name, group string }

// keyPair is a certificate and its key as PEM.
type keyPair struct{ certificate, key []byte }

// authority signs the certificates of one cluster.
type authority struct {
	certificate []byte
	parent      *x509.Certificate
	key         crypto.Signer
}

func newAuthority() (*authority, error) {
	template := template(pkix.Name{CommonName: "control-plane test CA"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	parent, err := x509.ParseCertificate(der)
	return &authority{certificate: block("CERTIFICATE", der), parent: parent, key: key}, err
}

func (a *authority) server() (keyPair, error) {
	template := template(pkix.Name{CommonName: "kube-apiserver"})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)}
	return a.sign(template)
}

func (a *authority) client(who identity) (keyPair, error) {
	name := pkix.Name{CommonName: who.name}
	if who.group != "" {
		name.Organization = []string{who.group}
	}
	template := template(name)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

func (a *authority) sign(template *x509.Certificate) (keyPair, error) {
	key, err := newKey()
	if err != nil {
		return keyPair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.parent, key.Public(), a.key)
	if err != nil {
		return keyPair{}, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	return keyPair{certificate: block("CERTIFICATE", der), key: block("PRIVATE KEY", encoded)}, err
}

// signingKey is what ServiceAccount tokens are signed with.
func signingKey() ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	return block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)), nil
}

func newKey() (crypto.Signer, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

func template(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
