package ingress

import (
	"testing"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	. "knative.dev/pkg/reconciler/testing"
)

// TestWhatWasWrittenBeforeAFallIsProven: between writing and reporting the controller may
// fall, or the API may fail. The status then tells of a proof, but of that of the old way.
func TestWhatWasWrittenBeforeAFallIsProven(t *testing.T) {
	// Another Gateway with the same Service: the address in the status stays what it is.
	config := map[string]string{
		"external-gateways": "- {namespace: knative-serving, name: other, service: istio-ingressgateway.istio-system.svc.cluster.local}",
	}
	reconcile := func(world []runtime.Object) Actions {
		row := &TableRow{Objects: world}
		c, recorders, _ := factory(config, waiting)(t, row)
		if err := c.Reconcile(row.Ctx, "apps/hello"); err != nil {
			t.Fatal(err)
		}
		actions, err := recorders.ActionsByVerb()
		if err != nil {
			t.Fatal(err)
		}
		return actions
	}
	world := read(t, "steady")
	written := 0
	for _, update := range reconcile(world).Updates {
		next, ok := update.GetObject().(*istiov1.VirtualService)
		for i := range world {
			if have, same := world[i].(*istiov1.VirtualService); ok && same && have.Name == next.Name {
				world[i], written = next, written+1
			}
		}
	}
	if written == 0 {
		t.Fatal("nothing was written, so nothing is shown")
	}
	after, reported := reconcile(world), false
	for _, update := range after.Updates {
		switch o := update.GetObject().(type) {
		case *istiov1.VirtualService:
			t.Errorf("%s is narrowed to gateways %v and hosts %v before it is proven", o.Name, o.Spec.Gateways, o.Spec.Hosts)
		case *v1alpha1.Ingress:
			c := o.Status.GetCondition(v1alpha1.IngressConditionLoadBalancerReady)
			reported = c.IsTrue() && c.Reason == "AwaitingProof"
		}
	}
	if len(after.Deletes) > 0 || !reported {
		t.Errorf("deleted %v; told that a proof is awaited: %v", after.Deletes, reported)
	}
}
