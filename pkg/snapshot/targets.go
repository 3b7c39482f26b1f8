package snapshot

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/config"
)

// MaxHops is how often a request may be routed once more: a host may lead to another
// route, which leads to another, and so on.
const MaxHops = 5

// targets gathers the Ingresses to which splits may lead, one hop after the other. It looks
// one hop further than a request may go, to be able to say that it goes too far.
func targets(rec *Recorder, cfg config.Config, ing *v1alpha1.Ingress) []*v1alpha1.Ingress {
	found := map[types.NamespacedName]*v1alpha1.Ingress{}
	next := []*v1alpha1.Ingress{ing}
	for range MaxHops + 1 {
		var further []*v1alpha1.Ingress
		for _, key := range leads(rec, cfg, next) {
			for _, target := range rec.Targets(key) {
				if name := nameOf(target); name != nameOf(ing) && found[name] == nil {
					found[name] = target
					further = append(further, target)
				}
			}
		}
		next = further
	}
	out := slices.Collect(maps.Values(found))
	slices.SortFunc(out, func(a, b *v1alpha1.Ingress) int { return compareNames(nameOf(a), nameOf(b)) })
	return out
}

// leads lists the keys of the hosts to which Ingresses lead now, sorted.
func leads(r Reader, cfg config.Config, ings []*v1alpha1.Ingress) []string {
	keys := map[string]struct{}{}
	for _, ing := range ings {
		for path := range paths(ing) {
			if path.RewriteHost != "" {
				for _, key := range keysFor(path.RewriteHost) {
					keys[key] = struct{}{}
				}
				continue
			}
			for _, name := range backends(path) {
				if s, ok := r.Service(name); ok && (placeholder(s) || leadsToLocalGateway(cfg, s.Spec.ExternalName)) {
					keys[serviceKey(name)] = struct{}{}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// TargetKeys lists the keys of all hosts to which the splits of an Ingress could lead,
// sorted: a Service may become the placeholder of a route later. With them are the hosts that
// decide whether it serves the name of an InferenceService.
func TargetKeys(ing *v1alpha1.Ingress) []string {
	if Claims(ing) == nil {
		return nil
	}
	var keys []string
	for path := range paths(ing) {
		if path.RewriteHost != "" {
			keys = append(keys, keysFor(path.RewriteHost)...)
			continue
		}
		for _, name := range backends(path) {
			keys = append(keys, serviceKey(name))
		}
	}
	keys = append(keys, aliasKeys(ing)...)
	slices.Sort(keys)
	return slices.Compact(keys)
}

// LeadsToLocalGateway says whether a Service is an alias of a local gateway's, as Serving
// makes those of its placeholders that carry no address.
func LeadsToLocalGateway(cfg config.Config, s Service) bool {
	return leadsToLocalGateway(cfg, s.ExternalName)
}

func leadsToLocalGateway(cfg config.Config, externalName string) bool {
	return externalName != "" && slices.ContainsFunc(cfg.Istio.Local, func(g config.Gateway) bool {
		return strings.EqualFold(strings.TrimSuffix(externalName, "."), g.ServiceHost)
	})
}

// paths yields those of all rules.
func paths(ing *v1alpha1.Ingress) func(yield func(v1alpha1.HTTPIngressPath) bool) {
	return func(yield func(v1alpha1.HTTPIngressPath) bool) {
		for _, rule := range ing.Spec.Rules {
			if rule.HTTP == nil {
				continue
			}
			for _, path := range rule.HTTP.Paths {
				if !yield(path) {
					return
				}
			}
		}
	}
}

// keysFor are the keys of a host, and of all wildcards that may be claimed and cover it.
func keysFor(host string) []string {
	if len(host) > validation.DNS1123SubdomainMaxLength+len(".") {
		return nil // nobody can claim it, and there are as many wildcards as it has labels
	}
	key := HostKey(strings.ToLower(host))
	keys := []string{key}
	for {
		_, rest, _ := strings.Cut(key, ".")
		if wildcard := "*." + rest; strings.Contains(rest, ".") || key != strings.ToLower(host) {
			keys = append(keys, wildcard)
		}
		if !strings.Contains(rest, ".") {
			return keys
		}
		key, host = rest, rest
	}
}

func serviceKey(n types.NamespacedName) string { return n.Name + "." + n.Namespace }
