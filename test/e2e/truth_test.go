//go:build lab || acceptance

package e2e

import (
	"testing"

	"github.com/net-mesh/net-mesh/test/rush/tally"
)

// Sixty Ingresses at once without any gateway: each is proven, not assumed, and a sidecar that is neither the
// controller's nor an observer's serves it when it turns Ready.
func TestReadyIsTrue(t *testing.T) { readyIsTrue(t, 60) }

func readyIsTrue(t *testing.T, many int) {
	if err := theLab(t).SetProfile(t.Context(), "mesh-only", false); err != nil {
		t.Fatal(err)
	}
	m := theMesh(t)
	t.Cleanup(func() { _ = m.RushGone(cleanup()) })
	if err := m.RushStage(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	all, err := m.Rush(t.Context(), many)
	if err != nil {
		t.Fatal(err)
	}
	s := tally.Sum(all)
	t.Logf("%d Ready after %s (half) to %s (all); not served then: %d (%s), for %s at most",
		many, s.Ready.P50, s.Ready.Last, s.TooEarly(), tally.Counts(s.Early), s.Late.Last)
	if s.TooEarly()*100 >= many {
		t.Errorf("%d of %d were Ready too early, want fewer than 1 of 100", s.TooEarly(), many)
	}
	if s.NotProven() > 0 {
		t.Errorf("Ready for another reason than a proof: %s", tally.Counts(s.Unproven))
	}
}
