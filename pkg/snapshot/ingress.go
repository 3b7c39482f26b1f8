package snapshot

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/config"
)

// Ingress gathers what the translation of one Ingress may look at:
//   - the Services that carry its in-cluster hosts (which decide the names a
//     sidecar knows them by), or that DNS could take a host for,
//   - the Services of its splits,
//   - the Secrets of its TLS blocks, in its own namespace,
//   - the gateways of the scopes it uses, and the Services before their pods; for a local one
//     all external ones too, which must not listen where it does,
//   - other Ingresses that claim its hosts,
//   - Ingresses to whose hosts its splits lead, with their Services, and so on,
//   - VirtualServices of others that delegate to it, and what they delegate to,
//   - of KServe's, the other components of the InferenceService and the Service of its name,
//   - VirtualServices for sidecars that name its hosts, or that InferenceService.
func Ingress(r Reader, cfg config.Config, ing *v1alpha1.Ingress) Snapshot {
	rec := Record(r)
	w := World{Config: cfg}
	services := set{}
	services.addAll(servicesOf(cfg, ing))
	found := targets(rec, cfg, ing)
	for _, target := range found {
		services.addAll(servicesOf(cfg, target))
	}
	if w.Alias = alias(rec, cfg, ing); w.Alias != (types.NamespacedName{}) {
		services.add(w.Alias)
	}
	for _, name := range services.sorted() {
		w.Services = append(w.Services, service(rec, name))
	}
	for _, name := range secretsOf(ing) {
		w.Certificates = append(w.Certificates, certificate(rec, name))
	}
	w.External = gateways(rec, cfg, config.External, ing)
	w.Local = gateways(rec, cfg, config.Local, ing)
	w.Outside = outside(rec, cfg, ing, w.Local)
	w.Neighbours = neighbours(rec, cfg, ing)
	w.Others = others(rec, cfg, ing, w.Alias)
	w.Roots = roots(rec, ing)
	w.Refs, w.HostKeys, w.TargetKeys, w.MeshKeys = rec.Refs(), rec.HostKeys(), rec.TargetKeys(), rec.MeshKeys()
	return Snapshot{Ingress: ing, Targets: found, World: w}
}

// ScopeOf reads the visibility of a rule; unset means public, as Knative
// defaults it.
func ScopeOf(rule v1alpha1.IngressRule) (config.Scope, bool) {
	switch rule.Visibility {
	case v1alpha1.IngressVisibilityExternalIP, "":
		return config.External, true
	case v1alpha1.IngressVisibilityClusterLocal:
		return config.Local, true
	}
	return "", false
}

// servicesOf names the Services to look at.
func servicesOf(cfg config.Config, ing *v1alpha1.Ingress) set {
	names := set{}
	for _, rule := range ing.Spec.Rules {
		scope, known := ScopeOf(rule)
		if !known {
			continue
		}
		for _, host := range rule.Hosts {
			if in, ok := ParseHost(host, cfg.ClusterDomain, scope, ing.Namespace); ok {
				names.add(in)
			} else if in, ok := Shorthand(host); ok {
				names.add(in)
			}
		}
		if rule.HTTP == nil {
			continue
		}
		for _, path := range rule.HTTP.Paths {
			for _, name := range backends(path) {
				names.add(name)
			}
		}
	}
	return names
}

// backends are the Services of a path's splits that have a share.
func backends(path v1alpha1.HTTPIngressPath) []types.NamespacedName {
	out := make([]types.NamespacedName, 0, len(path.Splits))
	for _, split := range path.Splits {
		if split.Percent != 0 || len(path.Splits) == 1 {
			out = append(out, types.NamespacedName{Namespace: split.ServiceNamespace, Name: split.ServiceName})
		}
	}
	return out
}

func secretsOf(ing *v1alpha1.Ingress) []types.NamespacedName {
	names := set{}
	for _, block := range ing.Spec.TLS {
		if name, own := SecretOf(ing, block); own {
			names.add(name)
		}
	}
	return names.sorted()
}

// SecretOf names the Secret of a TLS block; without a namespace the Ingress' own
// is meant. Another one's Secret may not be looked at: who may write Ingresses in
// one namespace must not learn what is in another, nor serve its certificates. All
// that Serving writes is own: certificates of a Route or DomainMapping, wildcard
// ones included, are kept in its namespace.
func SecretOf(ing *v1alpha1.Ingress, block v1alpha1.IngressTLS) (name types.NamespacedName, own bool) {
	namespace := block.SecretNamespace
	if namespace == "" {
		namespace = ing.Namespace
	}
	return types.NamespacedName{Namespace: namespace, Name: block.SecretName}, namespace == ing.Namespace
}

// gateways looks at the objects behind the gateways of a scope. The objects of a
// scope without rules are not looked at, so that they wake nobody.
func gateways(r Reader, cfg config.Config, scope config.Scope, ing *v1alpha1.Ingress) []Gateway {
	used := uses(ing, scope)
	var out []Gateway
	for _, g := range cfg.Istio.For(scope, ing.Labels) {
		seen := Gateway{Gateway: g, Pods: Service{Name: g.Service}}
		if used {
			seen.look(r)
		}
		out = append(out, seen)
	}
	return out
}

// outside looks at every external gateway, if a local one is used.
func outside(r Reader, cfg config.Config, ing *v1alpha1.Ingress, local []Gateway) []Gateway {
	if len(local) == 0 || !uses(ing, config.Local) {
		return nil
	}
	var out []Gateway
	for _, g := range cfg.Istio.External {
		seen := Gateway{Gateway: g}
		seen.look(r)
		out = append(out, seen)
	}
	return out
}

// uses says whether an Ingress has rules of a scope.
func uses(ing *v1alpha1.Ingress, scope config.Scope) bool {
	return slices.ContainsFunc(ing.Spec.Rules, func(rule v1alpha1.IngressRule) bool {
		of, known := ScopeOf(rule)
		return known && of == scope
	})
}
