package resources

import (
	"fmt"
	"slices"
	"strings"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/networking/pkg/http/header"

	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// virtualService renders one Exposure. Neither match.gateways nor match.authority
// is written: an Exposure has one kind of entry, and its hosts share all routes.
func virtualService(p plan.Plan, e plan.Exposure) *istiov1.VirtualService {
	out := &istiov1.VirtualService{
		TypeMeta:   metav1.TypeMeta{APIVersion: istiov1.SchemeGroupVersion.String(), Kind: "VirtualService"},
		ObjectMeta: meta(p, e.Name),
	}
	out.Spec.Hosts, out.Spec.ExportTo = e.Hosts, e.ExportTo
	for _, entry := range e.Entries {
		out.Spec.Gateways = append(out.Spec.Gateways, string(entry))
	}
	if e.Probed && e.Direct {
		out.Spec.Http = append(out.Spec.Http, direct(p.Owner.Name, e))
	}
	for _, r := range e.Routes {
		if e.Probed && !e.Direct {
			out.Spec.Http = append(out.Spec.Http, probed(p.Owner.Name, r, e))
		}
		out.Spec.Http = append(out.Spec.Http, httpRoute(p.Owner.Name, r))
	}
	return out
}

// httpRoute is named after the field it came from, which shows in proxies' logs and
// route tables.
func httpRoute(ingress string, r model.Route) *v1alpha3.HTTPRoute {
	out := &v1alpha3.HTTPRoute{
		Name:    routeName(ingress, r.Source),
		Match:   match(r.Match),
		Headers: setRequest(r.SetHeaders),
		// Without this Istio retries twice, and Knative's contract is not to.
		Retries: &v1alpha3.HTTPRetry{Attempts: 0},
	}
	if r.NotFound {
		out.DirectResponse = &v1alpha3.HTTPDirectResponse{Status: 404}
	}
	if r.RewriteHost != "" {
		out.Rewrite = &v1alpha3.HTTPRewrite{Authority: r.RewriteHost}
	}
	for _, s := range r.Splits {
		out.Route = append(out.Route, destination(s, len(r.Splits)))
	}
	return out
}

func routeName(ingress string, s model.Source) string {
	name := fmt.Sprintf("%s.%d.%d", ingress, s.Rule, s.Path)
	if s.Part > 0 {
		name += fmt.Sprintf(".%d", s.Part)
	}
	return name
}

// probed is the same route for requests that ask for the hash of the Ingress: it
// tells the backend, which answers with it, and names the Exposure in the response.
func probed(ingress string, r model.Route, e plan.Exposure) *v1alpha3.HTTPRoute {
	r.Match.Headers = append(slices.Clone(r.Match.Headers), model.KV{Key: header.HashKey, Value: header.HashValueOverride})
	r.SetHeaders = append(slices.Clone(r.SetHeaders), model.KV{Key: header.HashKey, Value: e.Hash})
	out := httpRoute(ingress, r)
	out.Name += ".probe"
	out.Headers.Response = &v1alpha3.Headers_HeaderOperations{Set: map[string]string{plan.DigestHeader: e.Digest}}
	return out
}

// direct answers who asks for the hash of the Ingress, for any path, and names the Exposure.
// Other probes go on to the backend: another value of the hash is the asker's own, and is to
// come back from there. Envoy sets a route's headers on answers of its own too.
func direct(ingress string, e plan.Exposure) *v1alpha3.HTTPRoute {
	return &v1alpha3.HTTPRoute{
		Name: ingress + ".probe",
		Match: match(model.Match{Headers: []model.KV{
			{Key: header.ProbeKey, Value: header.ProbeValue}, {Key: header.HashKey, Value: header.HashValueOverride},
		}}),
		DirectResponse: &v1alpha3.HTTPDirectResponse{Status: 200},
		Headers: &v1alpha3.Headers{Response: &v1alpha3.Headers_HeaderOperations{Set: map[string]string{
			header.HashKey: e.Hash, plan.DigestHeader: e.Digest,
		}}},
	}
}

func destination(s model.Split, of int) *v1alpha3.HTTPRouteDestination {
	out := &v1alpha3.HTTPRouteDestination{
		Destination: &v1alpha3.Destination{
			Host: s.Backend.Host,
			Port: &v1alpha3.PortSelector{Number: s.Backend.Port},
		},
		Headers: setRequest(s.SetHeaders),
	}
	if s.RewriteHost != "" {
		// A route has one rewrite for all destinations; Istio takes this header for the other.
		out.Headers = setRequest(append(slices.Clone(s.SetHeaders), model.KV{Key: "Host", Value: s.RewriteHost}))
	}
	if of > 1 {
		out.Weight = s.Percent
	}
	return out
}

// match is nil for a Match that takes everything.
func match(m model.Match) []*v1alpha3.HTTPMatchRequest {
	if m.PathPrefix == "" && len(m.Headers) == 0 {
		return nil
	}
	out := &v1alpha3.HTTPMatchRequest{}
	if m.PathPrefix != "" {
		out.Uri = &v1alpha3.StringMatch{MatchType: &v1alpha3.StringMatch_Prefix{Prefix: m.PathPrefix}}
	}
	for _, h := range m.Headers {
		if out.Headers == nil {
			out.Headers = map[string]*v1alpha3.StringMatch{}
		}
		out.Headers[h.Key] = &v1alpha3.StringMatch{MatchType: &v1alpha3.StringMatch_Exact{Exact: h.Value}}
	}
	return []*v1alpha3.HTTPMatchRequest{out}
}

// setRequest sets values as they are written: Envoy would put something else in the place of
// %NAME%, and refuse all routes over a name that it does not know.
func setRequest(headers []model.KV) *v1alpha3.Headers {
	if len(headers) == 0 {
		return nil
	}
	set := make(map[string]string, len(headers))
	for _, h := range headers {
		set[h.Key] = strings.ReplaceAll(h.Value, "%", "%%")
	}
	return &v1alpha3.Headers{Request: &v1alpha3.Headers_HeaderOperations{Set: set}}
}
