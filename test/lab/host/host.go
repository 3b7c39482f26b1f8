// Package host answers: what of this machine belongs to one lab? It owns the lab's folders, network
// namespace, mount namespace, control groups and processes, and can find and remove each of them even
// when the program that made them was killed.
package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// prefix starts every name the lab gives to something of the machine, so that leftovers can be told.
const prefix = "nm-"

// runRoot holds sockets; their paths are limited to about 100 bytes, so it is short.
const runRoot = "/run/net-mesh"

var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$`)

// Host is one lab's share of the machine.
type Host struct {
	// Name tells labs apart; it appears in the names of namespaces and control groups.
	Name string
	// Dir holds the lab's files: keys, logs, etcd's and containerd's data. It goes with the lab.
	Dir string
	// Cache holds what can be used again by any lab and any checkout: binaries and images, by content.
	Cache string
}

// New returns the share of the lab called name. It makes nothing yet.
func New(name string) (Host, error) {
	if !validName.MatchString(name) {
		return Host{}, fmt.Errorf("lab name %q: use 1 to 20 of a-z, 0-9 and inner dashes", name)
	}
	home, err := os.UserHomeDir()
	if err != nil && (os.Getenv("XDG_STATE_HOME") == "" || os.Getenv("XDG_CACHE_HOME") == "") {
		return Host{}, fmt.Errorf("no home folder for the lab's files: set HOME: %w", err)
	}
	state := fallback(os.Getenv("XDG_STATE_HOME"), filepath.Join(home, ".local", "state"))
	cache := fallback(os.Getenv("XDG_CACHE_HOME"), filepath.Join(home, ".cache"))
	for _, d := range []string{state, cache} {
		for _, taken := range []string{"/run", "/var/lib", "/var/log"} {
			if strings.HasPrefix(filepath.Clean(d)+"/", taken+"/") {
				return Host{}, fmt.Errorf("folder %s for the lab's files: the lab has a %s of its own, so it cannot be there; set XDG_STATE_HOME and XDG_CACHE_HOME to other folders", d, taken)
			}
		}
	}
	return Host{Name: name, Dir: filepath.Join(state, "net-mesh", "lab", name), Cache: filepath.Join(cache, "net-mesh", "lab")}, nil
}

func fallback(value, other string) string {
	if value != "" {
		return value
	}
	return other
}

// Run is the folder of the lab's sockets.
func (h Host) Run() string { return filepath.Join(runRoot, h.Name) }

// Path joins parts below the lab's folder.
func (h Host) Path(parts ...string) string {
	return filepath.Join(append([]string{h.Dir}, parts...)...)
}

// Register writes down where the lab's files are, for a Remove that is called with another HOME.
func (h Host) Register() error {
	if err := errors.Join(os.MkdirAll(h.Dir, 0o755), os.MkdirAll(h.Run(), 0o755)); err != nil {
		return err
	}
	return os.WriteFile(h.register(), []byte(h.Dir), 0o644)
}

func (h Host) register() string { return filepath.Join(h.Run(), "dir") }

// dirs are the folders of the lab's files: by this environment, and as registered.
func (h Host) dirs() []string {
	registered, err := os.ReadFile(h.register())
	other := string(registered)
	if err != nil || other == h.Dir || !strings.HasSuffix(other, "/net-mesh/lab/"+h.Name) || filepath.Clean(other) != other {
		return []string{h.Dir}
	}
	return []string{h.Dir, other}
}

// Lock waits until no other program changes this lab, or until ctx ends; if it has to wait, it calls
// waiting once. The lock goes with the process.
func (h Host) Lock(ctx context.Context, waiting func()) (release func(), err error) {
	if err := os.MkdirAll(runRoot, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(runRoot, h.Name+".lock"), os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("lock of lab %s: %w", h.Name, err)
		}
		if first {
			waiting()
		}
		if err := pause(ctx); err != nil {
			f.Close()
			return nil, fmt.Errorf("lab %s is being changed by another program: %w", h.Name, err)
		}
	}
}
