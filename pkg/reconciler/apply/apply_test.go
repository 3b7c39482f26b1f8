package apply

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	fakeistio "istio.io/client-go/pkg/clientset/versioned/fake"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/kmeta"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/resources"
)

var owner = &v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "hello", UID: "uid-of-hello"}}

// cluster is an API and caches that agree.
type cluster struct {
	kube   *fake.Clientset
	istio  *fakeistio.Clientset
	caches Caches
	events *record.FakeRecorder
}

func newCluster(t *testing.T, objects ...runtime.Object) (context.Context, *Writer, *cluster) {
	t.Helper()
	index := func(owner, user cache.IndexFunc) cache.Indexer {
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{ownerIndex: owner, userIndex: user})
	}
	c := &cluster{kube: fake.NewSimpleClientset(), istio: fakeistio.NewSimpleClientset(), events: record.NewFakeRecorder(50)}
	c.caches = Caches{
		Secrets: index(holderOf, secretUsers), Gateways: index(controllerOf, gatewayUsers),
		DestinationRules: index(controllerOf, nobody), VirtualServices: index(controllerOf, nobody),
		ServiceEntries: index(controllerOf, nobody),
	}
	for _, o := range objects {
		var err error
		switch o.(type) {
		case *corev1.Secret:
			_ = c.caches.Secrets.Add(o)
			err = c.kube.Tracker().Add(o)
		case *istiov1.VirtualService:
			_ = c.caches.VirtualServices.Add(o)
			err = c.istio.Tracker().Add(o)
		case *istiov1.Gateway:
			_ = c.caches.Gateways.Add(o)
			err = c.istio.Tracker().Create(istiov1.SchemeGroupVersion.WithResource("gateways"), o, "apps")
		case *istiov1.DestinationRule:
			_ = c.caches.DestinationRules.Add(o)
			err = c.istio.Tracker().Add(o)
		case *istiov1.ServiceEntry:
			_ = c.caches.ServiceEntries.Add(o)
			err = c.istio.Tracker().Add(o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return controller.WithEventRecorder(t.Context(), c.events), NewWriter(c.kube, c.istio, c.caches), c
}

func nobody(any) ([]string, error) { return nil, nil }

// writes lists what reached the API, as "verb resource namespace/name".
func (c *cluster) writes() []string {
	var out []string
	for _, a := range append(c.kube.Actions(), c.istio.Actions()...) {
		if a.GetVerb() == "list" {
			continue
		}
		name := ""
		switch a := a.(type) {
		case clienttesting.CreateAction: // updates are of this form too
			name = a.GetObject().(metav1.Object).GetName()
		case clienttesting.DeleteAction:
			name = a.GetName()
		}
		out = append(out, a.GetVerb()+" "+a.GetResource().Resource+" "+a.GetNamespace()+"/"+name)
	}
	slices.Sort(out)
	return out
}

func (c *cluster) virtualService(t *testing.T, name string) *istiov1.VirtualService {
	t.Helper()
	v, err := c.istio.NetworkingV1().VirtualServices("apps").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

type change func(*istiov1.VirtualService)

func vs(name string, changes ...change) *istiov1.VirtualService {
	v := &istiov1.VirtualService{ObjectMeta: metav1.ObjectMeta{
		Namespace: "apps", Name: name, Labels: map[string]string{resources.IngressLabel: "hello"},
		OwnerReferences: []metav1.OwnerReference{*kmeta.NewControllerRef(owner)},
	}}
	v.Spec.Hosts, v.Spec.Gateways = []string{"hello.example.com"}, []string{"ns/gateway"}
	for _, c := range changes {
		c(v)
	}
	return v
}

func hosts(h ...string) change               { return func(v *istiov1.VirtualService) { v.Spec.Hosts = h } }
func gateways(g ...string) change            { return func(v *istiov1.VirtualService) { v.Spec.Gateways = g } }
func uncontrolled(v *istiov1.VirtualService) { v.OwnerReferences = nil }
func unlabelled(v *istiov1.VirtualService)   { v.Labels = nil }
func by(uid types.UID) change {
	return func(v *istiov1.VirtualService) { v.OwnerReferences[0].UID = uid }
}
func label(k, value string) change {
	return func(v *istiov1.VirtualService) { v.Labels[k] = value }
}
func asNetIstio(v *istiov1.VirtualService) {
	v.Spec.Http = []*v1alpha3.HTTPRoute{{Match: []*v1alpha3.HTTPMatchRequest{{Gateways: []string{"ns/gateway"}}}}}
}

// asks are the hosts that are asked for unless a test says otherwise.
var asks = model.Asked{Hosts: []string{"hello.example.com", "x.com"}, TLS: []string{"a.com", "b.com"}}

// TestSync states what each state of the world makes Sync do.
func TestSync(t *testing.T) {
	for _, row := range []struct {
		name          string
		have          []runtime.Object
		want          []*istiov1.VirtualService
		writes        []string
		refused       []string
		stale         []string
		hosts, access []string // of the first wanted object, afterwards
	}{
		{name: "create", want: []*istiov1.VirtualService{vs("a")}, writes: []string{"create virtualservices apps/a"}},
		{name: "create makes the owner the controller", want: []*istiov1.VirtualService{vs("a", uncontrolled)}, writes: []string{"create virtualservices apps/a"}},
		{name: "steady", have: []runtime.Object{vs("a")}, want: []*istiov1.VirtualService{vs("a")}},
		{name: "steady beside others' labels", have: []runtime.Object{vs("a", label("theirs", "x"))}, want: []*istiov1.VirtualService{vs("a")}},
		{name: "content drifted", have: []runtime.Object{vs("a", asNetIstio)}, want: []*istiov1.VirtualService{vs("a")}, writes: []string{"update virtualservices apps/a"}},
		{name: "label drifted", have: []runtime.Object{vs("a", label(resources.IngressLabel, "x"))}, want: []*istiov1.VirtualService{vs("a")}, writes: []string{"update virtualservices apps/a"}},
		{name: "refuse another owner's", have: []runtime.Object{vs("a", by("another"))}, want: []*istiov1.VirtualService{vs("a")}, refused: []string{"a"}},
		{name: "refuse a stranger's", have: []runtime.Object{vs("a", uncontrolled, unlabelled)}, want: []*istiov1.VirtualService{vs("a")}, refused: []string{"a"}},
		{name: "adopt what is labelled for us and controlled by nobody", have: []runtime.Object{vs("a", uncontrolled)}, want: []*istiov1.VirtualService{vs("a")}, writes: []string{"update virtualservices apps/a"}},
		{name: "keep what is no longer wanted", have: []runtime.Object{vs("old", gateways("ns/old"))}, want: []*istiov1.VirtualService{vs("a")}, writes: []string{"create virtualservices apps/a"}, stale: []string{"old"}},
		{name: "delete what would fight with what is wanted", have: []runtime.Object{vs("old")}, want: []*istiov1.VirtualService{vs("a")},
			writes: []string{"create virtualservices apps/a", "delete virtualservices apps/old"}},
		{name: "keep old gateways", have: []runtime.Object{vs("a", gateways("ns/old"))}, want: []*istiov1.VirtualService{vs("a")},
			writes: []string{"update virtualservices apps/a"}, access: []string{"ns/gateway", "ns/old"}},
		{name: "keep old hosts", have: []runtime.Object{vs("a", hosts("x.com"))}, want: []*istiov1.VirtualService{vs("a")},
			writes: []string{"update virtualservices apps/a"}, hosts: []string{"hello.example.com", "x.com"}},
		{name: "what was kept is steady", have: []runtime.Object{vs("a", gateways("ns/gateway", "ns/old"))}, want: []*istiov1.VirtualService{vs("a")}},
		{name: "do not keep a host that moves", have: []runtime.Object{vs("a", hosts("x.com"))},
			want:   []*istiov1.VirtualService{vs("a"), vs("b", hosts("x.com"), gateways("mesh"))},
			writes: []string{"create virtualservices apps/b", "update virtualservices apps/a"}, hosts: []string{"hello.example.com"}},
		{name: "do not keep a host that is not asked for", have: []runtime.Object{vs("a", hosts("gone.com", "x.com"))}, want: []*istiov1.VirtualService{vs("a")},
			writes: []string{"update virtualservices apps/a"}, hosts: []string{"hello.example.com", "x.com"}},
		{name: "keep a delegate that is no longer wanted", have: []runtime.Object{vs("old", hosts(), gateways())}, want: []*istiov1.VirtualService{vs("a")},
			writes: []string{"create virtualservices apps/a"}, stale: []string{"old"}},
		{name: "a delegate that is wanted stands in nobody's way", have: []runtime.Object{vs("a", gateways("mesh")), vs("old", gateways("ns/old"))},
			want:  []*istiov1.VirtualService{vs("a", gateways("ns/gateway")), vs("d", hosts(), gateways())},
			stale: []string{"old"}, writes: []string{"create virtualservices apps/d", "update virtualservices apps/a"}, access: []string{"ns/gateway", "mesh"}},
		{name: "do not keep hosts of net-istio", have: []runtime.Object{vs("a", hosts("x.com"), asNetIstio)}, want: []*istiov1.VirtualService{vs("a")},
			writes: []string{"update virtualservices apps/a"}, hosts: []string{"hello.example.com"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx, w, c := newCluster(t, row.have...)
			changes, err := w.Sync(ctx, owner, resources.Set{VirtualServices: row.want, Asked: asks})
			if err != nil {
				t.Fatal(err)
			}
			same(t, "writes", row.writes, c.writes())
			same(t, "refused", row.refused, names(changes.Refused))
			same(t, "stale", row.stale, names(changes.Stale))
			got := c.virtualService(t, row.want[0].Name)
			if row.hosts != nil {
				same(t, "hosts", row.hosts, got.Spec.Hosts)
			}
			if row.access != nil {
				same(t, "gateways", row.access, got.Spec.Gateways)
			}
			if len(row.refused) == 0 && !metav1.IsControlledBy(got, owner) {
				t.Error("the owner is not the controller")
			}
		})
	}
}

func TestUpdateKeepsWhatOthersWrote(t *testing.T) {
	have := vs("a", label("theirs", "x"), asNetIstio)
	have.Annotations, have.Finalizers = map[string]string{"theirs": "y"}, []string{"z"}
	ctx, w, c := newCluster(t, have)
	if _, err := w.Sync(ctx, owner, resources.Set{VirtualServices: []*istiov1.VirtualService{vs("a")}}); err != nil {
		t.Fatal(err)
	}
	got := c.virtualService(t, "a")
	if got.Labels["theirs"] != "x" || got.Annotations["theirs"] != "y" || len(got.Finalizers) != 1 || len(got.Spec.Http) != 0 {
		t.Errorf("got %v, want the content replaced and the rest kept", got)
	}
}

func TestPrune(t *testing.T) {
	rule := &istiov1.DestinationRule{ObjectMeta: vs("rule").ObjectMeta}
	ctx, w, c := newCluster(t, vs("a", gateways("ns/gateway", "ns/old")), vs("old"), vs("other", by("another")), rule)
	set := resources.Set{VirtualServices: []*istiov1.VirtualService{vs("a")}}
	if err := w.Prune(ctx, owner, set); err != nil {
		t.Fatal(err)
	}
	same(t, "writes", []string{"delete destinationrules apps/rule", "delete virtualservices apps/old", "update virtualservices apps/a"}, c.writes())
	same(t, "gateways", []string{"ns/gateway"}, c.virtualService(t, "a").Spec.Gateways)
}

func TestOneFailureDoesNotStopTheRest(t *testing.T) {
	ctx, w, c := newCluster(t)
	missing := resources.SecretCopy{From: types.NamespacedName{Namespace: "apps", Name: "gone"}, To: types.NamespacedName{Namespace: "gw", Name: "copy"}}
	_, err := w.Sync(ctx, owner, resources.Set{Secrets: []resources.SecretCopy{missing}, VirtualServices: []*istiov1.VirtualService{vs("a")}})
	if err == nil || !strings.Contains(err.Error(), "cannot copy Secret apps/gone to gw/copy") {
		t.Errorf("got error %v, want one that names both Secrets", err)
	}
	same(t, "writes", []string{"create virtualservices apps/a"}, c.writes())
}

func names(refs []finding.Ref) []string {
	var out []string
	for _, r := range refs {
		out = append(out, r.Name)
	}
	return out
}

func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
