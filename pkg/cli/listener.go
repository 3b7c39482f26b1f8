package cli

import (
	"slices"

	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// server is a port of a Gateway, one of our own or one that others wrote.
type server struct {
	port     uint32
	tls      bool
	redirect bool
	hosts    []string
}

// listen says whether an entry takes requests of the question's scheme for its host. A
// VirtualService is attached to a Gateway as a whole; which port answers is up to that.
func (t translated) listen(entry plan.Entry, q question) (outcome, string) {
	if entry == plan.MeshEntry {
		if q.tls {
			return noListener, "sidecars pass TLS of callers on unread, so no rule applies to it; ask for http://, which travels with mTLS"
		}
		return routed, ""
	}
	servers, known := t.servers(entry)
	if !known {
		return routed, "the documents do not hold Gateway " + string(entry) + ", so whether it listens is not known"
	}
	for _, s := range servers {
		hosts := model.VirtualHost{}
		for _, h := range s.hosts {
			hosts.Hosts = append(hosts.Hosts, model.Host{Name: h})
		}
		if s.tls != q.tls || hosts.Covers(q.request.Host) < 0 {
			continue
		}
		if s.redirect {
			return redirected, "plain requests are answered with a redirect; ask for https://"
		}
		return routed, ""
	}
	if q.tls {
		return noListener, "it has no server that ends TLS for this host"
	}
	return noListener, "it has no server without TLS for this host"
}

// servers of an entry; those of our own listener that redirect come before the shared
// Gateway's at the same pods and port, which they take the host from.
func (t translated) servers(entry plan.Entry) ([]server, bool) {
	for _, l := range t.Plan.Listeners {
		if plan.Entry(l.Namespace+"/"+l.Name) == entry {
			return own(l), true
		}
	}
	for _, g := range slices.Concat(t.World.External, t.World.Local) {
		if plan.Entry(g.Name.String()) != entry {
			continue
		}
		servers := t.before(g)
		if !g.Found {
			return servers, len(servers) > 0
		}
		for _, s := range g.Servers {
			if http := slices.Contains([]string{"HTTP", "HTTP2", "GRPC"}, s.Protocol); http || (s.Protocol == "HTTPS" && !s.Passthrough) {
				servers = append(servers, server{port: s.Port, tls: !http, redirect: s.Redirect, hosts: s.Hosts})
			}
		}
		return servers, true
	}
	return nil, false
}

// before are the redirects of our own listener at the pods of a shared Gateway.
func (t translated) before(g snapshot.Gateway) []server {
	var out []server
	for _, l := range t.Plan.Listeners {
		if slices.Equal(l.Selector, g.Pods.Selector) {
			out = append(out, slices.DeleteFunc(own(l), func(s server) bool { return !s.redirect })...)
		}
	}
	return out
}

func own(l plan.Listener) []server {
	var out []server
	for _, s := range l.Servers {
		out = append(out, server{port: s.Port, tls: s.Credential != "", redirect: s.Redirect, hosts: s.Hosts})
	}
	return out
}
