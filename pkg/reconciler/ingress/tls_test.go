package ingress

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	fakenetworking "knative.dev/networking/pkg/client/injection/client/fake"
	fakekube "knative.dev/pkg/client/injection/kube/client/fake"

	fakeistio "github.com/net-mesh/net-mesh/pkg/client/fake"
)

// certificate is a Secret as cert-manager leaves it, with another key each time.
func certificate(t *testing.T, names ...string) *corev1.Secret {
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
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "cert", UID: "8d1b1e2a-0000-4000-8000-000000000001"},
		Type:       corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
			corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
		},
	}
}

// TestCertificateFollowsItsSource lives through the life of a certificate: it comes late, is
// carried to the gateway, repaired there, renewed, and taken away.
func TestCertificateFollowsItsSource(t *testing.T) {
	ctx := start(t, gateways, "gateways")
	ing := ingressOf(t, read(t, "ingress"))
	ing.Spec.TLS = []v1alpha1.IngressTLS{{Hosts: []string{"hello.example.com"}, SecretName: "cert", SecretNamespace: "apps"}}
	create(t, ctx, ing)
	eventually(t, "the missing Secret is reported", func() bool { return condition(ctx, "Ready") == "Unknown SecretMissing" })

	secrets := fakekube.Get(ctx).CoreV1().Secrets("apps")
	cert := certificate(t, "hello.example.com")
	if _, err := secrets.Create(ctx, cert, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the certificate is carried to the gateway", func() bool { return carried(ctx, copyOf(cert), cert) })
	eventually(t, "the gateway's pods are told to end TLS", func() bool {
		list, err := fakeistio.Get(ctx).NetworkingV1().Gateways("apps").List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 1 && list.Items[0].Spec.Servers[0].Tls.CredentialName == copyOf(cert)
	})
	copies := fakekube.Get(ctx).CoreV1().Secrets("istio-system")
	if err := copies.Delete(ctx, copyOf(cert), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a deleted copy comes back", func() bool { return carried(ctx, copyOf(cert), cert) })

	renewed := certificate(t, "hello.example.com")
	if _, err := secrets.Update(ctx, renewed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the copy is renewed", func() bool { return carried(ctx, copyOf(renewed), renewed) })

	deleteIngress(t, ctx, "hello")
	eventually(t, "the copy goes with the Ingress", func() bool { return !carried(ctx, copyOf(renewed), renewed) })
}

func copyOf(cert *corev1.Secret) string { return "hello-" + string(cert.UID) }

// carried says whether the gateway's pods find the certificate under a name.
func carried(ctx context.Context, name string, cert *corev1.Secret) bool {
	have, err := fakekube.Get(ctx).CoreV1().Secrets("istio-system").Get(ctx, name, metav1.GetOptions{})
	return err == nil && bytes.Equal(have.Data[corev1.TLSPrivateKeyKey], cert.Data[corev1.TLSPrivateKeyKey])
}

// deleteIngress marks the Ingress as the API server does while a finalizer holds it.
func deleteIngress(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	ingresses := fakenetworking.Get(ctx).NetworkingV1alpha1().Ingresses("apps")
	ing, err := ingresses.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now := metav1.Now()
	ing.DeletionTimestamp = &now
	if _, err := ingresses.Update(ctx, ing, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
