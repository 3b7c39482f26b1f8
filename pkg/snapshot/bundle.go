package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
)

// Bundle is a world written down: YAML documents as a Reader.
type Bundle struct {
	// Ingresses are sorted by namespace and name.
	Ingresses []*v1alpha1.Ingress
	// Ignored names documents of kinds that play no part.
	Ignored []finding.Ref

	services   map[types.NamespacedName]*corev1.Service
	secrets    map[types.NamespacedName]*corev1.Secret
	gateways   map[types.NamespacedName]*istiov1.Gateway
	configMaps map[string]map[string]string
}

var _ Reader = (*Bundle)(nil)

// ReadBundle reads YAML documents. Unknown fields are tolerated, since a cluster
// may be newer than we are.
func ReadBundle(documents ...[]byte) (*Bundle, error) {
	return readBundle(documents, func(raw []byte, into any) error { return yaml.Unmarshal(raw, into) })
}

// ReadBundleStrictly is ReadBundle for documents written by hand: an unknown field
// is an error.
func ReadBundleStrictly(documents ...[]byte) (*Bundle, error) {
	return readBundle(documents, func(raw []byte, into any) error { return yaml.UnmarshalStrict(raw, into) })
}

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

// Config parses the bundle's ConfigMaps; an absent one has its defaults.
func (b *Bundle) Config(clusterDomain, systemNamespace string) (config.Config, []finding.Finding, error) {
	istio, findings, err := config.ParseIstio(b.configMaps[config.IstioConfigMap], clusterDomain, systemNamespace)
	if err != nil {
		return config.Config{}, findings, err
	}
	network, err := config.ParseNetwork(b.configMaps[config.NetworkConfigMap])
	return config.Config{Istio: istio, Network: network, ClusterDomain: clusterDomain, SystemNamespace: systemNamespace}, findings, err
}

type decode func(raw []byte, into any) error

func readBundle(documents [][]byte, into decode) (*Bundle, error) {
	b := &Bundle{
		services:   map[types.NamespacedName]*corev1.Service{},
		secrets:    map[types.NamespacedName]*corev1.Secret{},
		gateways:   map[types.NamespacedName]*istiov1.Gateway{},
		configMaps: map[string]map[string]string{},
	}
	for _, text := range documents {
		line := 1
		for _, doc := range split(text) {
			if err := b.add(doc, into); err != nil {
				return nil, fmt.Errorf("document at line %d: %w", line, err)
			}
			line += bytes.Count(doc, []byte("\n"))
		}
	}
	slices.SortFunc(b.Ingresses, func(x, y *v1alpha1.Ingress) int {
		return compareNames(nameOf(x), nameOf(y))
	})
	return b, nil
}

func (b *Bundle) add(doc []byte, into decode) error {
	var head metav1.PartialObjectMetadata
	if err := yaml.Unmarshal(doc, &head); err != nil {
		return err
	}
	switch group := head.GroupVersionKind().GroupKind().String(); group {
	case "":
		return nil
	case "List":
		return b.addList(doc, into)
	case "Ingress.networking.internal.knative.dev":
		ing := &v1alpha1.Ingress{}
		b.Ingresses = append(b.Ingresses, ing)
		return into(doc, ing)
	case "Service":
		return keep(b.services, &corev1.Service{}, doc, into)
	case "Secret":
		return keep(b.secrets, &corev1.Secret{}, doc, into)
	case "Gateway.networking.istio.io":
		return keep(b.gateways, &istiov1.Gateway{}, doc, into)
	case "ConfigMap":
		cm := &corev1.ConfigMap{}
		if err := into(doc, cm); err != nil {
			return err
		}
		b.configMaps[cm.Name] = cm.Data
		return nil
	}
	b.Ignored = append(b.Ignored, finding.Ref{Kind: head.Kind, Namespace: head.Namespace, Name: head.Name})
	return nil
}

// addList adds the items of what kubectl prints for several objects.
func (b *Bundle) addList(doc []byte, into decode) error {
	var list struct{ Items []json.RawMessage }
	if err := yaml.Unmarshal(doc, &list); err != nil {
		return err
	}
	for i, item := range list.Items {
		if err := b.add(item, into); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	return nil
}

func keep[T metav1.Object](all map[types.NamespacedName]T, object T, doc []byte, into decode) error {
	if err := into(doc, object); err != nil {
		return err
	}
	all[nameOf(object)] = object
	return nil
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// split cuts a stream at its document separators. Every line ends up in exactly
// one part, so that lines can be counted.
func split(text []byte) [][]byte {
	var docs [][]byte
	var current []byte
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("---")) {
			docs = append(docs, current)
			current = []byte("#" + string(line))
			continue
		}
		current = append(current, line...)
	}
	return append(docs, current)
}
