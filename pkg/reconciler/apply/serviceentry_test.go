package apply

import (
	"errors"
	"testing"

	"istio.io/api/meta/v1alpha1"
	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/resources"
)

// entry has the metadata of a VirtualService that is changed so.
func entry(name string, hosts []string, changes ...change) *istiov1.ServiceEntry {
	e := &istiov1.ServiceEntry{ObjectMeta: vs(name, changes...).ObjectMeta}
	e.Spec.Hosts, e.Spec.Resolution = hosts, v1alpha3.ServiceEntry_STATIC
	return e
}

// TestServiceEntries states what becomes of them until a new way is proven, and after.
func TestServiceEntries(t *testing.T) {
	asked, gone := []string{"x.com"}, []string{"gone.com"}
	lost := []plan.Yield{{Hosts: asked, Kind: plan.Mesh, Entries: []plan.Entry{plan.MeshEntry}}}
	elsewhere := []plan.Yield{{Hosts: asked, Kind: plan.Ingress, Entries: []plan.Entry{"ns/gateway"}}}
	for _, row := range []struct {
		name         string
		have, want   *istiov1.ServiceEntry
		yields       []plan.Yield
		synced       []string
		pruned       []string // further writes
		refuses      bool
		left         []string // hosts between the two
		wroteNothing bool     // that has to be proven
	}{
		{name: "create", want: entry("n", asked, uncontrolled), synced: []string{"create serviceentries apps/n"}},
		{name: "steady", have: entry("n", asked), want: entry("n", asked), left: asked, wroteNothing: true},
		{name: "drifted", have: entry("n", gone), want: entry("n", asked), synced: []string{"update serviceentries apps/n"}, left: asked},
		{name: "adopt what nobody controls", have: entry("n", asked, uncontrolled), want: entry("n", asked), synced: []string{"update serviceentries apps/n"}, left: asked},
		{name: "refuse a stranger's", have: entry("n", gone, uncontrolled, unlabelled), want: entry("n", asked), refuses: true, left: gone, wroteNothing: true},
		{name: "what is no longer wanted goes last", have: entry("n", asked), pruned: []string{"delete serviceentries apps/n"}, left: asked, wroteNothing: true},
		{name: "what is no longer asked for goes first", have: entry("n", gone), synced: []string{"delete serviceentries apps/n"}, wroteNothing: true},
		{name: "and nothing beside it", have: entry("n", []string{"gone.com", "x.com"}), synced: []string{"update serviceentries apps/n"}, pruned: []string{"delete serviceentries apps/n"}, left: asked, wroteNothing: true},
		{name: "what another owner has in the mesh goes first", have: entry("n", asked), yields: lost, synced: []string{"delete serviceentries apps/n"}, wroteNothing: true},
		{name: "what another owner has elsewhere does not", have: entry("n", asked), yields: elsewhere, pruned: []string{"delete serviceentries apps/n"}, left: asked, wroteNothing: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			var objects []runtime.Object
			if row.have != nil {
				objects = append(objects, row.have)
			}
			set := resources.Set{Asked: asks, Yields: row.yields}
			if row.want != nil {
				set.ServiceEntries = append(set.ServiceEntries, row.want)
			}
			ctx, w, c := newCluster(t, objects...)
			changes, err := w.Sync(ctx, owner, set)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "writes of Sync", row.synced, c.writes())
			if (len(changes.Refused) > 0) != row.refuses || changes.Wrote() == row.wroteNothing || changes.Leaves() != (len(row.pruned) > 0) {
				t.Errorf("changes %+v", changes)
			}
			got, err := c.istio.NetworkingV1().ServiceEntries("apps").Get(ctx, "n", metav1.GetOptions{})
			if err == nil && row.left != nil {
				same(t, "hosts", row.left, got.Spec.Hosts)
				_ = c.caches.ServiceEntries.Update(got)
			}
			if row.want == nil && len(row.pruned) == 0 {
				return
			}
			c.istio.ClearActions()
			if row.want != nil && row.have == nil {
				return // the cache here does not see what was created
			}
			if err := w.Prune(ctx, owner, set); err != nil {
				t.Fatal(err)
			}
			same(t, "writes of Prune", row.pruned, c.writes())
		})
	}
}

// TestServiceEntriesNeverStandAlone: a sidecar that knows one without the VirtualService of its hosts
// answers 503. So its hosts come after that and go before, also where both objects stay.
func TestServiceEntriesNeverStandAlone(t *testing.T) {
	const kept, gone = "x.com", "gone.com"
	both, mesh := []string{gone, kept}, gateways(meshGateway)
	sync := func(w *Writer, set resources.Set) error { _, err := w.Sync(t.Context(), owner, set); return err }
	prune := func(w *Writer, set resources.Set) error { return w.Prune(t.Context(), owner, set) }
	for _, row := range []struct {
		name       string
		have       []runtime.Object
		does       func(*Writer, resources.Set) error
		routes     []*istiov1.VirtualService
		names      []*istiov1.ServiceEntry
		want       []string
		unwritable string
	}{
		{name: "made", does: sync, routes: []*istiov1.VirtualService{vs("a")}, names: []*istiov1.ServiceEntry{entry("n", nil)},
			want: []string{"create virtualservices", "create serviceentries"}},
		{name: "deleted", have: []runtime.Object{vs("a"), entry("n", nil)}, does: prune,
			want: []string{"delete serviceentries", "delete virtualservices"}},
		{name: "not asked for", have: []runtime.Object{vs("a", hosts(gone)), entry("n", []string{gone})}, does: sync,
			want: []string{"delete serviceentries", "delete virtualservices"}},
		{name: "one host less", have: []runtime.Object{vs("a", hosts(both...), mesh), entry("n", both)}, does: sync,
			routes: []*istiov1.VirtualService{vs("a", hosts(kept), mesh)}, names: []*istiov1.ServiceEntry{entry("n", []string{kept})},
			want: []string{"update serviceentries", "update virtualservices"}},
		{name: "one host more", have: []runtime.Object{vs("a", hosts(kept), mesh), entry("n", []string{kept})}, does: sync,
			routes: []*istiov1.VirtualService{vs("a", hosts(both...), mesh)}, names: []*istiov1.ServiceEntry{entry("n", both)},
			want: []string{"update virtualservices", "update serviceentries"}},
		{name: "the last public host less", have: []runtime.Object{vs("a", hosts(both...), mesh), entry("n", []string{gone})}, does: sync,
			routes: []*istiov1.VirtualService{vs("a", hosts(kept), mesh)},
			want:   []string{"delete serviceentries", "update virtualservices"}},
		{name: "and something else cannot be written", unwritable: "destinationrules", have: []runtime.Object{vs("a", hosts(both...), mesh), entry("n", []string{gone})}, does: sync,
			routes: []*istiov1.VirtualService{vs("a", hosts(kept), mesh)},
			want:   []string{"create destinationrules", "delete serviceentries", "update virtualservices"}},
		{name: "a host moves from one to another", have: []runtime.Object{vs("a", hosts(both...), mesh), entry("m", nil), entry("n", both)}, does: sync,
			routes: []*istiov1.VirtualService{vs("a", hosts(kept), mesh)}, names: []*istiov1.ServiceEntry{entry("m", []string{gone}), entry("n", []string{kept})},
			want: []string{"update virtualservices", "update serviceentries", "update serviceentries"}},
		{name: "a host moves out of the mesh", have: []runtime.Object{vs("a", hosts(both...), mesh), entry("n", []string{kept})}, does: prune,
			routes: []*istiov1.VirtualService{vs("a", hosts(gone), mesh)},
			want:   []string{"delete serviceentries", "update virtualservices"}},
		{name: "and the narrow routes cannot be written", unwritable: "virtualservices", have: []runtime.Object{vs("a", hosts(both...), mesh), entry("n", []string{kept})}, does: prune,
			routes: []*istiov1.VirtualService{vs("a", hosts(gone), mesh)},
			want:   []string{"delete serviceentries", "update virtualservices"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, w, c := newCluster(t, row.have...)
			set := resources.Set{Asked: asks, VirtualServices: row.routes, ServiceEntries: row.names}
			if row.unwritable != "" {
				set.DestinationRules = []*istiov1.DestinationRule{{ObjectMeta: vs("r").ObjectMeta}}
				c.istio.PrependReactor("*", row.unwritable, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("refused") })
			}
			if err := row.does(w, set); (err != nil) != (row.unwritable != "") {
				t.Fatal(err)
			}
			var writes []string
			for _, a := range c.istio.Actions() {
				writes = append(writes, a.GetVerb()+" "+a.GetResource().Resource)
			}
			same(t, "order", row.want, writes)
		})
	}
}

// TestAddressesAreIstios: what Istio writes into the status is no difference, and an update leaves it.
func TestAddressesAreIstios(t *testing.T) {
	have := entry("n", []string{"x.com"})
	have.Status.Addresses = []*v1alpha3.ServiceEntryAddress{{Host: "x.com", Value: "240.240.0.1"}}
	have.Status.Conditions = []*v1alpha1.IstioCondition{{Type: "Reconciled"}}
	for name, row := range map[string]struct {
		want   *istiov1.ServiceEntry
		writes []string
	}{
		"steady":        {entry("n", []string{"x.com"}), nil},
		"a further one": {entry("n", []string{"x.com", "y.com"}), []string{"update serviceentries apps/n"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, w, c := newCluster(t, have.DeepCopy())
			if _, err := w.Sync(ctx, owner, resources.Set{ServiceEntries: []*istiov1.ServiceEntry{row.want}}); err != nil {
				t.Fatal(err)
			}
			same(t, "writes", row.writes, c.writes())
			got, err := c.istio.NetworkingV1().ServiceEntries("apps").Get(ctx, "n", metav1.GetOptions{})
			if err != nil || len(got.Status.Addresses) != 1 || len(got.Status.Conditions) != 1 {
				t.Errorf("status %v, %v; want Istio's", &got.Status, err)
			}
		})
	}
}
