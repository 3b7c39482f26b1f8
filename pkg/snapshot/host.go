package snapshot

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
)

// ParseHost reads a host that carries the name of a Service, in any of the
// spellings DNS allows in the cluster: name.ns.svc.<domain>, and for cluster-local
// hosts also name.ns.svc and name.ns. A public host of two labels is a domain of
// the world, and so is a cluster-local one that does not end in the Ingress' own
// namespace.
func ParseHost(host, clusterDomain string, scope config.Scope, namespace string) (types.NamespacedName, bool) {
	name, full := strings.CutSuffix(host, ".svc."+clusterDomain)
	if !full && scope == config.Local {
		if short, ok := strings.CutSuffix(host, ".svc"); ok {
			name, full = short, true
		} else {
			full = strings.HasSuffix(host, "."+namespace)
		}
	}
	service, in, ok := strings.Cut(name, ".")
	if !full || !ok || service == "" || service == "*" || in == "" || strings.Contains(in, ".") {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: in, Name: service}, true
}

// Shorthand reads a host that DNS would take for the abbreviation of a Service's
// name, name.ns or name.ns.svc, though it may be meant as a domain of the world.
func Shorthand(host string) (types.NamespacedName, bool) {
	if name, ok := strings.CutSuffix(host, ".svc"); ok && strings.Contains(name, ".") {
		host = name // else a Service of namespace svc
	}
	service, namespace, ok := strings.Cut(host, ".")
	if !ok || service == "" || service == "*" || namespace == "" || strings.Contains(namespace, ".") {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: namespace, Name: service}, true
}

// set collects names; it is sorted once, at the end.
type set map[types.NamespacedName]struct{}

func (s set) add(n types.NamespacedName) { s[n] = struct{}{} }

func (s set) addAll(others set) {
	for n := range others {
		s.add(n)
	}
}

func (s set) sorted() []types.NamespacedName {
	names := make([]types.NamespacedName, 0, len(s))
	for n := range s {
		names = append(names, n)
	}
	slices.SortFunc(names, compareNames)
	return names
}

func compareNames(a, b types.NamespacedName) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}
