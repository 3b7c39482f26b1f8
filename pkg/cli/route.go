package cli

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/doctor"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// route is a Route of the Model in the words of an answer, with what follows behind it.
type route struct {
	Takes       takes      `json:"takes"`
	Sets        []model.KV `json:"sets,omitempty"`
	RewriteHost string     `json:"rewriteHost,omitempty"`
	// NotFound: the route led to takes no such request, which is answered with 404.
	NotFound bool          `json:"notFound,omitempty"`
	To       []destination `json:"to"`
}

// takes is the condition of a route; an empty one takes everything.
type takes struct {
	PathPrefix string     `json:"pathPrefix,omitempty"`
	Headers    []model.KV `json:"headers,omitempty"`
}

// destination is a share of the requests.
type destination struct {
	Percent float64 `json:"percent"`
	Host    string  `json:"host"`
	Port    uint32  `json:"port"`
	// Revision of Serving that stands behind the host, if it is one.
	Revision string     `json:"revision,omitempty"`
	Sets     []model.KV `json:"sets,omitempty"`
	// RewriteHost is that of the route for this share alone.
	RewriteHost string `json:"rewriteHost,omitempty"`
	// Blocker is what keeps all of this share from arriving, surely or maybe.
	Blocker *doctor.Blocker `json:"blocker,omitempty"`
	// Passages are the ways from the entry to the application, one for each state in which
	// it may be. None where the request is routed once more.
	Passages []passage `json:"passages,omitempty"`
}

// passage is one row of proxies, in the order in which a request passes them.
type passage struct {
	When when  `json:"when"`
	Hops []hop `json:"hops"`
}

// when says in which state of a revision a passage is taken.
type when string

const (
	always  when = "Always"  // the backend is no revision, so nothing stands between
	atZero  when = "AtZero"  // the revision has no pods, or the activator must buffer
	ready   when = "Ready"   // it has enough pods
	proxied when = "Proxied" // its ServerlessService says that the activator stands between now
	served  when = "Served"  // it says that the pods are reached directly now
)

func (w when) words() string {
	return map[when]string{
		always: "always", atZero: "at zero, or while it must buffer", ready: "otherwise",
		proxied: "now, its ServerlessService is in mode Proxy", served: "now, its ServerlessService is in mode Serve",
	}[w]
}

// hop is one stop of a request.
type hop struct {
	At   place  `json:"at"`
	Name string `json:"name"`
	// Sees is whom the stop sees as the caller, by mTLS: NAMESPACE/SERVICEACCOUNT where that
	// is known. Where one of the two has no sidecar it sees nobody. Empty at the entry.
	Sees string `json:"sees,omitempty"`
	// Blocker is what keeps requests from coming here from the stop before.
	Blocker *doctor.Blocker `json:"blocker,omitempty"`
}

// place is a kind of stop.
type place string

const (
	sidecar   place = "Sidecar"
	gateway   place = "Gateway"
	activator place = "Activator"
	app       place = "App"
)

// caller is who makes a request.
type caller struct {
	Namespace      string `json:"namespace"`
	ServiceAccount string `json:"serviceAccount"`
}

func (c *caller) String() string {
	if c == nil {
		return "the caller"
	}
	return c.Namespace + "/" + c.ServiceAccount
}

// Headers by which Serving tells the activator which revision is meant.
const (
	revisionHeader = "Knative-Serving-Revision"
	// activatorAccount is the activator's service account in Serving's manifests.
	activatorAccount = "activator"
)

func (w *world) route(r model.Route, entry plan.Entry, from *caller) *route {
	out := &route{
		Takes: takes{r.Match.PathPrefix, r.Match.Headers}, Sets: r.SetHeaders, RewriteHost: r.RewriteHost, NotFound: r.NotFound,
		To: make([]destination, 0, len(r.Splits)),
	}
	for _, s := range r.Splits {
		d := destination{
			Percent: r.PercentOf(s), Host: s.Backend.Host, Port: s.Backend.Port, Sets: s.SetHeaders, RewriteHost: s.RewriteHost, Revision: revision(s, r),
		}
		if !w.routedOnceMore(r, entry) {
			d.Passages = w.passages(s.Backend, d.Revision, entry, from)
			w.obstruct(d.Passages, s.Backend.Service, d.Revision, from)
		}
		out.To = append(out.To, d)
	}
	return out
}

// routedOnceMore says whether a local gateway routes the request by the host that it is
// rewritten to. Elsewhere the route led to has been composed into this one.
func (w *world) routedOnceMore(r model.Route, entry plan.Entry) bool {
	return r.RewriteHost != "" && entry != plan.MeshEntry && len(w.config.Istio.Local) > 0
}

func revision(s model.Split, r model.Route) string {
	for _, all := range [][]model.KV{s.SetHeaders, r.SetHeaders} {
		for _, h := range all {
			if strings.EqualFold(h.Key, revisionHeader) {
				return h.Value
			}
		}
	}
	return ""
}

// passages says what stands between an entry and the application. The Service that a route
// leads to has the activator's addresses while the ServerlessService of the same name is
// in mode Proxy, and those of the pods else.
func (w *world) passages(b model.Backend, revision string, entry plan.Entry, from *caller) []passage {
	first, peer := hop{At: sidecar, Name: from.String()}, from.String()
	if entry != plan.MeshEntry {
		first, peer = hop{At: gateway, Name: string(entry)}, "the gateway"
	}
	last := hop{At: app, Name: b.Service.Name, Sees: peer}
	if revision != "" {
		last.Name = revision
	}
	direct := []hop{first, last}
	between := hop{At: activator, Name: w.config.SystemNamespace + "/" + activatorAccount, Sees: peer}
	behind := last
	behind.Sees = between.Name
	through := []hop{first, between, behind}
	switch mode, known := w.mode(b.Service); {
	case known && mode == v1alpha1.SKSOperationModeProxy:
		return []passage{{proxied, through}}
	case known && mode == v1alpha1.SKSOperationModeServe:
		return []passage{{served, direct}}
	case known || revision != "":
		return []passage{{atZero, through}, {ready, direct}}
	}
	return []passage{{always, direct}}
}

func (w *world) mode(service types.NamespacedName) (v1alpha1.ServerlessServiceOperationMode, bool) {
	s, known := w.bundle.Serverless(service)
	if !known {
		return "", false
	}
	return s.Spec.Mode, true
}

func conditions(routes []model.Route) string {
	var all []string
	for _, r := range routes {
		all = append(all, takes{r.Match.PathPrefix, r.Match.Headers}.Words())
	}
	return strings.Join(all, "; or ")
}

// Words say the condition; the page calls it too.
func (t takes) Words() string {
	words := "any path"
	if t.PathPrefix != "" {
		words = "paths that begin with " + t.PathPrefix
	}
	for i, h := range t.Headers {
		words += []string{" with ", " and "}[min(i, 1)] + h.Key + ": " + h.Value
	}
	return words
}
