package snapshot

import (
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
)

// Reader is all the gathering may look at. Each method says whether the object
// exists; it must not fail, so it is to be served from caches. What it returns
// is never changed.
type Reader interface {
	Service(types.NamespacedName) (*corev1.Service, bool)
	Secret(types.NamespacedName) (*corev1.Secret, bool)
	// Gateway returns Gateways that others wrote, such as the shared ones that
	// config-istio names.
	Gateway(types.NamespacedName) (*istiov1.Gateway, bool)
	// VirtualService returns those of others, and our own.
	VirtualService(types.NamespacedName) (*istiov1.VirtualService, bool)
	// Delegating returns the VirtualServices of which this DelegateKey is among their
	// Delegations, in any order.
	Delegating(delegateKey types.NamespacedName) []*istiov1.VirtualService
	// Claimants returns the Ingresses that claim a host of this HostKey, in any order.
	Claimants(hostKey string) []*v1alpha1.Ingress
	// VirtualServices returns those for sidecars, of whoever, that name a host of this HostKey, in
	// any order.
	VirtualServices(hostKey string) []*istiov1.VirtualService
}
