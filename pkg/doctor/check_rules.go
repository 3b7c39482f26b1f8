package doctor

import (
	"slices"
	"strings"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"

	"github.com/net-mesh/net-mesh/pkg/config"
)

// unknownMesh is said where Istio's own configuration has not been seen.
func (f *facts) unknownMesh(what string) Finding {
	why, remedy := "ConfigMap istio of namespace "+f.mesh.root+" is not seen", "add it to the documents, or see what Istio's own configuration is called"
	if f.mesh.fault != "" {
		why, remedy = f.mesh.fault, "correct it"
	}
	for _, u := range f.Unread {
		if u.Kind == kindConfigMap {
			why, remedy = u.Why, u.Remedy
		}
	}
	return finding(NotKnown, ref("ConfigMap", f.mesh.root, meshConfigMap), "%s, so %s is not known", why, what).mend("%s", remedy)
}

func checkOutbound(f *facts) []Finding {
	if !f.mesh.known {
		return []Finding{f.unknownMesh("what sidecars do with hosts that they do not know")}
	}
	const so = "hosts that sidecars do not know are refused with 502: public hosts that only a gateway serves, and all that a Sidecar object hides"
	var out []Finding
	if f.mesh.registryOnly {
		out = append(out, finding(RegistryOnly, ref("ConfigMap", f.mesh.root, meshConfigMap), "outboundTrafficPolicy of the mesh is REGISTRY_ONLY: %s", so).
			mend("external-in-mesh in config-istio lets meshed callers use public hosts; for hosts of others write ServiceEntries"))
	}
	for _, s := range f.Sidecars {
		if s.Spec.GetOutboundTrafficPolicy().GetMode() == v1alpha3.OutboundTrafficPolicy_REGISTRY_ONLY && s.Spec.GetOutboundTrafficPolicy() != nil {
			out = append(out, finding(RegistryOnly, ref("Sidecar", s.Namespace, s.Name), "outboundTrafficPolicy of Sidecar %s is REGISTRY_ONLY: %s", nameOf(s), so).
				mend("let its egress hosts list what is called, with the namespaces of Services"))
		}
	}
	if len(out) == 0 {
		out = append(out, good("sidecars pass on hosts that they do not know (ALLOW_ANY)"))
	}
	return out
}

func checkExports(f *facts) []Finding {
	subject := ref("ConfigMap", f.SystemNamespace, config.IstioConfigMap)
	var silent, limited []string
	for _, r := range f.Routes {
		switch {
		case !r.Mesh || slices.Contains(r.ExportTo, "*"):
		case len(r.ExportTo) == 0:
			silent = append(silent, r.Ingress.String())
		default:
			limited = append(limited, r.Ingress.String())
		}
	}
	var out []Finding
	switch {
	case len(silent) > 0 && !f.mesh.known:
		out = append(out, f.unknownMesh("whether VirtualServices that do not say it are told to all sidecars"))
	case len(silent) > 0 && len(f.mesh.exportTo) > 0 && !slices.Contains(f.mesh.exportTo, "*"):
		out = append(out, finding(ExportHidesRoutes, subject,
			"defaultVirtualServiceExportTo of the mesh is [%s], and config-istio has no export-to, so routes (of %s) are told to sidecars there only: callers and observers elsewhere do not know them",
			strings.Join(f.mesh.exportTo, ", "), some(unique(silent))).mend("set export-to in config-istio: \"*\", or the namespaces that call"))
	}
	for _, o := range f.observers().services {
		var left []string
		for _, r := range f.Routes {
			if r.Mesh && len(r.ExportTo) > 0 && !f.told(r, o.Namespace) {
				left = append(left, r.Ingress.String())
			}
		}
		if len(left) > 0 {
			out = append(out, finding(ExportLeavesOut, ref("Service", o.Namespace, o.Name), "export-to leaves out the namespace of observer %s for %s, which it does not prove; the controller's own sidecar does alone", o, some(unique(left))).
				mend("nothing; or run an observer in a namespace that is told"))
		}
	}
	if len(limited) > 0 && len(out) == 0 {
		out = append(out, good("export-to limits who is told of %s; callers in other namespaces do not reach them", some(unique(limited))))
	}
	return out
}

// checkRivals finds VirtualServices of others at the same entry with the same host. A host that
// only covers one, as a wildcard does, gives way to it.
func checkRivals(f *facts) []Finding {
	var out []Finding
	for _, v := range f.VirtualServices {
		if v.Labels[ingressLabel] != "" {
			continue
		}
		for _, r := range f.Routes {
			var claimed []string
			for _, h := range v.Spec.GetHosts() {
				if host := f.full(h, v.Namespace); slices.Contains(r.Hosts, host) && sharesEntry(v, r) && !f.before(r, v, host) {
					claimed = append(claimed, host)
				}
			}
			if len(claimed) == 0 {
				continue
			}
			where := "in the mesh Istio lets the older one have it as a whole, or in its own namespace one that is exported nowhere else"
			if !r.Mesh {
				where = "at gateways Istio merges the two, and a path of the older one prevails"
			}
			out = append(out, finding(VirtualServiceClaims, ref("VirtualService", v.Namespace, v.Name),
				"VirtualService %s claims %s of Ingress %s (VirtualService %s/%s); %s%s", nameOf(v), strings.Join(unique(claimed), ", "), r.Ingress, r.Ingress.Namespace, r.VirtualService, where, f.seniority(v, r)).
				mend("remove the host from it; to change how a Knative Service is routed, change its Route"))
		}
	}
	return out
}

// sharesEntry compares where two VirtualServices apply.
func sharesEntry(v *istiov1.VirtualService, r Route) bool {
	gateways := v.Spec.GetGateways()
	if len(gateways) == 0 {
		return r.Mesh
	}
	return slices.ContainsFunc(gateways, func(g string) bool {
		if g == "mesh" {
			return r.Mesh
		}
		if !strings.Contains(g, "/") {
			g = v.Namespace + "/" + g
		}
		return slices.Contains(r.Entries, g)
	})
}

// seniority says which one is older, where both are seen.
func (f *facts) seniority(v *istiov1.VirtualService, r Route) string {
	for _, own := range f.VirtualServices {
		if own.Namespace != r.Ingress.Namespace || own.Name != r.VirtualService {
			continue
		}
		if older(v, own) < 0 {
			return ". It is the older one"
		}
		return ". It is the younger one"
	}
	return ""
}

// full completes a host as Istio does: only one without a dot is short for a Service.
func (f *facts) full(host, namespace string) string {
	if host == "" || strings.Contains(host, ".") || strings.HasPrefix(host, "*") {
		return strings.ToLower(host)
	}
	return strings.ToLower(host) + "." + namespace + ".svc." + f.ClusterDomain
}

func unique(all []string) []string {
	out := slices.Sorted(slices.Values(all))
	return slices.Compact(out)
}
