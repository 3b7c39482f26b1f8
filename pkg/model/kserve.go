package model

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Headers by which KServe tells a model for which InferenceService a request is.
const (
	isvcNameHeader      = "KServe-Isvc-Name"
	isvcNamespaceHeader = "KServe-Isvc-Namespace"
)

// alias serves the abbreviations of an InferenceService's name by the routes of its first
// component, as KServe's own VirtualService does with the full name: with its headers, and
// the host of the component. The full name stays KServe's.
func (in *ingest) alias(hosts []VirtualHost) []VirtualHost {
	of := in.world.Alias
	if of == (types.NamespacedName{}) {
		return hosts
	}
	component := types.NamespacedName{Namespace: in.ing.Namespace, Name: in.ing.Name}
	full := component.Name + "." + component.Namespace + ".svc." + in.world.Config.ClusterDomain
	i := slices.IndexFunc(hosts, func(vh VirtualHost) bool {
		return slices.ContainsFunc(vh.Hosts, func(h Host) bool { return h.Name == full })
	})
	if i < 0 {
		return hosts
	}
	names := shortNames(of) // sorted, the longer one last
	last := len(names) - 1
	host := Host{Name: names[last], Short: slices.Clone(names[:last]), Backing: AliasService}
	out := VirtualHost{Scope: hosts[i].Scope, Hosts: []Host{host}, Source: hosts[i].Source}
	for _, r := range hosts[i].Routes {
		r.SetHeaders = append(slices.Clone(r.SetHeaders), KV{Key: isvcNameHeader, Value: of.Name}, KV{Key: isvcNamespaceHeader, Value: of.Namespace})
		slices.SortFunc(r.SetHeaders, func(a, b KV) int { return cmp.Compare(a.Key, b.Key) })
		r.RewriteHost = cmp.Or(r.RewriteHost, full)
		out.Routes = append(out.Routes, r)
	}
	in.claim(Claim{Scope: out.Scope, Host: host, Source: out.Source})
	return append(hosts, out)
}
