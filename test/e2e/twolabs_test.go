//go:build acceptance

package e2e

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/net-mesh/net-mesh/test/lab"
)

// Two labs run side by side: each answers, the end of one is not felt in the other, and nothing is left
// of it. Ending it twice is quiet.
func TestTwoLabs(t *testing.T) {
	a := theLab(t)
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	b, err := lab.New(a.Host.Name+"-b", repo)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Down(context.Background(), false) })
	before := daemonPids(a)
	if err := b.Up(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if err := b.Install(t.Context(), lab.Plugin{}); err != nil {
		t.Fatal(err)
	}
	serveDemo(t, a)
	serveDemo(t, b)
	for range 2 {
		if err := b.Down(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Leftovers(); err != nil {
		t.Error(err)
	}
	if after := daemonPids(a); !slices.Equal(before, after) {
		t.Errorf("the first lab's components were %v and are %v after the second came and went", before, after)
	}
	serveDemo(t, a)
	m, err := a.Mesh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kubectl(t, m, "", "-n", "apps", "delete", "ksvc", "hello", "--wait")
}

func serveDemo(t *testing.T, l *lab.Lab) {
	t.Helper()
	m, err := l.Mesh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.DeployDemo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.ServiceReady(t.Context(), "apps", "hello"); err != nil {
		t.Fatal(err)
	}
	answers(t, m, "http://hello.apps.svc.cluster.local/")
}

func daemonPids(l *lab.Lab) []int {
	var pids []int
	for _, name := range l.Host.Daemons() {
		if name != "holder" {
			pids = append(pids, l.Host.Pid(name))
		}
	}
	return pids
}
