//go:build lab

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/net-mesh/net-mesh/test/lab"
)

const copies = "networking.internal.knative.dev/originSecretNamespace=apps"

// One wildcard certificate serves two Ingresses: it has one copy and one Gateway, which stay while one of
// the two is there, follow a new certificate, and go with the last.
func TestWildcardCertificate(t *testing.T) {
	m := theMesh(t)
	asMode(t, "gateway")
	deployBackends(t, m)
	first := certificate(t, "*.apps.example.com")
	applyFor(t, m, secretOf("wildcard", first))
	for _, n := range []string{"wild-a", "wild-b"} {
		applyFor(t, m, ingressOf(n, "ExternalIP", n+".apps.example.com", "wildcard", "Enabled"))
	}
	for _, n := range []string{"wild-a", "wild-b"} {
		eventually(t, n+" to answer over TLS", func(ctx context.Context) error { return overTLS(ctx, m, n+".apps.example.com", publicTLS, first) })
	}
	if got := strings.Fields(kubectl(t, m, "", "get", "secrets", "-A", "-l", copies, "-o", "name")); len(got) != 1 {
		t.Errorf("copies of the certificate: %q, want one", got)
	}
	if got := gatewaysIn(t, m); len(got) != 1 {
		t.Errorf("Gateways in apps: %q, want one", got)
	}

	kubectl(t, m, "", "-n", "apps", "delete", "king", "wild-a", "--wait")
	for range 5 {
		if err := overTLS(t.Context(), m, "wild-b.apps.example.com", publicTLS, first); err != nil {
			t.Errorf("after the other Ingress went: %v", err)
		}
	}
	second := certificate(t, "*.apps.example.com")
	kubectl(t, m, secretOf("wildcard", second), "apply", "-f", "-")
	eventually(t, "the new certificate to be served", func(ctx context.Context) error { return overTLS(ctx, m, "wild-b.apps.example.com", publicTLS, second) })

	kubectl(t, m, "", "-n", "apps", "delete", "king", "wild-b", "--wait")
	if got := kubectl(t, m, "", "get", "secrets", "-A", "-l", copies, "-o", "name"); got != "" {
		t.Errorf("copies of the certificate are left: %s", got)
	}
	if got := gatewaysIn(t, m); len(got) != 0 {
		t.Errorf("Gateways are left: %q", got)
	}
}

// Cluster-local hosts with a certificate are served at the local gateway with TLS, and without as before.
func TestClusterLocalTLS(t *testing.T) {
	m := theMesh(t)
	asMode(t, "gateway")
	deployBackends(t, m)
	const host = "local-tls.apps.svc.cluster.local"
	cert := certificate(t, host)
	applyFor(t, m, secretOf("local", cert))
	applyFor(t, m, ingressOf("local-tls", "ClusterLocal", host, "local", "Redirected"))
	eventually(t, "the local gateway to answer over TLS", func(ctx context.Context) error { return overTLS(ctx, m, host, localService+":443", cert) })
	if err := overTLS(t.Context(), m, host, publicTLS, cert); err == nil {
		t.Error("the public gateway answers for a cluster-local host")
	}
	holds(t, m, "outside", []ask{get(fromA, localGateway+"/", "-H", "Host: "+host)})
}

// Two Ingresses claim one host: the older has it, the other is told so and takes over when the older goes.
func TestHostConflict(t *testing.T) {
	m := theMesh(t)
	asMode(t, "half-mesh")
	t.Cleanup(func() { _ = theLab(t).SetProfile(cleanup(), "gateway", false) })
	deployBackends(t, m)
	const host = "disputed.apps.example.com"
	applyFor(t, m, ingressOf("older", "ExternalIP", host, "", "Enabled"))
	asked := []ask{get(fromA, publicGateway+"/", "-H", "Host: "+host)}
	eventually(t, "the older to answer", func(ctx context.Context) error { return ready(ctx, m, "older", "True") })
	holds(t, m, "outside", asked)
	younger := strings.ReplaceAll(ingressOf("younger", "ExternalIP", host, "", "Enabled"), "backend-a", "backend-b")
	applyFor(t, m, younger)
	eventually(t, "the younger to be refused", func(ctx context.Context) error { return ready(ctx, m, "younger", "False") })
	said := kubectl(t, m, "", "-n", "apps", "get", "king", "younger", "-o", `jsonpath={.status.conditions[?(@.type=="NetworkConfigured")]}`)
	for _, want := range []string{"HostConflict", "apps/older", host} {
		if !strings.Contains(said, want) {
			t.Errorf("the younger says %s; want %s in it", said, want)
		}
	}
	holds(t, m, "outside", asked)
	kubectl(t, m, "", "-n", "apps", "delete", "king", "older", "--wait")
	eventually(t, "the younger to take over", func(ctx context.Context) error { return ready(ctx, m, "younger", "True") })
	holds(t, m, "outside", []ask{get(fromB, publicGateway+"/", "-H", "Host: "+host)})
}

func asMode(t *testing.T, mode string) {
	t.Helper()
	if err := theLab(t).SetProfile(t.Context(), mode, false); err != nil {
		t.Fatal(err)
	}
}

func ready(ctx context.Context, m lab.Mesh, ingress, want string) error {
	out, err := m.Kubectl(ctx, nil, "-n", "apps", "get", "king", ingress, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.conditions}`)
	if err == nil && !strings.HasPrefix(out, want+" ") {
		err = fmt.Errorf("Ready is %s", out)
	}
	return err
}

func gatewaysIn(t *testing.T, m lab.Mesh) []string {
	t.Helper()
	return strings.Fields(kubectl(t, m, "", "-n", "apps", "get", "gateways.networking.istio.io", "-o", "name"))
}

var publicTLS = strings.TrimPrefix(publicGateway, "http://") + ":443"

// overTLS calls a host at an address from outside the mesh, and believes nothing but the certificate.
func overTLS(ctx context.Context, m lab.Mesh, host, address string, cert pair) error {
	out, err := m.Kubectl(ctx, []byte(cert.cert), "-n", "outside", "exec", "-i", "deploy/caller", "-c", "caller", "--",
		"sh", "-c", `cat > /tmp/ca.pem && curl -sS -m 10 --cacert /tmp/ca.pem --connect-to "::$2" "https://$1/"`, "sh", host, address)
	if err == nil && !strings.Contains(out, fromA) {
		err = fmt.Errorf("it answers %q", out)
	}
	return err
}

type pair struct{ cert, key string }

// certificate makes one that is signed by itself.
func certificate(t *testing.T, names ...string) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "test"}, DNSNames: names, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		cert: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		key:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})),
	}
}

// secretOf is a certificate as Serving keeps it.
func secretOf(name string, p pair) string {
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	return fmt.Sprintf(`{apiVersion: v1, kind: Secret, type: kubernetes.io/tls, metadata: {name: %[1]s, namespace: apps,
  labels: {networking.internal.knative.dev/certificate-uid: %[1]s}}, data: {tls.crt: %[2]s, tls.key: %[3]s}}`, name, encode(p.cert), encode(p.key))
}

// ingressOf leads one host to backend-a, with a certificate unless secret is "".
func ingressOf(name, visibility, host, secret, option string) string {
	tls := ""
	if secret != "" {
		tls = fmt.Sprintf("tls: [{hosts: [%s], secretName: %s, secretNamespace: apps}], ", host, secret)
	}
	return fmt.Sprintf(`{apiVersion: networking.internal.knative.dev/v1alpha1, kind: Ingress, metadata: {name: %s, namespace: apps,
  annotations: {networking.knative.dev/ingress.class: istio.ingress.networking.knative.dev}}, spec: {httpOption: %s, %s
  rules: [{hosts: [%s], visibility: %s, http: {paths: [{splits: [{serviceName: backend-a, serviceNamespace: apps, servicePort: 80, percent: 100}]}]}}]}}`,
		name, option, tls, host, visibility)
}
