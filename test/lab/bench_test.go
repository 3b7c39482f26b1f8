package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/net-mesh/net-mesh/test/rush/tally"
)

func TestTable(t *testing.T) {
	const s = time.Second
	got := table([]Pass{
		{Plugin: "net-mesh", Mode: "mesh-only", Load: "0.50", Summary: tally.Summary{Count: 2, Ready: tally.Spread{P50: 2 * s, Last: 3 * s}},
			Services: Held{VHosts: 2, Routes: 2, Bytes: 100}, Sidecar: Held{VHosts: 2, Routes: 4, Bytes: 301}, Elsewhere: &Held{VHosts: 2, Routes: 2, Bytes: 100}},
		{Plugin: "peer", Mode: "mesh-only", Load: "1.00", Summary: tally.Summary{Count: 2, Early: map[string]int{"503": 1}, Unproven: map[string]int{"Assumed": 2}}},
	})
	for _, want := range []string{
		"mesh-only\n", "net-mesh, 2", "peer, 2", "2.0 s, 3.0 s", "1 (503: 1)", "2 (Assumed: 2)", "1, 2", "150.5", "50", "0.50",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, got)
		}
	}
}

// What cannot be measured is refused before anything is installed.
func TestBenchIsCheckedFirst(t *testing.T) {
	for _, o := range []BenchOptions{
		{Counts: []int{1}, Mode: "no-such"}, {Mode: "mesh-only"}, {Counts: []int{5, 0}, Mode: "mesh-only"},
		{Counts: []int{1}, Mode: "mesh-only", Peer: Plugin{Images: map[string]string{"a": "b"}}},
	} {
		if err := (&Lab{}).Bench(t.Context(), o); err == nil {
			t.Errorf("%+v: got nil, want an error", o)
		}
	}
}
