package ingress

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	fakeistio "github.com/net-mesh/net-mesh/pkg/client/fake"
)

// TestWhomVirtualServicesWake states whom a change of a VirtualService concerns.
func TestWhomVirtualServicesWake(t *testing.T) {
	hello, shop := types.NamespacedName{Namespace: "apps", Name: "hello"}, types.NamespacedName{Namespace: "shop", Name: "shop"}
	for _, tt := range []struct {
		name   string
		change func(*istiov1.VirtualService)
		want   []string
	}{
		{"nothing of interest", func(vs *istiov1.VirtualService) { vs.Annotations = map[string]string{"a": "b"} }, nil},
		{"its routes", func(vs *istiov1.VirtualService) { vs.Spec.ExportTo = []string{"."} }, []string{"hello"}},
		{"a host comes", func(vs *istiov1.VirtualService) { vs.Spec.Hosts = append(vs.Spec.Hosts, "Shop.example.com") }, []string{"hello", "shop"}},
		{"a host goes", func(vs *istiov1.VirtualService) { vs.Spec.Hosts = []string{"other.example.com"} }, []string{"hello"}},
		{"it leaves the mesh", func(vs *istiov1.VirtualService) { vs.Spec.Gateways = []string{"team/gateway"} }, []string{"hello"}},
		{"it is another one", func(vs *istiov1.VirtualService) { vs.UID = "other" }, []string{"hello"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMeshHosts()
			m.look(hello, []string{"hello.apps"})
			m.look(shop, []string{"shop.example.com"})
			before := foreign("team", "theirs", "hello.apps.svc.cluster.local")
			after := before.DeepCopy()
			tt.change(after)
			if diff := cmp.Diff(tt.want, wokenBy(m, func(h cache.ResourceEventHandler) { h.OnUpdate(before, after) })); diff != "" {
				t.Error("(-want +got)", diff)
			}
		})
	}
}

func TestMeshHostsForget(t *testing.T) {
	m, hello := newMeshHosts(), types.NamespacedName{Namespace: "apps", Name: "hello"}
	theirs := foreign("apps", "theirs", "hello")
	for i, step := range []struct {
		keys []string
		anew bool
		want []string
	}{
		{[]string{"a.b", "hello.apps"}, true, []string{"hello"}},
		{[]string{"a.b", "hello.apps"}, false, []string{"hello"}},
		{[]string{"a.b"}, true, nil},
		{[]string{"hello.apps"}, true, []string{"hello"}},
		{nil, true, nil},
		{nil, false, nil},
	} {
		if anew := m.look(hello, step.keys); anew != step.anew {
			t.Errorf("step %d: keys are anew: %v", i, anew)
		}
		for name, event := range map[string]func(cache.ResourceEventHandler){
			"created":             func(h cache.ResourceEventHandler) { h.OnAdd(theirs, false) },
			"deleted":             func(h cache.ResourceEventHandler) { h.OnDelete(theirs) },
			"deleted out of view": func(h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{Obj: theirs}) },
		} {
			if diff := cmp.Diff(step.want, wokenBy(m, event)); diff != "" {
				t.Errorf("step %d, %s: (-want +got) %s", i, name, diff)
			}
		}
	}
	if len(m.by)+len(m.keys) > 0 {
		t.Error("what nobody looks for is kept:", m.by, m.keys)
	}
	m.look(hello, []string{"hello.apps"})
	own := foreign("apps", "hello-mesh", "hello.apps.svc.cluster.local")
	yes := true
	own.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Ingress", Name: "hello", Controller: &yes}}
	if got := wokenBy(m, func(h cache.ResourceEventHandler) { h.OnAdd(own, false) }); len(got) > 0 {
		t.Error("an Ingress is woken by its own:", got)
	}
}

func wokenBy(m *meshHosts, event func(cache.ResourceEventHandler)) []string {
	var names []string
	event(m.handler(func(ing types.NamespacedName) { names = append(names, ing.Name) }))
	slices.Sort(names)
	return names
}

func foreign(namespace, name string, hosts ...string) *istiov1.VirtualService {
	vs := &istiov1.VirtualService{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}}
	vs.Spec.Hosts = hosts
	return vs
}

// TestNameChangesHands lives through what KServe does with an InferenceService's name: its
// VirtualService comes, has the full name, keeps a public host without a route, and goes.
func TestNameChangesHands(t *testing.T) {
	ctx := start(t, map[string]string{"external-gateways": "[]", "local-gateways": "[]"}, "isvc")
	all := fakeistio.Get(ctx).NetworkingV1().VirtualServices("apps")
	hosts := func() string {
		list, err := all.List(ctx, metav1.ListOptions{LabelSelector: "networking.internal.knative.dev/ingress=iris-predictor"})
		if err != nil {
			t.Fatal(err)
		}
		for _, vs := range list.Items {
			if slices.Contains(vs.Spec.Hosts, "iris.apps") {
				return fmt.Sprint(vs.Spec.Hosts)
			}
		}
		return ""
	}
	reached := func(want string) func() bool { return func() bool { return hosts() == want } }
	const whole = "[iris.apps iris.apps.svc iris.apps.svc.cluster.local]"
	eventually(t, "the whole name to be served", reached(whole))
	kserves := read(t, "isvc-virtualservice")[0].(*istiov1.VirtualService)
	if _, err := all.Create(ctx, kserves, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the full name to be left to KServe, and its public host to be served", reached("[iris.apps iris.apps.example.com iris.apps.svc]"))
	if err := all.Delete(ctx, kserves.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the whole name to be served again", reached(whole))
}
