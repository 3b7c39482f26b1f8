package plan

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// listeners plans Gateways of our own at the pods of the configured gateways, where these
// cannot do what is asked: end TLS with the Ingress' certificate, or redirect just its
// hosts. The configured gateway stays attached beside them, so that whatever ports the
// operator gave it keep serving (serving#14879). Redirects concern public hosts only:
// callers inside the cluster use plain HTTP, Knative's own components among them.
func (d *decider) listeners() {
	for _, scope := range [...]model.Scope{config.External, config.Local} {
		certificates := d.certificates(scope)
		redirect := scope == config.External && d.model.Plain == model.Redirect && len(d.publicHosts()) > 0
		if len(certificates) == 0 && !redirect {
			continue
		}
		if len(d.gateways(scope)) == 0 {
			d.ignoredInMesh(redirect, certificates)
			continue
		}
		for _, g := range d.gateways(scope) {
			// Two gateways before the same pods need one set of listeners.
			if !d.open[g.Name] && len(d.listenersAt(scope, g)) == 0 && d.canListen(scope, g) {
				d.listen(scope, g, certificates, redirect)
			}
		}
	}
}

// canListen says whether pods can be found for a listener that the world does not reach
// where it is for the cluster alone, and reports if not.
func (d *decider) canListen(scope model.Scope, g snapshot.Gateway) bool {
	service := finding.Ref{Kind: "Service", Namespace: g.Service.Namespace, Name: g.Service.Name}
	if len(g.Pods.Selector) == 0 {
		if g.Pods.Found {
			d.report(finding.GatewayServiceUnfit, service, "",
				"Service %s of gateway %s has no selector, so no pods can be told to end TLS or to redirect; correct the Service or %s", g.Service, g.Name, config.IstioConfigMap)
		}
		return false
	}
	if scope != config.Local {
		return true
	}
	port := tlsPortOf(scope, g.Pods)
	for _, e := range d.outside() {
		if _, leads := portOf(e.Pods, port); leads && samePods(e.Pods, g.Pods) {
			d.report(finding.GatewayServiceUnfit, service, "",
				"Service %s of local gateway %s leads port 443 to port %d of pods to which Service %s leads callers from outside too; lead it to a port of its own, such as %d",
				g.Service, g.Name, port, e.Service, localTLSPort)
			return false
		}
	}
	return true
}

// samePods says whether two Services may stand before the same pods.
func samePods(a, b snapshot.Service) bool { return !disjoint(a.Selector, b.Selector) }

// disjoint says whether no pod can have the labels of both.
func disjoint(a, b []snapshot.KV) bool {
	return slices.ContainsFunc(a, func(kv snapshot.KV) bool {
		return slices.ContainsFunc(b, func(o snapshot.KV) bool { return o.Key == kv.Key && o.Value != kv.Value })
	})
}

// listen plans the listeners at one gateway's pods: one for each wildcard certificate,
// which is shared, and one for all else, which is the Ingress' own.
func (d *decider) listen(scope model.Scope, g snapshot.Gateway, certificates []model.Certificate, redirect bool) {
	own := Listener{
		Name: listenerName(d.model.Name.Name, scope, g.Service), Namespace: d.model.Name.Namespace,
		Scope: scope, Sharing: Alone, Service: g.Service, Selector: g.Pods.Selector,
	}
	for _, c := range certificates {
		if c.Shared {
			d.share(c, g)
			continue
		}
		own.Servers = append(own.Servers, Server{
			Name: portName(d.model.Name, c.Index), Port: tlsPortOf(scope, g.Pods), Hosts: c.Hosts,
			Credential: d.credential(c, g.Service.Namespace),
		})
	}
	if redirect {
		own.Servers = append(own.Servers, redirects(g, d.publicHosts())...)
	}
	if len(own.Servers) > 0 {
		d.plan.Listeners = append(d.plan.Listeners, own)
		d.because(own.entry(), "listener of its own", "TLS and redirects concern single hosts, the shared gateway serves all")
	}
}

// share plans the one listener that all Ingresses have that use a wildcard certificate.
// Were there two for one certificate, a client could send a request for a host of the one
// on its connection to the other.
func (d *decider) share(c model.Certificate, g snapshot.Gateway) {
	l := Listener{
		Name: sharedListenerName(c.Secret.Name, g.Service), Namespace: c.Secret.Namespace,
		Scope: c.Scope, Sharing: ByCertificate, Service: g.Service, Selector: g.Pods.Selector, Certificate: c.Secret,
	}
	if slices.ContainsFunc(d.plan.Listeners, func(o Listener) bool { return o.entry() == l.entry() }) {
		return // another TLS block has the same Secret
	}
	l.Servers = []Server{{Name: "https", Port: tlsPortOf(c.Scope, g.Pods), Hosts: c.Names, Credential: d.credential(c, g.Service.Namespace)}}
	d.plan.Listeners = append(d.plan.Listeners, l)
	d.because(l.entry(), "listener shared by certificate", "Secret "+c.Secret.String()+" fits hosts of other Ingresses, and clients use one connection for all of them")
}

// credential names the certificate as the gateway's pods see it, which read only
// Secrets of their own namespace, and plans the copy this takes.
func (d *decider) credential(c model.Certificate, namespace string) string {
	if c.Secret.Namespace == namespace {
		return c.Secret.Name
	}
	copied := Copy{From: c.Secret, To: types.NamespacedName{Namespace: namespace, Name: copyName(d.model.Name.Name, c.UID)}, Sharing: Alone, Labels: c.Labels}
	if c.Shared {
		copied.To.Name, copied.Sharing = sharedCopyName(c.Secret), ByCertificate
	}
	if !slices.ContainsFunc(d.plan.Copies, func(one Copy) bool { return one.To == copied.To }) {
		d.plan.Copies = append(d.plan.Copies, copied)
	}
	return copied.To.Name
}

// entries are the gateways at which hosts are exposed: those of config-istio, and
// our own listeners that have one of the hosts. A gateway that should redirect but
// cannot be told so is left out, rather than answer in plain, and so is a local one that the
// world reaches.
func (d *decider) entries(scope model.Scope, hosts []string) []Entry {
	redirect := scope == config.External && d.model.Plain == model.Redirect
	var entries []Entry
	for _, g := range d.gateways(scope) {
		if d.open[g.Name] {
			continue
		}
		own := d.listenersAt(scope, g)
		if redirect && !slices.ContainsFunc(own, Listener.redirects) {
			continue
		}
		entries = append(entries, Entry(g.Name.String()))
		for _, l := range own {
			if l.serves(hosts) {
				entries = append(entries, Entry(l.entry()))
			}
		}
	}
	slices.Sort(entries)
	return slices.Compact(entries)
}

// listenersAt are our own listeners at the pods of a gateway.
func (d *decider) listenersAt(scope model.Scope, g snapshot.Gateway) []Listener {
	var out []Listener
	for _, l := range d.plan.Listeners {
		if l.Scope == scope && l.Service == g.Service {
			out = append(out, l)
		}
	}
	return out
}

// entry is namespace/name of the Gateway object.
func (l Listener) entry() string { return l.Namespace + "/" + l.Name }

func (l Listener) redirects() bool {
	return slices.ContainsFunc(l.Servers, func(s Server) bool { return s.Redirect })
}

func (l Listener) serves(hosts []string) bool {
	return slices.ContainsFunc(l.Servers, func(s Server) bool {
		return slices.ContainsFunc(hosts, func(h string) bool { return covered(s.Hosts, h) })
	})
}

// certificates are those for hosts of a scope that no other Ingress has.
func (d *decider) certificates(scope model.Scope) []model.Certificate {
	kind := Ingress
	if scope == config.Local {
		kind = Local
	}
	var out []model.Certificate
	for _, c := range d.model.Certificates {
		if c.Scope != scope {
			continue
		}
		if c.Hosts = d.kept(kind, c.Hosts); len(c.Hosts) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// publicHosts are the names public rules are written for and have, sorted.
func (d *decider) publicHosts() []string {
	kind := Ingress
	if len(d.world.External) == 0 {
		kind = Mesh
	}
	var hosts []string
	for _, vh := range d.model.VirtualHosts {
		if vh.Scope == config.External {
			for _, h := range d.remaining(kind, vh.Hosts) {
				hosts = append(hosts, hostAt(kind, h).Names()...)
			}
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

func (d *decider) ignoredInMesh(redirect bool, certificates []model.Certificate) {
	if redirect {
		d.report(finding.MeshIgnoresRedirect, d.ingress(), "spec.httpOption",
			"httpOption Redirected has no effect without an external gateway: callers inside the mesh are served directly, over mTLS")
	}
	for _, c := range certificates {
		d.report(finding.MeshIgnoresTLS, d.ingress(), c.Source,
			"%s has no effect without an external gateway: callers inside the mesh use mTLS", c.Source)
	}
}

// covered says whether a list of hosts, which may hold wildcards, has a host.
func covered(hosts []string, host string) bool {
	return slices.ContainsFunc(hosts, func(h string) bool {
		suffix, wild := strings.CutPrefix(h, "*")
		return h == host || (wild && strings.HasSuffix(host, suffix))
	})
}
