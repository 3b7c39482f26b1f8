package model

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// Headers by which KServe tells a model for which InferenceService a request is.
const (
	isvcNameHeader      = "KServe-Isvc-Name"
	isvcNamespaceHeader = "KServe-Isvc-Namespace"
)

// alias serves an InferenceService's name by the routes of its first component, as KServe's own
// VirtualService does with the full name: with its headers, and the host of the component. What
// that VirtualService has in sidecars stays its own, but for public hosts that it leaves without a
// route there.
func (in *ingest) alias(hosts []VirtualHost, exportTo []string) []VirtualHost {
	of := in.world.Alias
	if of == (types.NamespacedName{}) {
		return hosts
	}
	component := types.NamespacedName{Namespace: in.ing.Namespace, Name: in.ing.Name}
	full := in.fullName(component)
	i := slices.IndexFunc(hosts, func(vh VirtualHost) bool {
		return slices.ContainsFunc(vh.Hosts, func(h Host) bool { return h.Name == full })
	})
	if i < 0 {
		return hosts
	}
	host := Host{Name: in.fullName(of), Short: shortNames(of), Backing: in.backing(of)}
	host.Elsewhere = slices.ContainsFunc(in.world.Others, func(o snapshot.VirtualService) bool {
		return in.ofOthers(o) && o.Name.Namespace == of.Namespace && slices.Contains(o.Hosts, host.Name)
	})
	if host.Elsewhere && host.Backing == ClusterIPService {
		return hosts // Istio gives the abbreviations to who has the full name
	}
	out := VirtualHost{Scope: hosts[i].Scope, Hosts: append([]Host{host}, in.unrouted(full, host, exportTo)...), Source: hosts[i].Source}
	for _, r := range hosts[i].Routes {
		r.SetHeaders = append(slices.Clone(r.SetHeaders), KV{Key: isvcNameHeader, Value: of.Name}, KV{Key: isvcNamespaceHeader, Value: of.Namespace})
		slices.SortFunc(r.SetHeaders, func(a, b KV) int { return cmp.Compare(a.Key, b.Key) })
		r.RewriteHost = cmp.Or(r.RewriteHost, full)
		out.Routes = append(out.Routes, r)
	}
	for _, h := range out.Hosts {
		in.claim(Claim{Scope: out.Scope, Host: h, Source: out.Source})
	}
	return append(hosts, out)
}

func (in *ingest) fullName(of types.NamespacedName) string {
	return of.Name + "." + of.Namespace + ".svc." + in.world.Config.ClusterDomain
}

// ofOthers says whether no Ingress has a VirtualService.
func (in *ingest) ofOthers(o snapshot.VirtualService) bool {
	return o.Ingress == (types.NamespacedName{})
}

// unrouted are the public hosts that KServe's VirtualService leads to a component at gateways, and
// for which it has no route in sidecars, though these keep the host for it. Sidecars may serve
// them here, where Istio puts our VirtualService before that one; else it is told what to do.
func (in *ingest) unrouted(component string, name Host, exportTo []string) []Host {
	i := slices.IndexFunc(in.world.Others, func(o snapshot.VirtualService) bool { return o.Name == in.world.Alias && in.ofOthers(o) })
	if i < 0 {
		return nil
	}
	kserves := in.world.Others[i]
	var out []Host
	var behind []string
	for _, l := range kserves.Unrouted {
		host, refused := in.accept(l.Host, config.External, in.ing.Namespace)
		if l.To != component || refused.reason != "" || len(host.Short) > 0 || in.isTaken(host.Name, kserves.Name) {
			continue
		}
		if !in.first(exportTo, name, kserves) {
			behind = append(behind, host.Name)
			continue
		}
		host.OnlyMesh = true
		out = append(out, host)
	}
	if len(behind) > 0 {
		in.report(finding.HostWithoutRoute, "metadata.labels",
			"in the mesh %s %s answered with 404: VirtualService %s names %s for sidecars, has no route there, and Istio puts it before ours. Delete it, and KServe writes a younger one; or name the namespaces that call in export-to",
			finding.List(behind), isOrAre(behind), kserves.Name, itOrThem(behind))
	}
	return out
}

// isTaken says whether a VirtualService beside KServe's and our own names a host.
func (in *ingest) isTaken(host string, kserves types.NamespacedName) bool {
	return slices.ContainsFunc(in.world.Others, func(o snapshot.VirtualService) bool {
		return o.Name != kserves && !in.own(o) && slices.Contains(o.Hosts, host)
	})
}

func (in *ingest) own(o snapshot.VirtualService) bool {
	return o.Ingress == types.NamespacedName{Namespace: in.ing.Namespace, Name: in.ing.Name}
}

// first says whether Istio puts the VirtualService that serves an InferenceService's name before
// another one: what is told to namespaces by name goes before what is told to all, and then what
// is older. One that is not there yet is younger than all.
func (in *ingest) first(exportTo []string, name Host, other snapshot.VirtualService) bool {
	if ours, theirs := toAll(exportTo), toAll(other.ExportTo); ours != theirs {
		return theirs
	}
	i := slices.IndexFunc(in.world.Others, func(o snapshot.VirtualService) bool { return in.own(o) && slices.Contains(o.Hosts, name.Short[0]) })
	if i < 0 {
		return false
	}
	mine := in.world.Others[i]
	return cmp.Or(compareAge(mine.Created, other.Created), strings.Compare(mine.Name.Name, other.Name.Name)) < 0
}

// toAll takes the mesh's default for all, which is Istio's.
func toAll(exportTo []string) bool {
	return len(exportTo) == 0 || slices.Contains(exportTo, config.ExportAll)
}

func compareAge(a, b metav1.Time) int { return a.Compare(b.Time) }

func isOrAre(names []string) string {
	if len(names) == 1 {
		return "is"
	}
	return "are"
}

func itOrThem(names []string) string {
	if len(names) == 1 {
		return "it"
	}
	return "them"
}
