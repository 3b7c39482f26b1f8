package doctor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/doctor"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// TestOwnManifestsAreKnown: the doctor knows net-mesh by what its manifests say, and finds no
// fault with their webhooks, nor with the observer's policy and annotations.
func TestOwnManifestsAreKnown(t *testing.T) {
	names, err := filepath.Glob("../../config/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatal("no manifests", err)
	}
	var files []snapshot.File
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, snapshot.File{Name: name, Text: text})
	}
	w, err := world(t, files...)
	if err != nil {
		t.Fatal(err)
	}
	want := types.NamespacedName{Namespace: "net-mesh-observers", Name: "net-mesh-observer"}
	if got := doctor.Observers(w.Objects); len(got) != 1 || got[0] != want {
		t.Error("observers:", got)
	}
	for _, c := range examine(t, w).Checks {
		for _, f := range c.Findings {
			// Nothing of it runs here, so nothing is ready.
			if ready := strings.HasSuffix(string(f.Reason), "NotReady"); f.Verdict() == doctor.Wrong && !ready &&
				(c.Name == "controller" || c.Name == "webhooks" || c.Name == "observers" || c.Name == "network policies") {
				t.Errorf("%s: %s: %s", c.Name, f.Reason, f.Message)
			}
		}
	}
}
