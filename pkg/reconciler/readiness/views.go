package readiness

import (
	"context"
	"fmt"
	"sync"

	discovery "k8s.io/client-go/listers/discovery/v1"

	"github.com/net-mesh/net-mesh/pkg/observer"
)

// Views asks all sidecars about one host, for what is of the mesh and of no Ingress.
type Views struct {
	sidecars Sidecars
	slices   discovery.EndpointSliceLister
	look     func(ctx context.Context, by viewer, q observer.Question) ([]observer.Sight, error)
}

// View is what one of them says.
type View struct {
	// By names the sidecar for people.
	By string
	// Observer: it is that of an observer, and not the controller's own.
	Observer bool
	// Silent: it could not be asked at all, which says nothing of its configuration.
	Silent bool
	// Fault says why there is no answer, else Sight is it.
	Fault string
	Sight observer.Sight
}

// NewViews finds the pods of observers with the lister.
func NewViews(sidecars Sidecars, lister discovery.EndpointSliceLister) *Views {
	return &Views{sidecars: sidecars, slices: lister, look: sidecars.look()}
}

// Of asks all of them about a host, at once. An observer without a ready pod is a View with a
// fault: it is configured, and silent. The error is the lister's.
func (v *Views) Of(ctx context.Context, host string) ([]View, error) {
	var out []View
	var who []viewer
	if v.sidecars.Own {
		who = append(who, viewer{kind: ownSidecar})
	}
	for _, service := range v.sidecars.Observers {
		pods, err := podsOf(v.slices, service, observer.PortName)
		if err != nil {
			return nil, fmt.Errorf("cannot find the pods of observer %s: %w", service, err)
		}
		if len(pods) == 0 {
			out = append(out, View{By: "observer " + service.String(), Observer: true, Silent: true, Fault: "has no ready pod"})
		}
		for _, p := range pods {
			who = append(who, viewer{kind: anObserver, service: service, address: p.address})
		}
	}
	asked := make([]View, len(who))
	var all sync.WaitGroup
	for i, by := range who {
		all.Go(func() { asked[i] = v.ask(ctx, by, host) })
	}
	all.Wait()
	return append(out, asked...), nil
}

func (v *Views) ask(ctx context.Context, by viewer, host string) View {
	out := View{By: by.String(), Observer: by.kind == anObserver}
	sights, err := v.look(ctx, by, observer.Question{Hosts: []string{host}, Patience: observer.MostPatience})
	switch {
	case err != nil:
		out.Silent, out.Fault = true, "could not be asked ("+observer.Reason(err)+")"
	case sights[0].Fault != "":
		out.Fault = "gave no answer (" + sights[0].Fault + ")"
	default:
		out.Sight = sights[0]
	}
	return out
}
