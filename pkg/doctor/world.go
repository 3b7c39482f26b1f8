package doctor

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	fault "github.com/net-mesh/net-mesh/pkg/finding"
)

// World is what is known of a cluster. It is not changed.
type World struct {
	SystemNamespace, ClusterDomain string
	// Config is what config-istio and config-network say; nil where they cannot be read, and
	// ConfigFault says why.
	Config      *config.Config
	ConfigFault string
	// ConfigWritten: config-istio is there.
	ConfigWritten bool
	// About is what there is to be said of config-istio.
	About []fault.Finding
	// Network are the entries of config-network as they are written.
	Network map[string]string
	// Ingresses counts those that net-mesh serves.
	Ingresses int
	Routes    []Route
	Gateways  []Gateway
	Revisions []Revision
	Services  []*corev1.Service
	Objects
	// Unread are kinds that could not be read.
	Unread []Unread
}

// Route is a VirtualService that net-mesh writes.
type Route struct {
	Ingress types.NamespacedName
	// VirtualService is its name, in the namespace of the Ingress.
	VirtualService string
	// Mesh: it is for sidecars; else Entries names Gateways, as namespace/name.
	Mesh    bool
	Entries []string
	// Hosts with, in the mesh, the abbreviations that Istio adds.
	Hosts []string
	// Local: callers of the cluster alone are meant.
	Local bool
	// ExportTo are namespaces; nil: nothing is said.
	ExportTo []string
}

// Gateway is one of config-istio.
type Gateway struct {
	Name, Service types.NamespacedName
	// Local: it is for callers in the cluster.
	Local bool
	// Found says whether the Gateway object exists.
	Found bool
}

// Revision is what Serving's ServerlessService says of one.
type Revision struct {
	Name types.NamespacedName
	// Proxied: the activator stands before it now.
	Proxied bool
	// HTTP2: it takes HTTP/2 without TLS, at another port.
	HTTP2 bool
}

// Unread is a kind that could not be read.
type Unread struct {
	// Kind with its API group, such as Sidecar.networking.istio.io.
	Kind string
	// Why says what could not be done and why, Remedy what to do.
	Why, Remedy string
}

// Kinds of which objects are read, with their API groups.
const (
	kindNamespace = "Namespace"
	kindPod       = "Pod"
	kindConfigMap = "ConfigMap"
	kindService   = "Service"
	// kindRoute are VirtualServices of net-mesh, which follow from its configuration.
	kindRoute               = "Route"
	kindGateway             = "Gateway.networking.istio.io"
	kindDeployment          = "Deployment.apps"
	kindNetworkPolicy       = "NetworkPolicy.networking.k8s.io"
	kindSidecar             = "Sidecar.networking.istio.io"
	kindEnvoyFilter         = "EnvoyFilter.networking.istio.io"
	kindEvent               = "Event"
	kindVirtualService      = "VirtualService.networking.istio.io"
	kindDestinationRule     = "DestinationRule.networking.istio.io"
	kindPeerAuthentication  = "PeerAuthentication.security.istio.io"
	kindAuthorizationPolicy = "AuthorizationPolicy.security.istio.io"
	kindMutating            = "MutatingWebhookConfiguration.admissionregistration.k8s.io"
	kindValidating          = "ValidatingWebhookConfiguration.admissionregistration.k8s.io"
)

// VirtualServiceKind is what documents call it.
const VirtualServiceKind = kindVirtualService

// Names that Serving, Istio and net-mesh give.
const (
	controllerName    = "net-istio-controller"
	controllerAccount = "net-mesh-controller"
	activatorName     = "activator"
	autoscalerName    = "autoscaler"
	revisionLabel     = "serving.knative.dev/revision"
	ingressLabel      = "networking.internal.knative.dev/ingress"
	namespaceLabel    = "kubernetes.io/metadata.name"
	observersVariable = "NET_MESH_OBSERVERS"
	rootVariable      = "NET_MESH_ROOT_NAMESPACE"
	appLabel          = "app"
	istiodApp         = "istiod"
	// meshConfigMap holds Istio's mesh configuration, in defaultRoot unless one chooses otherwise.
	meshConfigMap = "istio"
	defaultRoot   = "istio-system"
)

// Ports of activator and queue-proxy (knative.dev/serving pkg/networking/constants.go), of
// istiod, and of the observer.
const (
	portHTTP1    = 8012
	portHTTP2    = 8013
	portTLS      = 8112
	portMetrics  = 9090
	portXDS      = 15012
	portObserver = 8080
)
