package resources

import (
	"slices"
	"strings"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// delegateFor is the annotation that names the host that a delegate is served like, for it has none
// itself.
const delegateFor = "net-mesh.dev/delegate-for"

// delegate renders one Delegate. Istio wants it to have neither hosts nor gateways: those are said by
// the VirtualService that delegates.
func delegate(p plan.Plan, e plan.Delegate) *istiov1.VirtualService {
	out := &istiov1.VirtualService{
		TypeMeta:   metav1.TypeMeta{APIVersion: istiov1.SchemeGroupVersion.String(), Kind: "VirtualService"},
		ObjectMeta: meta(p, e.Name),
	}
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[delegateFor] = e.Host
	out.Spec.ExportTo = e.ExportTo
	for _, r := range e.Routes {
		out.Spec.Http = append(out.Spec.Http, delegateRoute(p.Owner.Name, r, e.Drops))
	}
	return out
}

// delegateRoute is the route with all headers at its destinations. Istio takes those of the route
// that delegates only if this one has none beside them (mergeHTTPRoute of pilot/pkg/model in istio/istio).
func delegateRoute(ingress string, r model.Route, drops []string) *v1alpha3.HTTPRoute {
	common := r.SetHeaders
	r.SetHeaders, r.Splits = nil, slices.Clone(r.Splits)
	for i, s := range r.Splits {
		r.Splits[i].SetHeaders = over(common, s.SetHeaders)
	}
	out := httpRoute(ingress, r)
	for _, d := range out.Route {
		if len(drops) > 0 {
			if d.Headers == nil {
				d.Headers = &v1alpha3.Headers{Request: &v1alpha3.Headers_HeaderOperations{}}
			}
			d.Headers.Request.Remove = drops
		}
	}
	return out
}

// over lays headers over others: of two of one name those of a share hold.
func over(route, share []model.KV) []model.KV {
	out := slices.DeleteFunc(slices.Clone(route), func(h model.KV) bool {
		return slices.ContainsFunc(share, func(s model.KV) bool { return strings.EqualFold(s.Key, h.Key) })
	})
	return append(out, share...)
}
