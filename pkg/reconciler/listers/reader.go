// Package listers answers: how does the gathering look at a live cluster? It serves
// snapshot.Reader from the informers' caches; nothing here calls the API server.
package listers

import (
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	istio "istio.io/client-go/pkg/listers/networking/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	core "k8s.io/client-go/listers/core/v1"

	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// Reader is a snapshot.Reader over caches.
type Reader struct {
	Services core.ServiceLister
	Secrets  core.SecretLister
	Gateways istio.GatewayLister
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

// found drops the error: a cache knows only one, that it has no such object.
func found[T any](object *T, err error) (*T, bool) {
	if err != nil {
		return nil, false
	}
	return object, true
}
