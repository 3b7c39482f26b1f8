package plan

import (
	"slices"
	"strings"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// probePath is asked where a route takes any path. Knative's proxies answer probes
// themselves, whatever the path; other backends are likely to have it, or to do no harm.
const probePath = "/healthz"

// probes plans a proof of every Exposure at every one of its entries. At a gateway
// each port is a listener with a route table of its own, so each is proved; within
// one table the routes of an Exposure arrive together, so one host of it will do. In the
// mesh each host is proved: a sidecar keeps one VirtualService for a name, and somebody
// else's may have it.
func (d *decider) probes() {
	for _, e := range d.plan.Exposures {
		for _, entry := range e.Entries {
			if entry == MeshEntry {
				d.plan.Probes = append(d.plan.Probes, e.meshProbe())
				continue
			}
			d.atShared(e, entry)
			d.atOwn(e, entry)
		}
	}
}

// atShared plans the probes of an Exposure at a gateway of config-istio.
func (d *decider) atShared(e Exposure, entry Entry) {
	for _, g := range d.gateways(scopeOf(e.Kind)) {
		if Entry(g.Name.String()) != entry {
			continue
		}
		for _, s := range g.Servers {
			tls := s.Protocol == "HTTPS"
			if s.ClientCertificate || s.Passthrough || !(tls || plainProtocol(s.Protocol)) {
				// No answer can be had without a certificate, or over another protocol.
				continue
			}
			if d.redirectsAt(e, g, s.Port) {
				// Our own listener speaks for this port; it is proved as such.
				continue
			}
			d.probeServer(e, entry, g.Pods, Server{Port: s.Port, Hosts: s.Hosts, Redirect: s.Redirect}, tls)
		}
	}
}

// atOwn plans the probes of an Exposure at a listener of our own, or at one that it shares.
func (d *decider) atOwn(e Exposure, entry Entry) {
	for _, g := range d.gateways(scopeOf(e.Kind)) {
		for _, l := range d.listenersAt(scopeOf(e.Kind), g) {
			if Entry(l.entry()) != entry {
				continue
			}
			for _, s := range l.Servers {
				d.probeServer(e, entry, g.Pods, s, s.Credential != "")
			}
		}
	}
}

func (d *decider) probeServer(e Exposure, entry Entry, pods snapshot.Service, s Server, tls bool) {
	hosts := slices.DeleteFunc(slices.Clone(e.Hosts), func(h string) bool { return !covered(s.Hosts, h) })
	port, ok := portOf(pods, s.Port)
	if len(hosts) == 0 || !ok {
		return
	}
	p := e.probe(entry, hosts)
	p.Service, p.ServicePort, p.PortName = pods.Name, port.Number, port.Name
	if tls {
		p.Scheme = HTTPS
	}
	if s.Redirect {
		p.Expect, p.Hash, p.Digest = ExpectRedirect, "", ""
	}
	if !slices.ContainsFunc(d.plan.Probes, p.same) {
		d.plan.Probes = append(d.plan.Probes, p)
	}
}

// redirectsAt says whether our own listener answers a port with redirects.
func (d *decider) redirectsAt(e Exposure, g snapshot.Gateway, port uint32) bool {
	return slices.ContainsFunc(d.listenersAt(scopeOf(e.Kind), g), func(l Listener) bool {
		return slices.ContainsFunc(l.Servers, func(s Server) bool { return s.Redirect && s.Port == port })
	})
}

// probe asks for the plainest route, which is the last to be tried.
func (e Exposure) probe(entry Entry, hosts []string) Probe {
	plainest := e.Routes[len(e.Routes)-1].Match
	path := plainest.PathPrefix
	if path == "" || path == "/" {
		path = probePath
	}
	return Probe{
		Entry: entry, Scheme: HTTP, Host: concrete(hosts), Path: path, Headers: plainest.Headers,
		Expect: ExpectHash, Hash: e.Hash, Digest: e.Digest,
	}
}

// meshProbe asks for the direct answer, which precedes all routes and wants no path. The
// plainest host comes first: when that is there, so are the others unless somebody has them.
func (e Exposure) meshProbe() Probe {
	p := Probe{
		Entry: MeshEntry, Scheme: HTTP, Host: concrete(e.Hosts), Path: probePath, ExportTo: e.ExportTo,
		Expect: ExpectDirect, Hash: e.Hash, Digest: e.Digest,
	}
	if p.ExportTo == nil {
		p.ExportTo = []string{Everywhere}
	}
	for _, h := range e.Hosts {
		if one := concrete([]string{h}); one != p.Host {
			p.Also = append(p.Also, one)
		}
	}
	return p
}

// URL is what the request asks for. The path is as Envoy will compare it, escapes and all.
func (p Probe) URL() string { return string(p.Scheme) + "://" + p.Host + p.Path }

// same compares the requests of two probes.
func (p Probe) same(o Probe) bool {
	return p.Entry == o.Entry && p.Service == o.Service && p.ServicePort == o.ServicePort &&
		p.Scheme == o.Scheme && p.Host == o.Host && p.Path == o.Path && slices.Equal(p.Headers, o.Headers)
}

// concrete picks a host that can be asked for: the longest, which is a full name,
// first by name among equals.
func concrete(hosts []string) string {
	host := longest(hosts)
	if suffix, wild := strings.CutPrefix(host, "*."); wild {
		return "probe." + suffix
	}
	return host
}

// longest of hosts, first by name among equals.
func longest(hosts []string) string {
	return slices.MaxFunc(hosts, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(b, a)
	})
}

func scopeOf(kind Kind) model.Scope {
	if kind == Local {
		return config.Local
	}
	return config.External
}
