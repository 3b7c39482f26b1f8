// Package config answers: what did the operator ask for? It turns ConfigMaps
// into values, and reads nothing itself.
package config

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Names of the ConfigMaps, as net-istio and Knative call them.
const (
	IstioConfigMap   = "config-istio"
	NetworkConfigMap = "config-network"
)

// Config is everything that steers a translation besides the objects themselves.
type Config struct {
	Istio   Istio
	Network Network
	// ClusterDomain is the DNS suffix of the cluster, usually cluster.local.
	ClusterDomain string
	// SystemNamespace is where Knative's ConfigMaps and gateways live.
	SystemNamespace string
}

// Network is the part of config-network that concerns us.
type Network struct {
	// ClusterLocalDomainTLS asks for TLS on cluster-local hosts at gateways.
	ClusterLocalDomainTLS bool
	// MeshPodAddressability asks for single pods to be reachable in the mesh.
	MeshPodAddressability bool
}

// Scope says from where a host may be reached.
type Scope string

const (
	// External is for hosts that the world may call.
	External Scope = "External"
	// Local is for hosts that only the cluster may call.
	Local Scope = "Local"
)

// Istio is config-istio. An empty list is legal ("no gateway of this scope");
// what that means is decided in package plan, and only there.
type Istio struct {
	External, Local []Gateway
	// ExternalInMesh serves public hosts to callers in the mesh by their own sidecars also
	// where there are external gateways. Without those they always are.
	ExternalInMesh bool
	// MeshDNS has callers' sidecars answer DNS for the public hosts that they serve.
	MeshDNS bool
	// Delegates has the routes of each Ingress written once more without hosts, for VirtualServices
	// of others to delegate to, unless its annotation says otherwise.
	Delegates bool
	// Export says to which namespaces' sidecars the hosts of the mesh are told.
	Export Export
	// Loopback has callers' sidecars stand in for the local gateway where there is none.
	Loopback bool
	// PrivateLoopback publishes the name of the loopback as the address of cluster-local
	// hosts where there is no local gateway.
	PrivateLoopback bool
}

// LocalGateway is the Service to which KServe, Kubeflow and others send what is for hosts of
// the cluster; it is that of the default local gateway too.
var LocalGateway = types.NamespacedName{Namespace: "istio-system", Name: "knative-local-gateway"}

// LocalGatewayHost is the full name of that Service.
func LocalGatewayHost(clusterDomain string) string {
	return LocalGateway.Name + "." + LocalGateway.Namespace + ".svc." + clusterDomain
}

// PublicInMesh says whether callers' sidecars serve public hosts.
func (i Istio) PublicInMesh() bool { return i.ExternalInMesh || len(i.External) == 0 }

// Export lists namespaces, for all Ingresses and for those of one namespace: names,
// ExportAll, or ExportOwn for that of the Ingress. Nil: nothing is said, and Istio's own
// default holds (defaultVirtualServiceExportTo of its mesh configuration).
type Export struct {
	Default []string
	// ByNamespace is sorted by Namespace.
	ByNamespace []NamespaceExport
}

// NamespaceExport is an Export for the Ingresses of a namespace.
type NamespaceExport struct {
	Namespace string
	To        []string
}

// What an Export may list besides names of namespaces.
const (
	ExportAll = "*"
	ExportOwn = "."
)

// For returns what is said for the Ingresses of a namespace.
func (e Export) For(namespace string) []string {
	for _, n := range e.ByNamespace {
		if n.Namespace == namespace {
			return n.To
		}
	}
	return e.Default
}

// Gateway is one Istio Gateway the operator offers, with the Service in front of
// its pods.
type Gateway struct {
	Name    types.NamespacedName
	Service types.NamespacedName
	// ServiceHost is the Service's host as the operator wrote it; it is what the
	// status of an Ingress publishes.
	ServiceHost string
	// Selector restricts the gateway to Ingresses with matching labels. Nil: the
	// default gateway of its scope.
	Selector *metav1.LabelSelector
}

// For returns the gateways that serve an Ingress with the given labels: those
// whose selector matches, else the ones without selector.
func (i Istio) For(scope Scope, ingress map[string]string) []Gateway {
	offered := i.External
	if scope == Local {
		offered = i.Local
	}
	var chosen, defaults []Gateway
	for _, g := range offered {
		switch {
		case g.Selector == nil:
			defaults = append(defaults, g)
		case matches(g.Selector, ingress):
			chosen = append(chosen, g)
		}
	}
	if len(chosen) > 0 {
		return chosen
	}
	return defaults
}

// matches treats a selector that cannot be converted as matching nothing; the
// parser has refused it before.
func matches(s *metav1.LabelSelector, have map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(have))
}
