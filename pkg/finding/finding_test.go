package finding_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/net-mesh/net-mesh/pkg/finding"
)

func TestSortPutsTheGravestFirstAndSaysNothingTwice(t *testing.T) {
	info := finding.Finding{Reason: finding.NoExternalEntry}
	pending := finding.Finding{Reason: finding.SecretMissing}
	invalid := finding.Finding{Reason: finding.PortNotFound, Path: "a"}
	in := []finding.Finding{info, pending, invalid, info}
	want := []finding.Finding{invalid, pending, info}
	if diff := cmp.Diff(want, finding.Sort(in)); diff != "" {
		t.Error("(-want +got)", diff)
	}
	if in[0] != info {
		t.Error("Sort changed its argument")
	}
	if got, ok := finding.Worst(in); !ok || got != finding.Invalid {
		t.Errorf("Worst = %v, %v", got, ok)
	}
	if _, ok := finding.Worst(nil); ok {
		t.Error("Worst of nothing is something")
	}
}

func TestCatalogueIsComplete(t *testing.T) {
	seen := map[finding.Reason]bool{}
	for _, e := range finding.Catalogue() {
		if seen[e.Reason] {
			t.Error("listed twice:", e.Reason)
		}
		seen[e.Reason] = true
		if e.Help == "" {
			t.Error("no help for", e.Reason)
		}
		if (e.Severity == finding.Info) != (e.Condition == finding.None) {
			t.Errorf("%s: severity %s on condition %q; Info changes no condition, the others do", e.Reason, e.Severity, e.Condition)
		}
	}
	if e := finding.Reason("Forgotten").Entry(); e.Severity != finding.Invalid {
		t.Error("a reason outside the catalogue is", e.Severity)
	}
}
