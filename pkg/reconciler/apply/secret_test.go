package apply

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrs "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"knative.dev/networking/pkg/apis/networking"

	"github.com/net-mesh/net-mesh/pkg/resources"
)

const copied = "hello-8d1b1e2a-0000-4000-8000-000000000001"

var (
	origin = map[string]string{
		networking.OriginSecretNameLabelKey:      "cert",
		networking.OriginSecretNamespaceLabelKey: "apps",
	}
	ours = map[string]string{
		networking.OriginSecretNameLabelKey:      "cert",
		networking.OriginSecretNamespaceLabelKey: "apps",
		resources.IngressLabel:                   "hello",
		resources.OwnerNamespaceLabel:            "apps",
	}
	another = map[string]string{
		networking.OriginSecretNameLabelKey:      "cert",
		networking.OriginSecretNamespaceLabelKey: "apps",
		resources.IngressLabel:                   "hello",
		resources.OwnerNamespaceLabel:            "elsewhere",
	}
	promise = resources.SecretCopy{
		From: types.NamespacedName{Namespace: "apps", Name: "cert"}, To: types.NamespacedName{Namespace: "gw", Name: copied},
		Labels: ours,
	}
)

func secret(namespace, name, key string, labels map[string]string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: []byte("c"), corev1.TLSPrivateKeyKey: []byte(key)},
	}
}

// TestSecretCopies states when the bytes of a Secret reach a gateway's namespace.
func TestSecretCopies(t *testing.T) {
	source := secret("apps", "cert", "new", nil)
	for _, row := range []struct {
		name    string
		have    runtime.Object
		writes  []string
		refused []string
		key     string
	}{
		{name: "create", writes: []string{"create secrets gw/" + copied}, key: "new"},
		{name: "steady", have: secret("gw", copied, "new", ours), key: "new"},
		{name: "rotated", have: secret("gw", copied, "old", ours), writes: []string{"update secrets gw/" + copied}, key: "new"},
		{name: "adopt net-istio's", have: secret("gw", copied, "new", origin), writes: []string{"update secrets gw/" + copied}, key: "new"},
		{name: "refuse an unlabelled one", have: secret("gw", copied, "theirs", nil), refused: []string{copied}, key: "theirs"},
		{name: "refuse one of another Ingress", have: secret("gw", copied, "theirs", another), refused: []string{copied}, key: "theirs"},
	} {
		t.Run(row.name, func(t *testing.T) {
			have := []runtime.Object{source}
			if row.have != nil {
				have = append(have, row.have)
			}
			ctx, w, c := newCluster(t, have...)
			changes, err := w.Sync(ctx, owner, resources.Set{Secrets: []resources.SecretCopy{promise}})
			if err != nil {
				t.Fatal(err)
			}
			same(t, "writes", row.writes, c.writes())
			same(t, "refused", row.refused, names(changes.Refused))
			got, err := c.kube.CoreV1().Secrets("gw").Get(ctx, copied, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Data[corev1.TLSPrivateKeyKey]) != row.key || got.Type != corev1.SecretTypeTLS {
				t.Errorf("got key %q of type %s, want %q", got.Data[corev1.TLSPrivateKeyKey], got.Type, row.key)
			}
			if len(got.OwnerReferences) != 0 {
				t.Error("an owner reference across namespaces would have the copy collected")
			}
		})
	}
}

// TestHolderOf states whose copy a Secret is.
func TestHolderOf(t *testing.T) {
	for _, row := range []struct {
		name   string
		secret *corev1.Secret
		want   []string
	}{
		{"ours", secret("gw", "any", "k", another), []string{"elsewhere/hello"}},
		{"net-istio's", secret("gw", copied, "k", origin), []string{"apps/hello"}},
		{"net-istio's of a wildcard, which many Ingresses share", secret("gw", "apps--cert-wildcard", "k", origin), nil},
		{"not a copy", secret("gw", copied, "k", nil), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := holderOf(row.secret)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "holder", row.want, got)
		})
	}
}

// TestFinalizeCopies states what becomes of Secrets that are labelled as copies of the owner
// when it goes: attacker is a namespace that may not be written.
func TestFinalizeCopies(t *testing.T) {
	for _, row := range []struct {
		name   string
		cached []runtime.Object
		api    []runtime.Object // not in the cache
		writes []string
		events []string // parts of each
		err    string
	}{
		{name: "copies go", cached: []runtime.Object{secret("gw", copied, "k", ours), secret("old", copied, "k", origin)},
			writes: []string{"delete secrets gw/" + copied, "delete secrets old/" + copied}, events: []string{"Secret gw/", "Secret old/"}},
		{name: "a copy of which the cache has not heard goes", api: []runtime.Object{secret("gw", copied, "k", ours)},
			writes: []string{"delete secrets gw/" + copied}, events: []string{"Secret gw/"}},
		{name: "others in the API stay", api: []runtime.Object{
			secret("gw", copied, "k", another), secret("gw", "of-nothing", "k", map[string]string{resources.IngressLabel: "hello", resources.OwnerNamespaceLabel: "apps"}),
		}},
		{name: "Secrets dressed as copies hold nobody, however many", cached: []runtime.Object{
			secret("attacker", copied, "k", origin), secret("attacker", "one", "k", ours), secret("gw", copied, "k", ours), secret("attacker", "two", "k", ours),
		}, writes: []string{"delete secrets attacker/" + copied, "delete secrets gw/" + copied},
			events: []string{"Warning Rejected Secret attacker/" + copied + " is labelled as a copy", "Secret gw/"}},
		{name: "nor do such that the cache has not heard of", api: []runtime.Object{secret("attacker", "one", "k", ours)},
			writes: []string{"delete secrets attacker/one"}, events: []string{"remove its label networking.internal.knative.dev/originSecretNamespace"}},
		{name: "a failure is tried again", cached: []runtime.Object{secret("broken", copied, "k", ours)},
			writes: []string{"delete secrets broken/" + copied}, err: "cannot delete Secret broken/" + copied + ": no answer"},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx, w, c := newCluster(t, row.cached...)
			for _, o := range row.api {
				if err := c.kube.Tracker().Add(o); err != nil {
					t.Fatal(err)
				}
			}
			c.kube.PrependReactor("delete", "secrets", refuseDeletion)
			err := w.Finalize(ctx, owner)
			if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
				t.Errorf("error %v, want %q", err, row.err)
			}
			same(t, "writes", row.writes, c.writes())
			close(c.events.Events)
			var events []string
			for e := range c.events.Events {
				events = append(events, e)
			}
			if len(events) != len(row.events) {
				t.Fatalf("events %q, want %q", events, row.events)
			}
			for i, part := range row.events {
				if !strings.Contains(events[i], part) {
					t.Errorf("event %q lacks %q", events[i], part)
				}
			}
		})
	}
}

func refuseDeletion(a clienttesting.Action) (bool, runtime.Object, error) {
	switch a.GetNamespace() {
	case "attacker":
		return true, nil, apierrs.NewForbidden(corev1.Resource("secrets"), "", errors.New("no right"))
	case "broken":
		return true, nil, errors.New("no answer")
	}
	return false, nil, nil
}
