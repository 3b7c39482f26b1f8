package readiness

import (
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Handler tells the Checker of every change of a Service's pods.
func (c *Checker) Handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { c.changed(nil, o) },
		UpdateFunc: func(before, after any) { c.changed(before, after) },
		DeleteFunc: func(o any) {
			if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = tombstone.Obj
			}
			c.changed(o, nil)
		},
	}
}

func (c *Checker) changed(before, after any) {
	was, existed := before.(*discoveryv1.EndpointSlice)
	is, exists := after.(*discoveryv1.EndpointSlice)
	switch {
	case existed && exists && was.ResourceVersion == is.ResourceVersion:
		// a resync, not a change
	case exists:
		c.PodsChanged(serviceOf(is))
	case existed:
		c.PodsChanged(serviceOf(was))
	}
}

func serviceOf(s *discoveryv1.EndpointSlice) types.NamespacedName {
	return types.NamespacedName{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}
}
