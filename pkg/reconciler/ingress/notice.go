package ingress

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/net-mesh/net-mesh/pkg/reconciler/apply"
)

// notice tells of an object that was looked at. One that many Ingresses share changes with
// each that comes or goes; that is of interest to this one only, or every new Ingress would
// wake all of its namespace.
type notice struct {
	of    func(any)
	users func(types.NamespacedName)
}

var _ cache.ResourceEventHandler = notice{}

// OnAdd implements cache.ResourceEventHandler.
func (n notice) OnAdd(o any, _ bool) { n.of(o) }

// OnDelete implements cache.ResourceEventHandler.
func (n notice) OnDelete(o any) { n.of(o) }

// OnUpdate implements cache.ResourceEventHandler.
func (n notice) OnUpdate(old, next any) {
	users, only := apply.UsersChanged(old, next)
	if !only {
		n.of(next)
		return
	}
	for _, user := range users {
		n.users(user)
	}
}
