// Package resources answers: what is the Plan in Istio's words? Rendering is
// total: it cannot fail, and decides nothing.
package resources

import (
	"slices"

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
	// ServiceEntries come last: a sidecar that knows one and not the VirtualService of its
	// hosts answers 503 itself, where it would else pass requests on.
	ServiceEntries []*istiov1.ServiceEntry

	// SharedSecrets and SharedGateways are needed by other owners as well: they are not this
	// one's to delete, and say nothing of who needs them.
	SharedSecrets  []SecretCopy
	SharedGateways []*istiov1.Gateway
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
		if c.Sharing == plan.ByCertificate {
			set.SharedSecrets = append(set.SharedSecrets, sharedCopy(c))
			continue
		}
		set.Secrets = append(set.Secrets, ownCopy(p.Owner, c))
	}
	for _, l := range p.Listeners {
		if l.Sharing == plan.ByCertificate {
			set.SharedGateways = append(set.SharedGateways, sharedGateway(l))
			continue
		}
		set.Gateways = append(set.Gateways, ownGateway(p, l))
	}
	for _, e := range p.Exposures {
		set.VirtualServices = append(set.VirtualServices, virtualService(p, e))
	}
	for _, e := range p.Delegates {
		set.VirtualServices = append(set.VirtualServices, delegate(p, e))
	}
	for _, r := range p.Records {
		set.ServiceEntries = append(set.ServiceEntries, serviceEntry(p, r))
	}
	return set
}

// Objects lists those of several Sets, for printing; one that they share is listed where it
// is met first.
func Objects(sets ...Set) []any {
	var all []any
	met := map[string]bool{}
	for _, s := range sets {
		rest := s
		rest.SharedSecrets = slices.DeleteFunc(slices.Clone(s.SharedSecrets), func(c SecretCopy) bool { return again(met, "Secret "+c.To.String()) })
		rest.SharedGateways = slices.DeleteFunc(slices.Clone(s.SharedGateways), func(g *istiov1.Gateway) bool {
			return again(met, "Gateway "+g.Namespace+"/"+g.Name)
		})
		all = append(all, rest.All()...)
	}
	return all
}

// again says whether something has been met before.
func again(met map[string]bool, what string) bool {
	before := met[what]
	met[what] = true
	return before
}

// All lists the objects in the order of application, for printing; a SecretCopy is
// shown as the Secret it promises, without data.
func (s Set) All() []any {
	var all []any
	for _, c := range slices.Concat(s.SharedSecrets, s.Secrets) {
		all = append(all, c.promise())
	}
	for _, g := range slices.Concat(s.SharedGateways, s.Gateways) {
		all = append(all, g)
	}
	for _, d := range s.DestinationRules {
		all = append(all, d)
	}
	for _, v := range s.VirtualServices {
		all = append(all, v)
	}
	for _, e := range s.ServiceEntries {
		all = append(all, e)
	}
	return all
}
