package doctor

import (
	"maps"
	"slices"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
)

// hidden is what one Sidecar object keeps from whom.
type hidden struct {
	by *istiov1.Sidecar
	// callers, serving and proving are namespaces of those who do not see, and what: namespaces
	// of routes. callersMiss are kept apart because of the gateway.
	callers, callersMiss map[string]bool
	serving, servingMiss map[string]bool
	proving, provingMiss map[string]bool
	refuses              bool
}

// checkScopes asks, for all who need to know routes, the Sidecar object that holds for them.
func checkScopes(f *facts) []Finding {
	all := map[string]*hidden{}
	at := func(s *istiov1.Sidecar) *hidden {
		h, there := all[nameOf(s)]
		if !there {
			h = &hidden{by: s, callers: map[string]bool{}, callersMiss: map[string]bool{}, serving: map[string]bool{},
				servingMiss: map[string]bool{}, proving: map[string]bool{}, provingMiss: map[string]bool{}}
			all[nameOf(s)] = h
		}
		return h
	}
	for _, w := range f.callers().members {
		s, _ := f.scope(w)
		for _, n := range f.missing(s, w.Namespace) {
			h := at(s)
			h.callers[w.Namespace], h.callersMiss[n] = true, true
			h.refuses = h.refuses || f.registryOnly(s)
		}
	}
	for _, w := range slices.Concat(f.activators().members, f.autoscalers().members) {
		s, _ := f.scope(w)
		for _, n := range f.missingRevisions(s, w) {
			at(s).serving[w.Labels[appLabel]], at(s).servingMiss[n] = true, true
		}
	}
	for _, w := range f.provers() {
		s, _ := f.scope(w)
		for _, n := range f.missing(s, w.Namespace) {
			at(s).proving[w.Namespace], at(s).provingMiss[n] = true, true
		}
	}
	var out []Finding
	for _, name := range sortedKeys(all) {
		out = append(out, all[name].findings(f)...)
	}
	return out
}

// provers are the controller and observers, of those that have a sidecar.
func (f *facts) provers() []Workload {
	all := f.controllers().members
	for _, name := range f.observers().services {
		all = append(all, f.behind(f.service(name))...)
	}
	return slices.DeleteFunc(all, func(w Workload) bool { return !w.Sidecar })
}

// missing are the namespaces of which a Sidecar keeps some route of the mesh from the sidecars
// of a namespace that is told of it.
func (f *facts) missing(s *istiov1.Sidecar, own string) []string {
	out := map[string]bool{}
	if s == nil {
		return nil
	}
	for _, r := range f.Routes {
		if !r.Mesh || !f.told(r, own) {
			continue
		}
		// A VirtualService is known as a whole, or not at all.
		if !slices.ContainsFunc(r.Hosts, func(host string) bool { return imports(s, own, 80, r.Ingress.Namespace, host) }) {
			out[r.Ingress.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// missingRevisions are the namespaces of revisions that a sidecar of Serving does not know:
// activator and autoscaler call their private Services.
func (f *facts) missingRevisions(s *istiov1.Sidecar, w Workload) []string {
	out := map[string]bool{}
	if s == nil || !w.Sidecar {
		return nil
	}
	for _, r := range f.Revisions {
		if !imports(s, w.Namespace, portHTTP1, r.Name.Namespace, r.Name.Name+"-private."+r.Name.Namespace+".svc."+f.ClusterDomain) {
			out[r.Name.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// told says whether an object is exported to a namespace.
func (f *facts) told(r Route, namespace string) bool {
	to := r.ExportTo
	if len(to) == 0 {
		to = f.mesh.exportTo
	}
	return len(to) == 0 || slices.Contains(to, "*") || slices.Contains(to, namespace) || (namespace == r.Ingress.Namespace && slices.Contains(to, "."))
}

func (h *hidden) findings(f *facts) []Finding {
	miss := map[string]bool{}
	for _, m := range []map[string]bool{h.callersMiss, h.servingMiss, h.provingMiss} {
		maps.Copy(miss, m)
	}
	fix := widened(h.by, sortedKeys(miss))
	subject, name := fix.ref, nameOf(h.by)
	remedy := "apply Sidecar " + name + " below, which adds " + namespaces(sortedKeys(miss)) + "; with each further namespace of Services it has to be widened, or the list says \"*/*\""
	var out []Finding
	add := func(r Reason, format string, args ...any) {
		one := finding(r, subject, format, args...).mend("%s", remedy)
		one.Fixes = []Fix{fix}
		out = append(out, one)
	}
	if len(h.callers) > 0 {
		who, what := namespaces(sortedKeys(h.callers)), namespaces(sortedKeys(h.callersMiss))
		switch {
		case f.localGateway() && !h.refuses:
			add(SidecarDetours, "Sidecar %s keeps the routes of %s from the sidecars of %s, so their calls go by the local gateway, and not with mTLS on the way there", name, what, who)
		default:
			so := "go unrouted to an address behind which nobody listens, and fail"
			if h.refuses {
				so = "are refused with 502"
			}
			add(SidecarHidesRoutes, "Sidecar %s keeps the routes of %s from the sidecars of %s, so calls to hosts there %s", name, what, who, so)
		}
	}
	if len(h.serving) > 0 {
		add(SidecarHidesRevisions, "Sidecar %s keeps the revisions of %s from the sidecars of %s, so what those send there leaves without mTLS: it is refused where mTLS is demanded, and has no identity elsewhere",
			name, namespaces(sortedKeys(h.servingMiss)), some(sortedKeys(h.serving)))
	}
	if len(h.proving) > 0 {
		add(SidecarBlindsObserver, "Sidecar %s keeps the routes of %s from those who prove them, in %s, so Ingresses there wait",
			name, namespaces(sortedKeys(h.provingMiss)), namespaces(sortedKeys(h.proving)))
	}
	return out
}
