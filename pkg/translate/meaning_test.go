package translate_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"istio.io/api/networking/v1alpha3"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/resources"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

// TestTwoInterpretersAgree asks random requests of the Model, by its own meaning,
// and of the rendered VirtualServices, by Istio's, and wants the same route.
func TestTwoInterpretersAgree(t *testing.T) {
	for _, dir := range glob(t, "testdata/cases/*") {
		for _, mode := range modes(t) {
			b, cfg := load(t, dir, mode)
			random := rand.New(rand.NewSource(1))
			for _, ing := range b.Ingresses {
				r := translate.Ingress(snapshot.Ingress(b, cfg, ing))
				for range 200 {
					agree(t, dir+" in mode "+mode, cfg, r, randomRequest(random, r.Model))
				}
			}
		}
	}
}

func agree(t *testing.T, where string, cfg config.Config, r translate.Result, q model.Request) {
	t.Helper()
	for scope, kind := range map[config.Scope]plan.Kind{config.External: plan.Ingress, config.Local: plan.Local} {
		gateways, asked := cfg.Istio.External, public(r.Model)
		if scope == config.Local {
			gateways, asked = cfg.Istio.Local, r.Model
		}
		if len(gateways) == 0 || unserved(r, kind) || yielded(r.Plan, kind, q.Host) || onlyInMesh(r.Model, q.Host) {
			continue
		}
		match := asked.Match
		if len(cfg.Istio.Local) == 0 {
			match = asked.MatchResolved
		}
		want, ok := match(scope, q)
		compareRoutes(t, fmt.Sprintf("%s, %s at %s", where, r.Model.Name, kind), q, want, ok, interpret(r.Objects, r.Plan, kind, q))
	}
	// In the mesh cluster-local rules come first.
	want, ok := r.Model.MatchResolved(config.Local, q)
	if !ok {
		want, ok = r.Model.MatchResolved(config.External, q)
		ok = ok && (len(cfg.Istio.External) == 0 || cfg.Istio.ExternalInMesh || inCluster(r.Model, q.Host))
	}
	if yielded(r.Plan, plan.Mesh, q.Host) {
		return
	}
	if aliasOfClusterIP(r.Model, q.Host) {
		// Istio adds these names; the VirtualService does not list them.
		return
	}
	compareRoutes(t, fmt.Sprintf("%s, %s in the mesh", where, r.Model.Name), q, want, ok, interpret(r.Objects, r.Plan, plan.Mesh, q))
}

// public is a Model with its hosts as the world may call them.
func public(m model.Model) model.Model {
	m.VirtualHosts = slices.Clone(m.VirtualHosts)
	for i, vh := range m.VirtualHosts {
		m.VirtualHosts[i].Hosts = nil
		for _, h := range vh.Hosts {
			m.VirtualHosts[i].Hosts = append(m.VirtualHosts[i].Hosts, h.Public())
		}
	}
	return m
}

// unserved: gateways that cannot redirect are left out, and local ones that the world
// reaches, and then the kind may have no exposure.
func unserved(r translate.Result, kind plan.Kind) bool {
	return !slices.ContainsFunc(r.Plan.Exposures, func(e plan.Exposure) bool { return e.Kind == kind }) &&
		(r.Model.Plain == model.Redirect || toldOf(r, finding.LocalGatewayPublic))
}

// inCluster: the host carries the name of a Service, in full or abbreviated.
func inCluster(m model.Model, host string) bool {
	return slices.ContainsFunc(m.VirtualHosts, func(vh model.VirtualHost) bool {
		return slices.ContainsFunc(vh.Hosts, func(h model.Host) bool {
			return len(h.Short) > 0 && slices.Contains(h.Names(), host)
		})
	})
}

// yielded: another Ingress has the host, or a wildcard that covers it.
func yielded(p plan.Plan, kind plan.Kind, host string) bool {
	return slices.ContainsFunc(p.Yields, func(y plan.Yield) bool {
		return y.Kind == kind && slices.ContainsFunc(y.Hosts, func(h string) bool {
			suffix, wild := strings.CutPrefix(h, "*")
			return h == host || wild && strings.HasSuffix(host, suffix)
		})
	})
}

func aliasOfClusterIP(m model.Model, host string) bool {
	for _, vh := range m.VirtualHosts {
		for _, h := range vh.Hosts {
			if h.Backing == model.ClusterIPService && slices.Contains(h.Short, host) {
				return true
			}
		}
	}
	return false
}

func compareRoutes(t *testing.T, where string, q model.Request, want model.Route, ok bool, got *v1alpha3.HTTPRoute) {
	t.Helper()
	switch {
	case got.GetDirectResponse() != nil && asksSidecar(q):
		// It is answered wherever the host is, and is no business of the model's routes.
	case !ok && got != nil:
		t.Errorf("%s: %+v takes route %s, the model has none", where, q, got.Name)
	case ok && got == nil:
		t.Errorf("%s: %+v takes no route, the model says %+v", where, q, want.Source)
	case ok && !sameRoute(want, got):
		t.Errorf("%s: %+v takes route %s, the model says %+v", where, q, got.Name, want.Source)
	}
}

func asksSidecar(q model.Request) bool {
	return slices.Contains(q.Headers, model.KV{Key: "K-Network-Probe", Value: "probe"}) &&
		slices.Contains(q.Headers, model.KV{Key: "K-Network-Hash", Value: "override"})
}

func sameRoute(want model.Route, got *v1alpha3.HTTPRoute) bool {
	if len(want.Splits) != len(got.Route) || want.RewriteHost != got.GetRewrite().GetAuthority() || want.NotFound != (got.DirectResponse != nil) {
		return false
	}
	for i, s := range want.Splits {
		d, weight := got.Route[i].Destination, got.Route[i].Weight
		if d.Host != s.Backend.Host || d.Port.Number != s.Backend.Port || got.Route[i].GetHeaders().GetRequest().GetSet()["Host"] != s.RewriteHost {
			return false
		}
		if len(want.Splits) > 1 && weight != s.Percent {
			return false
		}
	}
	return true
}

// interpret does with VirtualServices what Istio documents: the most specific host
// wins, then the first route of which a match holds.
func interpret(set resources.Set, p plan.Plan, kind plan.Kind, q model.Request) *v1alpha3.HTTPRoute {
	var best []*v1alpha3.HTTPRoute
	length := -1
	for i, vs := range exposed(set.VirtualServices) {
		if p.Exposures[i].Kind != kind {
			continue
		}
		for _, h := range vs.Spec.Hosts {
			n := -1
			if h == q.Host {
				n = 1 << 20
			} else if suffix, wild := strings.CutPrefix(h, "*"); wild && strings.HasSuffix(q.Host, suffix) {
				n = len(suffix)
			}
			if n > length {
				best, length = vs.Spec.Http, n
			}
		}
	}
	for _, route := range best {
		if len(route.Match) == 0 || slices.ContainsFunc(route.Match, func(m *v1alpha3.HTTPMatchRequest) bool { return holds(m, q) }) {
			return route
		}
	}
	return nil
}

func holds(m *v1alpha3.HTTPMatchRequest, q model.Request) bool {
	if !strings.HasPrefix(q.Path, m.GetUri().GetPrefix()) {
		return false
	}
	for name, want := range m.Headers {
		if !slices.ContainsFunc(q.Headers, func(h model.KV) bool { return h.Key == name && h.Value == want.GetExact() }) {
			return false
		}
	}
	return true
}

// randomRequest mixes what the model knows with what it does not.
func randomRequest(random *rand.Rand, m model.Model) model.Request {
	hosts, paths := []string{"nobody.example.net", "deep.wild.example.com"}, []string{"/", "/other"}
	headers := []model.KV{{Key: "K-Network-Hash", Value: "override"}, {Key: "K-Network-Probe", Value: "probe"}, {Key: "Knative-Serving-Tag", Value: "none"}}
	for _, vh := range m.VirtualHosts {
		for _, h := range vh.Hosts {
			hosts = append(append(hosts, h.Name), h.Short...)
		}
		for _, r := range slices.Concat(vh.Routes, vh.Resolved()) {
			headers = append(headers, r.Match.Headers...)
			if r.Match.PathPrefix != "" {
				paths = append(paths, r.Match.PathPrefix, r.Match.PathPrefix+"/more", r.Match.PathPrefix+"more")
			}
		}
	}
	q := model.Request{Host: hosts[random.Intn(len(hosts))], Path: paths[random.Intn(len(paths))]}
	for _, h := range headers {
		if random.Intn(3) == 0 && !slices.ContainsFunc(q.Headers, func(o model.KV) bool { return o.Key == h.Key }) {
			q.Headers = append(q.Headers, h)
		}
	}
	return q
}

// onlyInMesh says whether gateways have a host from others.
func onlyInMesh(m model.Model, host string) bool {
	return slices.ContainsFunc(m.VirtualHosts, func(vh model.VirtualHost) bool {
		return slices.ContainsFunc(vh.Hosts, func(h model.Host) bool { return h.OnlyMesh && h.Name == strings.ToLower(host) })
	})
}
