//go:build lab

package e2e

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/net-mesh/net-mesh/test/lab/platform"
)

// holder is the one process that need not come back: it only keeps a namespace alive.
const holder = "holder"

// Any component of the lab may be killed: bringing the lab up again heals it, and Services answer.
func TestHeal(t *testing.T) {
	l, m := theLab(t), theMesh(t)
	deployHello(t, m)
	daemons := l.Host.Daemons()
	if !strings.Contains(strings.Join(daemons, " "), "apiserver") {
		t.Fatalf("daemons %v: want the API server among them", daemons)
	}
	for _, name := range daemons {
		if name == holder && !l.Host.Alive(name) {
			continue // an earlier kill: other processes keep the mount namespace
		}
		if err := syscall.Kill(l.Host.Pid(name), syscall.SIGKILL); err != nil {
			t.Fatalf("kill %s: %v", name, err)
		}
	}
	eventually(t, "the killed components to end", func(context.Context) error {
		for _, name := range daemons {
			if l.Host.Alive(name) {
				return fmt.Errorf("%s is still ending", name)
			}
		}
		return nil
	})
	if err := l.Up(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	for _, name := range daemons {
		if name != holder && !l.Host.Alive(name) {
			t.Errorf("%s was killed and is not back", name)
		}
	}
	answers(t, m, helloURL)
	if err := m.Apply(t.Context(), platform.Demo); err != nil {
		t.Fatal(err)
	}
	kubectl(t, m, "", "-n", "apps", "delete", "ksvc", "hello", "--wait")
}
