package model

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// resolve composes what leads to other routes with those, for exposures behind which nothing
// routes a request once more. A target may be of any namespace and visibility, as at a local
// gateway, which asks for neither: who leads to a cluster-local host is the one who exposes it.
func (in *ingest) resolve(m *Model, targets []*v1alpha1.Ingress) {
	var all []owner
	for i := range m.VirtualHosts {
		vh := &m.VirtualHosts[i]
		if !in.leadsOn(vh.Routes) {
			continue
		}
		if all == nil {
			all = in.owners(*m, targets)
		}
		r := &resolver{in: in, owners: all}
		vh.Resolution = r.compose(m.Name, *vh)
	}
}

// leadsOn says whether some backend may be another route.
func (in *ingest) leadsOn(routes []Route) bool {
	return slices.ContainsFunc(routes, func(route Route) bool {
		return slices.ContainsFunc(route.Splits, func(s Split) bool { return in.next(route, s).host != "" })
	})
}

// onward is where a request goes from a backend that is, or may be, another route.
type onward struct {
	host string
	// certain: there is nothing else behind the backend.
	certain bool
}

// next tells what a request is routed by behind a backend. Pods are asked directly, as at a
// gateway, whatever the host; a Service that stands for a route's name is not.
func (in *ingest) next(route Route, s Split) onward {
	service, found := in.service(s.Backend.Service)
	alias := found && snapshot.LeadsToLocalGateway(in.world.Config, service)
	switch {
	case route.RewriteHost == "" && (alias || service.Placeholder):
		return onward{host: s.Backend.Host}
	case route.RewriteHost == "" || len(service.Selector) > 0:
		return onward{}
	case !found || alias || service.Placeholder:
		return onward{host: route.RewriteHost, certain: true}
	case slices.Contains(spellings(s.Backend), strings.ToLower(route.RewriteHost)):
		// Endpoints written by hand may stand behind it, or a route.
		return onward{host: route.RewriteHost}
	}
	return onward{}
}

// spellings are the names of a backend's Service, as DNS allows them in the cluster.
func spellings(b Backend) []string {
	return append(shortNames(b.Service), b.Host)
}

// nameOf is the full name of a host that is served.
func (vh VirtualHost) nameOf(host string) string {
	for _, h := range vh.Hosts {
		if !strings.HasPrefix(h.Name, "*") && h.covers(strings.ToLower(host)) >= 0 {
			return h.Name
		}
	}
	return host
}

// owner is an Ingress with what it serves.
type owner struct {
	name         types.NamespacedName
	created      metav1.Time
	virtualHosts []VirtualHost
}

// owners reads the targets by the same rules as this Ingress. What is wrong with them they
// say themselves.
func (in *ingest) owners(m Model, targets []*v1alpha1.Ingress) []owner {
	out := []owner{{m.Name, m.Created, m.VirtualHosts}}
	for _, ing := range targets {
		other := &ingest{ing: ing, world: in.world, services: in.services, claimed: map[scopedName]bool{}}
		out = append(out, owner{
			types.NamespacedName{Namespace: ing.Namespace, Name: ing.Name}, ing.CreationTimestamp, other.virtualHosts(),
		})
	}
	return out
}

// served finds who serves a host to callers in the mesh: the most specific name has it, of
// these a cluster-local one, and of several Ingresses the one that prevails (as in package
// plan).
func (r *resolver) served(host string) (owner, VirtualHost, bool) {
	var by owner
	var best VirtualHost
	length := -1
	for _, o := range r.owners {
		for _, vh := range o.virtualHosts {
			n := vh.Covers(host)
			if n < 0 || n < length {
				continue
			}
			if n > length || prevails(o, vh, by, best, host) {
				by, best, length = o, vh, n
			}
		}
	}
	return by, best, length >= 0
}

// prevails says whether a virtual host has a host before another that is as specific.
func prevails(a owner, of VirtualHost, b owner, other VirtualHost, host string) bool {
	return cmp.Or(
		-strings.Compare(string(of.Scope), string(other.Scope)), // Local before External
		-cmp.Compare(btoi(of.carries(host)), btoi(other.carries(host))),
		cmp.Compare(btoi(a.created.IsZero()), btoi(b.created.IsZero())),
		a.created.Compare(b.created.Time),
		strings.Compare(a.name.Namespace, b.name.Namespace),
		strings.Compare(a.name.Name, b.name.Name),
	) < 0
}

// carries says whether a host is the name of a Service here, and not a domain of the world.
func (vh VirtualHost) carries(host string) bool {
	return slices.ContainsFunc(vh.Hosts, func(h Host) bool { return len(h.Short) > 0 && h.covers(strings.ToLower(host)) >= 0 })
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fault adds what is wrong with a path of this Ingress.
func (r *resolver) fault(reason finding.Reason, path, format string, args ...any) {
	before := r.in.findings
	r.in.findings = nil
	r.in.report(reason, path, format, args...)
	r.faults = append(r.faults, r.in.findings...)
	r.in.findings = before
}
