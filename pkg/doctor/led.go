package doctor

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"

	fault "github.com/net-mesh/net-mesh/pkg/finding"
)

// Led says which VirtualService of others leads a request to the local gateway's name.
type Led struct {
	By fault.Ref `json:"by"`
	// Host is by which it is routed there.
	Host string `json:"host"`
	// Maybe: the rule has conditions that are not compared, such as on headers.
	Maybe bool `json:"maybe,omitempty"`
}

// LedBy finds the first VirtualService for sidecars that leads a request to the local gateway,
// by host and path. Of several that have the host Istio asks the oldest alone. Whom they are
// exported to is not looked at.
func LedBy(o Objects, localGateway, clusterDomain, host, path string) (Led, bool) {
	var with []*istiov1.VirtualService
	for _, vs := range o.VirtualServices {
		named := slices.ContainsFunc(vs.Spec.GetHosts(), func(h string) bool { return strings.EqualFold(inFull(h, vs.Namespace, clusterDomain), host) })
		if named && vs.Labels[ingressLabel] == "" && forSidecars(vs.Spec.GetGateways()) {
			with = append(with, vs)
		}
	}
	slices.SortFunc(with, func(a, b *istiov1.VirtualService) int { return older(a, b) })
	if len(with) == 0 {
		return Led{}, false
	}
	vs := with[0]
	for _, r := range vs.Spec.GetHttp() {
		takes, maybe := takesRequest(r.GetMatch(), host, path)
		if !takes {
			continue
		}
		to := slices.ContainsFunc(r.GetRoute(), func(d *v1alpha3.HTTPRouteDestination) bool {
			return strings.EqualFold(inFull(d.GetDestination().GetHost(), vs.Namespace, clusterDomain), localGateway)
		})
		as := cmp.Or(rewritten(r), host)
		return Led{By: ref("VirtualService", vs.Namespace, vs.Name), Host: strings.ToLower(as), Maybe: maybe}, to
	}
	return Led{}, false
}

// AliasOf finds the Service that gives a host to the local gateway's name: one of type
// ExternalName, whose abbreviations Istio gives to its target too.
func AliasOf(services []*corev1.Service, localGateway, clusterDomain, host string) (fault.Ref, bool) {
	for _, s := range services {
		short := s.Name + "." + s.Namespace
		named := slices.ContainsFunc([]string{short, short + ".svc", short + ".svc." + clusterDomain}, func(h string) bool { return strings.EqualFold(h, host) })
		if named && strings.EqualFold(strings.TrimSuffix(s.Spec.ExternalName, "."), localGateway) {
			return ref("Service", s.Namespace, s.Name), true
		}
	}
	return fault.Ref{}, false
}

// inFull completes a name without dots, as Istio does.
func inFull(name, namespace, clusterDomain string) string {
	if strings.Contains(name, ".") {
		return name
	}
	return name + "." + namespace + ".svc." + clusterDomain
}

// forSidecars: no gateways mean sidecars, of a VirtualService, and all that it is for, of a rule.
func forSidecars(gateways []string) bool {
	return len(gateways) == 0 || slices.Contains(gateways, "mesh")
}

// takesRequest compares host and path of a request with what a rule is for.
func takesRequest(matches []*v1alpha3.HTTPMatchRequest, host, path string) (takes, maybe bool) {
	if len(matches) == 0 {
		return true, false
	}
	for _, m := range matches {
		if !forSidecars(m.GetGateways()) || !matchesText(m.GetAuthority(), host) || !matchesText(m.GetUri(), path) {
			continue
		}
		open := len(m.GetHeaders())+len(m.GetWithoutHeaders())+len(m.GetQueryParams())+len(m.GetSourceLabels()) > 0 ||
			m.GetMethod() != nil || m.GetScheme() != nil || m.GetSourceNamespace() != "" || m.GetPort() != 0
		return true, open
	}
	return false, false
}

// matchesText compares as Envoy does: a regular expression has to fit the whole.
func matchesText(m *v1alpha3.StringMatch, text string) bool {
	switch {
	case m == nil:
		return true
	case m.GetExact() != "":
		return m.GetExact() == text
	case m.GetPrefix() != "":
		return strings.HasPrefix(text, m.GetPrefix())
	}
	fits, err := regexp.Compile(`\A(?:` + m.GetRegex() + `)\z`)
	return err == nil && fits.MatchString(text)
}

// rewritten is the host that a rule replaces the request's by: by its rewrite, or a header.
func rewritten(r *v1alpha3.HTTPRoute) string {
	if as := r.GetRewrite().GetAuthority(); as != "" {
		return as
	}
	for name, value := range r.GetHeaders().GetRequest().GetSet() {
		if strings.EqualFold(name, "Host") || strings.EqualFold(name, ":authority") {
			return value
		}
	}
	return ""
}
