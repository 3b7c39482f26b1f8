package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

// delegated says which VirtualServices of others have a host and delegate requests for it to an Ingress.
// Their conditions are not compared.
func (w *world) delegated(host string) []string {
	var why []string
	for _, t := range w.ingresses {
		for _, root := range t.World.Roots {
			if !slices.ContainsFunc(root.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
				continue
			}
			for _, route := range root.Routes {
				i := slices.IndexFunc(t.Plan.Delegates, func(e plan.Delegate) bool { return e.Name == route.To })
				from := fmt.Sprintf("VirtualService %s has the host, and its spec.http[%d] delegates to %s of Ingress %s", root.Name, route.Index, route.To, t.Model.Name)
				if i < 0 {
					why = append(why, from+", which is not there")
					continue
				}
				why = append(why, fmt.Sprintf("%s; ask for host %s, which has the same routes", from, t.Plan.Delegates[i].Host))
			}
		}
	}
	return why
}
