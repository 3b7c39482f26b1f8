package apply

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"knative.dev/networking/pkg/apis/networking"

	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/resources"
)

// TestPreviewIsWhatIsWritten: with no clients it says what Sync and Prune do with them.
func TestPreviewIsWhatIsWritten(t *testing.T) {
	objects := []runtime.Object{
		vs("steady"), vs("edited", hosts("old.example.com")), vs("left-over"), vs("foreign", by("somebody")), vs("restored", uncontrolled),
		entry("named", []string{"hello.example.com"}), entry("nameless", []string{"gone.com"}),
	}
	set := resources.Set{
		VirtualServices: []*istiov1.VirtualService{vs("steady"), vs("edited"), vs("foreign"), vs("restored"), vs("new")},
		ServiceEntries:  []*istiov1.ServiceEntry{entry("named", []string{"old.example.com"}), entry("telling", []string{"hello.example.com"})},
		Asked:           model.Asked{Hosts: []string{"hello.example.com", "old.example.com"}},
	}
	caches := NewCaches()
	for _, o := range objects {
		if err := caches.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	changes, err := NewWriter(nil, nil, caches).Preview(owner, set)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Verb{}
	for _, c := range changes {
		got[c.Name] = c.Verb
		if (c.Have == nil) != (c.Verb == Create) || (c.Next == nil) != (c.Verb == Delete || c.Verb == Refuse) {
			t.Errorf("%+v", c)
		}
		if c.Verb == Update && c.Name == "edited" {
			if next := c.Next.(*istiov1.VirtualService); !cmp.Equal(next.Spec.Hosts, []string{"hello.example.com"}) {
				t.Error("not as it is in the end:", next.Spec.Hosts)
			}
		}
	}
	want := map[string]Verb{"edited": Update, "left-over": Delete, "foreign": Refuse, "restored": Update, "new": Create, "named": Update, "nameless": Delete, "telling": Create}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)", diff)
	}
	checkWritten(t, objects, set, want)
}

// checkWritten has the same done.
func checkWritten(t *testing.T, objects []runtime.Object, set resources.Set, want map[string]Verb) {
	t.Helper()
	ctx, w, c := newCluster(t, objects...)
	changes, err := w.Sync(ctx, owner, set)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Prune(ctx, owner, set); err != nil {
		// The caches here do not see what Sync created.
		t.Log(err)
	}
	done := map[string]Verb{}
	for _, ref := range changes.Refused {
		done[ref.Name] = Refuse
	}
	for _, write := range c.writes() {
		for verb, is := range map[string]Verb{"create": Create, "update": Update, "delete": Delete} {
			for _, kind := range []string{"virtualservices", "serviceentries"} {
				if name, ok := strings.CutPrefix(write, verb+" "+kind+" apps/"); ok {
					done[name] = is
				}
			}
		}
	}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Error("(-previewed +done)", diff)
	}
}

func TestPreviewTellsOfSourcesThatHaveGone(t *testing.T) {
	promised := resources.SecretCopy{Labels: map[string]string{}}
	promised.From.Namespace, promised.From.Name = "apps", "cert"
	promised.To.Namespace, promised.To.Name = "istio-system", "copy"
	caches := NewCaches()
	if err := caches.Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "istio-system", Name: "copy", Labels: map[string]string{
		networking.OriginSecretNamespaceLabelKey: "apps", resources.OwnerNamespaceLabel: "apps", resources.IngressLabel: "hello",
	}}}); err != nil {
		t.Fatal(err)
	}
	changes, err := NewWriter(nil, nil, caches).Preview(owner, resources.Set{Secrets: []resources.SecretCopy{promised}})
	if err == nil || len(changes) > 0 {
		t.Errorf("the copy stays, and it is told that it cannot be kept up: %v, %+v", err, changes)
	}
	if changes, err = NewWriter(nil, nil, caches).Preview(owner, resources.Set{}); err != nil || len(changes) != 1 || changes[0].Verb != Delete {
		t.Errorf("a copy that is not wanted goes: %v, %+v", err, changes)
	}
}

func TestCachesTakeKindsOfASetOnly(t *testing.T) {
	if err := NewCaches().Add(&corev1.Service{}); err == nil {
		t.Error("a Service is none")
	}
}
