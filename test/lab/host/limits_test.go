package host

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAtLeast: a limit is raised, and never lowered; what cannot be read is told.
func TestAtLeast(t *testing.T) {
	for _, row := range []struct{ have, want string }{
		{"128\n", "4096"}, {"4096\n", "4096\n"}, {"1048576\n", "1048576\n"}, {"many", ""},
	} {
		file := filepath.Join(t.TempDir(), "limit")
		if err := os.WriteFile(file, []byte(row.have), 0o600); err != nil {
			t.Fatal(err)
		}
		err := atLeast(file, 4096)
		if (err == nil) != (row.want != "") {
			t.Errorf("%q: %v", row.have, err)
		}
		if got, _ := os.ReadFile(file); row.want != "" && string(got) != row.want {
			t.Errorf("%q became %q, want %q", row.have, got, row.want)
		}
	}
	if err := atLeast(filepath.Join(t.TempDir(), "none"), 1); err == nil {
		t.Error("nothing is there, and nobody is told")
	}
}
