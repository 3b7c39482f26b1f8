package cli

import (
	"fmt"
	"slices"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/doctor"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// unseen is a note about a caller of whom nothing is seen: a misspelt one would else be told
// what holds for any.
func (w *world) unseen(q question) []string {
	if q.from == nil || w.mesh == nil {
		return nil
	}
	if note := w.mesh.Unseen(q.from.Namespace, q.from.ServiceAccount); note != "" {
		return []string{note}
	}
	return nil
}

// public says whether the host is one for which Serving keeps no Service, so that it is not for
// sure a name that the cluster's DNS knows.
func (c claim) public(host string) bool {
	return slices.ContainsFunc(c.by.covering(host), func(vh model.VirtualHost) bool {
		return vh.Scope == config.External && slices.ContainsFunc(vh.Hosts, func(h model.Host) bool {
			return h.Backing == model.NoService && len(h.Short) == 0 && (model.VirtualHost{Hosts: []model.Host{h}}).Covers(host) >= 0
		})
	})
}

// mustResolve says what becomes of the name before any request. A wildcard among the hosts of a
// Record has no address.
func (c claim) mustResolve(host string) string {
	for _, r := range c.by.Plan.Records {
		if slices.Contains(r.Hosts, host) {
			return fmt.Sprintf("%s has to resolve for the caller, to any address, before its sidecar sees a request; by ServiceEntry %s/%s its sidecar itself answers DNS, if it is set up to (ISTIO_META_DNS_CAPTURE; docs/mesh-only.md, Names)",
				host, c.by.Model.Name.Namespace, r.Name)
		}
	}
	return fmt.Sprintf("%s has to resolve for the caller, to any address, before its sidecar sees a request; net-mesh makes no DNS record (docs/mesh-only.md, Names)", host)
}

// passedOn says what becomes of a request for which the caller's sidecar has no rule, when all
// entries have been looked at.
func (a answer) passedOn() string {
	where := "; the gateways below are where that may be"
	if !slices.ContainsFunc(a.Ways, func(one way) bool { return one.Entry != plan.MeshEntry }) {
		where = "; no gateway of config-istio has the host"
	}
	if slices.ContainsFunc(a.Ways, func(one way) bool { return one.Outcome == hidden && one.Blocker.Reason == doctor.CallerUnmeshed }) {
		return "a caller without a sidecar asks where DNS leads" + where
	}
	return "the caller's sidecar has no rule for this request and, as Istio is set up by default, passes it on to where DNS leads" + where
}
