//go:build lab

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/net-mesh/net-mesh/test/lab"
)

// streamEnds are two Knative Services of the program test/streams, and two Services that nothing of Knative's stands
// before: it passes on no trailers of requests, and what it adds to headers is not to be measured.
const streamEnds = `{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: streams-http, namespace: apps, labels: {networking.knative.dev/visibility: cluster-local}}, spec: {template: {
  metadata: {annotations: {%[3]s, features.knative.dev/http-full-duplex: Enabled}},
  spec: {timeoutSeconds: %[2]d, responseStartTimeoutSeconds: %[2]d, containers: [{image: "%[1]s", args: [serve], ports: [{name: http1, containerPort: 8080}], resources: {requests: {cpu: 50m}}}]}}}}
---
{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: streams-h2c, namespace: apps, labels: {networking.knative.dev/visibility: cluster-local}}, spec: {template: {
  metadata: {annotations: {%[3]s}},
  spec: {timeoutSeconds: %[2]d, responseStartTimeoutSeconds: %[2]d, containers: [{image: "%[1]s", args: [serve], ports: [{name: h2c, containerPort: 8080}], resources: {requests: {cpu: 50m}}}]}}}}
---
%[4]s`

// plainEnd is a Service and its pod: two Services of one pod and port would have the protocol of the older one there.
const plainEnd = `{apiVersion: v1, kind: Service, metadata: {name: %[1]s, namespace: apps}, spec: {selector: {app: %[1]s}, ports: [{name: %[2]s, port: 80, targetPort: 8080}]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: %[1]s, namespace: apps}, spec: {selector: {matchLabels: {app: %[1]s}}, template: {
  metadata: {labels: {app: %[1]s}, annotations: {sidecar.istio.io/proxyCPU: 50m}},
  spec: {terminationGracePeriodSeconds: 1, containers: [{name: app, image: "%[3]s", args: [serve], env: [{name: PORT, value: "8080"}], readinessProbe: {tcpSocket: {port: 8080}}, resources: {requests: {cpu: 50m}}}]}}}}
---
`

// warmed keeps a pod, and the activator off the way, which has limits of its own.
const warmed = `autoscaling.knative.dev/min-scale: "1", autoscaling.knative.dev/target-burst-capacity: "0", sidecar.istio.io/proxyCPU: 100m, queue.sidecar.serving.knative.dev/cpu-resource-request: 50m`

// streamed are the ends, and the cases of test/streams that are tried at each.
var streamed = []struct{ name, protocol, cases string }{
	{"streams-http", "", "events events-silent socket socket-silent echo upload download headers"},
	{"streams-h2c", "h2c", "events events-silent grpc grpc-silent echo upload download headers"},
	{"streams-plain", "", "continue refusal headers limits"},
	{"streams-plain-h2c", "h2c", "trailers headers"},
}

const (
	straight   = "direct"
	throughOwn = "loopback"
	// knativeLimit is the longest that Serving lets a request last by default (max-revision-timeout-seconds).
	knativeLimit = 10 * time.Minute
)

// end and outcome are what the command test/streams takes and reports.
type end struct {
	Name     string   `json:"name"`
	URL      string   `json:"url"`
	Host     string   `json:"host,omitempty"`
	Protocol string   `json:"protocol,omitempty"`
	Cases    []string `json:"cases"`
}

type outcome struct {
	Target  string            `json:"target"`
	Case    string            `json:"case"`
	OK      bool              `json:"ok"`
	Problem string            `json:"problem"`
	Lasted  time.Duration     `json:"lasted"`
	Events  int               `json:"events"`
	Facts   map[string]string `json:"facts"`
}

// The short form of TestStreams, with all but the minutes.
func TestStreamsShort(t *testing.T) {
	streams(t, 4*time.Second, time.Second, 16<<20)
}

// streams wants the loopback to carry what the mesh carries: streams that last, silent ones too, large bodies both
// ways, trailers, 100-continue, and headers up to the mesh's own limits. What the mesh carries is asked of the
// direct way, at the same time.
func streams(t *testing.T, last, every time.Duration, size int) {
	m := theMesh(t)
	asMode(t, "mesh-only")
	t.Cleanup(func() { _ = theLab(t).SetProfile(cleanup(), "gateway", false) })
	deployCaller(t, m)
	deployEnds(t, m, last+5*time.Minute)
	program, err := m.CopyIn(t.Context(), "clients", "streams")
	if err != nil {
		t.Fatal(err)
	}
	targets, err := json.Marshal(waysOf(t, m))
	if err != nil {
		t.Fatal(err)
	}
	out := kubectl(t, m, "", "-n", "clients", "exec", "deploy/caller", "-c", "caller", "--", program, "try",
		"-for", last.String(), "-every", every.String(), "-size", strconv.Itoa(size), "-targets", string(targets))
	var all []outcome
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatalf("report of streams: %v\n%s", err, out)
	}
	direct := map[string]outcome{}
	for _, o := range all {
		t.Logf("%-26s %-14s %-8s %3d events %v %s", o.Target, o.Case, o.Lasted.Round(time.Millisecond), o.Events, o.Facts, o.Problem)
		if !o.OK {
			t.Errorf("%s, %s: %s", o.Target, o.Case, o.Problem)
		}
		way, name, _ := strings.Cut(o.Target, " ")
		if way == straight {
			direct[name+" "+o.Case] = o
			continue
		}
		alike(t, o, direct[name+" "+o.Case])
	}
}

// deployEnds makes what answers, with limits of Knative's that let streams last, and leads a host to each by the
// local gateway, as people do by hand.
func deployEnds(t *testing.T, m lab.Mesh, limit time.Duration) {
	t.Helper()
	image, err := m.ProgramImage(t.Context(), "streams")
	if err != nil {
		t.Fatal(err)
	}
	if limit > knativeLimit {
		atMost := func(ctx context.Context, value string) error {
			_, err := m.Kubectl(ctx, nil, "-n", "knative-serving", "patch", "configmap", "config-defaults", "--type=merge", "-p", `{"data":{"max-revision-timeout-seconds":`+value+`}}`)
			return err
		}
		if err := atMost(t.Context(), fmt.Sprintf("%q", fmt.Sprint(int(limit.Seconds())))); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = atMost(cleanup(), "null") })
	}
	plain := fmt.Sprintf(plainEnd, "streams-plain", "http", image) + fmt.Sprintf(plainEnd, "streams-plain-h2c", "http2", image)
	manifest := fmt.Sprintf(streamEnds, image, int(limit.Seconds()), warmed, plain)
	t.Cleanup(func() { _, _ = m.Kubectl(cleanup(), []byte(manifest), "delete", "--ignore-not-found", "-f", "-") })
	// Serving's webhook hears of its ConfigMap a moment later.
	if err := m.Apply(t.Context(), []byte(manifest)); err != nil {
		t.Fatal(err)
	}
	for _, s := range streamed {
		applyFor(t, m, fmt.Sprintf(byHand, s.name, inApps(s.name), localService))
	}
	err = m.Rollout(t.Context(), "apps", "streams-plain", "streams-plain-h2c")
	for _, knative := range []string{"streams-http", "streams-h2c"} {
		err = errors.Join(err, m.ServiceReady(t.Context(), "apps", knative))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func inApps(name string) string { return name + ".apps.svc.cluster.local" }

// waysOf waits until each end answers directly and through the loopback. In mesh-only nobody else has the name of
// the local gateway, to which the hosts lead.
func waysOf(t *testing.T, m lab.Mesh) []end {
	t.Helper()
	var ways []end
	for _, s := range streamed {
		for way, host := range map[string]string{straight: inApps(s.name), throughOwn: s.name + ".example.org"} {
			e := end{Name: way + " " + s.name, URL: "http://" + inApps(s.name) + "/", Host: host, Protocol: s.protocol, Cases: strings.Fields(s.cases)}
			eventually(t, e.Name+" to answer", func(ctx context.Context) error {
				a, err := m.Call(ctx, "clients", e.URL, "-H", "Host: "+host)
				if err == nil && (a.Code != http.StatusOK || a.Body != inApps(s.name)) {
					err = fmt.Errorf("it answers %d %s", a.Code, a.Body)
				}
				return err
			})
			ways = append(ways, e)
		}
	}
	slices.SortFunc(ways, func(a, b end) int { return strings.Compare(a.Name, b.Name) }) // the direct ones first
	return ways
}

// alike wants facts of the loopback to be those of the direct way. Some bytes and headers of its own are allowed,
// for a request passes one listener more.
func alike(t *testing.T, through, direct outcome) {
	t.Helper()
	for name, want := range direct.Facts {
		got := through.Facts[name]
		allowed := 0
		switch {
		case strings.HasSuffix(name, ", above"):
		case strings.HasPrefix(name, "bytes "):
			allowed = 1 << 10
		case strings.HasPrefix(name, "headers "):
			allowed = 5
		}
		gotN, err := strconv.Atoi(got)
		wantN, errToo := strconv.Atoi(want)
		if got == want || (err == nil && errToo == nil && gotN >= wantN-allowed && gotN <= wantN+allowed) {
			continue
		}
		t.Errorf("%s, %s: %s is %s, and %s directly", through.Target, through.Case, name, got, want)
	}
	// What Envoy says of headers that are more than the mesh takes.
	if above, tried := through.Facts["bytes asked, above"]; tried && above != strconv.Itoa(http.StatusRequestHeaderFieldsTooLarge) {
		t.Errorf("%s: too large headers of a request were answered with %s, want 431", through.Target, above)
	}
}
