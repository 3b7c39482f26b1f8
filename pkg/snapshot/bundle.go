package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
)

// Bundle is a world written down: YAML documents as a Reader.
type Bundle struct {
	// Ingresses are sorted by namespace and name.
	Ingresses []*v1alpha1.Ingress
	// Ignored names documents of kinds that play no part; kinds of an API group carry
	// its name, since a Service may be Kubernetes' or Knative's.
	Ignored []finding.Ref
	// Replaced names objects that a later document of the same name replaced.
	Replaced []finding.Ref
	// Unknown lists fields that no kind of ours has, so that they were ignored.
	Unknown []UnknownField
	// Rest holds the documents that Ignored names, and VirtualServices, in their order, as they were
	// read: they may matter to who looks at the whole mesh.
	Rest []Document

	services   map[types.NamespacedName]*corev1.Service
	secrets    map[types.NamespacedName]*corev1.Secret
	gateways   map[types.NamespacedName]*istiov1.Gateway
	configMaps map[types.NamespacedName]*corev1.ConfigMap
	serverless map[types.NamespacedName]*v1alpha1.ServerlessService
	claimants  map[string][]*v1alpha1.Ingress
	// virtualServices are of whoever; inMesh finds those for sidecars by the keys of their hosts,
	// delegating those that delegate by DelegateKey.
	virtualServices map[types.NamespacedName]*istiov1.VirtualService
	inMesh          map[string][]*istiov1.VirtualService
	delegating      map[types.NamespacedName][]*istiov1.VirtualService
	// origins says where ConfigMaps were written, since what is in them is judged
	// only when they are used.
	origins map[types.NamespacedName]string
}

// Document is one that was not looked into.
type Document struct {
	// Kind with its API group, such as Pod or Sidecar.networking.istio.io.
	Kind string
	Name types.NamespacedName
	Text []byte
	// Origin is where it was written, as the beginning of an error.
	Origin string
}

var _ Reader = (*Bundle)(nil)

// Service implements Reader.
func (b *Bundle) Service(n types.NamespacedName) (*corev1.Service, bool) {
	s, ok := b.services[n]
	return s, ok
}

// Secret implements Reader.
func (b *Bundle) Secret(n types.NamespacedName) (*corev1.Secret, bool) {
	s, ok := b.secrets[n]
	return s, ok
}

// Gateway implements Reader.
func (b *Bundle) Gateway(n types.NamespacedName) (*istiov1.Gateway, bool) {
	g, ok := b.gateways[n]
	return g, ok
}

// VirtualService implements Reader.
func (b *Bundle) VirtualService(n types.NamespacedName) (*istiov1.VirtualService, bool) {
	vs, ok := b.virtualServices[n]
	return vs, ok
}

// Delegating implements Reader.
func (b *Bundle) Delegating(delegateKey types.NamespacedName) []*istiov1.VirtualService {
	return b.delegating[delegateKey]
}

// Serverless returns a ServerlessService. It plays no part in a translation, so it is not of
// the Reader; it tells whether the activator stands before a revision.
func (b *Bundle) Serverless(n types.NamespacedName) (*v1alpha1.ServerlessService, bool) {
	s, ok := b.serverless[n]
	return s, ok
}

// Claimants implements Reader.
func (b *Bundle) Claimants(hostKey string) []*v1alpha1.Ingress { return b.claimants[hostKey] }

// VirtualServices implements Reader.
func (b *Bundle) VirtualServices(hostKey string) []*istiov1.VirtualService { return b.inMesh[hostKey] }

func (b *Bundle) claim(ing *v1alpha1.Ingress) {
	for _, key := range HostKeys(Claims(ing)) {
		b.claimants[key] = append(b.claimants[key], ing)
	}
}

// DefaultSystemNamespace is where Knative Serving is installed unless one chooses otherwise.
const DefaultSystemNamespace = "knative-serving"

// Holds says whether a ConfigMap of this name is written, in whatever namespace.
func (b *Bundle) Holds(configMap string) bool {
	for n := range b.configMaps {
		if n.Name == configMap {
			return true
		}
	}
	return false
}

// SystemNamespace is that of the bundle's config-istio, or else of its config-network: Knative
// reads them from its own namespace only.
func (b *Bundle) SystemNamespace() (string, error) {
	for _, name := range []string{config.IstioConfigMap, config.NetworkConfigMap} {
		var in []string
		for _, n := range slices.SortedFunc(maps.Keys(b.configMaps), compareNames) {
			if n.Name == name {
				in = append(in, n.Namespace)
			}
		}
		switch len(in) {
		case 0:
		case 1:
			return in[0], nil
		default:
			return "", fmt.Errorf("ConfigMap %s is given in several namespaces (%s), and Knative reads only its own; leave the others out", name, strings.Join(in, ", "))
		}
	}
	return DefaultSystemNamespace, nil
}

// Config parses the bundle's ConfigMaps; an absent one has its defaults.
func (b *Bundle) Config(clusterDomain, systemNamespace string) (config.Config, []finding.Finding, error) {
	data, origin := b.data(systemNamespace, config.IstioConfigMap)
	istio, findings, err := config.ParseIstio(data, clusterDomain, systemNamespace)
	if err != nil {
		return config.Config{}, findings, fmt.Errorf("%s%w", origin, err)
	}
	data, origin = b.data(systemNamespace, config.NetworkConfigMap)
	network, err := config.ParseNetwork(data)
	if err != nil {
		return config.Config{}, findings, fmt.Errorf("%s%w", origin, err)
	}
	return config.Config{Istio: istio, Network: network, ClusterDomain: clusterDomain, SystemNamespace: systemNamespace}, findings, nil
}

// Set writes one entry of a ConfigMap, which need not exist: what would the world be with it?
func (b *Bundle) Set(configMap types.NamespacedName, key, value string) {
	cm := &corev1.ConfigMap{}
	if old, ok := b.configMaps[configMap]; ok {
		cm = old.DeepCopy()
	}
	if cm.Data == nil {
		cm.Data = map[string]string{}
	}
	cm.Data[key] = value
	b.configMaps[configMap] = cm
}

// Entries returns those of config-istio or config-network, as they are written.
func (b *Bundle) Entries(configMap types.NamespacedName) (map[string]string, bool) {
	cm, ok := b.configMaps[configMap]
	if !ok {
		return nil, false
	}
	return maps.Clone(cm.Data), true
}

// Services returns all Services, sorted by namespace and name.
func (b *Bundle) Services() []*corev1.Service {
	var out []*corev1.Service
	for _, name := range slices.SortedFunc(maps.Keys(b.services), compareNames) {
		out = append(out, b.services[name])
	}
	return out
}

// Serverlesses returns all ServerlessServices, sorted by namespace and name.
func (b *Bundle) Serverlesses() []*v1alpha1.ServerlessService {
	var out []*v1alpha1.ServerlessService
	for _, name := range slices.SortedFunc(maps.Keys(b.serverless), compareNames) {
		out = append(out, b.serverless[name])
	}
	return out
}

// data returns a ConfigMap's entries, and where it was written as the beginning of an error.
func (b *Bundle) data(namespace, name string) (entries map[string]string, origin string) {
	n := types.NamespacedName{Namespace: namespace, Name: name}
	cm, ok := b.configMaps[n]
	if !ok {
		return nil, ""
	}
	return cm.Data, b.origins[n]
}
