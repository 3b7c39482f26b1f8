package model

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// host reads one host of a rule. All spellings of an in-cluster host give the
// same Host.
func (in *ingest) host(raw string, scope Scope, path string) (Host, bool) {
	host, refused := in.accept(raw, scope, in.ing.Namespace)
	if refused.reason != "" {
		in.report(refused.reason, path, "%s", refused.message)
		return Host{}, false
	}
	return host, true
}

// refusal says why a host may not be claimed; the zero value, that it may.
type refusal struct {
	reason  finding.Reason
	message string
}

func refuse(reason finding.Reason, format string, args ...any) refusal {
	return refusal{reason, fmt.Sprintf(format, args...)}
}

// accept reads a host as it is meant in an Ingress of a namespace.
func (in *ingest) accept(raw string, scope Scope, namespace string) (Host, refusal) {
	if fault := hostFault(raw); fault != "" {
		return Host{}, refuse(finding.HostInvalid, "host %q cannot be served: %s; correct the host", raw, fault)
	}
	domain := in.world.Config.ClusterDomain
	if reachesOtherNamespaces(raw, domain, namespace) {
		return Host{}, refuse(finding.ForeignNamespaceHost,
			"host %q fits Services of other namespaces; an Ingress of namespace %s may claim *.%s.svc.%s and wildcards of public domains only. Use such a one, or name the hosts",
			raw, namespace, namespace, domain)
	}
	service, inCluster := snapshot.ParseHost(raw, domain, scope, namespace)
	if owner, ok := in.owner(raw, service); ok && owner != namespace {
		return Host{}, refuse(finding.ForeignNamespaceHost,
			"host %q belongs to namespace %s; an Ingress of namespace %s may not claim it. Move the Ingress, or use another host",
			raw, owner, namespace)
	}
	if !inCluster {
		return Host{Name: raw, Backing: NoService}, refusal{}
	}
	return Host{
		Name:    service.Name + "." + service.Namespace + ".svc." + domain,
		Short:   shortNames(service),
		Backing: in.backing(service),
	}, refusal{}
}

// owner returns the namespace to which DNS gives a host: that of the cluster's own
// domain, with or without the domain's name behind .svc, and whatever stands before
// the Service (pods of a headless one have names too). For a name such as foo.com that
// DNS would also try as Service foo in namespace com, it is that of the Service if
// there is one.
func (in *ingest) owner(host string, service types.NamespacedName) (string, bool) {
	if service.Namespace != "" {
		return service.Namespace, true
	}
	if namespace, ok := namespaceIn(host, in.world.Config.ClusterDomain); ok {
		return namespace, true
	}
	if short, ok := snapshot.Shorthand(host); ok {
		_, found := in.service(short)
		return short.Namespace, found
	}
	return "", false
}

// namespaceIn returns the namespace that a name of the cluster's own domain names.
func namespaceIn(host, clusterDomain string) (string, bool) {
	name, ok := strings.CutSuffix(host, ".svc."+clusterDomain)
	if !ok {
		name, ok = strings.CutSuffix(host, ".svc")
		ok = ok && strings.Contains(name, ".")
	}
	return name[strings.LastIndex(name, ".")+1:], ok
}

// reachesOtherNamespaces says whether a wildcard fits names that belong to Services of
// other namespaces, in any spelling that DNS allows in the cluster: a sidecar applies
// a wildcard to every Service it fits, and a gateway to every request.
//
// Of the wildcards of the cluster's own domain those under the Ingress' own namespace
// are left. They may be claimed in the mesh too, where they take every Service of the
// namespace that no other host names: whoever may write Ingresses there could claim each
// of them by name. Abbreviations are refused for the own namespace as well, since a
// namespace may be called like a domain of the world: *.com is not com's to claim.
func reachesOtherNamespaces(host, clusterDomain, namespace string) bool {
	suffix, wild := strings.CutPrefix(host, "*.")
	if !wild {
		return false
	}
	services := "svc." + clusterDomain
	if within, ok := strings.CutSuffix(suffix, "."+services); ok {
		return within[strings.LastIndex(within, ".")+1:] != namespace
	}
	return services == suffix || strings.HasSuffix(services, "."+suffix) ||
		strings.HasSuffix(suffix, ".svc") || !strings.Contains(suffix, ".")
}

// shortNames are the abbreviations of a Service's name that may stand as a host.
// A last label of digits alone is no top level domain to Istio.
func shortNames(s types.NamespacedName) []string {
	short := []string{s.Name + "." + s.Namespace + ".svc"}
	if !allDigits(s.Namespace) {
		short = append(short, s.Name+"."+s.Namespace)
	}
	slices.Sort(short)
	return short
}

func (in *ingest) backing(name types.NamespacedName) Backing {
	switch s, found := in.service(name); {
	case !found:
		return NoService
	case s.ExternalName != "":
		return AliasService
	}
	return ClusterIPService
}

func (in *ingest) service(name types.NamespacedName) (snapshot.Service, bool) {
	s := in.services[name]
	return s, s.Found
}

// hostFault says in words why neither DNS nor Istio accept a host; empty if they
// do.
func hostFault(host string) string {
	if host == "*" {
		return "it would take every host of the gateway"
	}
	name := strings.TrimPrefix(host, "*.")
	if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
		return errs[0]
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if len(label) > validation.DNS1123LabelMaxLength {
			return fmt.Sprintf("label %q is longer than %d characters", label, validation.DNS1123LabelMaxLength)
		}
	}
	if allDigits(labels[len(labels)-1]) {
		return "its last label consists of digits alone"
	}
	return ""
}

func allDigits(label string) bool { return strings.Trim(label, "0123456789") == "" }
