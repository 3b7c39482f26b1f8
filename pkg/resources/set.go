// Package resources answers: what is the Plan in Istio's words? Rendering is
// total: it cannot fail, and decides nothing.
package resources

import (
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// Set is all objects of one owner. The order of the fields is the order of
// application; pruning goes the other way.
type Set struct {
	Secrets          []SecretCopy
	Gateways         []*istiov1.Gateway
	DestinationRules []*istiov1.DestinationRule
	VirtualServices  []*istiov1.VirtualService
	// Asked names the hosts that older objects may go on serving until the Set is proven.
	Asked model.Asked
	// Yields are hosts that nothing may serve at some entries.
	Yields []plan.Yield
}

// SecretCopy promises a Secret: whoever applies the Set reads From and writes its
// data and type to To, with these labels and annotations. No key passes through
// here.
type SecretCopy struct {
	From        types.NamespacedName
	To          types.NamespacedName
	Labels      map[string]string
	Annotations map[string]string
}

// Render says a Plan in Istio's words.
func Render(p plan.Plan) Set {
	set := Set{Asked: p.Asked, Yields: p.Yields}
	for _, c := range p.Copies {
		set.Secrets = append(set.Secrets, secretCopy(p.Owner, c))
	}
	for _, l := range p.Listeners {
		set.Gateways = append(set.Gateways, gateway(p, l))
	}
	for _, e := range p.Exposures {
		set.VirtualServices = append(set.VirtualServices, virtualService(p, e))
	}
	return set
}

// All lists the objects in the order of application, for printing; a SecretCopy is
// shown as the Secret it promises, without data.
func (s Set) All() []any {
	var all []any
	for _, c := range s.Secrets {
		all = append(all, c.promise())
	}
	for _, g := range s.Gateways {
		all = append(all, g)
	}
	for _, d := range s.DestinationRules {
		all = append(all, d)
	}
	for _, v := range s.VirtualServices {
		all = append(all, v)
	}
	return all
}
