package doctor

import (
	"fmt"
	"slices"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	fault "github.com/net-mesh/net-mesh/pkg/finding"
)

// Blocker is what stops a request at a stop of its way.
type Blocker struct {
	Reason Reason `json:"reason"`
	// Object that does, or is missing something.
	Object fault.Ref `json:"object"`
	// Because says what it does, Remedy what to do.
	Because string `json:"because"`
	Remedy  string `json:"remedy"`
	// Maybe: whether it does is not known, or it does to some pods only.
	Maybe bool `json:"maybe,omitempty"`
	// Final: the request is not passed on to where DNS leads either.
	Final bool `json:"-"`
}

// Stop is who makes or takes a connection.
type Stop struct{ role role }

// View answers for single calls what Examine answers for all, from the same facts.
type View struct{ f *facts }

// Look prepares answers.
func Look(w World) View { return View{newFacts(w)} }

// Caller are the pods of a service account. Where none is seen, one with labels that nobody
// knows stands for them.
func (v View) Caller(namespace, account string) Stop {
	own := v.f.choose(func(w Workload) bool { return w.Namespace == namespace && w.Account == account })
	if len(own) == 0 {
		own = []Workload{{Ref: ref("ServiceAccount", namespace, account), Namespace: namespace, Account: account, Sidecar: !v.f.bare(namespace), Vague: true}}
	}
	return Stop{role{"callers", v.f.distinct(own), nil}}
}

// Activator are its pods. Where none is seen, one as Serving's manifests have it.
func (v View) Activator() Stop {
	r := v.f.activators()
	if len(r.members) == 0 {
		r.members = []Workload{{Ref: ref("Pod", v.f.SystemNamespace, activatorName), Namespace: v.f.SystemNamespace, Account: activatorName, Sidecar: true,
			Labels: map[string]string{appLabel: activatorName, "role": activatorName, "app.kubernetes.io/name": "knative-serving", "app.kubernetes.io/component": activatorName}}}
	}
	return Stop{r}
}

// Revision are the pods of one, or what they would be.
func (v View) Revision(name types.NamespacedName) Stop {
	r := v.f.revisions()
	r.words = "revision " + name.String()
	r.members = v.f.distinct(v.f.podsOf(Revision{Name: name}))
	if len(r.members) == 0 {
		r.members = []Workload{{Ref: ref("Pod", name.Namespace, name.Name), Namespace: name.Namespace, Sidecar: true, Vague: true,
			Labels: map[string]string{revisionLabel: name.Name}}}
	}
	return Stop{r}
}

// Gateway are the pods of one of config-istio, by namespace/name.
func (v View) Gateway(name string) Stop {
	for _, g := range v.f.Gateways {
		if s := v.f.service(g.Service); g.Name.String() == name && s != nil {
			return Stop{v.f.ofService("the gateway "+name, v.f.behind(s), s.Spec.Selector)}
		}
	}
	return Stop{}
}

// Unseen says, where pods and namespaces are known, that nobody is seen who is that caller;
// empty if somebody is, or if it is not known.
func (v View) Unseen(namespace, account string) string {
	if len(v.f.choose(func(w Workload) bool { return w.Namespace == namespace && w.Account == account })) > 0 {
		return ""
	}
	if _, there := v.f.namespaces[namespace]; !there && len(v.f.namespaces) > 0 && !v.f.notRead(kindNamespace) {
		return fmt.Sprintf("namespace %s does not exist", namespace)
	}
	if len(v.f.Pods) > 0 && !v.f.notRead(kindPod) && !v.f.bare(namespace) {
		return fmt.Sprintf("no pod of %s/%s is seen; its sidecar is assumed", namespace, account)
	}
	return ""
}

// Unmeshed says that the caller has no sidecar, so that nothing in the mesh routes for it.
func (v View) Unmeshed(caller Stop) *Blocker {
	var bare []Workload
	for _, w := range caller.role.members {
		if !w.Sidecar {
			bare = append(bare, w)
		}
	}
	if len(bare) == 0 {
		return nil
	}
	w := bare[0]
	if w.Vague {
		return &Blocker{Reason: CallerUnmeshed, Object: ref("Namespace", "", w.Namespace), Maybe: true,
			Because: fmt.Sprintf("namespace %s does not ask for sidecars, and none of its pods runs as %s: without a sidecar nothing routes for it but gateways", w.Namespace, w.Account),
			Remedy:  "label the namespace istio-injection: enabled, or the pods sidecar.istio.io/inject: \"true\""}
	}
	return &Blocker{Reason: CallerUnmeshed, Object: w.Ref, Maybe: len(bare) < len(caller.role.members),
		Because: fmt.Sprintf("%s %s/%s has no sidecar, so nothing routes for it but gateways", w.Ref.Kind, w.Ref.Namespace, w.Ref.Name),
		Remedy:  "have it injected and start it anew, or name a caller that has a sidecar"}
}

// Hidden says that the caller's sidecar does not know a route: a Sidecar object hides it, or it
// is not exported there.
func (v View) Hidden(caller Stop, r Route) *Blocker {
	if v.f.notRead(kindSidecar) {
		return nil
	}
	var found *Blocker
	seen := 0
	for _, w := range caller.role.members {
		b := v.hidden(w, r)
		if b == nil {
			continue
		}
		if seen++; found == nil {
			found = b
		}
	}
	if found != nil && seen < len(caller.role.members) {
		found.Maybe = true
	}
	return found
}

func (v View) hidden(w Workload, r Route) *Blocker {
	if !v.f.told(r, w.Namespace) {
		return &Blocker{Reason: ExportLeavesOut, Object: ref("VirtualService", r.Ingress.Namespace, r.VirtualService),
			Because: fmt.Sprintf("VirtualService %s/%s is not exported to namespace %s, so sidecars there do not know the host", r.Ingress.Namespace, r.VirtualService, w.Namespace),
			Remedy:  "add the namespace to export-to of config-istio, or to the annotation net-mesh.dev/export-to"}
	}
	hides := func(s *istiov1.Sidecar) bool {
		return s != nil && !slices.ContainsFunc(r.Hosts, func(h string) bool { return imports(s, w.Namespace, 80, r.Ingress.Namespace, h) })
	}
	if s, unsure := v.f.scope(w); hides(s) {
		return v.hiding(s, w, r, unsure)
	}
	// Of pods that are not seen any Sidecar of the namespace may hold.
	for _, s := range v.f.Sidecars {
		if w.Vague && s.Namespace == w.Namespace && s.Spec.GetWorkloadSelector() != nil && hides(s) {
			return v.hiding(s, w, r, true)
		}
	}
	return nil
}

func (v View) hiding(s *istiov1.Sidecar, w Workload, r Route, maybe bool) *Blocker {
	does, so := "keeps", "calls go unrouted to where DNS leads"
	if v.f.registryOnly(s) {
		so = "calls are refused with 502"
	}
	if maybe {
		does = "may select the caller, of which no pod is seen, and keeps"
	}
	return &Blocker{Reason: SidecarHidesRoutes, Object: ref("Sidecar", s.Namespace, s.Name), Maybe: maybe, Final: v.f.registryOnly(s),
		Because: fmt.Sprintf("Sidecar %s %s the routes of namespace %s from sidecars of namespace %s, so %s", nameOf(s), does, r.Ingress.Namespace, w.Namespace, so),
		Remedy:  fmt.Sprintf("add %s/* to its egress hosts; netmesh doctor prints it so", r.Ingress.Namespace)}
}

// Shut says that NetworkPolicies keep one stop from the next, at the port at which activator
// and revisions take HTTP/1, or HTTP/2.
func (v View) Shut(from, to Stop, http2 bool) *Blocker {
	if v.f.notRead(kindNetworkPolicy) || v.f.notRead(kindNamespace) || v.f.notRead(kindPod) {
		return nil
	}
	port := int32(portHTTP1)
	if http2 {
		port = portHTTP2
	}
	reason := PolicyShutsRevisions
	switch {
	case to.role.words == v.f.activators().words:
		reason = PolicyShutsActivator
	case from.role.words == v.f.callers().words:
		reason = PolicyShutsCallers
	}
	all := v.f.barriers(leg{from: from.role, to: to.role, ports: []int32{port}, reason: reason})
	if len(all) == 0 {
		return nil
	}
	// One that surely shuts goes before one of which it is not known.
	slices.SortStableFunc(all, func(a, b barrier) int { return boolean(a.unclear) - boolean(b.unclear) })
	b := all[0]
	out := &Blocker{Reason: reason, Object: ref("NetworkPolicy", b.first.Namespace, b.first.Name), Maybe: b.unclear || v.somePass(from, to, port),
		Because: b.does(),
		Remedy:  "admit them with a further NetworkPolicy; netmesh doctor prints one"}
	if b.unclear {
		out.Reason, out.Remedy = PolicyByAddress, "name the service account of pods that run"
		out.Because = b.doubt()
		return out
	}
	return out
}

func (v View) somePass(from, to Stop, port int32) bool {
	for _, a := range from.role.members {
		for _, b := range to.role.members {
			if len(v.f.passes(a, b, port)) == 0 {
				return true
			}
		}
	}
	return false
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
