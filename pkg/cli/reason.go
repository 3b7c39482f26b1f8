package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// someHosts is how many hosts are offered where the asked one is not served.
const someHosts = 5

// whyNone says why no entry that was looked at has the host.
func (w *world) whyNone(q question) []string {
	why := w.whyNotLabel(q)
	for _, t := range w.ingresses {
		name := t.Model.Name.String()
		if q.single != "" && len(why) > 0 {
			break
		}
		if at := t.exposedAt(q.request.Host); len(at) > 0 {
			why = append(why, fmt.Sprintf("Ingress %s serves host %s, but not via %s; it is exposed at %s", name, q.request.Host, cmp.Or(q.via, plan.MeshEntry), strings.Join(at, ", ")))
		} else if len(t.covering(q.request.Host)) > 0 {
			why = append(why, fmt.Sprintf("Ingress %s has host %s, but exposes it nowhere", name, q.request.Host))
		} else if len(w.naming(t, q.request.Host)) > 0 {
			why = append(why, fmt.Sprintf("Ingress %s names host %s, but it could not be accepted", name, q.request.Host))
		}
	}
	if len(why) == 0 {
		why = w.delegated(q.name())
	}
	if len(why) > 0 {
		return why
	}
	why = []string{fmt.Sprintf("no Ingress has host %s", q.request.Host)}
	if q.from == nil && !strings.Contains(q.request.Host, ".") {
		why = append(why, "a host without a dot is looked up in the caller's namespace; give that with --from NAMESPACE/SERVICEACCOUNT")
	}
	if served := w.served(q.via); len(served) > 0 {
		why = append(why, "served are "+strings.Join(served, ", "))
	}
	return why
}

// whyNotLabel says why a host without a dot leads nowhere though there is an Ingress with
// the full name.
func (w *world) whyNotLabel(q question) []string {
	var why []string
	for _, t := range w.ingresses {
		h, ok := t.host(q.request.Host)
		switch {
		case q.single == "" || !ok || (q.via != "" && q.via != plan.MeshEntry):
		case h.Backing == model.AliasService:
			why = append(why, fmt.Sprintf("the Service behind %s is of type ExternalName, and Istio gives the single label to its target, not to Ingress %s; ask for %s", h.Name, t.Model.Name, h.Name))
		case h.Backing == model.NoService:
			why = append(why, fmt.Sprintf("there is no Service %s, without which neither DNS nor Istio knows its first label alone; Ingress %s is served under its longer names", h.Name, t.Model.Name))
		}
	}
	return why
}

func (t translated) exposedAt(host string) []string {
	var at []string
	for _, e := range t.Plan.Exposures {
		for _, entry := range e.Entries {
			if t.at(entry, e).Covers(host) >= 0 {
				at = append(at, string(entry))
			}
		}
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// naming lists the rules that name the host, as fields, whatever became of them.
func (w *world) naming(t translated, host string) []string {
	var fields []string
	for _, ing := range w.bundle.Ingresses {
		if ing.Namespace != t.Model.Name.Namespace || ing.Name != t.Model.Name.Name {
			continue
		}
		for i, rule := range ing.Spec.Rules {
			if slices.Contains(rule.Hosts, host) {
				fields = append(fields, fmt.Sprintf("spec.rules[%d]", i))
			}
		}
	}
	for _, vh := range t.covering(host) {
		fields = append(fields, vh.Source)
	}
	return fields
}

// findingsAbout picks those that lead back to a rule with the host.
func (w *world) findingsAbout(host string) []finding.Finding {
	var out []finding.Finding
	for _, t := range w.ingresses {
		fields := w.naming(t, host)
		for _, f := range t.Findings {
			if slices.ContainsFunc(fields, func(field string) bool { return strings.HasPrefix(f.Path, field) }) {
				out = append(out, f)
			}
		}
	}
	return finding.Sort(out)
}

// served lists some hosts of an entry, or of all.
func (w *world) served(via plan.Entry) []string {
	var all []string
	for _, t := range w.ingresses {
		for _, e := range t.Plan.Exposures {
			if via == "" || slices.Contains(e.Entries, via) {
				all = append(all, e.Hosts...)
			}
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > someHosts {
		return append(all[:someHosts:someHosts], fmt.Sprintf("%d more", len(all)-someHosts))
	}
	return all
}

// covering are the virtual hosts of the Model that have a host.
func (t translated) covering(host string) []model.VirtualHost {
	return slices.DeleteFunc(slices.Clone(t.Model.VirtualHosts), func(vh model.VirtualHost) bool { return vh.Covers(host) < 0 })
}

// decisions picks those of the Plan that are about the host: about its name, about the
// rule that holds it, about the path that was taken, and, where a gateway has it, about its
// listener and the address.
func (t translated) decisions(q question, ways []way) []decision {
	about := map[string]bool{}
	for _, vh := range t.covering(q.request.Host) {
		about[vh.Source] = true
		about["address "+string(vh.Scope)] = true
		for _, h := range vh.Hosts {
			if (model.VirtualHost{Hosts: []model.Host{h}}).Covers(q.request.Host) >= 0 {
				about[h.Name] = true
			}
		}
	}
	for _, one := range ways {
		about[string(one.Entry)] = true
		if one.Ingress == t.Model.Name.String() {
			about[one.Field] = true
		}
	}
	var out []decision
	for _, d := range t.Plan.Decisions {
		if about[d.Subject] {
			out = append(out, decision{t.Model.Name.String(), d})
		}
	}
	return out
}
