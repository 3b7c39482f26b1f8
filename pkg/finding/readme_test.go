package finding

import (
	"os"
	"strings"
	"testing"
)

// Who meets a reason looks for it in the README.
func TestReadmeNamesEveryReason(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range Catalogue() {
		if !strings.Contains(string(text), "`"+string(e.Reason)+"`") {
			t.Errorf("the README does not name %s", e.Reason)
		}
	}
}
