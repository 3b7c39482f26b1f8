package translate_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"

	"github.com/net-mesh/net-mesh/pkg/resources"
)

// What Istio's webhook lets through and Envoy takes, written down once more without a look at
// package model: pkg/config/validation in istio/istio is no library, and Envoy's rules are those of
// its protocol (HeaderValue and HeaderMatcher). One object that is refused is all that it serves; one
// that Envoy refuses is every route of every proxy that has it.
var (
	label      = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	numeric    = regexp.MustCompile(`^[0-9]+$`)
	token      = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	fieldValue = regexp.MustCompile(`^[^\x00-\x08\x0A-\x1F\x7F]*$`)
	authority  = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*(:[0-9]{1,5})?$`)
	urlPath    = regexp.MustCompile(`^/([0-9A-Za-z._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*$`)
)

// refusals lists what Istio or Envoy would refuse of a Set, in words.
func refusals(set resources.Set) []string {
	var out []string
	for _, vs := range set.VirtualServices {
		for _, fault := range refusedServices(vs) {
			out = append(out, "VirtualService "+vs.Name+": "+fault)
		}
	}
	for _, g := range slices.Concat(set.Gateways, set.SharedGateways) {
		for _, fault := range refusedServers(g) {
			out = append(out, "Gateway "+g.Name+": "+fault)
		}
	}
	for _, e := range set.ServiceEntries {
		for _, fault := range refusedEntries(e) {
			out = append(out, "ServiceEntry "+e.Name+": "+fault)
		}
	}
	return out
}

// refusedEntries wants what gets addresses, too.
func refusedEntries(e *istiov1.ServiceEntry) []string {
	var out []string
	if n := len(e.Spec.Hosts); n < 1 || n > 256 || len(e.Spec.Ports) != 1 || len(e.Spec.Endpoints)+len(e.Spec.Addresses) > 0 {
		out = append(out, fmt.Sprintf("%d hosts, ports %v, something behind them", n, e.Spec.Ports))
	}
	for _, host := range e.Spec.Hosts {
		if !domain(host, true) {
			out = append(out, "host "+host)
		}
	}
	if e.Spec.Resolution != v1alpha3.ServiceEntry_STATIC {
		out = append(out, "resolution "+e.Spec.Resolution.String())
	}
	return out
}

func refusedServices(vs *istiov1.VirtualService) []string {
	var out []string
	for _, name := range vs.Spec.Gateways {
		namespace, gateway, _ := strings.Cut(name, "/")
		if name != "mesh" && (!label.MatchString(namespace) || !label.MatchString(gateway)) {
			out = append(out, "gateway "+name)
		}
	}
	for i, host := range vs.Spec.Hosts {
		if !domain(host, true) {
			out = append(out, "host "+host)
		}
		for j, other := range vs.Spec.Hosts {
			suffix, wild := strings.CutPrefix(host, "*")
			if i != j && (host == other || wild && strings.HasSuffix(other, suffix)) {
				out = append(out, "host "+host+" has host "+other+" too")
			}
		}
	}
	to := slices.Sorted(slices.Values(vs.Spec.ExportTo))
	if len(slices.Compact(slices.Clone(to))) != len(to) || slices.Contains(to, "*") && len(to) > 1 {
		out = append(out, fmt.Sprint("exportTo ", to))
	}
	for _, route := range vs.Spec.Http {
		for _, fault := range refusedRoute(route) {
			out = append(out, "route "+route.Name+": "+fault)
		}
	}
	return out
}

func refusedRoute(r *v1alpha3.HTTPRoute) []string {
	out := slices.Concat(refusedSet(r.Headers.GetRequest()), refusedSet(r.Headers.GetResponse()))
	rewrites := 0
	if r.Rewrite != nil {
		rewrites++
		if !authority.MatchString(r.Rewrite.Authority) {
			out = append(out, fmt.Sprintf("rewrite to %q", r.Rewrite.Authority))
		}
	}
	for _, d := range r.Route {
		out = append(out, refusedSet(d.Headers.GetRequest())...)
		if host, set := d.Headers.GetRequest().GetSet()["Host"]; set && (rewrites > 0 || !authority.MatchString(host)) {
			out = append(out, fmt.Sprintf("rewrite to %q", host))
		}
		if !domain(d.Destination.Host, false) || d.Destination.Port.Number < 1 || d.Destination.Port.Number > 65535 {
			out = append(out, fmt.Sprint("destination ", d.Destination))
		}
	}
	if _, set := r.Headers.GetRequest().GetSet()["Host"]; set {
		out = append(out, "the host is set for all destinations, which is what a rewrite is for")
	}
	for _, m := range r.Match {
		if p := m.GetUri().GetPrefix(); m.GetUri() != nil && !urlPath.MatchString(p) {
			out = append(out, fmt.Sprintf("path %q", p))
		}
		for name, value := range m.Headers {
			if !token.MatchString(name) || !fieldValue.MatchString(value.GetExact()) {
				out = append(out, fmt.Sprintf("header %q must be %q", name, value.GetExact()))
			}
		}
		out = append(out, twice(m.Headers)...)
	}
	return out
}

func refusedSet(h *v1alpha3.Headers_HeaderOperations) []string {
	var out []string
	for name, value := range h.GetSet() {
		literal := strings.ReplaceAll(value, "%%", "")
		if !token.MatchString(name) || !fieldValue.MatchString(value) || strings.Contains(literal, "%") || max(len(name), len(value)) > 16384 {
			out = append(out, fmt.Sprintf("header %q is set to %q", name, value))
		}
	}
	return append(out, twice(h.GetSet())...)
}

// twice finds names of headers that are one to HTTP.
func twice[V any](headers map[string]V) []string {
	var out []string
	seen := map[string]bool{}
	for name := range headers {
		once := strings.ToLower(name)
		if seen[once] {
			out = append(out, fmt.Sprintf("header %q is there twice", once))
		}
		seen[once] = true
	}
	return out
}

func domain(name string, wildcards bool) bool {
	labels := strings.Split(name, ".")
	if len(name) > 255 || numeric.MatchString(labels[len(labels)-1]) {
		return false
	}
	if wildcards && labels[0] == "*" {
		labels = labels[1:]
	}
	return len(labels) > 0 && !slices.ContainsFunc(labels, func(l string) bool { return !label.MatchString(l) })
}

func refusedServers(g *istiov1.Gateway) []string {
	var out []string
	names := map[string]bool{}
	for _, s := range g.Spec.Servers {
		if s.Port.Name == "" || names[s.Port.Name] || s.Port.Number < 1 || s.Port.Number > 65535 {
			out = append(out, "port "+s.Port.Name)
		}
		names[s.Port.Name] = true
		if len(s.Hosts) == 0 || slices.ContainsFunc(s.Hosts, func(h string) bool { return !domain(h, true) }) {
			out = append(out, fmt.Sprint("hosts ", s.Hosts))
		}
		if ended := s.GetTls().GetCredentialName() != ""; (s.Port.Protocol == "HTTPS") != ended || !ended && s.Tls != nil && !s.Tls.HttpsRedirect {
			out = append(out, "TLS of port "+s.Port.Name)
		}
	}
	return out
}
