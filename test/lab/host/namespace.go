package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// NodeIP is the address of the lab's only node; it exists inside the lab's network namespace alone, so
// every lab has the same.
const NodeIP = "10.200.0.1"

// NetNS is the name of the lab's network namespace.
func (h Host) NetNS() string { return prefix + h.Name }

func (h Host) netnsPath() string { return filepath.Join("/run/netns", h.NetNS()) }

// EnsureNetwork makes the network namespace with a node address and a default route that leads nowhere:
// no packet of the lab leaves it. Each step may be repeated, so one that was cut short is made good.
func (h Host) EnsureNetwork(ctx context.Context) error {
	in := func(args ...string) error {
		return run(ctx, "nsenter", append([]string{"--net=" + h.netnsPath(), "--"}, args...)...)
	}
	if in("true") != nil {
		// There may be a file of that name which is no namespace; ip refuses to delete what is not there.
		_ = run(ctx, "ip", "netns", "delete", h.NetNS())
		if err := run(ctx, "ip", "netns", "add", h.NetNS()); err != nil {
			return err
		}
	}
	if in("ip", "link", "show", "node0") != nil {
		if err := in("ip", "link", "add", "node0", "type", "bridge"); err != nil {
			return err
		}
	}
	steps := [][]string{
		{"ip", "link", "set", "lo", "up"},
		{"ip", "addr", "replace", NodeIP + "/24", "dev", "node0"},
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

// holderScript keeps the lab's mount namespace alive. In it, every folder that containerd, runc, the CNI
// plugins and kubelet take as given is the lab's own, so nothing of theirs is left on the machine, and
// mounts are shared among the lab's processes only. The lab's sockets stay where the machine sees them.
//
//nolint:dupword // mount wants a kind of file system and a name
const holderScript = `set -e
mount --make-rshared /
mkdir -p "$0/kubelet" "$0/varlog" "$0/sockets"
mount --bind "$1" "$0/sockets"
mount -t tmpfs tmpfs /run
mkdir -p "$1" /run/netns
mount --bind "$0/sockets" "$1"
mount -t tmpfs tmpfs /var/lib
mkdir /var/lib/kubelet
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
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", holderScript, h.Dir, h.Run())
	if err := os.MkdirAll(h.Run(), 0o755); err != nil {
		return 0, err
	}
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

// mountHolder finds a process of the lab in whose mount namespace /var/log is the lab's own, which is
// mounted last. Containers are left out: theirs is another one.
func (h Host) mountHolder() int {
	own := fmt.Sprintf("/net-mesh/lab/%s/varlog /var/log ", h.Name)
	for _, pid := range h.Processes() {
		proc := filepath.Join("/proc", strconv.Itoa(pid))
		table, err := os.ReadFile(filepath.Join(proc, "mountinfo"))
		if err != nil {
			continue
		}
		if root, _ := os.Readlink(filepath.Join(proc, "root")); root == "/" && strings.Contains(string(table), own) {
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
