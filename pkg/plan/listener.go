package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// Ports of the gateways' own listeners.
const (
	plainPort = 80
	tlsPort   = 443
)

// listeners plans a Gateway of our own at each external gateway's pods, where the
// shared one cannot do what is asked: end TLS with the Ingress' certificate, or
// redirect just its hosts. The shared gateway stays attached beside it, so that
// whatever ports the operator gave it keep serving (serving#14879).
func (d *decider) listeners() {
	hosts, certificates := d.publicHosts(), d.certificates()
	redirect := d.model.Plain == model.Redirect
	if len(hosts) == 0 || (!redirect && len(certificates) == 0) {
		return
	}
	if len(d.world.External) == 0 {
		d.ignoredInMesh(redirect)
		return
	}
	for _, g := range d.world.External {
		name := listenerName(d.model.Name.Name, g.Service)
		if d.listener(name) != nil {
			// Two gateways before the same pods need one listener.
			continue
		}
		if len(g.Pods.Selector) == 0 {
			if g.Pods.Found {
				d.report(finding.GatewayServiceUnfit, finding.Ref{Kind: "Service", Namespace: g.Service.Namespace, Name: g.Service.Name}, "",
					"Service %s of gateway %s has no selector, so no pods can be told to end TLS or to redirect; correct the Service or %s", g.Service, g.Name, config.IstioConfigMap)
			}
			continue
		}
		l := Listener{Name: name, Namespace: d.model.Name.Namespace, Scope: config.External, Selector: g.Pods.Selector}
		for _, c := range certificates {
			l.Servers = append(l.Servers, Server{
				Name: portName(d.model.Name, c.Index), Port: tlsPort, Hosts: c.Hosts,
				Credential: d.credential(c, g.Service.Namespace),
			})
		}
		if redirect {
			l.Servers = append(l.Servers, redirects(g, hosts)...)
		}
		d.plan.Listeners = append(d.plan.Listeners, l)
		d.because(l.Namespace+"/"+l.Name, "listener of its own", "TLS and redirects concern single hosts, the shared gateway serves all")
	}
}

// redirects are servers on every port where the shared gateway would answer
// without TLS.
func redirects(g snapshot.Gateway, hosts []string) []Server {
	var ports []uint32
	for _, s := range g.Servers {
		if plainProtocol(s.Protocol) && !s.Redirect && !slices.Contains(ports, s.Port) {
			ports = append(ports, s.Port)
		}
	}
	if len(ports) == 0 {
		ports = []uint32{plainPort}
	}
	servers := make([]Server, 0, len(ports))
	for i, port := range ports {
		name := "http-server"
		if i > 0 {
			name = fmt.Sprintf("http-server-%d", port)
		}
		servers = append(servers, Server{Name: name, Port: port, Hosts: hosts, Redirect: true})
	}
	return servers
}

// credential names the certificate as the gateway's pods see it, which read only
// Secrets of their own namespace, and plans the copy this takes.
func (d *decider) credential(c model.Certificate, namespace string) string {
	if c.Secret.Namespace == namespace {
		return c.Secret.Name
	}
	to := types.NamespacedName{Namespace: namespace, Name: copyName(d.model.Name.Name, c.UID)}
	if !slices.ContainsFunc(d.plan.Copies, func(one Copy) bool { return one.To == to }) {
		d.plan.Copies = append(d.plan.Copies, Copy{From: c.Secret, To: to, Labels: c.Labels})
	}
	return to.Name
}

// entries are the gateways at which hosts are exposed: the shared ones, and those
// of our own listeners that have one of the hosts. A shared gateway that should
// redirect but cannot be told so is left out, rather than answer in plain.
func (d *decider) entries(scope model.Scope, hosts []string) []Entry {
	redirect := scope == config.External && d.model.Plain == model.Redirect
	var entries []Entry
	for _, g := range d.gateways(scope) {
		own := d.listener(listenerName(d.model.Name.Name, g.Service))
		if redirect && own == nil {
			continue
		}
		entries = append(entries, Entry(g.Name.String()))
		if scope == config.External && own != nil && own.serves(hosts) {
			entries = append(entries, Entry(own.Namespace+"/"+own.Name))
		}
	}
	slices.Sort(entries)
	return slices.Compact(entries)
}

func (d *decider) listener(name string) *Listener {
	for i := range d.plan.Listeners {
		if d.plan.Listeners[i].Name == name {
			return &d.plan.Listeners[i]
		}
	}
	return nil
}

func (l *Listener) serves(hosts []string) bool {
	return slices.ContainsFunc(l.Servers, func(s Server) bool {
		return slices.ContainsFunc(hosts, func(h string) bool { return covered(s.Hosts, h) })
	})
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
				hosts = append(hosts, h.Names()...)
			}
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// certificates are those of hosts that no other Ingress has.
func (d *decider) certificates() []model.Certificate {
	var out []model.Certificate
	for _, c := range d.model.Certificates {
		if c.Hosts = d.public(c.Hosts); len(c.Hosts) > 0 {
			out = append(out, c)
		}
	}
	return out
}

func (d *decider) ignoredInMesh(redirect bool) {
	if redirect {
		d.report(finding.MeshIgnoresRedirect, d.ingress(), "spec.httpOption",
			"httpOption Redirected has no effect without an external gateway: callers inside the mesh are served directly, over mTLS")
	}
	for _, c := range d.model.Certificates {
		d.report(finding.MeshIgnoresTLS, d.ingress(), c.Source,
			"%s has no effect without an external gateway: callers inside the mesh use mTLS", c.Source)
	}
}

func plainProtocol(p string) bool {
	return p == "HTTP" || p == "HTTP2" || p == "GRPC"
}

// covered says whether a list of hosts, which may hold wildcards, has a host.
func covered(hosts []string, host string) bool {
	return slices.ContainsFunc(hosts, func(h string) bool {
		suffix, wild := strings.CutPrefix(h, "*")
		return h == host || (wild && strings.HasSuffix(host, suffix))
	})
}
