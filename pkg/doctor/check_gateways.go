package doctor

import (
	"maps"
	"slices"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func checkGateways(f *facts) []Finding {
	var out []Finding
	if len(f.Gateways) == 0 {
		return []Finding{good("config-istio names no gateway, so none is needed")}
	}
	for _, g := range f.Gateways {
		if !g.Found {
			out = append(out, finding(GatewayMissing, ref("Gateway", g.Name.Namespace, g.Name.Name), "config-istio names Gateway %s, which does not exist", g.Name).
				mend("apply 202-gateway.yaml or 203-local-gateway.yaml of config/, or correct config-istio"))
		}
		s := f.service(g.Service)
		subject := ref("Service", g.Service.Namespace, g.Service.Name)
		switch pods := f.behind(s); {
		case s == nil:
			out = append(out, finding(GatewayServiceMissing, subject, "Service %s, which config-istio names for Gateway %s, does not exist", g.Service, g.Name).
				mend("create it, or correct config-istio; where no gateway is wanted, set the list to \"[]\""))
		case len(s.Spec.Selector) == 0:
			out = append(out, finding(GatewayServiceMissing, subject, "Service %s of Gateway %s has no selector, so it leads to no pods that could be asked", g.Service, g.Name).
				mend("give it the selector of the gateway's pods"))
		case !slices.ContainsFunc(pods, func(w Workload) bool { return w.Ready }):
			out = append(out, finding(GatewayWithoutPods, subject, "no ready pod stands behind Service %s of Gateway %s, so Ingresses wait for one", g.Service, g.Name).
				mend("start the gateway; where none is wanted, set the list in config-istio to \"[]\""))
		}
	}
	return out
}
