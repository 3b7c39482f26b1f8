package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// NodeIP is the address of the lab's only node; it exists inside the lab's network namespace alone, so
// every lab has the same.
const NodeIP = "10.200.0.1"

// NetNS is the name of the lab's network namespace.
func (h Host) NetNS() string { return prefix + h.Name }

func (h Host) netnsPath() string { return filepath.Join("/run/netns", h.NetNS()) }

// EnsureNetwork makes the network namespace with a node address and a default route that leads nowhere:
// no packet of the lab leaves it. It may be called again.
func (h Host) EnsureNetwork(ctx context.Context) error {
	if _, err := os.Stat(h.netnsPath()); err != nil {
		if err := run(ctx, "ip", "netns", "add", h.NetNS()); err != nil {
			return err
		}
	}
	in := func(args ...string) error {
		return run(ctx, "nsenter", append([]string{"--net=" + h.netnsPath(), "--"}, args...)...)
	}
	if in("ip", "link", "show", "node0") == nil {
		return nil
	}
	steps := [][]string{
		{"ip", "link", "set", "lo", "up"},
		{"ip", "link", "add", "node0", "type", "bridge"},
		{"ip", "addr", "add", NodeIP + "/24", "dev", "node0"},
		{"ip", "link", "set", "node0", "up"},
		{"ip", "route", "replace", "default", "dev", "node0"},
		{"sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0"},
	}
	for _, s := range steps {
		if err := in(s...); err != nil {
			return err
		}
	}
	return nil
}

// Dial connects from inside the lab's network namespace.
func (h Host) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		// The thread stays locked and so ends with this goroutine: no other one may run in the namespace.
		runtime.LockOSThread()
		f, err := os.Open(h.netnsPath())
		if err != nil {
			done <- result{err: fmt.Errorf("lab %s is not up: %w", h.Name, err)}
			return
		}
		defer f.Close()
		if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- result{err: err}
			return
		}
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, address)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}

// holderScript keeps the lab's mount namespace alive, with private copies of the folders that kubelet
// takes as given, and everything in it shared among the lab's own processes only.
const holderScript = `set -e
mount --make-rshared /
mkdir -p "$0/kubelet" "$0/varlog" /var/lib/kubelet
mount --bind "$0/kubelet" /var/lib/kubelet
mount --bind "$0/varlog" /var/log
exec sleep infinity`

// holding keeps daemons that start at once from making a mount namespace each.
var holding sync.Mutex

// ensureMounts returns a pid whose mount namespace is the lab's, starting a holder where none lives.
// Any process of the lab serves, so the namespace survives the loss of its holder.
func (h Host) ensureMounts(ctx context.Context) (int, error) {
	holding.Lock()
	defer holding.Unlock()
	if pid := h.mountHolder(); pid != 0 {
		return pid, nil
	}
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", holderScript, h.Dir)
	if _, err := h.spawn("holder", cmd); err != nil {
		return 0, err
	}
	var pid int
	err := WaitFor(ctx, "the lab's mount namespace", startLimit, func(context.Context) error {
		if pid = h.mountHolder(); pid == 0 {
			return fmt.Errorf("no process in it; see %s", h.logFile("holder"))
		}
		return nil
	})
	return pid, err
}

// mountHolder finds a process of the lab in whose mount namespace kubelet's folder is the lab's own.
// Containers are left out: theirs is another one.
func (h Host) mountHolder() int {
	for _, pid := range h.Processes() {
		table, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "mountinfo"))
		if err != nil {
			continue
		}
		root, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "root"))
		if root == "/" && strings.Contains(string(table), " /var/lib/kubelet ") && strings.Contains(string(table), " /var/log ") &&
			strings.Contains(string(table), h.Dir[strings.LastIndex(h.Dir, "/net-mesh/"):]+"/varlog ") {
			return pid
		}
	}
	return 0
}

func run(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// isGone tells whether an error means that the process has already ended.
func isGone(err error) bool {
	return errors.Is(err, syscall.ESRCH) || errors.Is(err, os.ErrProcessDone)
}
