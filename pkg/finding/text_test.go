package finding_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/net-mesh/net-mesh/pkg/finding"
)

// TestTextsAreBounded, whatever comes: they are of the same meaning each time, and no longer than is
// said.
func TestTextsAreBounded(t *testing.T) {
	long := "Gateway a/b: " + strings.Repeat("ü", 5000) + "; correct it"
	got := finding.Bound(long, finding.MostBytes)
	if len(got) > finding.MostBytes || !utf8.ValidString(got) || !strings.HasPrefix(got, "Gateway a/b: ü") || !strings.HasSuffix(got, "ü; correct it") {
		t.Errorf("Bound gives %d bytes: %q", len(got), got)
	}
	for n := 10; n < 60; n++ {
		if got := finding.Bound(long[:101], n); len(got) > n || !utf8.ValidString(got) {
			t.Errorf("Bound to %d gives %d bytes: %q", n, len(got), got)
		}
	}
	if got := finding.Bound(strings.Repeat("\xbf", 100), 20); len(got) > 20 {
		t.Errorf("Bound gives %d bytes of what is no text: %q", len(got), got)
	}
	if got := finding.Bound("short", 5); got != "short" {
		t.Errorf("Bound gives %q", got)
	}
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("n%04d", 999-i), fmt.Sprintf("n%04d", 999-i))
	}
	if got, want := finding.Join(many), "n0999; n0998; n0997; n0996; n0995; and 995 more, which netmesh lint lists"; got != want {
		t.Errorf("Join gives %q, want %q", got, want)
	}
	if got, want := finding.List(many), "n0000, n0001, n0002, n0003, n0004, n0005, n0006, n0007, n0008, n0009 and 990 more"; got != want {
		t.Errorf("List gives %q, want %q", got, want)
	}
	if many[0] != "n0999" {
		t.Error("List changed its argument")
	}
}
