package resources

import (
	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

// serviceEntry renders one Record. It has no endpoints: the VirtualService of its hosts says where
// requests go. Istio gives an address to each host of a resolution other than NONE that is no
// wildcard (pilot/pkg/controllers/ipallocate in istio/istio). Were a request ever to go by the
// entry itself, it would be one inside the mesh, and find nobody.
func serviceEntry(p plan.Plan, r plan.Record) *istiov1.ServiceEntry {
	out := &istiov1.ServiceEntry{
		TypeMeta:   metav1.TypeMeta{APIVersion: istiov1.SchemeGroupVersion.String(), Kind: "ServiceEntry"},
		ObjectMeta: meta(p, r.Name),
	}
	out.Spec.Hosts, out.Spec.ExportTo = r.Hosts, r.ExportTo
	out.Spec.Location = v1alpha3.ServiceEntry_MESH_INTERNAL
	out.Spec.Resolution = v1alpha3.ServiceEntry_STATIC
	out.Spec.Ports = []*v1alpha3.ServicePort{{Number: 80, Name: "http", Protocol: "HTTP"}}
	return out
}
