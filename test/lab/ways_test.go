package lab

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/net-mesh/net-mesh/test/lab/host"
	"github.com/net-mesh/net-mesh/test/lab/platform"
)

// Each round has all ways, and no round begins with another profile than the one before ended with.
func TestTurns(t *testing.T) {
	last := ""
	for round := range 4 {
		order := turn(round)
		changes := 0
		for i, w := range order {
			if i > 0 && w.mode != order[i-1].mode {
				changes++
			}
		}
		if len(order) != len(ways) || changes != 1 || (last != "" && order[0].mode != last) {
			t.Errorf("round %d after %s: %v", round, last, order)
		}
		last = order[len(order)-1].mode
	}
	for _, w := range ways {
		if _, known := Profiles[w.mode]; !known || !strings.Contains(string(platform.Ways), w.host) {
			t.Errorf("%+v: there is no such profile, or nothing has the host", w)
		}
	}
}

// Proxies that run are found, be they beside the application or before it; those of pods that are going are not.
func TestProxiesOf(t *testing.T) {
	const running = `"state": {"running": {}}`
	got, err := proxiesOf([]byte(`{"items": [
		{"status": {"initContainerStatuses": [{"name": "istio-init", "containerID": "containerd://a"}, {"name": "istio-proxy", "containerID": "containerd://b", ` + running + `}],
			"containerStatuses": [{"name": "app", "containerID": "containerd://c", ` + running + `}]}},
		{"status": {"containerStatuses": [{"name": "istio-proxy", "containerID": "containerd://d", ` + running + `}]}},
		{"status": {"containerStatuses": [{"name": "istio-proxy", "containerID": "containerd://e", "state": {"waiting": {}}}]}},
		{"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"containerStatuses": [{"name": "istio-proxy", "containerID": "containerd://f", ` + running + `}]}}]}`))
	if err != nil || !slices.Equal(got, []string{"b", "d"}) {
		t.Errorf("got %v (%v), want b and d", got, err)
	}
}

// What was used while requests were sent is divided among them.
func TestWayPass(t *testing.T) {
	r, err := readLoad(`[{"name": "direct", "sent": 100, "failures": [{"kind": "503", "count": 2}, {"kind": "dns", "count": 1}], "took": {"p50": 2000000, "p99": 9000000, "max": 1}}]` + "\n")
	if err != nil {
		t.Fatal(err)
	}
	var p WayPass
	p.add(r, map[string]host.Usage{callerStop: {CPU: time.Second, Memory: 1}, calleeStop: {CPU: 2 * time.Second}},
		map[string]host.Usage{callerStop: {CPU: 1010 * time.Millisecond, Memory: 5 << 20}, calleeStop: {CPU: 2020 * time.Millisecond}})
	if p.Sent != 100 || p.Failed != 3 || p.P50 != 2*time.Millisecond || p.P99 != 9*time.Millisecond || p.Memory != 5<<20 {
		t.Errorf("got %+v", p)
	}
	if p.CPU[callerStop] != 100*time.Microsecond || p.CPU[calleeStop] != 200*time.Microsecond || len(p.CPU) != 2 {
		t.Errorf("got %v, want 100 µs and 200 µs", p.CPU)
	}
	for _, bad := range []string{"", "[]", `[{"sent": 0, "took": {"p50": 1}}]`, `[{"sent": 1}]`} {
		if r, err := readLoad(bad); err == nil {
			t.Errorf("report %q: got %+v, want an error", bad, r)
		}
	}
}

// The median is that of a way's own passes, and no failure is lost in it.
func TestWaysTable(t *testing.T) {
	const ms = time.Millisecond
	pass := func(round int, w way, p50 time.Duration, failed int, cpu map[string]time.Duration) WayPass {
		return WayPass{Round: round, Way: w.name, Mode: w.mode, Load: "0.25", Sent: 10, Failed: failed, P50: p50, P99: 4 * p50, CPU: cpu, Memory: 50 << 20}
	}
	two := map[string]time.Duration{callerStop: 150 * time.Microsecond, calleeStop: 100 * time.Microsecond}
	three := map[string]time.Duration{callerStop: 150 * time.Microsecond, gatewayStop: 333 * time.Microsecond, calleeStop: 100 * time.Microsecond}
	medians := waysMedians([]WayPass{
		pass(1, ways[2], 9*ms, 0, three), pass(1, ways[0], ms, 0, two), pass(2, ways[0], 7*ms, 1, two), pass(3, ways[0], 2*ms, 2, two), pass(2, ways[2], 11*ms, 0, three),
	})
	if len(medians) != 2 || medians[0].Way != ways[0].name || medians[0].P50 != 2*ms || medians[0].P99 != 8*ms || medians[1].P50 != 10*ms || medians[0].Round != 3 {
		t.Errorf("got %+v", medians)
	}
	got := waysTable(WaysOptions{Rate: 200, For: 20 * time.Second, Rounds: 3}, medians)
	for _, want := range []string{"200 requests per second for 20s, medians of 3 rounds", "direct, mesh-only", "local gateway, gateway", "2.00 ms", "10.00 ms", "150 µs", "333 µs", "583 µs", "250 µs", " -", "50.0 MiB", "30, 3", "0.25 0.25 0.25"} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, got)
		}
	}
}

// What cannot be measured is refused before anything is changed.
func TestBenchWaysIsCheckedFirst(t *testing.T) {
	for _, o := range []WaysOptions{{}, {Rate: 200, Rounds: 0, For: time.Minute}, {Rate: 0, Rounds: 1, For: time.Minute}, {Rate: 1, Rounds: 1, For: time.Millisecond}} {
		if err := (&Lab{}).BenchWays(t.Context(), o); err == nil {
			t.Errorf("%+v: got nil, want an error", o)
		}
	}
}
