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

// logLimit is how long a proxy may take to write its access log; Envoy flushes it each second.
const logLimit = 15 * time.Second

// hop is one line of a sidecar's access log.
type hop struct {
	Request  string `json:"request"`
	Start    string `json:"start"`
	Route    string `json:"route"`
	Cluster  string `json:"cluster"`
	Upstream string `json:"upstream"`
	Caller   string `json:"caller"`
	Callee   string `json:"callee"`
	Code     string `json:"code"`
	pod      string
}

// inbound tells whether the sidecar handed the request to its own application.
func (h hop) inbound() bool { return strings.HasPrefix(h.Cluster, "inbound") }

// hops returns the lines that the sidecars on the way wrote of one request, in the order of time. It
// waits until the application's own sidecar has written its line.
func (d demo) hops(ctx context.Context, request string) ([]hop, error) {
	var found []hop
	err := host.WaitFor(ctx, "the access logs of the request", logLimit, func(ctx context.Context) error {
		found = nil
		for _, at := range []struct{ namespace, selector string }{
			{"clients", "app=caller"}, {"istio-system", "istio=ingressgateway"}, {"knative-serving", "app=activator"}, {"apps", "serving.knative.dev/service=hello"},
		} {
			lines, err := d.accessLog(ctx, at.namespace, at.selector, request)
			if err != nil {
				return err
			}
			found = append(found, lines...)
		}
		for _, h := range found {
			if h.inbound() && strings.HasPrefix(h.pod, "apps/") {
				return nil
			}
		}
		return fmt.Errorf("%d lines so far, none by the application's sidecar", len(found))
	})
	sort.SliceStable(found, func(i, j int) bool { return found[i].Start < found[j].Start })
	return found, err
}

func (d demo) accessLog(ctx context.Context, namespace, selector, request string) ([]hop, error) {
	out, err := d.cluster.Kubectl(ctx, nil, "-n", namespace, "logs", "-l", selector, "-c", "istio-proxy", "--tail=200", "--prefix", "--ignore-errors")
	if err != nil {
		return nil, err
	}
	var found []hop
	for line := range strings.Lines(out) {
		prefix, text, ok := strings.Cut(line, "] ")
		if !ok || !strings.Contains(text, request) {
			continue
		}
		h := hop{}
		if json.Unmarshal([]byte(text), &h) != nil || h.Request != request {
			continue
		}
		parts := strings.Split(strings.TrimPrefix(prefix, "[pod/"), "/")
		h.pod = namespace + "/" + parts[0]
		found = append(found, h)
	}
	return found, nil
}

// draw prints the way of a request, a line for each sidecar it passed.
func draw(hops []hop) string {
	var b strings.Builder
	for _, h := range hops {
		if h.inbound() {
			fmt.Fprintf(&b, "    %-52s accepted it from  %s\n", h.pod, known(h.Caller, "a caller without mTLS"))
			continue
		}
		fmt.Fprintf(&b, "    %-52s sent it to        %s\n", h.pod, known(h.Callee, "a callee without mTLS"))
		fmt.Fprintf(&b, "    %-52s by route          %s → %s\n", "", known(h.Route, "none"), h.Cluster)
	}
	return b.String()
}

func known(value, otherwise string) string {
	if value == "" || value == "-" {
		return otherwise
	}
	return value
}
