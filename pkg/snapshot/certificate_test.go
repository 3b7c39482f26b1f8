package snapshot_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// TestNamesOfCertificatesAreLowerCase, as hosts are, however they are written: a wildcard in capitals
// would fit no host, and Istio would refuse it as one of a Gateway.
func TestNamesOfCertificatesAreLowerCase(t *testing.T) {
	b, err := snapshot.ReadBundleStrictly([]byte(`
apiVersion: networking.internal.knative.dev/v1alpha1
kind: Ingress
metadata: {name: ing, namespace: ns}
spec:
  tls: [{hosts: [a.wild.example.com], secretName: cert}]
---
apiVersion: v1
kind: Secret
metadata: {name: cert, namespace: ns}
data: {tls.crt: ` + base64.StdEncoding.EncodeToString(signed(t, "*.Wild.Example.COM", "*.wild.example.com", "WILD.example.com", "shop.example.com")) + `}
`))
	if err != nil {
		t.Fatal(err)
	}
	certificates := snapshot.Ingress(b, config.Config{ClusterDomain: "cluster.local"}, b.Ingresses[0]).World.Certificates
	if want := []string{"*.wild.example.com", "shop.example.com", "wild.example.com"}; len(certificates) != 1 || !cmp.Equal(certificates[0].Names, want) {
		t.Errorf("got %+v, want one for %v", certificates, want)
	}
}

// signed is a certificate for names.
func signed(t *testing.T, names ...string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: names}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
