package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestNameDecidesPaths(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/state")
	t.Setenv("XDG_CACHE_HOME", "/cache")
	for name, valid := range map[string]bool{
		"lab": true, "a": true, "test-b": true, "a1": true,
		"": false, "-a": false, "a-": false, "A": false, "a/b": false, "..": false, "a.b": false, "a b": false,
		strings.Repeat("x", 20): true, strings.Repeat("x", 21): false,
	} {
		h, err := New(name)
		if (err == nil) != valid {
			t.Errorf("New(%q): got error %v, want valid %t", name, err, valid)
		}
		if valid && (h.Dir != "/state/net-mesh/lab/"+name || h.Cache != "/cache/net-mesh/lab" || h.NetNS() != "nm-"+name || h.Run() != "/run/net-mesh/"+name) {
			t.Errorf("New(%q): got %+v with network namespace %s and sockets in %s", name, h, h.NetNS(), h.Run())
		}
	}
}

func TestWaitFor(t *testing.T) {
	calls := 0
	err := WaitFor(t.Context(), "x", time.Minute, func(context.Context) error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || calls != 3 {
		t.Errorf("a condition that comes to hold: got %v after %d looks, want nil after 3", err, calls)
	}
	err = WaitFor(t.Context(), "the moon", 10*time.Millisecond, func(context.Context) error { return errors.New("it is new") })
	if err == nil || !strings.Contains(err.Error(), "the moon") || !strings.Contains(err.Error(), "it is new") {
		t.Errorf("a condition that never holds: got %v, want what was awaited and why it failed", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := WaitFor(ctx, "x", time.Minute, func(context.Context) error { return errors.New("no") }); err == nil {
		t.Error("a wait that was called off: got nil, want an error")
	}
}

// Nothing runs in a lab that was never brought up, and a stale pid file names no process of it: the
// pid may be anybody's by now.
func TestStalePidFile(t *testing.T) {
	h := Host{Name: "never-up-x", Dir: t.TempDir()}
	if pids := h.Processes(); len(pids) > 0 {
		t.Fatalf("processes %v in a lab that was never up", pids)
	}
	if err := os.MkdirAll(h.Path("pids"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.Path("pids", "etcd.pid"), []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if h.Pid("etcd") != 1 || h.Alive("etcd") {
		t.Errorf("pid %d, alive %t; want pid 1, which is not the lab's and so not alive", h.Pid("etcd"), h.Alive("etcd"))
	}
	if got := h.Daemons(); len(got) != 1 || got[0] != "etcd" {
		t.Errorf("daemons %v, want etcd", got)
	}
}

func TestLogTail(t *testing.T) {
	h := Host{Name: "x", Dir: t.TempDir()}
	if err := os.MkdirAll(filepath.Dir(h.logFile("a")), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.logFile("a"), []byte("1\n2\n3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := h.LogTail("a", 2); got != "2\n3" {
		t.Errorf("last two lines: got %q, want 2 and 3", got)
	}
	if got := h.LogTail("b", 2); !strings.Contains(got, "no such file") {
		t.Errorf("no log: got %q, want why", got)
	}
}

// The lab lays its own folders over some of the machine's; its files cannot be below those.
func TestFoldersTheLabCovers(t *testing.T) {
	for dir, valid := range map[string]bool{"/var/lib/x": false, "/run": false, "/var/log/../lib": false, "/var/library": true, "/srv": true} {
		t.Setenv("XDG_CACHE_HOME", "/cache")
		t.Setenv("XDG_STATE_HOME", dir)
		if _, err := New("lab"); (err == nil) != valid {
			t.Errorf("state in %s: got error %v, want valid %t", dir, err, valid)
		}
	}
}
