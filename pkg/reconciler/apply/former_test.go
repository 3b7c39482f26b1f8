package apply

import (
	"testing"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/net-mesh/net-mesh/pkg/resources"
)

// TestFormerGateways states by which gateways an owner is served as before, and by which it no longer
// is, since somebody has deleted them.
func TestFormerGateways(t *testing.T) {
	there := &istiov1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "there"}}
	for _, row := range []struct {
		name       string
		have       *istiov1.VirtualService
		kept, lost []string
	}{
		{name: "none", have: vs("a")},
		{name: "one that is there", have: vs("a", gateways("apps/there")), kept: []string{"apps/there"}},
		{name: "one that has gone", have: vs("a", gateways("ns/gone")), lost: []string{"ns/gone"}},
		{name: "both, and one that is wanted", have: vs("a", gateways("ns/gateway", "ns/gone", "apps/there")), kept: []string{"apps/there"}, lost: []string{"ns/gone"}},
		{name: "sidecars are always there", have: vs("a", gateways("mesh")), kept: []string{"mesh"}},
		{name: "of an object that is no longer wanted", have: vs("old", gateways("ns/gone", "apps/there")), kept: []string{"apps/there"}, lost: []string{"ns/gone"}},
		{name: "for hosts that nobody asks for", have: vs("old", gateways("ns/gone"), hosts("gone.com"))},
		{name: "a listener of its own, which goes before the proof", have: vs("a", gateways("apps/hello-1"))},
		{name: "net-istio's, whose routes are not kept", have: vs("a", gateways("ns/gone"), asNetIstio)},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx, w, _ := newCluster(t, []runtime.Object{there, row.have}...)
			changes, err := w.Sync(ctx, owner, resources.Set{VirtualServices: []*istiov1.VirtualService{vs("a")}, Asked: asks})
			if err != nil {
				t.Fatal(err)
			}
			same(t, "kept", row.kept, changes.Kept)
			same(t, "lost", row.lost, changes.Lost)
		})
	}
}
