package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/net-mesh/net-mesh/test/lab/host"
)

// logLimit is how long a proxy may take to write its access log; Envoy flushes it within seconds.
const logLimit = 20 * time.Second

// Hop is one line of a proxy's access log.
type Hop struct {
	// Pod is the proxy's, as namespace/name.
	Pod string `json:"-"`
	// Request identifies the call.
	Request string `json:"request"`
	Start   string `json:"start"`
	Code    int    `json:"code"`
	// Route is the name of the route taken, Cluster what it led to.
	Route   string `json:"route"`
	Cluster string `json:"cluster"`
	// Caller and Callee are the identities in the peers' certificates, "-" or "" without mTLS.
	Caller string `json:"caller"`
	Callee string `json:"callee"`
}

// Inbound tells whether the sidecar handed the request to its own application.
func (h Hop) Inbound() bool { return strings.HasPrefix(h.Cluster, "inbound") }

// Place is where proxies may have seen a request: pods of a namespace by label.
type Place struct{ Namespace, Selector string }

// Hops returns the lines that the proxies at these places wrote of one request, in the order of time. It
// waits until the way is whole: proxies write their lines late and each at a time of its own.
func (m Mesh) Hops(ctx context.Context, request string, places ...Place) ([]Hop, error) {
	var found []Hop
	source, destination := places[0].Namespace, places[len(places)-1].Namespace
	err := host.WaitFor(ctx, "the access logs of request "+request, logLimit, func(ctx context.Context) error {
		found = nil
		for _, p := range places {
			lines, err := m.accessLog(ctx, p, request)
			if err != nil {
				return err
			}
			found = append(found, lines...)
		}
		return whole(found, source, destination)
	})
	sort.SliceStable(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if a.Start == b.Start && a.Pod == b.Pod {
			return a.Inbound() && !b.Inbound() // within one millisecond, too, a proxy takes before it sends
		}
		return a.Start < b.Start
	})
	return found, err
}

// whole tells which line is missing of a way from a namespace to another: whoever is named as caller must
// have sent, and whoever is named as callee must have received.
func whole(hops []Hop, source, destination string) error {
	sent, received := map[string]bool{}, map[string]bool{}
	for _, h := range hops {
		namespace, _, _ := strings.Cut(h.Pod, "/")
		sent[namespace] = sent[namespace] || !h.Inbound()
		received[namespace] = received[namespace] || h.Inbound() || h.Caller != ""
	}
	if !sent[source] || !received[destination] {
		return fmt.Errorf("%d lines so far: sent by %v, received by %v", len(hops), sent, received)
	}
	for _, h := range hops {
		if from := namespaceOf(h.Caller); from != "" && !sent[from] {
			return fmt.Errorf("%s names caller %s, whose proxy has no line yet", h.Pod, h.Caller)
		}
		if to := namespaceOf(h.Callee); !h.Inbound() && to != "" && !received[to] {
			return fmt.Errorf("%s names callee %s, whose proxy has no line yet", h.Pod, h.Callee)
		}
	}
	return nil
}

// namespaceOf returns that of an identity like spiffe://cluster.local/ns/apps/sa/default, "" for none.
func namespaceOf(identity string) string {
	_, rest, _ := strings.Cut(identity, "/ns/")
	namespace, _, _ := strings.Cut(rest, "/")
	return namespace
}

func (m Mesh) accessLog(ctx context.Context, p Place, request string) ([]Hop, error) {
	out, err := m.Kubectl(ctx, nil, "-n", p.Namespace, "logs", "-l", p.Selector, "-c", "istio-proxy", "--tail=500", "--prefix", "--ignore-errors")
	if err != nil {
		return nil, err
	}
	var found []Hop
	for line := range strings.Lines(out) {
		prefix, text, ok := strings.Cut(line, "] ")
		h := Hop{}
		if !ok || json.Unmarshal([]byte(text), &h) != nil || h.Request != request {
			continue
		}
		pod, _, _ := strings.Cut(strings.TrimPrefix(prefix, "[pod/"), "/")
		h.Pod = p.Namespace + "/" + pod
		found = append(found, h)
	}
	return found, nil
}

// Draw prints the way of a request: each proxy it passed, and whom that saw on the other side.
func Draw(hops []Hop) string {
	var b strings.Builder
	for _, h := range hops {
		if h.Inbound() {
			fmt.Fprintf(&b, "  %-46s took it from  %s\n", h.Pod, known(h.Caller, "a caller without mTLS"))
			continue
		}
		fmt.Fprintf(&b, "  %-46s sent it to    %s\n", h.Pod, known(h.Callee, "a callee without mTLS"))
		fmt.Fprintf(&b, "  %-46s by route      %s → %s\n", "", known(h.Route, "none"), h.Cluster)
	}
	return b.String()
}

func known(value, otherwise string) string {
	if value == "" || value == "-" {
		return otherwise
	}
	return value
}
