package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const downLimit = 60 * time.Second

// Remove ends every process of the lab and takes away its namespaces, mounts, groups and files. It works
// from what the machine shows, not from what an earlier command remembered, and is quiet when nothing is left.
func (h Host) Remove(ctx context.Context) error {
	if err := h.killAll(ctx); err != nil {
		return err
	}
	dirs := h.dirs()
	if err := unmountBelow(append(dirs, h.Run())...); err != nil {
		return err
	}
	if _, err := os.Stat(h.netnsPath()); err == nil {
		if err := run(ctx, "ip", "netns", "delete", h.NetNS()); err != nil {
			return err
		}
	}
	err := WaitFor(ctx, "the lab's control groups to empty", downLimit, func(context.Context) error { return h.removeGroups() })
	if err != nil {
		return err
	}
	// The empty lock file stays: whoever waits for it would otherwise hold one that nobody else sees.
	for _, d := range dirs {
		err = errors.Join(err, os.RemoveAll(d))
	}
	return errors.Join(err, os.RemoveAll(h.Run()))
}

// killAll ends the lab's processes until none is left: new ones may be born while we look.
func (h Host) killAll(ctx context.Context) error {
	return WaitFor(ctx, "the lab's processes to end", downLimit, func(context.Context) error {
		left := 0
		for _, pid := range append(h.Processes(), h.guests()...) {
			if zombie(pid) {
				continue
			}
			left++
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !isGone(err) {
				return err
			}
		}
		if left > 0 {
			return fmt.Errorf("%d are left", left)
		}
		return nil
	})
}

// guests are processes in the lab's network outside its groups: clients whose command was killed before they ended.
func (h Host) guests() []int {
	own, err := os.Stat(h.netnsPath())
	if err != nil {
		return nil
	}
	var pids []int
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if ns, err := os.Stat(filepath.Join(dir, "ns", "net")); err == nil && os.SameFile(own, ns) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// unmountBelow unmounts what is mounted below the folders, innermost first. With the lab's own mount
// namespace nothing should be there; a lab of another version may have left something.
func unmountBelow(dirs ...string) error {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	defer f.Close()
	var points []string
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) < 5 {
			continue
		}
		for _, d := range dirs {
			if strings.HasPrefix(fields[4], d+"/") {
				points = append(points, fields[4])
			}
		}
	}
	sort.Sort(sort.Reverse(sort.StringSlice(points)))
	for _, p := range points {
		if err := syscall.Unmount(p, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", p, err)
		}
	}
	return nil
}

// All returns the names of all labs of which something is left on this machine, whoever made it.
func All() []string {
	names := map[string]bool{}
	note := func(pattern string) {
		paths, _ := filepath.Glob(pattern)
		for _, p := range paths {
			names[strings.TrimPrefix(filepath.Base(p), prefix)] = true
		}
	}
	note("/run/netns/" + prefix + "*")
	for _, root := range hierarchies() {
		note(filepath.Join(root, prefix+"*"))
	}
	if h, err := New("any"); err == nil {
		note(filepath.Join(filepath.Dir(h.Dir), "*"))
	}
	entries, _ := os.ReadDir(runRoot)
	for _, e := range entries {
		if e.IsDir() {
			names[e.Name()] = true
		}
	}
	var all []string
	for n := range names {
		if validName.MatchString(n) {
			all = append(all, n)
		}
	}
	sort.Strings(all)
	return all
}
