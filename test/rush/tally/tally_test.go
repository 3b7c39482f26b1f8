package tally

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSum(t *testing.T) {
	const s = time.Second
	got := Sum([]Ingress{
		{Name: "a", Created: 0, Ready: 3 * s, Served: 3 * s, First: OK},
		{Name: "b", Created: 1 * s, Ready: 2 * s, Served: 6 * s, First: "503"},
		{Name: "c", Created: 1 * s, Ready: 9 * s, Served: 10 * s, First: NoAnswer, Reason: "Assumed"},
		{Name: "d", Created: 2 * s, Ready: 4 * s, Served: 6 * s, First: "503"},
	})
	want := Summary{
		Count: 4, Ready: Spread{4 * s, 9 * s}, Each: Spread{3 * s, 8 * s}, Late: Spread{2 * s, 4 * s},
		Early: map[string]int{"503": 2, NoAnswer: 1}, Unproven: map[string]int{"Assumed": 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.TooEarly() != 3 || Counts(got.Early) != "503: 2, no answer: 1" {
		t.Errorf("too early: %d, %s", got.TooEarly(), Counts(got.Early))
	}
	if got := Sum(nil); got.TooEarly() != 0 || got.Ready.Last != 0 {
		t.Errorf("of none: %+v", got)
	}
}
