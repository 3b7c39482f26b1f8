//go:build lab || acceptance

package e2e

import (
	"bytes"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/net-mesh/net-mesh/test/lab"
)

// target and report are the ends of the command test/load.
type target struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	Host string `json:"host,omitempty"`
	Want string `json:"want,omitempty"`
}

type report struct {
	Name     string `json:"name"`
	Sent     int    `json:"sent"`
	Failures []struct {
		Kind        string `json:"kind"`
		Count       int    `json:"count"`
		First, Last time.Time
		Text        string `json:"text"`
	} `json:"failures"`
}

// traffic sends from the Deployment caller of a namespace until stop is called, which returns what came of it.
func traffic(t *testing.T, m lab.Mesh, namespace string, rate int, targets []target) (stop func() []report) {
	t.Helper()
	program, err := m.CopyIn(t.Context(), namespace, "load")
	if err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(targets)
	if err != nil {
		t.Fatal(err)
	}
	cmd := m.Command(t.Context(), "-n", namespace, "exec", "-i", "deploy/caller", "-c", "caller", "--", program, "-rate", strconv.Itoa(rate), "-targets", string(list))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() []report {
		t.Helper()
		_ = input.Close()
		if err := cmd.Wait(); err != nil {
			t.Fatalf("the load generator in %s: %v\n%s", namespace, err, errs.String())
		}
		var reports []report
		if err := json.Unmarshal(out.Bytes(), &reports); err != nil {
			t.Fatalf("report of the load generator: %v\n%s", err, out.String())
		}
		return reports
	}
}

// lost fails the test for each failure of a kind that is not allowed, and logs the others.
func lost(t *testing.T, entry string, reports []report, allowed ...string) {
	t.Helper()
	sent := 0
	for _, r := range reports {
		sent += r.Sent
		if r.Sent == 0 {
			t.Errorf("%s: nothing was sent to %s", entry, r.Name)
		}
		for _, f := range r.Failures {
			say := t.Errorf
			for _, a := range allowed {
				if f.Kind == a {
					say = t.Logf
				}
			}
			say("%s: %d of %d requests to %s failed with %s from %s for %s: %.200s", entry, f.Count, r.Sent, r.Name, f.Kind, f.First.Format("15:04:05.000"), f.Last.Sub(f.First).Round(time.Millisecond), f.Text)
		}
	}
	t.Logf("%s: %d requests to %d targets", entry, sent, len(reports))
}
