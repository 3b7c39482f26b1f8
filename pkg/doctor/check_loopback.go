package doctor

import (
	"fmt"
	"slices"
	"strings"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	istiov1alpha3 "istio.io/client-go/pkg/apis/networking/v1alpha3"
	corev1 "k8s.io/api/core/v1"

	"github.com/net-mesh/net-mesh/pkg/config"
)

// What the loop of the loopback writes, by its names and words.
const (
	loopbackLabel     = "net-mesh.dev/loopback"
	loopbackListener  = "net-mesh-loopback"
	loopbackSwitch    = "net-mesh-loopback-switch"
	loopbackTrial     = "net-mesh-loopback-trial"
	loopbackDigest    = "net-mesh.dev/digest"
	loopbackProven    = "net-mesh.dev/proven"
	loopbackEvent     = "Loopback"
	withdrawnEvent    = "LoopbackWithdrawn"
	failingEvent      = "LoopbackFailing"
	loopbackEventsAre = "kubectl -n %s get events --field-selector involvedObject.name=" + config.IstioConfigMap
)

// checkLoopback asks how far sidecars are to stand in for a local gateway that is not there.
func checkLoopback(f *facts) []Finding {
	at, last := f.loopbacks(), f.lastWord()
	wanted := f.Config.Istio.Loopback && !f.localGateway()
	there := at[loopbackSwitch] != nil || at[loopbackListener] != nil
	subject := ref("ConfigMap", f.SystemNamespace, config.IstioConfigMap)
	events := fmt.Sprintf(loopbackEventsAre, f.SystemNamespace)
	switch {
	case !wanted && there:
		return []Finding{finding(LoopbackStays, subject, "%s wants no loopback, and sidecars still have it%s", config.IstioConfigMap, said(last)).
			mend("wait until each Ingress is served at the local gateway; else see %s, and the log of the controller", events)}
	case f.localGateway():
		return []Finding{good("there is a local gateway, so that no sidecar has to stand in for it")}
	case !wanted:
		return []Finding{good("the loopback is switched off: what others lead to the local gateway gets no answer")}
	}
	out := f.withoutPort80()
	switch {
	case inForce(at[loopbackSwitch]) && last != nil && last.Reason == failingEvent:
		out = append(out, finding(LoopbackFails, subject, "the loopback in place of a local gateway does not answer everywhere%s", said(last)).
			mend("look in the log of istio-proxy in the pod that the event names"))
	case inForce(at[loopbackSwitch]):
		out = append(out, good("sidecars stand in for the local gateway: what KServe and others lead there is routed where it is called from"))
	case last != nil && last.Reason == withdrawnEvent:
		out = append(out, finding(LoopbackWithdrawn, subject, "the loopback in place of a local gateway was withdrawn, so what others lead to the local gateway gets no answer%s", said(last)).
			mend("look in the log of istio-proxy in the pod that the event names; it is tried again by itself"))
	default:
		out = append(out, finding(LoopbackNotInForce, subject, "no local gateway is configured, and sidecars do not stand in for it yet (%s), so what KServe and others lead there gets no answer%s", stage(at), said(last)).
			mend("wait a minute; else see %s, and whether an observer runs that can try it", events))
	}
	return out
}

// loopbacks are the EnvoyFilters of the loopback, by name.
func (f *facts) loopbacks() map[string]*istiov1alpha3.EnvoyFilter {
	out := map[string]*istiov1alpha3.EnvoyFilter{}
	for _, e := range f.EnvoyFilters {
		if e.Name == loopbackTrial || e.Namespace == f.mesh.root {
			out[e.Name] = e
		}
	}
	return out
}

// inForce: sidecars that can be asked have shown the generation that the switch is of.
func inForce(leads *istiov1alpha3.EnvoyFilter) bool {
	return leads != nil && leads.Annotations[loopbackDigest] != "" && leads.Annotations[loopbackProven] == leads.Annotations[loopbackDigest]
}

func stage(at map[string]*istiov1alpha3.EnvoyFilter) string {
	switch {
	case at[loopbackSwitch] != nil:
		return "it is led to, and not proven"
	case at[loopbackListener] != nil:
		return "all sidecars are given the listener"
	case at[loopbackTrial] != nil:
		return "observers try it"
	}
	return "it is not begun"
}

// lastWord is the newest that was said of the loopback, if that can be read.
func (f *facts) lastWord() *corev1.Event {
	var last *corev1.Event
	for _, e := range f.Events {
		if last == nil || !e.LastTimestamp.Before(&last.LastTimestamp) {
			last = e
		}
	}
	return last
}

func said(e *corev1.Event) string {
	if e == nil {
		return ""
	}
	return fmt.Sprintf("; event %s: %s", e.Reason, e.Message)
}

// withoutPort80 finds Sidecar objects that take from callers the routes of port 80: the second
// pass goes by them, wherever the first has gone.
func (f *facts) withoutPort80() []Finding {
	hit := map[*istiov1.Sidecar]map[string]bool{}
	for _, w := range f.callers().members {
		s, _ := f.scope(w)
		if s == nil || hasPort80(s) {
			continue
		}
		if hit[s] == nil {
			hit[s] = map[string]bool{}
		}
		hit[s][w.Namespace] = true
	}
	var out []Finding
	for s, in := range hit {
		out = append(out, finding(LoopbackWithoutRoutes, ref("Sidecar", s.Namespace, s.Name),
			"Sidecar %s has no egress listener for port 80, by whose routes the loopback sends requests on, so callers in %s get no answer from the local gateway's name",
			nameOf(s), namespaces(sortedKeys(in))).mend("add an egress entry without a port"))
	}
	return out
}

// hasPort80: without egress entries everything is known.
func hasPort80(s *istiov1.Sidecar) bool {
	egress := s.Spec.GetEgress()
	return len(egress) == 0 || slices.ContainsFunc(egress, func(e *v1alpha3.IstioEgressListener) bool {
		return e.GetPort() == nil || e.GetPort().GetNumber() == 80 && strings.HasPrefix(strings.ToUpper(e.GetPort().GetProtocol()), "HTTP")
	})
}
