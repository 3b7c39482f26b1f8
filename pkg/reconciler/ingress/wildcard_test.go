package ingress

import (
	"context"
	"slices"
	"strings"
	"testing"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	fakenetworking "knative.dev/networking/pkg/client/injection/client/fake"
	fakekube "knative.dev/pkg/client/injection/kube/client/fake"

	fakeistio "github.com/net-mesh/net-mesh/pkg/client/fake"
)

// Names of the objects of Secret apps/cert at istio-ingressgateway.
const (
	wildcardCopy    = "apps--cert-wildcard"
	wildcardGateway = "wildcard-256b0f45"
)

// wild is the Ingress of the other tests under another name, with a wildcard certificate.
func wild(t *testing.T, name string) *v1alpha1.Ingress {
	t.Helper()
	ing := ingressOf(t, read(t, "ingress"))
	host := name + ".example.com"
	ing.Name, ing.UID = name, types.UID("uid-of-"+name)
	ing.Spec.Rules[0].Hosts, ing.Spec.Rules[1].Hosts = []string{host}, []string{name + ".apps.svc.cluster.local"}
	ing.Spec.TLS = []v1alpha1.IngressTLS{{Hosts: []string{host}, SecretName: "cert", SecretNamespace: "apps"}}
	return ing
}

// sharers are the Ingresses that the shared Gateway names as its owners; none if there is
// no such Gateway, or if the copy of the certificate names others.
func sharers(ctx context.Context) string {
	g, err := fakeistio.Get(ctx).NetworkingV1().Gateways("apps").Get(ctx, wildcardGateway, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	s, err := fakekube.Get(ctx).CoreV1().Secrets("istio-system").Get(ctx, wildcardCopy, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	var owners, users []string
	for _, o := range g.OwnerReferences {
		owners = append(owners, o.Name)
	}
	for key := range s.Labels {
		if name, ok := strings.CutPrefix(key, "user.net-mesh.dev/"); ok {
			users = append(users, name)
		}
	}
	slices.Sort(owners)
	slices.Sort(users)
	if !slices.Equal(owners, users) {
		return ""
	}
	return strings.Join(owners, " ")
}

// TestWildcardCertificateIsShared lives through the life of a certificate that two
// Ingresses share: both come, it is renewed, the first goes, the second, which no longer
// asks for TLS, and whoever comes after.
func TestWildcardCertificateIsShared(t *testing.T) {
	ctx := start(t, gateways, "gateways")
	secrets := fakekube.Get(ctx).CoreV1().Secrets("apps")
	cert := certificate(t, "*.example.com")
	if _, err := secrets.Create(ctx, cert, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	create(t, ctx, wild(t, "hello"))
	create(t, ctx, wild(t, "world"))
	eventually(t, "both are written down", func() bool { return sharers(ctx) == "hello world" && carried(ctx, wildcardCopy, cert) })
	eventually(t, "the shared listener is to be proven", func() bool {
		return strings.Contains(awaited(ctx), "a ready pod behind port 443 of Service istio-system/istio-ingressgateway, to serve hello.example.com at Gateway apps/"+wildcardGateway)
	})

	gatewaysOf := fakeistio.Get(ctx).NetworkingV1().Gateways("apps")
	if err := gatewaysOf.Delete(ctx, wildcardGateway, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a deleted Gateway comes back, for both", func() bool { return sharers(ctx) == "hello world" })
	leave(t, ctx, "world")
	eventually(t, "who was taken out writes itself down again", func() bool { return sharers(ctx) == "hello world" })

	renewed := certificate(t, "*.example.com")
	if _, err := secrets.Update(ctx, renewed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the copy is renewed", func() bool { return carried(ctx, wildcardCopy, renewed) })

	deleteIngress(t, ctx, "hello")
	eventually(t, "the second has it alone", func() bool { return sharers(ctx) == "world" && carried(ctx, wildcardCopy, renewed) })
	deleteIngress(t, ctx, "world")
	eventually(t, "it goes with the last", func() bool { return sharers(ctx) == "" && !carried(ctx, wildcardCopy, renewed) })
	create(t, ctx, wild(t, "late"))
	eventually(t, "who comes later has it anew", func() bool { return sharers(ctx) == "late" && carried(ctx, wildcardCopy, renewed) })
}

// leave takes an Ingress out of the copy of the certificate, as a person would by mistake.
func leave(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	copies := fakekube.Get(ctx).CoreV1().Secrets("istio-system")
	s, err := copies.Get(ctx, wildcardCopy, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	delete(s.Labels, "user.net-mesh.dev/"+name)
	if _, err := copies.Update(ctx, s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaited is what the condition of Ingress apps/hello says is waited for.
func awaited(ctx context.Context) string {
	ing, err := fakenetworking.Get(ctx).NetworkingV1alpha1().Ingresses("apps").Get(ctx, "hello", metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	c := ing.Status.GetCondition(v1alpha1.IngressConditionLoadBalancerReady)
	if c == nil {
		return ""
	}
	return c.Message
}

// TestForeignWildcardObjects: what somebody else has under our names is left alone, named,
// and taken over when it has gone.
func TestForeignWildcardObjects(t *testing.T) {
	ctx := start(t, gateways, "gateways")
	cert := certificate(t, "*.example.com")
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "istio-system", Name: wildcardCopy}, Data: map[string][]byte{corev1.TLSCertKey: []byte("theirs")}}
	for _, s := range []*corev1.Secret{cert, theirs} {
		if _, err := fakekube.Get(ctx).CoreV1().Secrets(s.Namespace).Create(ctx, s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	foreign := &istiov1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: wildcardGateway}}
	create(t, ctx, foreign)
	create(t, ctx, wild(t, "hello"))
	eventually(t, "they are named", func() bool { return condition(ctx, "Ready") == "False NotOwned" })
	if sharers(ctx) != "" || carried(ctx, wildcardCopy, cert) {
		t.Error("they are not left alone")
	}
	if err := fakeistio.Get(ctx).NetworkingV1().Gateways("apps").Delete(ctx, wildcardGateway, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := fakekube.Get(ctx).CoreV1().Secrets("istio-system").Delete(ctx, wildcardCopy, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "once they have gone ours are written", func() bool { return sharers(ctx) == "hello" && carried(ctx, wildcardCopy, cert) })
}
