package snapshot

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	network "knative.dev/networking/pkg/config"

	"github.com/net-mesh/net-mesh/pkg/config"
)

// Claims lists the hosts of an Ingress as they are written, with repetitions. One that is
// not ours or that is being deleted claims nothing, and neither does a rule that says
// nothing about where its hosts lead.
func Claims(ing *v1alpha1.Ingress) []Claim {
	if ing.Annotations[networking.IngressClassAnnotationKey] != network.IstioIngressClassName || ing.DeletionTimestamp != nil {
		return nil
	}
	return claims(ing)
}

func claims(ing *v1alpha1.Ingress) []Claim {
	var out []Claim
	for _, rule := range ing.Spec.Rules {
		scope, known := ScopeOf(rule)
		if !known || rule.HTTP == nil || len(rule.HTTP.Paths) == 0 {
			continue
		}
		for _, host := range rule.Hosts {
			out = append(out, Claim{Scope: scope, Host: host})
		}
	}
	return out
}

// HostKey is equal for hosts that may be spellings of one. Without looking at the cluster
// domain it may be equal for others as well, so it finds candidates and decides nothing.
func HostKey(host string) string {
	if i := strings.Index(host+".", ".svc."); i >= 0 {
		return host[:i]
	}
	return host
}

// HostKeys lists the keys of claims, sorted, each once.
func HostKeys(all []Claim) []string {
	keys := make([]string, 0, len(all))
	for _, c := range all {
		keys = append(keys, HostKey(c.Host))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// neighbours gathers other Ingresses that may claim hosts of this one, as far as they do.
func neighbours(r Reader, cfg config.Config, ing *v1alpha1.Ingress) []Neighbour {
	keys, found := HostKeys(claims(ing)), map[types.NamespacedName]*v1alpha1.Ingress{}
	for _, key := range keys {
		for _, other := range r.Claimants(key) {
			if name := nameOf(other); name != nameOf(ing) {
				found[name] = other
			}
		}
	}
	var out []Neighbour
	for name, other := range found {
		n := Neighbour{
			Name: name, Created: other.CreationTimestamp,
			External: cfg.Istio.For(config.External, other.Labels),
			Local:    cfg.Istio.For(config.Local, other.Labels),
		}
		for _, c := range Claims(other) {
			if _, shared := slices.BinarySearch(keys, HostKey(c.Host)); shared {
				n.Claims = append(n.Claims, c)
			}
		}
		if len(n.Claims) > 0 {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b Neighbour) int { return compareNames(a.Name, b.Name) })
	return out
}
