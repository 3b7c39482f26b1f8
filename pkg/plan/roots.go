package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// checkRoots tells what Istio leaves out of VirtualServices that delegate here, for it tells nobody
// (mergeVirtualServices and MergeHTTPRoutes of pilot/pkg/model in istio/istio).
func (d *decider) checkRoots() {
	for _, root := range d.world.Roots {
		for _, route := range root.Routes {
			from := fmt.Sprintf("VirtualService %s spec.http[%d]", root.Name, route.Index)
			i := slices.IndexFunc(d.plan.Delegates, func(e Delegate) bool { return e.Name == route.To })
			switch {
			case i < 0 && route.Taken:
				// It is between the two of others.
			case i < 0:
				d.report(finding.DelegateMissing, d.ingress(), "", "%s delegates to %s/%s, which is not there, so Istio leaves this route out; %s",
					from, d.model.Name.Namespace, route.To, d.instead(route.To))
			case !told(d.model.ExportTo, root.Name.Namespace):
				d.report(finding.DelegateMissing, d.ingress(), "", "%s delegates to %s/%s, which is told to namespaces %s only, so Istio leaves this route out; add %s to the annotation %s of what the Ingress is made of, or to export-to in %s",
					from, d.model.Name.Namespace, route.To, strings.Join(d.model.ExportTo, ", "), root.Name.Namespace, model.ExportAnnotation, config.IstioConfigMap)
			default:
				d.checkRoutes(from, route, d.plan.Delegates[i])
			}
		}
	}
}

// told says whether a namespace is told. Where nothing is said all are, unless Istio's own default is
// another one, which is not known here.
func told(exportTo []string, namespace string) bool {
	return exportTo == nil || slices.Contains(exportTo, Everywhere) || slices.Contains(exportTo, namespace)
}

// instead says what to do about a delegate that is not there.
func (d *decider) instead(to string) string {
	if !d.model.Delegates {
		return fmt.Sprintf("ask for it by the annotation %s: \"true\" of the Service, Route or DomainMapping of Ingress %s, or by delegates: \"true\" in %s, or remove the route",
			model.DelegateAnnotation, d.model.Name, config.IstioConfigMap)
	}
	if len(d.plan.Delegates) == 0 {
		return fmt.Sprintf("Ingress %s has no routes that can be served", d.model.Name)
	}
	names := make([]string, 0, len(d.plan.Delegates))
	for _, e := range d.plan.Delegates {
		names = append(names, e.Name+" (as "+e.Host+")")
	}
	return fmt.Sprintf("Ingress %s has %s: use such a one instead of %s, or remove the route", d.model.Name, finding.List(names), to)
}

// checkRoutes tells which routes of a delegate Istio leaves out below a route that delegates to it.
func (d *decider) checkRoutes(from string, root snapshot.RootRoute, e Delegate) {
	for _, r := range e.Routes {
		why, leftOut := leftOut(root.Matches, r.Match)
		if !leftOut {
			continue
		}
		field := fmt.Sprintf("spec.rules[%d].http.paths[%d]", r.Source.Rule, r.Source.Path)
		d.report(finding.DelegateConflict, d.ingress(), field,
			"%s delegates to %s/%s, and Istio leaves out what %s of Ingress %s says for %s: %s; delegate by a condition that this one lies within, such as a shorter prefix or none, or call the host %s itself",
			from, d.model.Name.Namespace, e.Name, field, d.model.Name, words(r.Match), why, e.Host)
	}
}

// leftOut says whether Istio leaves a route out below one that delegates: of the conditions there each
// is at odds with that of the route. A route without condition takes over all of them.
func leftOut(roots []snapshot.RootMatch, leaf model.Match) (why string, is bool) {
	if len(roots) == 0 || leaf.PathPrefix == "" && len(leaf.Headers) == 0 {
		return "", false
	}
	for _, root := range roots {
		odds := atOdds(root, leaf)
		if odds == "" {
			return "", false
		}
		why = cmp.Or(why, odds)
	}
	if more := len(roots) - 1; more > 0 {
		why += fmt.Sprintf(" (%d more of its conditions are at odds too)", more)
	}
	return why, true
}

// atOdds says in words why a condition of a route that delegates and one of ours cannot be merged;
// empty if they can (hasConflict of pilot/pkg/model in istio/istio). Of what a condition may hold ours
// have a path and exact headers, and nothing else can conflict with these.
func atOdds(root snapshot.RootMatch, leaf model.Match) string {
	if leaf.PathPrefix != "" && conflicts(root.URI, snapshot.TextPrefix, leaf.PathPrefix) {
		return fmt.Sprintf("its path does not lie within uri %s %q", root.URI.Kind, root.URI.Value)
	}
	for _, h := range leaf.Headers {
		for _, other := range root.Headers {
			if other.Name == h.Key && conflicts(other.Text, snapshot.TextExact, h.Value) {
				return fmt.Sprintf("its header %s does not lie within headers %s %q", h.Key, other.Text.Kind, other.Text.Value)
			}
		}
	}
	switch {
	case root.IgnoreURICase:
		return "ignoreUriCase is true there and not here"
	case root.SourceNamespace != "":
		return fmt.Sprintf("sourceNamespace is %q there and nothing here", root.SourceNamespace)
	}
	return ""
}

// conflicts compares two conditions on one text (stringMatchConflict of pilot/pkg/model in
// istio/istio): only texts that are written out can lie within one another.
func conflicts(root snapshot.Text, kind snapshot.TextKind, value string) bool {
	switch {
	case root.Kind == "":
		return false
	case root.Value == "" || value == "":
		return true
	case root.Kind == snapshot.TextExact:
		return kind != snapshot.TextExact || value != root.Value
	case root.Kind == snapshot.TextPrefix:
		return !strings.HasPrefix(value, root.Value)
	}
	return true
}

// words say a condition of ours.
func words(m model.Match) string {
	var parts []string
	if m.PathPrefix != "" {
		parts = append(parts, "path "+m.PathPrefix)
	}
	for _, h := range m.Headers {
		parts = append(parts, h.Key+": "+h.Value)
	}
	return strings.Join(parts, " and ")
}
