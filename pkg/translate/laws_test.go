package translate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

// TestLaws checks on every case what must hold whatever the goldens say.
func TestLaws(t *testing.T) {
	for _, dir := range glob(t, "testdata/cases/*") {
		for _, mode := range modes(t) {
			b, cfg := load(t, dir, mode)
			for _, ing := range b.Ingresses {
				r := translate.Ingress(snapshot.Ingress(b, cfg, ing))
				for _, broken := range breaches(r) {
					t.Errorf("%s in mode %s, %s: %s", dir, mode, r.Model.Name, broken)
				}
				for _, broken := range modeBreaches(cfg, r) {
					t.Errorf("%s in mode %s, %s: %s", dir, mode, r.Model.Name, broken)
				}
			}
		}
	}
}

// breaches lists the laws a Result breaks, in words.
func breaches(r translate.Result) []string {
	out := refusals(r.Objects)
	claimed, names := map[string]bool{}, map[string]bool{}
	for i, vs := range exposed(r.Objects.VirtualServices) {
		say := func(format string, args ...any) {
			out = append(out, vs.Name+": "+fmt.Sprintf(format, args...))
		}
		kind := r.Plan.Exposures[i].Kind
		if names[vs.Name] || len(validation.IsDNS1123Subdomain(vs.Name)) > 0 {
			say("its name is taken or no name")
		}
		names[vs.Name] = true
		if len(vs.Spec.Hosts) == 0 || len(vs.Spec.Gateways) == 0 || len(vs.Spec.Http) == 0 {
			say("something is empty: hosts %v, gateways %v, %d routes", vs.Spec.Hosts, vs.Spec.Gateways, len(vs.Spec.Http))
		}
		for _, h := range vs.Spec.Hosts {
			for _, gateway := range vs.Spec.Gateways {
				key := gateway + " " + h
				if claimed[key] {
					say("host %s is claimed twice at %s", h, gateway)
				}
				claimed[key] = true
			}
			if suffix, wild := strings.CutPrefix(h, "*"); wild && slices.ContainsFunc(foreign(vs.Namespace), func(s string) bool { return strings.HasSuffix(s, suffix) }) {
				say("host %s takes Services of other namespaces", h)
			}
		}
		if mesh := slices.Contains(vs.Spec.Gateways, "mesh"); mesh != (kind == plan.Mesh) || (mesh && len(vs.Spec.Gateways) > 1) {
			say("mesh and gateways are mixed: %v", vs.Spec.Gateways)
		}
		routes := vs.Spec.Http
		if kind == plan.Mesh {
			if !isDirect(routes[0], r.Model.Hash) {
				say("it does not begin with the answer to probes")
			}
			routes = routes[1:]
		}
		for _, h := range routes {
			for _, broken := range routeBreaches(h) {
				say("route %s: %s", h.Name, broken)
			}
		}
		if kind == plan.Local && isDoor(r.Plan.Exposures[i]) {
			continue // nobody can ask there
		}
		for _, broken := range probeBreaches(routes, kind, r.Model.Hash) {
			say("%s", broken)
		}
	}
	out = append(append(out, recordBreaches(r)...), delegateBreaches(r)...)
	for _, s := range slices.Concat(r.Objects.Secrets, r.Objects.SharedSecrets) {
		if s.From.Namespace != r.Model.Name.Namespace {
			out = append(out, "Secret "+s.From.String()+" of another namespace is copied")
		}
	}
	for _, g := range slices.Concat(r.Objects.Gateways, r.Objects.SharedGateways) {
		if len(validation.IsDNS1123Label(g.Name)) > 0 || len(g.Spec.Selector) == 0 || len(g.Spec.Servers) == 0 {
			out = append(out, "Gateway "+g.Name+" is not one")
		}
	}
	return out
}

// recordBreaches wants every name for which sidecars answer DNS to be a public one that they
// serve, or one of an InferenceService that no Service carries, once, and to be told where the
// routes are.
func recordBreaches(r translate.Result) []string {
	var out []string
	seen := map[string]bool{}
	for _, e := range r.Plan.Exposures {
		for _, h := range e.Hosts {
			if e.Kind == plan.Mesh && strings.HasPrefix(h, "*") && !strings.HasSuffix(h, ".svc."+clusterDomain) && len(r.Plan.Records) > 0 &&
				!slices.ContainsFunc(r.Plan.Records, func(record plan.Record) bool { return slices.Contains(record.Hosts, h) }) {
				out = append(out, "wildcard "+h+" is not told beside names, so Istio may forget it")
			}
		}
	}
	for _, e := range r.Objects.ServiceEntries {
		if seen[e.Name] || len(validation.IsDNS1123Subdomain(e.Name)) > 0 {
			out = append(out, "ServiceEntry "+e.Name+" has a name that is taken or none")
		}
		seen[e.Name] = true
		for _, h := range e.Spec.Hosts {
			if seen["host "+h] || strings.HasSuffix(h, ".svc."+clusterDomain) && !unnamed(r.Model, h) {
				out = append(out, "host "+h+" is there twice, or has an address of its own")
			}
			seen["host "+h] = true
			if !strings.Contains(h, ".") {
				out = append(out, "host "+h+" hides Services of all namespaces")
			}
			if !slices.ContainsFunc(r.Objects.VirtualServices, func(vs *istiov1.VirtualService) bool {
				return slices.Contains(vs.Spec.Hosts, h) && slices.Contains(vs.Spec.Gateways, "mesh") && slices.Equal(vs.Spec.ExportTo, e.Spec.ExportTo)
			}) {
				out = append(out, "sidecars answer DNS for "+h+", and not requests")
			}
			if _, public := r.Model.Match(config.External, model.Request{Host: h}); !public && !strings.HasPrefix(h, "*") && !unnamed(r.Model, h) && plainRoute(r, h) {
				out = append(out, "sidecars answer DNS for "+h+", which is not public")
			}
		}
	}
	return out
}

// unnamed says whether no Service carries a host that an InferenceService is called by.
func unnamed(m model.Model, host string) bool {
	return slices.ContainsFunc(m.VirtualHosts, func(vh model.VirtualHost) bool {
		return slices.ContainsFunc(vh.Hosts, func(h model.Host) bool { return h.Name == host && h.Backing == model.NoService }) &&
			slices.ContainsFunc(vh.Routes[0].SetHeaders, func(h model.KV) bool { return h.Key == "KServe-Isvc-Name" })
	})
}

// foreign are the names of a Service in a namespace that is not the given one.
func foreign(namespace string) []string {
	name := "a.x" + namespace
	return []string{name + ".svc." + clusterDomain, name + ".svc", name}
}

func routeBreaches(h *v1alpha3.HTTPRoute) []string {
	var out []string
	if h.Retries == nil || h.Retries.Attempts != 0 {
		out = append(out, "retries are not said to be none")
	}
	if h.Timeout != nil {
		out = append(out, "there is a timeout")
	}
	var total int32
	for _, d := range h.Route {
		if d.Destination.Port.Number == 0 {
			out = append(out, "a destination has no port")
		}
		if len(h.Route) > 1 && d.Weight == 0 {
			out = append(out, "a destination has no weight")
		}
		total += d.Weight
	}
	if h.DirectResponse != nil {
		if len(h.Route) > 0 || h.Rewrite != nil || h.DirectResponse.Status != 404 {
			out = append(out, "it answers directly, and does something else as well")
		}
		return out
	}
	if len(h.Route) == 0 || (len(h.Route) > 1 && total != model.Whole && total != model.FineWhole) || (len(h.Route) == 1 && total != 0) {
		out = append(out, fmt.Sprintf("%d destinations weigh %d", len(h.Route), total))
	}
	for _, m := range h.Match {
		if len(m.Gateways) > 0 || m.Authority != nil {
			out = append(out, "it matches gateways or authority")
		}
	}
	return out
}

// isDirect: the sidecar itself answers who asks for the hash, whatever the path.
func isDirect(h *v1alpha3.HTTPRoute, hash string) bool {
	if len(h.Match) != 1 || len(h.Route) > 0 || h.GetDirectResponse().GetStatus() != 200 || h.Match[0].Uri != nil {
		return false
	}
	asked, answered := h.Match[0].Headers, h.GetHeaders().GetResponse().GetSet()
	return len(asked) == 2 && asked["K-Network-Probe"].GetExact() == "probe" && asked["K-Network-Hash"].GetExact() == "override" &&
		len(answered) == 2 && answered["K-Network-Hash"] == hash && answered[plan.DigestHeader] != ""
}

// isDoor: all entries are doors of the loopback, which only the gateways themselves reach.
func isDoor(e plan.Exposure) bool {
	return !slices.ContainsFunc(e.Entries, func(entry plan.Entry) bool {
		return !strings.HasPrefix(string(entry), systemNamespace+"/net-mesh-loopback-")
	})
}

// probeBreaches wants every route at a gateway preceded by its copy for probes, and none in
// the mesh.
func probeBreaches(routes []*v1alpha3.HTTPRoute, kind plan.Kind, hash string) []string {
	var out []string
	if kind == plan.Mesh {
		for _, route := range routes {
			if strings.HasSuffix(route.Name, ".probe") {
				out = append(out, "route "+route.Name+" is another answer to probes")
			}
		}
		return out
	}
	if len(routes)%2 != 0 {
		return []string{"not every route has a copy for probes"}
	}
	for i := 0; i < len(routes); i += 2 {
		probe, route := routes[i], routes[i+1]
		if probe.Name != route.Name+".probe" ||
			probe.Match[0].Headers["K-Network-Hash"].GetExact() != "override" ||
			probe.Headers.Request.Set["K-Network-Hash"] != hash {
			out = append(out, "route "+route.Name+" is not preceded by its probe")
		}
		if _, leaks := route.GetHeaders().GetRequest().GetSet()["K-Network-Hash"]; leaks {
			out = append(out, "route "+route.Name+" sets the hash for everybody")
		}
	}
	return out
}

// modeBreaches checks the mode table on the result.
func modeBreaches(cfg config.Config, r translate.Result) []string {
	var out []string
	for _, e := range r.Plan.Exposures {
		atDoors := e.Kind == plan.Local && len(cfg.Istio.Local) == 0 && cfg.Istio.Loopback && isDoor(e)
		if e.Kind == plan.Ingress && len(cfg.Istio.External) == 0 || e.Kind == plan.Local && len(cfg.Istio.Local) == 0 && !atDoors {
			out = append(out, e.Name+" is exposed at gateways that are not configured")
		}
		if unmarked := slices.Contains(e.Drops, plan.MarkHeader); unmarked != (e.Kind == plan.Mesh && len(cfg.Istio.Local) == 0) {
			out = append(out, e.Name+": the mark of the loopback and the mode do not fit")
		}
	}
	for _, vs := range r.Objects.VirtualServices {
		for _, route := range vs.Spec.Http {
			if len(cfg.Istio.Local) == 0 && slices.Contains(vs.Spec.Gateways, "mesh") && len(route.Route) > 0 &&
				!slices.Contains(route.GetHeaders().GetRequest().GetRemove(), plan.MarkHeader) {
				out = append(out, "route "+route.Name+" lets the mark of the loopback through to the application")
			}
		}
	}
	if (len(cfg.Istio.External) == 0) != r.Plan.Public[0].MeshOnly || (len(cfg.Istio.Local) == 0) != r.Plan.Private[0].MeshOnly {
		out = append(out, "an address does not fit the mode")
	}
	for _, l := range r.Plan.Listeners {
		if l.Scope == config.External && len(cfg.Istio.External) == 0 || l.Scope == config.Local && len(cfg.Istio.Local) == 0 {
			out = append(out, "TLS or redirects in the mesh")
		}
		for _, s := range l.Servers {
			if l.Scope == config.Local && s.Redirect {
				out = append(out, "cluster-local hosts are redirected")
			}
		}
	}
	if len(r.Plan.Listeners) == 0 && len(r.Objects.Secrets)+len(r.Objects.SharedSecrets) > 0 {
		out = append(out, "Secrets are copied for no listener")
	}
	for _, e := range r.Plan.Exposures {
		for _, g := range cfg.Istio.External {
			if e.Kind == plan.Local && slices.Contains(e.Entries, plan.Entry(g.Name.String())) {
				out = append(out, e.Name+" exposes cluster-local hosts at external Gateway "+g.Name.String())
			}
		}
		if e.Kind != plan.Ingress {
			continue
		}
		for _, h := range e.Hosts {
			if _, ok := r.Model.Match(config.External, model.Request{Host: h}); !ok && plainRoute(r, h) {
				out = append(out, "host "+h+" leaks to the public gateways")
			}
		}
	}
	return out
}

// plainRoute says whether some route of the host takes any request.
func plainRoute(r translate.Result, host string) bool {
	for _, vh := range r.Model.VirtualHosts {
		for _, h := range vh.Hosts {
			if h.Name == host || slices.Contains(h.Short, host) {
				last := vh.Routes[len(vh.Routes)-1].Match
				return last.PathPrefix == "" && len(last.Headers) == 0
			}
		}
	}
	return true
}

// TestParityWithNetIstio compares with what net-istio was seen to write for the
// same Ingresses: Knative's hash, and the names that live on.
func TestParityWithNetIstio(t *testing.T) {
	for _, tt := range []struct{ dir, ingress, hash, names string }{
		{"serving-plain", "plain", "1865bb78afe953223ed3bbbbd2156111abb40643881e19323db4d27c6d2772e1", "plain-ingress plain-mesh"},
		{"serving-tags", "split", "6c18cdc0eba671c7d6d44730aaa60620972b879c3c9f4cc91efd76e11b499484", "split-ingress split-mesh"},
		{"serving-h2c", "h2", "11f2f2cff5dad16751828e5b241f49a59eef57a95f6d8a9697bb63ae8811b01e", "h2-ingress h2-mesh"},
		{"serving-kserve-predictor", "iris-predictor", "4583974204cdf80d107b948caefe08542e35ed18a30d47bdb6828a8b7b37dfc9", "iris-predictor-mesh"},
		{"serving-tls", "tls", "83a2919c7354442ad8f2cb4be6d7042df46e9aeb77e796f5437846acbee4493a", "tls-ingress tls-3797421420 tls-05327842-8bc7-4d18-99b3-bdb24a77d822"},
		{"serving-wildcard-tls", "wild-a", "41ee5dd846f3505b1d5b3c5b5b8a67fbadcbaef04f02eacf5facdf9c40832c66", "wild-a-ingress wildcard-726e1122 rec--wild-cert-wildcard"},
		{"serving-redirect", "redirect", "66910b72f3cdd576ac99ca8069c6a859231b8008c3360d95a3ff17d91400b01c", "redirect-ingress redirect-3797421420 redirect-mesh"},
		{"serving-cluster-local", "local", "9d5fcca259cf32d9940aa54c4f200b819c1cea950d6b7bdf82dfb347c2c759e6", "local-mesh"},
		{"serving-domain-mapping", "www.rec.example.org", "75bb111453dce3558ab9f57b943c1ce08e203d5cdcfbf40f32f2237f910c60c7", "www.rec.example.org-ingress"},
		{
			"serving-long-name", "a-service-with-a-name-that-is-as-long-as-it-can-ever-be-63c",
			"e8b1dc13c94b0f78c2315b21530eaabdb9ca41f5677037634427652eeff04ae0",
			"a-service-with-a-name-t240b98cef2ff909e5aa5e659b9216ee0-ingress a-service-with-a-name-that240b98cef2ff909e5aa5e659b9216ee0-mesh",
		},
	} {
		t.Run(tt.dir, func(t *testing.T) {
			r := result(t, tt.dir, "gateway", tt.ingress)
			if r.Model.Hash != tt.hash {
				t.Errorf("hash = %s, net-istio's is %s", r.Model.Hash, tt.hash)
			}
			names := namesOf(r)
			for _, want := range strings.Fields(tt.names) {
				if !slices.Contains(names, want) {
					t.Errorf("names = %v, net-istio had %s", names, want)
				}
			}
		})
	}
}

func namesOf(r translate.Result) []string {
	var names []string
	for _, s := range slices.Concat(r.Objects.Secrets, r.Objects.SharedSecrets) {
		names = append(names, s.To.Name)
	}
	for _, g := range slices.Concat(r.Objects.Gateways, r.Objects.SharedGateways) {
		names = append(names, g.Name)
	}
	for _, v := range r.Objects.VirtualServices {
		names = append(names, v.Name)
	}
	for _, e := range r.Objects.ServiceEntries {
		names = append(names, e.Name)
	}
	return names
}

// result translates one Ingress of a case.
func result(t testing.TB, dir, mode, ingress string) translate.Result {
	t.Helper()
	b, cfg := load(t, "testdata/cases/"+dir, mode)
	for _, ing := range b.Ingresses {
		if ing.Name == ingress {
			return translate.Ingress(snapshot.Ingress(b, cfg, ing))
		}
	}
	t.Fatalf("%s has no Ingress %s", dir, ingress)
	return translate.Result{}
}
