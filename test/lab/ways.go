package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/net-mesh/net-mesh/test/lab/host"
	"github.com/net-mesh/net-mesh/test/lab/platform"
)

// WaysOptions say how to measure.
type WaysOptions struct {
	// Rate is in requests per second, For how long each way is measured in each of Rounds.
	Rate, Rounds int
	For          time.Duration
	// File receives the passes as JSON, when not "".
	File string
}

func (o WaysOptions) check() error {
	if o.Rate < 1 || o.Rounds < 1 || o.For < time.Second {
		return fmt.Errorf("%d requests per second for %s, %d times: want at least one, for a second, once", o.Rate, o.For, o.Rounds)
	}
	return nil
}

// way is how a request goes to the Service of platform.Ways.
type way struct{ name, mode, host string }

const (
	waysService = "ways-predictor"
	// predicted is the Service's own name, inferred the one that leads to it by the local gateway.
	predicted = waysService + ".apps.svc.cluster.local"
	inferred  = "ways.apps.svc.cluster.local"
	// warmUp makes connections, and fills what is filled once.
	warmUp = 3 * time.Second
)

var ways = []way{{"direct", "mesh-only", predicted}, {"loopback", "mesh-only", inferred}, {"local gateway", "gateway", inferred}}

func (w way) url() string { return "http://" + w.host + "/" }

// stops are the proxies that work for a call, where there are some.
var stops = []struct {
	name string
	at   Place
}{
	{callerStop, Place{"clients", "app=caller"}},
	{gatewayStop, Place{"istio-system", "istio=ingressgateway"}},
	{calleeStop, Place{"apps", "serving.knative.dev/service=" + waysService}},
}

const (
	callerStop  = "caller"
	gatewayStop = "gateway"
	calleeStop  = "callee"
)

// WayPass is what came of measuring one way once.
type WayPass struct {
	Round int    `json:"round"`
	Way   string `json:"way"`
	Mode  string `json:"mode"`
	// Load is that of the machine before, over one minute.
	Load   string        `json:"load,omitempty"`
	Sent   int           `json:"sent"`
	Failed int           `json:"failed"`
	P50    time.Duration `json:"p50"`
	P99    time.Duration `json:"p99"`
	// CPU is the processor time for each request, of the proxies at each stop, idle work included.
	CPU map[string]time.Duration `json:"cpu"`
	// Memory is what the proxy of the caller held afterwards, in bytes.
	Memory int64 `json:"memory"`
}

// BenchWays measures latency and processor time of a call in each way. The ways take turns, so that what changes on
// the machine meets all of them. It leaves the profile as it was.
func (l *Lab) BenchWays(ctx context.Context, o WaysOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	m, err := l.Mesh(ctx)
	if err != nil {
		return err
	}
	former := l.profile()
	passes, err := m.benchWays(ctx, o)
	_, gone := m.Kubectl(ctx, platform.Ways, "delete", "--ignore-not-found", "-f", "-")
	err = errors.Join(err, gone, l.SetProfile(ctx, former.Name, former.Addressing))
	if len(passes) > 0 {
		medians := waysMedians(passes)
		fmt.Print(waysTable(o, medians))
		err = errors.Join(err, writeJSON(o.File, map[string]any{"rate": o.Rate, "for": o.For, "medians": medians, "passes": passes}))
	}
	return err
}

func (m Mesh) benchWays(ctx context.Context, o WaysOptions) ([]WayPass, error) {
	if err := m.deployWays(ctx); err != nil {
		return nil, err
	}
	program, err := m.CopyIn(ctx, "clients", "load")
	if err != nil {
		return nil, err
	}
	var passes []WayPass
	for round := range o.Rounds {
		for _, w := range turn(round) {
			if m.lab.profile().Name != w.mode {
				if err := m.lab.SetProfile(ctx, w.mode, false); err != nil {
					return passes, err
				}
			}
			var one WayPass
			err := m.lab.Progress.Step(ctx, fmt.Sprintf("round %d: %s", round+1, w.name), func(ctx context.Context) (err error) {
				one, err = m.measureWay(ctx, w, program, o)
				return err
			})
			if err != nil {
				return passes, err
			}
			one.Round = round + 1
			passes = append(passes, one)
		}
	}
	return passes, nil
}

// turn is the order of a round: there and back, so that the profile changes once in each.
func turn(round int) []way {
	order := slices.Clone(ways)
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

// deployWays makes the Service, and the demo's caller without what the demo calls.
func (m Mesh) deployWays(ctx context.Context) error {
	objects, err := platform.Parse(platform.Demo)
	if err != nil {
		return err
	}
	callers := objects[:0]
	for _, o := range objects {
		if o.GetNamespace() == "clients" {
			callers = append(callers, o)
		}
	}
	manifest, err := platform.Print(callers)
	if err != nil {
		return err
	}
	for _, text := range [][]byte{manifest, platform.Ways} {
		if err := m.Apply(ctx, text); err != nil {
			return err
		}
	}
	return errors.Join(m.Rollout(ctx, "clients", "caller"), m.ServiceReady(ctx, "apps", waysService))
}

// measureWay measures a way when requests go it.
func (m Mesh) measureWay(ctx context.Context, w way, program string, o WaysOptions) (p WayPass, err error) {
	if err := m.goes(ctx, w); err != nil {
		return p, err
	}
	at, err := m.proxies(ctx, w)
	if err != nil {
		return p, err
	}
	p = WayPass{Way: w.name, Mode: w.mode, Load: loadOf("/proc/loadavg")}
	if _, err := m.loaded(ctx, w, program, o.Rate, warmUp); err != nil {
		return p, err
	}
	before, err := m.used(at)
	if err != nil {
		return p, err
	}
	r, err := m.loaded(ctx, w, program, o.Rate, o.For)
	if err != nil {
		return p, err
	}
	after, err := m.used(at)
	if err == nil {
		p.add(r, before, after)
	}
	return p, err
}

// goes waits until a call is answered, with a gateway on its way or without, as it should be. Where there is no
// gateway, what leads to one can be answered by the loopback only.
func (m Mesh) goes(ctx context.Context, w way) error {
	places := make([]Place, len(stops))
	for i, s := range stops {
		places[i] = s.at
	}
	return host.WaitFor(ctx, "calls to go by "+w.name, demoLimit, func(ctx context.Context) error {
		a, err := m.Call(ctx, "clients", w.url())
		if err != nil {
			return err
		}
		if a.Code != 200 {
			return fmt.Errorf("%s is answered with %d %.200s", w.url(), a.Code, a.Body)
		}
		hops, err := m.Hops(ctx, a.Request, places...)
		if err == nil && passesGateway(hops) != (w.mode == "gateway") {
			err = fmt.Errorf("the way is\n%s", Draw(hops))
		}
		return err
	})
}

func passesGateway(hops []Hop) bool {
	return slices.ContainsFunc(hops, func(h Hop) bool { return strings.HasPrefix(h.Pod, "istio-system/") })
}

// loadReport is what the command test/load reports of one target.
type loadReport struct {
	Sent     int `json:"sent"`
	Failures []struct {
		Count int    `json:"count"`
		Text  string `json:"text"`
	} `json:"failures"`
	Took struct {
		P50 time.Duration `json:"p50"`
		P99 time.Duration `json:"p99"`
	} `json:"took"`
}

// loaded sends requests from the caller for a time.
func (m Mesh) loaded(ctx context.Context, w way, program string, rate int, last time.Duration) (loadReport, error) {
	targets, err := json.Marshal([]map[string]string{{"name": w.name, "url": w.url(), "want": "Hello World!"}})
	if err != nil {
		return loadReport{}, err
	}
	out, err := m.Kubectl(ctx, nil, "-n", "clients", "exec", "deploy/caller", "-c", "caller", "--", program,
		"-rate", strconv.Itoa(rate), "-for", last.String(), "-targets", string(targets))
	if err != nil {
		return loadReport{}, err
	}
	return readLoad(out)
}

func readLoad(out string) (loadReport, error) {
	var all []loadReport
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		return loadReport{}, fmt.Errorf("report of the load generator: %w: %.200s", err, out)
	}
	if len(all) != 1 || all[0].Sent == 0 || all[0].Took.P50 == 0 {
		return loadReport{}, fmt.Errorf("report of the load generator: want one target that was asked, and how long it took: %.200s", out)
	}
	return all[0], nil
}
