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

// Claimants implements snapshot.Reader.
func (r Reader) Claimants(hostKey string) []*v1alpha1.Ingress { return r.by(hostIndex, hostKey) }

// Leading returns the Ingresses that may lead to a host of this HostKey, in any order.
func (r Reader) Leading(hostKey string) []*v1alpha1.Ingress { return r.by(targetIndex, hostKey) }

func (r Reader) by(index, key string) []*v1alpha1.Ingress {
	items, err := r.Ingresses.ByIndex(index, key)
	if err != nil {
		panic(fmt.Sprintf("listers: the cache of Ingresses was not given its index: %v", err))
	}
	out := make([]*v1alpha1.Ingress, 0, len(items))
	for _, item := range items {
		out = append(out, item.(*v1alpha1.Ingress))
	}
	return out
}

// Indexes that list the Ingresses that claim a host, and those that lead to it, without
// looking at all others.
const (
	hostIndex   = "net-mesh.dev/host"
	targetIndex = "net-mesh.dev/target"
)

// Indexers are those that a cache of Ingresses needs for a Reader, from the start.
func Indexers() cache.Indexers {
	return cache.Indexers{
		hostIndex: func(o any) ([]string, error) {
			return snapshot.HostKeys(snapshot.Claims(o.(*v1alpha1.Ingress))), nil
		},
		targetIndex: func(o any) ([]string, error) { return snapshot.TargetKeys(o.(*v1alpha1.Ingress)), nil },
	}
}

// found drops the error: a cache knows only one, that it has no such object.
func found[T any](object *T, err error) (*T, bool) {
	if err != nil {
		return nil, false
	}
	return object, true
}
