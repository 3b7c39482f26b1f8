package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// need is something of the machine that the lab cannot do without.
type need struct {
	// probe tells whether it is there.
	probe func() bool
	// what it is, and the Debian package it comes from.
	what, debian string
}

var needs = []need{
	{program("containerd"), "containerd", "containerd"},
	{program("ctr"), "ctr", "containerd"},
	{program("runc"), "runc", "runc"},
	{file("/usr/lib/cni/ptp"), "CNI plugin ptp", "containernetworking-plugins"},
	{program("iptables"), "iptables", "iptables"},
	{program("ip"), "ip", "iproute2"},
	{program("conntrack"), "conntrack", "conntrack"},
	{program("nsenter"), "nsenter", "util-linux"},
	{program("sysctl"), "sysctl", "procps"},
	{program("mount"), "mount", "mount"},
	{program("debootstrap"), "debootstrap", "debootstrap"},
	{file("/etc/ssl/certs/ca-certificates.crt"), "certificate authorities", "ca-certificates"},
	{func() bool { return exec.Command("python3", "-m", "pip", "--version").Run() == nil }, "pip for Python 3", "python3-pip"},
}

func program(name string) func() bool {
	return func() bool { _, err := exec.LookPath(name); return err == nil }
}

func file(path string) func() bool {
	return func() bool { _, err := os.Stat(path); return err == nil }
}

// Prerequisites checks the machine and, when told so, installs the Debian packages that are missing.
func (l *Lab) Prerequisites(ctx context.Context, install bool) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("the lab makes namespaces and control groups: run it as root, for example with sudo -E")
	}
	what, packages := missing()
	if len(what) > 0 && install {
		err := l.Progress.Step(ctx, "install "+strings.Join(packages, " "), func(ctx context.Context) error { return apt(ctx, packages) })
		if err != nil {
			return err
		}
		what, packages = missing()
	}
	if len(what) > 0 {
		return fmt.Errorf("this machine lacks %s: apt-get install %s, or let 'lab prerequisites --install' do it", strings.Join(what, ", "), strings.Join(packages, " "))
	}
	return kernel(ctx)
}

func missing() (what, packages []string) {
	seen := map[string]bool{}
	for _, n := range needs {
		if n.probe() {
			continue
		}
		what = append(what, n.what)
		if !seen[n.debian] {
			seen[n.debian] = true
			packages = append(packages, n.debian)
		}
	}
	return what, packages
}

func apt(ctx context.Context, packages []string) error {
	for _, args := range [][]string{{"update", "-qq"}, append([]string{"install", "-y", "-qq", "--no-install-recommends"}, packages...)} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, strings.Join(lines[max(0, len(lines)-5):], "\n"))
		}
	}
	return nil
}

// kernelProbe tries in throw-away namespaces what the lab will do; each line names what it was about.
//
//nolint:dupword // mount wants a kind of file system and a name
const kernelProbe = `set -e
t=$(mktemp -d)
echo "overlay file systems" >&2; mount -t tmpfs tmpfs $t; mkdir $t/l $t/u $t/w $t/m; mount -t overlay -o lowerdir=$t/l,upperdir=$t/u,workdir=$t/w overlay $t/m; umount $t/m; umount $t; rmdir $t
echo "bridge devices" >&2; ip link add nmprobe type bridge
echo "veth devices" >&2; ip link add nmveth0 type veth peer name nmveth1
echo "iptables address translation" >&2; iptables -w -t nat -A OUTPUT -p tcp --dport 1 -j REDIRECT --to-ports 2
echo "iptables connection tracking" >&2; iptables -w -A INPUT -m conntrack --ctstate RELATED -j ACCEPT
echo "iptables comments and marks" >&2; iptables -w -A INPUT -m comment --comment x -m mark --mark 0x1 -j ACCEPT
echo "iptables random choice" >&2; iptables -w -t nat -A OUTPUT -m statistic --mode random --probability 0.5 -j ACCEPT
`

func kernel(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "unshare", "--mount", "--net", "sh", "-c", kernelProbe).CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("this machine's kernel or sandbox refuses what the lab needs (%s): use a machine with full root rights, not an unprivileged container", strings.Join(lines[max(0, len(lines)-2):], ": "))
	}
	return nil
}
