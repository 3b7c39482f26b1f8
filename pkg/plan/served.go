package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// checkServed reports hosts that are exposed at gateways of which none lets them in:
// there is nothing to be probed then, and to call that served would be a guess. Several
// gateways may share the hosts of a scope between them, so one that does will do.
func (d *decider) checkServed() {
	for _, scope := range [...]model.Scope{config.External, config.Local} {
		gateways := d.gateways(scope)
		if slices.ContainsFunc(gateways, func(g snapshot.Gateway) bool { return !g.Found || !g.Pods.Found }) {
			// It is reported as missing; what it will let in is not known.
			continue
		}
		var uncovered, cutOff []string
		var ports []uint32
		for _, e := range d.plan.Exposures {
			if e.Kind == Mesh || scopeOf(e.Kind) != scope {
				continue
			}
			for _, host := range e.Hosts {
				switch covers, closed := d.lets(host, e, gateways); {
				case !covers:
					uncovered = append(uncovered, host)
				case len(closed) > 0:
					cutOff, ports = append(cutOff, host), append(ports, closed...)
				}
			}
		}
		d.reportUnserved(gateways, uncovered, cutOff, ports)
	}
}

// lets says whether a server of the gateways has a host, and gives the ports of those
// that have it if no port of a Service leads to any. With a certificate of its own a
// host has to be let in over TLS as well.
func (d *decider) lets(host string, e Exposure, gateways []snapshot.Gateway) (covers bool, closed []uint32) {
	var all, ended way
	for _, g := range gateways {
		for _, s := range d.serversOf(e, g) {
			if !covered(s.Hosts, host) {
				continue
			}
			all.add(g.Pods, s.Port)
			if s.Credential != "" {
				ended.add(g.Pods, s.Port)
			}
		}
	}
	switch {
	case !all.open:
		return len(all.ports) > 0, all.ports
	case len(ended.ports) > 0 && !ended.open:
		return true, ended.ports
	}
	return true, nil
}

// way is what leads to a host.
type way struct {
	ports []uint32
	open  bool
}

func (w *way) add(pods snapshot.Service, port uint32) {
	_, leads := portOf(pods, port)
	w.ports, w.open = append(w.ports, port), w.open || leads
}

// serversOf are the servers at which an Exposure may be met at a gateway: those of the
// shared Gateway that speak HTTP, and those of our own listener. Servers that want a
// client's certificate or pass TLS through are taken at their word, nobody can ask them.
func (d *decider) serversOf(e Exposure, g snapshot.Gateway) []Server {
	var servers []Server
	if slices.Contains(e.Entries, Entry(g.Name.String())) {
		for _, s := range g.Servers {
			if s.ClientCertificate || s.Passthrough || s.Protocol == "HTTPS" || plainProtocol(s.Protocol) {
				servers = append(servers, Server{Port: s.Port, Hosts: s.Hosts})
			}
		}
	}
	for _, l := range d.listenersAt(scopeOf(e.Kind), g) {
		if slices.Contains(e.Entries, Entry(l.entry())) {
			servers = append(servers, l.Servers...)
		}
	}
	return servers
}

func (d *decider) reportUnserved(gateways []snapshot.Gateway, uncovered, cutOff []string, ports []uint32) {
	var names, services []string
	for _, g := range gateways {
		names, services = append(names, g.Name.String()), append(services, g.Service.String())
	}
	if len(uncovered) > 0 {
		d.report(finding.HostNotServed, gatewayRef(gateways[0]), "",
			"Gateway %s has no HTTP or HTTPS server for %s; add the hosts to a server, or name another gateway in %s",
			finding.List(names), finding.List(uncovered), config.IstioConfigMap)
	}
	if len(cutOff) > 0 {
		slices.Sort(ports)
		d.report(finding.HostNotServed, gatewayRef(gateways[0]), "",
			"Service %s has no port that leads to port %s of its gateway, to serve %s; add a port of that number or targetPort, or name another Service in %s",
			finding.List(services), strings.Trim(fmt.Sprint(slices.Compact(ports)), "[]"), finding.List(cutOff), config.IstioConfigMap)
	}
}

func gatewayRef(g snapshot.Gateway) finding.Ref {
	return finding.Ref{Kind: "Gateway", Namespace: g.Name.Namespace, Name: g.Name.Name}
}
