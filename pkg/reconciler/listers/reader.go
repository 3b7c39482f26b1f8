// Package listers answers: how does the gathering look at a live cluster? It serves
// snapshot.Reader from the informers' caches; nothing here calls the API server.
package listers

import (
	"fmt"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	istio "istio.io/client-go/pkg/listers/networking/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	core "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// Reader is a snapshot.Reader over caches.
type Reader struct {
	Services core.ServiceLister
	Secrets  core.SecretLister
	Gateways istio.GatewayLister
	// Ingresses must have been given Indexers.
	Ingresses cache.Indexer
	// Mesh is the cache of VirtualServices, and must have been given MeshIndexers.
	Mesh cache.Indexer
}

var _ snapshot.Reader = Reader{}

// Service implements snapshot.Reader.
func (r Reader) Service(n types.NamespacedName) (*corev1.Service, bool) {
	return found(r.Services.Services(n.Namespace).Get(n.Name))
}

// Secret implements snapshot.Reader.
func (r Reader) Secret(n types.NamespacedName) (*corev1.Secret, bool) {
	return found(r.Secrets.Secrets(n.Namespace).Get(n.Name))
}

// Gateway implements snapshot.Reader.
func (r Reader) Gateway(n types.NamespacedName) (*istiov1.Gateway, bool) {
	return found(r.Gateways.Gateways(n.Namespace).Get(n.Name))
}

// VirtualService implements snapshot.Reader.
func (r Reader) VirtualService(n types.NamespacedName) (*istiov1.VirtualService, bool) {
	item, there, err := r.Mesh.GetByKey(n.String())
	if err != nil || !there {
		return nil, false
	}
	return item.(*istiov1.VirtualService), true
}

// Delegating implements snapshot.Reader.
func (r Reader) Delegating(delegateKey types.NamespacedName) []*istiov1.VirtualService {
	return by[*istiov1.VirtualService](r.Mesh, delegateIndex, delegateKey.String())
}

// Claimants implements snapshot.Reader.
func (r Reader) Claimants(hostKey string) []*v1alpha1.Ingress {
	return by[*v1alpha1.Ingress](r.Ingresses, hostIndex, hostKey)
}

// Leading returns the Ingresses that may lead to a host of this HostKey, in any order.
func (r Reader) Leading(hostKey string) []*v1alpha1.Ingress {
	return by[*v1alpha1.Ingress](r.Ingresses, targetIndex, hostKey)
}

// Delegated returns the Ingresses of whose delegates this is the DelegateKey, in any order.
func (r Reader) Delegated(delegateKey types.NamespacedName) []*v1alpha1.Ingress {
	return by[*v1alpha1.Ingress](r.Ingresses, delegateIndex, delegateKey.String())
}

func by[T any](cached cache.Indexer, index, key string) []T {
	items, err := cached.ByIndex(index, key)
	if err != nil {
		panic(fmt.Sprintf("listers: a cache was not given its index: %v", err))
	}
	out := make([]T, 0, len(items))
	for _, item := range items {
		out = append(out, item.(T))
	}
	return out
}

// Indexes that list the Ingresses that claim a host, those that lead to it, and those to which
// VirtualServices may delegate, and the VirtualServices that do so, without looking at all others.
const (
	hostIndex     = "net-mesh.dev/host"
	targetIndex   = "net-mesh.dev/target"
	delegateIndex = "net-mesh.dev/delegate"
)

// Indexers are those that a cache of Ingresses needs for a Reader, from the start.
func Indexers() cache.Indexers {
	return cache.Indexers{
		hostIndex: func(o any) ([]string, error) {
			return snapshot.HostKeys(snapshot.Claims(o.(*v1alpha1.Ingress))), nil
		},
		targetIndex: func(o any) ([]string, error) { return snapshot.TargetKeys(o.(*v1alpha1.Ingress)), nil },
		delegateIndex: func(o any) ([]string, error) {
			ing := o.(*v1alpha1.Ingress)
			return named(snapshot.DelegateKeys(types.NamespacedName{Namespace: ing.Namespace, Name: ing.Name})), nil
		},
	}
}

func named(keys []types.NamespacedName) []string {
	out := make([]string, 0, len(keys))
	for _, key := range keys {
		out = append(out, key.String())
	}
	return out
}

// found drops the error: a cache knows only one, that it has no such object.
func found[T any](object *T, err error) (*T, bool) {
	if err != nil {
		return nil, false
	}
	return object, true
}
