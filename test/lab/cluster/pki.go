package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/net-mesh/net-mesh/test/lab/host"
)

// keys writes the lab's certificate authority, the API server's certificate, the key that signs service
// account tokens, and the administrator's token, once for each lab.
func (c Cluster) keys() error {
	dir := c.Host.Path("pki")
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	ca, caKey, err := authority(dir)
	if err != nil {
		return err
	}
	if err := serverCert(dir, ca, caKey); err != nil {
		return err
	}
	account, err := newKey(dir, "sa")
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&account.PublicKey)
	if err != nil {
		return err
	}
	token := make([]byte, 16)
	if _, err := rand.Read(token); err != nil {
		return err
	}
	files := map[string]string{
		filepath.Join(dir, "sa.pub"): string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
		filepath.Join(dir, "tokens"): hex.EncodeToString(token) + ",admin,admin,system:masters\n",
		c.Kubeconfig():               kubeconfig(dir, hex.EncodeToString(token)),
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "complete"), nil, 0o600)
}

func authority(dir string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := newKey(dir, "ca")
	if err != nil {
		return nil, nil, err
	}
	template := certTemplate("lab-ca")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	return cert, key, writePEM(filepath.Join(dir, "ca.crt"), "CERTIFICATE", der)
}

func serverCert(dir string, ca *x509.Certificate, caKey *ecdsa.PrivateKey) error {
	key, err := newKey(dir, "apiserver")
	if err != nil {
		return err
	}
	template := certTemplate("kube-apiserver")
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost"}
	for _, ip := range []string{"127.0.0.1", apiServiceIP, host.NodeIP} {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(ip))
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, &key.PublicKey, caKey)
	if err != nil {
		return err
	}
	return writePEM(filepath.Join(dir, "apiserver.crt"), "CERTIFICATE", der)
}

func certTemplate(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
	}
}

func newKey(dir, name string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(filepath.Join(dir, name+".key"), "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

func kubeconfig(pki, token string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: "https://%s:%s", certificate-authority: %q}}]
users: [{name: admin, user: {token: %q}}]
contexts: [{name: lab, context: {cluster: lab, user: admin}}]
current-context: lab
`, host.NodeIP, apiPort, filepath.Join(pki, "ca.crt"), token)
}
