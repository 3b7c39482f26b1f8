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
	"syscall"
	"time"
)

const startLimit = 30 * time.Second

// Daemon is a program of the lab that outlives the command that started it.
type Daemon struct {
	// Name is that of its log and pid file.
	Name string
	// Args is the command line, the program first.
	Args []string
	// Env is added to a minimal environment.
	Env []string
}

// Ensure starts the daemon inside the lab's namespaces and groups unless it already runs. It tells
// whether it had to start it.
func (h Host) Ensure(ctx context.Context, d Daemon) (started bool, err error) {
	if h.Alive(d.Name) {
		return false, nil
	}
	holder, err := h.ensureMounts(ctx)
	if err != nil {
		return false, err
	}
	args := append([]string{"--net=" + h.netnsPath(), fmt.Sprintf("--mount=/proc/%d/ns/mnt", holder), "--"}, d.Args...)
	cmd := exec.Command("nsenter", args...)
	cmd.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}, d.Env...)
	_, err = h.spawn(d.Name, cmd)
	return true, err
}

// Alive tells whether the daemon called name runs: its pid file names a process of this very lab.
func (h Host) Alive(name string) bool {
	pid := h.Pid(name)
	return pid != 0 && h.has(pid)
}

// Stop ends the daemon called name and waits until it is gone; it may be none.
func (h Host) Stop(ctx context.Context, name string) error {
	return WaitFor(ctx, name+" to end", startLimit, func(context.Context) error {
		if !h.Alive(name) {
			return nil
		}
		if err := syscall.Kill(h.Pid(name), syscall.SIGKILL); err != nil && !isGone(err) {
			return err
		}
		return errors.New("it is still ending")
	})
}

// Pid returns what the pid file of the daemon says, 0 without one.
func (h Host) Pid(name string) int {
	text, err := os.ReadFile(h.pidFile(name))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// Daemons returns the names of all daemons that were ever started in this lab.
func (h Host) Daemons() []string {
	files, _ := filepath.Glob(h.pidFile("*"))
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".pid"))
	}
	return names
}

func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}

func (h Host) pidFile(name string) string { return h.Path("pids", name+".pid") }
func (h Host) logFile(name string) string { return h.Path("logs", name+".log") }

// LogTail returns the last lines of a daemon's log, for errors.
func (h Host) LogTail(name string, lines int) string {
	text, err := os.ReadFile(h.logFile(name))
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// spawn starts cmd in the lab's control groups and in a session of its own, with its output in a log file.
func (h Host) spawn(name string, cmd *exec.Cmd) (pid int, err error) {
	groups, err := h.daemonGroups()
	if err != nil {
		return 0, err
	}
	for _, file := range []string{h.pidFile(name), h.logFile(name)} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return 0, err
		}
	}
	log, err := os.OpenFile(h.logFile(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	// The shell joins the groups before it becomes the daemon, so no child can be born outside them.
	script := `for g in $LAB_GROUPS; do echo $$ > "$g/cgroup.procs" || exit 1; done; unset LAB_GROUPS; exec "$@"`
	wrapped := exec.Command("sh", append([]string{"-c", script, "sh"}, cmd.Args...)...)
	wrapped.Env = append(cmd.Environ(), "LAB_GROUPS="+strings.Join(groups, " "))
	wrapped.Stdout, wrapped.Stderr = log, log
	wrapped.Dir = h.Dir
	wrapped.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := wrapped.Start(); err != nil {
		return 0, err
	}
	pid = wrapped.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- wrapped.Wait() }() // so that one that dies while we look is no zombie
	if err := os.WriteFile(h.pidFile(name), []byte(strconv.Itoa(pid)+"\n"), 0o644); err != nil {
		return pid, err
	}
	return pid, h.joined(name, pid, ended)
}

// joined waits until a new process is in the lab's groups, where Alive looks for it.
func (h Host) joined(name string, pid int, ended <-chan error) error {
	return WaitFor(context.Background(), name+" to start", startLimit, func(context.Context) error {
		if h.has(pid) {
			return nil
		}
		select {
		case err := <-ended:
			//nolint:errorlint // a program that ends well has no error
			return fmt.Errorf("it ended at once (%v); its log says:\n%s", err, h.LogTail(name, 5))
		default:
			return errors.New("it has not joined its control groups")
		}
	})
}

// has tells whether a process runs in the lab's groups.
func (h Host) has(pid int) bool {
	for _, p := range h.Processes() {
		if p == pid {
			return !zombie(pid)
		}
	}
	return false
}

// Command returns a command that runs inside the lab's network namespace and ends with ctx.
func (h Host) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + h.netnsPath(), "--", name}, args...)...)
}
