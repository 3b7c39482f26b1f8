package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/doctor"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// loopsBack says whether callers' sidecars stand in for the local gateway.
func (w *world) loopsBack() bool { return w.config.Istio.Loopback && len(w.config.Istio.Local) == 0 }

// mayBeLed says whether others may lead a request to the local gateway's name: no Ingress has
// its host where it is asked for.
func (w *world) mayBeLed(q question) bool {
	return w.loopsBack() && (q.via == "" || q.via == plan.MeshEntry) && len(w.explain(q).Ways) == 0
}

// addLeader reads the Service that may give a host to the local gateway's name. VirtualServices
// that may lead there have been read.
func (d *documents) addLeader(ctx context.Context, q question) error {
	labels := strings.Split(q.request.Host, ".")
	if len(labels) < 2 {
		return nil
	}
	some, err := d.live.get(ctx, object{services, types.NamespacedName{Namespace: labels[1], Name: labels[0]}})
	if err != nil {
		return err
	}
	return d.add(some)
}

// twice follows a request that others lead to the local gateway's name, by the routes that the
// caller's sidecar has for the host that they give it. What leads nowhere is told, and what
// leads there again ends.
func (a *answer) twice(w *world, q question) {
	led, is := w.led(q)
	if !is {
		a.Because = append(w.roundAndRound(q), w.whyNone(q)...)
		return
	}
	again := q
	again.request.Host, again.single, again.via = led.Host, "", plan.MeshEntry
	first := fmt.Sprintf("%s %s leads it to the local gateway's name, for which the caller's sidecar stands in: it is routed once more, as %s", led.By.Kind, nameOf(led.By), led.Host)
	a.Notes = append(a.Notes, a.follow(w, again)...)
	for i := range a.Ways {
		a.Ways[i].Led = &led
	}
	if len(a.Ways) > 0 {
		a.Findings = shown(w.findingsAbout(led.Host))
		if led.Maybe {
			a.Notes = append(a.Notes, fmt.Sprintf("the rule of %s %s has conditions beside host and path, which are not compared", led.By.Kind, nameOf(led.By)))
		}
		return
	}
	a.Because = []string{first}
	if back, loops := w.led(again); loops {
		a.Because = append(a.Because, fmt.Sprintf("%s %s leads that there a second time, which is answered with %d", back.By.Kind, nameOf(back.By), plan.LoopStatus))
		return
	}
	a.Because = append(append(a.Because, w.roundAndRound(again)...), w.whyNone(again)...)
}

// roundAndRound says so where a host belongs to the local gateway's name itself, and so comes
// back to it as it is.
func (w *world) roundAndRound(q question) []string {
	if !w.loopsBack() || (q.via != "" && q.via != plan.MeshEntry) {
		return nil
	}
	alias, is := doctor.AliasOf(w.bundle.Services(), config.LocalGatewayHost(w.config.ClusterDomain), w.config.ClusterDomain, q.name())
	if !is {
		return nil
	}
	return []string{fmt.Sprintf("Service %s gives this name to the local gateway's, for which the caller's sidecar stands in: the request comes there a second time, and is answered with %d", nameOf(alias), plan.LoopStatus)}
}

// name is the host without a port.
func (q question) name() string {
	host, _, _ := strings.Cut(q.request.Host, ":")
	return host
}

// led says what of others leads a request to the local gateway's name. A single label is of no
// VirtualService for the full name.
func (w *world) led(q question) (doctor.Led, bool) {
	if !w.loopsBack() || q.single != "" || (q.via != "" && q.via != plan.MeshEntry) {
		return doctor.Led{}, false
	}
	objects, err := doctor.Read(w.bundle.Rest)
	if err != nil {
		return doctor.Led{}, false
	}
	led, is := doctor.LedBy(objects, config.LocalGatewayHost(w.config.ClusterDomain), w.config.ClusterDomain, q.name(), q.request.Path)
	if is && !slices.Contains(w.looked, doctor.VirtualServiceKind) {
		w.looked = append(w.looked, doctor.VirtualServiceKind)
	}
	return led, is
}

// led is the question that the second pass asks, where there is one.
func (q question) led(ways []way) question {
	for _, one := range ways {
		if one.Led != nil {
			q.request.Host, q.single = one.Led.Host, ""
		}
	}
	return q
}

// ledWords say what happens before a way.
func ledWords(l *doctor.Led) []string {
	return []string{
		fmt.Sprintf("%s %s, to the local gateway's name", l.By.Kind, nameOf(l.By)),
		"for which the caller's sidecar stands in: it is routed once more, as " + l.Host,
	}
}
