package doctor

import (
	"fmt"
	"slices"
	"strings"
)

func checkSystemSidecars(f *facts) []Finding {
	var out []Finding
	for _, app := range []string{activatorName, autoscalerName} {
		for _, w := range f.systemPods(app) {
			if w.Sidecar || w.Host {
				continue
			}
			demanding := f.demanding()
			if len(demanding) > 0 || f.mtls(w, portHTTP1) == strict {
				at := "its own namespace"
				if len(demanding) > 0 {
					at = namespaces(demanding)
				}
				out = append(out, finding(SystemPodUnmeshed, w.Ref, "%s %s/%s has no sidecar, and mTLS is demanded in %s: revisions refuse what it sends",
					w.Ref.Kind, w.Ref.Namespace, w.Ref.Name, at).mend("%s", injectRemedy(f.SystemNamespace, app)))
				continue
			}
			out = append(out, finding(SystemPodWithoutMTLS, w.Ref, "%s %s/%s has no sidecar, so what passes it travels in plain text and nobody knows the caller",
				w.Ref.Kind, w.Ref.Namespace, w.Ref.Name).mend("%s", injectRemedy(f.SystemNamespace, app)))
		}
	}
	return out
}

func injectRemedy(namespace, app string) string {
	return fmt.Sprintf(`kubectl -n %s patch deployment %s -p '{"spec":{"template":{"metadata":{"labels":{"sidecar.istio.io/inject":"true"}}}}}'; with revisions of Istio istio.io/rev in its place`, namespace, app)
}

// demanding are the namespaces of routes where some revision's sidecar takes mTLS only.
func (f *facts) demanding() []string {
	var out []string
	for _, n := range f.served() {
		if slices.ContainsFunc(f.revisionPods(), func(w Workload) bool { return w.Namespace == n && w.Sidecar && f.mtls(w, portHTTP1) == strict }) {
			out = append(out, n)
		}
	}
	return out
}

// checkMTLS says what is demanded in the mesh as a whole, and where routes lead something else is.
func checkMTLS(f *facts) []Finding {
	mesh := f.namespaceMTLS(f.mesh.root)
	subject := ref("PeerAuthentication", f.mesh.root, "")
	var out []Finding
	switch mesh {
	case strict:
		out = append(out, good("mTLS is demanded in the mesh (STRICT in %s)", f.mesh.root))
	case disabled:
		out = append(out, finding(MTLSDisabled, subject, "mTLS is switched off for the mesh in %s: calls travel in plain text, and policies know no caller", f.mesh.root).
			mend("set mode STRICT, once all pods that call have sidecars"))
	default:
		out = append(out, finding(PlainTextAccepted, subject, "the mesh takes plain text beside mTLS (PERMISSIVE, or no PeerAuthentication in %s): calls of sidecars have mTLS, others have not, and are let in", f.mesh.root).
			mend("set mode STRICT in %s, once all pods that call have sidecars", f.mesh.root))
	}
	for _, n := range append(f.served(), f.SystemNamespace) {
		mode := f.namespaceMTLS(n)
		if mode == mesh {
			continue
		}
		own := ref("PeerAuthentication", n, "")
		switch mode {
		case disabled:
			out = append(out, finding(MTLSDisabled, own, "mTLS is switched off in namespace %s, unlike in the rest of the mesh", n).mend("delete that PeerAuthentication, or set mode STRICT"))
		case permissive:
			out = append(out, finding(PlainTextAccepted, own, "namespace %s takes plain text beside mTLS, unlike the rest of the mesh", n).mend("delete that PeerAuthentication, or set mode STRICT"))
		default:
			out = append(out, good("mTLS is demanded in namespace %s", n))
		}
	}
	return out
}

// checkInjection looks for pods without a sidecar where there should be one.
func checkInjection(f *facts) []Finding {
	var out []Finding
	for _, n := range f.served() {
		if _, known := f.namespaces[n]; known && !f.injects(n) && !f.allInjected(n) {
			out = append(out, finding(NamespaceNotInjected, ref("Namespace", n, n),
				"namespace %s has Services, and is not injected: calls arrive there in plain text and without identity, and its pods%s", n, f.outcome()).
				mend("kubectl label namespace %s istio-injection=enabled (or istio.io/rev=REVISION), and start its pods anew", n))
		}
	}
	bare := map[string][]Workload{}
	for _, w := range f.workloads {
		if f.injects(w.Namespace) && !w.Sidecar && !w.Host && !f.infrastructure(w.Namespace) {
			bare[w.Namespace] = append(bare[w.Namespace], w)
		}
	}
	for _, n := range sortedKeys(bare) {
		out = append(out, finding(PodNotInjected, ref("Namespace", n, n), "namespace %s is injected, and these have no sidecar: %s. They take calls in plain text, and%s",
			n, some(names(bare[n])), f.outcome()).
			mend("start them anew if they are older than the namespace's label; remove sidecar.istio.io/inject: \"false\" if it is not meant"))
	}
	return out
}

// allInjected: each pod asks for a sidecar by itself.
func (f *facts) allInjected(namespace string) bool {
	own := f.choose(func(w Workload) bool { return w.Namespace == namespace })
	return len(own) > 0 && !slices.ContainsFunc(own, func(w Workload) bool { return !w.Sidecar })
}

// outcome is what becomes of calls by pods without a sidecar.
func (f *facts) outcome() string {
	if f.localGateway() {
		return " call cluster-local hosts through the local gateway"
	}
	return " cannot call cluster-local hosts: without a local gateway the name leads to an address behind which nobody listens"
}

// checkOutsiders says who has to be served by a gateway, or is not at all.
func checkOutsiders(f *facts) []Finding {
	var outside []Workload
	for _, w := range f.workloads {
		if !w.Sidecar && !f.infrastructure(w.Namespace) {
			outside = append(outside, w)
		}
	}
	where := in(outside)
	switch {
	case len(where) == 0:
		return []Finding{good("all pods outside of the namespaces of Kubernetes, Istio and Serving have sidecars")}
	case f.localGateway():
		return []Finding{good("pods without a sidecar (in %s) call cluster-local hosts through the local gateway", namespaces(where))}
	}
	return []Finding{finding(CallersWithoutSidecar, ref("Namespace", "", strings.Join(where, ",")),
		"there is no local gateway, so pods without a sidecar, in %s, get no answer from cluster-local hosts: the name leads to an address behind which nobody listens", namespaces(where)).
		mend("nothing, if they call none; else give them sidecars, or configure local-gateways in config-istio")}
}
