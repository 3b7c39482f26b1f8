package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// Loopback says how sidecars stand in for the local gateway: the name of its Service leads
// each of them back to itself, to a listener that routes the request once more.
type Loopback struct {
	// Wanted: sidecars stand in. Otherwise what there is of it goes.
	Wanted bool `json:"wanted"`
	// Replaced: it goes because a local gateway takes its place, so it stays until all
	// Ingresses are served there.
	Replaced bool `json:"replaced,omitempty"`
	// Service is that of the local gateway, and Host its full name.
	Service types.NamespacedName `json:"service"`
	Host    string               `json:"host"`
	// RootNamespace is where what concerns every proxy is written.
	RootNamespace string `json:"rootNamespace"`
	// Trials are the sidecars that try each new listener before all others get it.
	Trials []Trial `json:"trials,omitempty"`
	// Doors are the same listener at the pods of external gateways, which the world does
	// not reach.
	Doors     []Door     `json:"doors,omitempty"`
	Decisions []Decision `json:"decisions,omitempty"`
}

// Trial is the pods behind the Service of an observer.
type Trial struct {
	Observer types.NamespacedName `json:"observer"`
	Selector []model.KV           `json:"selector"`
}

// Door is a Gateway for cluster-local hosts that the pods of an external gateway open to
// themselves.
type Door struct {
	Name     types.NamespacedName `json:"name"`
	Selector []model.KV           `json:"selector"`
}

// DoorPort is that of doors, on the loopback address of a gateway. Istio does not use it.
const DoorPort = 15007

// MarkHeader marks what has come through the loopback: what comes a second time is on its
// way round for ever. Mesh routes take it off, so no application sees it.
const MarkHeader = "Net-Mesh-Loopback"

// Hosts by which sidecars are asked for the loopback. They lead there and nowhere else, so
// that the answer is the refusal of what comes a second time. Nobody can have them: ICANN
// keeps .internal for private use, and what begins with "_" is no host to Kubernetes, Istio or
// Knative. It must be none: an EnvoyFilter adds these to routes in which Istio has made sure that
// no host is twice, and Envoy refuses such routes as a whole. Nor can a wildcard of anybody cover
// them, and answer for a listener that is not there: each that Istio accepts ends in a letter or digit.
const (
	TrialHost    = "_trial.loopback.net-mesh.internal_"
	ListenerHost = "_listener.loopback.net-mesh.internal_"
	// SwitchHost leads to where the name of the local gateway leads.
	SwitchHost = "_switch.loopback.net-mesh.internal_"
)

// OfLoopback says whether a host is one of these.
func OfLoopback(host string) bool {
	return host == TrialHost || host == ListenerHost || host == SwitchHost
}

// LoopStatus is HTTP's Loop Detected.
const LoopStatus = 508

// loopsBack says whether sidecars stand in for the local gateway: where none is configured,
// unless config-istio says not.
func loopsBack(istio config.Istio) bool { return istio.Loopback && len(istio.Local) == 0 }

// DecideLoopback decides on the one loopback of the mesh.
func DecideLoopback(s snapshot.Loopback) (Loopback, []finding.Finding) {
	istio := s.Config.Istio
	l := Loopback{
		Wanted: loopsBack(istio), Replaced: len(istio.Local) > 0,
		Service: s.Service.Name, Host: config.LocalGatewayHost(s.Config.ClusterDomain), RootNamespace: s.RootNamespace,
	}
	if !l.Wanted {
		reason := "loopback of " + config.IstioConfigMap + " is false"
		if l.Replaced {
			reason = "a local gateway is configured"
		}
		l.because("loopback", "none", reason)
		return l, nil
	}
	l.because("loopback", "in every sidecar", "no local gateway is configured")
	findings := l.tryAt(s.Observers)
	l.openDoors(s)
	return l, findings
}

// tryAt has observers try what is new. What nobody has tried is not given to all: a listener
// that a proxy refuses could keep every sidecar from its configuration.
func (l *Loopback) tryAt(observers []snapshot.Service) []finding.Finding {
	for _, o := range observers {
		if len(o.Selector) > 0 {
			l.Trials = append(l.Trials, Trial{Observer: o.Name, Selector: o.Selector})
		}
	}
	if len(l.Trials) > 0 {
		return nil
	}
	l.because("loopback", "not begun", "no observer can try it first")
	return []finding.Finding{{
		Reason:  finding.LoopbackUntried,
		Subject: finding.Ref{Kind: "ConfigMap", Name: config.IstioConfigMap, Namespace: ""},
		Path:    "data.loopback",
		Message: fmt.Sprintf("the loopback in place of a local gateway is not begun, because no observer can try it before all sidecars have it: install one and list its Service in NET_MESH_OBSERVERS, or say that you want no loopback with loopback: \"false\" in %s", config.IstioConfigMap),
	}}
}

// openDoors has the pods of each external gateway reach cluster-local hosts too: what others
// expose there may lead to the local gateway.
func (l *Loopback) openDoors(s snapshot.Loopback) {
	for _, g := range s.External {
		if len(g.Pods.Selector) == 0 {
			l.because(g.Name.String(), "no door for cluster-local hosts", "its Service has no selector, or is not there")
			continue
		}
		door := Door{Name: doorName(s.Config.SystemNamespace, g.Service), Selector: g.Pods.Selector}
		if slices.ContainsFunc(l.Doors, func(o Door) bool { return o.Name == door.Name }) {
			continue
		}
		l.Doors = append(l.Doors, door)
		l.because(g.Name.String(), "a door for cluster-local hosts", "VirtualServices of others at this gateway may lead to the local gateway")
	}
	slices.SortFunc(l.Doors, func(a, b Door) int { return strings.Compare(a.Name.Name, b.Name.Name) })
}

func (l *Loopback) because(subject, choice, reason string) {
	l.Decisions = append(l.Decisions, Decision{Subject: subject, Choice: choice, Because: reason})
}

// doorName is that of the Gateway at the pods behind a Service.
func doorName(systemNamespace string, service types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: systemNamespace, Name: "net-mesh-loopback-" + digest(service)[:8]}
}

// doors are the entries of the loopback at external gateways, sorted. All of them serve all
// cluster-local hosts: nobody knows which gateway somebody else's route is at.
func (d *decider) doors() []Entry {
	if !loopsBack(d.world.Config.Istio) {
		return nil
	}
	var entries []Entry
	for _, g := range d.world.Config.Istio.External {
		entries = append(entries, Entry(doorName(d.world.Config.SystemNamespace, g.Service).String()))
	}
	slices.Sort(entries)
	return slices.Compact(entries)
}

// behindDoors exposes to external gateways themselves what sidecars serve under names of the
// cluster. Nobody outside can ask there, so it is not proved, and nothing that is promised
// hangs on it.
func (d *decider) behindDoors() {
	entries := d.doors()
	if len(entries) == 0 {
		return
	}
	for _, vh := range d.forMesh() {
		var s share
		for _, h := range d.remaining(Mesh, vh.Hosts) {
			if h.OnlyMesh || vh.Scope != config.Local && len(h.Short) == 0 {
				continue
			}
			if names := d.taken.take(Local, h.Names()); len(names) > 0 {
				s.first, s.hosts = cmp.Or(s.first, h.Name), append(s.hosts, names...)
			}
		}
		if len(s.hosts) == 0 {
			continue
		}
		d.because(vh.Source, "exposed to external gateways themselves", "VirtualServices of others there may lead to the local gateway")
		s.routes = d.routes(Local, vh)
		for _, part := range s.apart() {
			d.expose(Local, entries, part)
		}
	}
}
