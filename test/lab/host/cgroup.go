package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

const cgroupRoot = "/sys/fs/cgroup"

// hierarchies returns the mount points of the machine's control groups: one for version 2, one for each
// set of controllers for version 1.
func hierarchies() []string {
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		return []string{cgroupRoot}
	}
	entries, err := os.ReadDir(cgroupRoot)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, e := range entries {
		dir := filepath.Join(cgroupRoot, e.Name())
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); e.IsDir() && err == nil {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// ControlGroup is the path of the lab's control group in every hierarchy.
func (h Host) ControlGroup() string { return "/" + prefix + h.Name }

// groups returns the lab's group in every hierarchy.
func (h Host) groups() []string {
	var dirs []string
	for _, root := range hierarchies() {
		dirs = append(dirs, filepath.Join(root, prefix+h.Name))
	}
	return dirs
}

// daemonGroups makes the groups the lab's daemons run in and returns them. Containers have theirs beside
// them, which the kubelet makes.
func (h Host) daemonGroups() ([]string, error) {
	var dirs []string
	for _, g := range h.groups() {
		dir := filepath.Join(g, "daemons")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		// A new cpuset group of version 1 admits no process until it has processors and memory nodes.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			copyDown(file, filepath.Dir(g), g, dir)
		}
		weigh(g)
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// weigh lets a whole lab count for ten processes against whatever else the machine runs; without it, it
// would count for one, and a build beside it would starve it.
func weigh(group string) {
	for file, weight := range map[string]string{"cpu.shares": "10240", "cpu.weight": "1000"} {
		path := filepath.Join(group, file)
		if _, err := os.Stat(path); err == nil {
			_ = os.WriteFile(path, []byte(weight), 0o644)
		}
	}
}

func copyDown(file string, dirs ...string) {
	if filepath.Base(dirs[0]) != "cpuset" {
		return
	}
	value, err := os.ReadFile(filepath.Join(dirs[0], file))
	if err != nil {
		return
	}
	for _, d := range dirs[1:] {
		_ = os.WriteFile(filepath.Join(d, file), value, 0o644)
	}
}

// Processes returns the pids of the lab's daemons, their children and containers, in order.
func (h Host) Processes() []int {
	seen := map[int]bool{}
	for _, g := range h.groups() {
		_ = filepath.WalkDir(g, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Name() != "cgroup.procs" {
				return nil //nolint:nilerr // a group may go while we look
			}
			text, _ := os.ReadFile(path)
			for _, f := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(f); err == nil && pid > 0 {
					seen[pid] = true
				}
			}
			return nil
		})
	}
	pids := make([]int, 0, len(seen))
	for pid := range seen {
		pids = append(pids, pid)
	}
	sort.Ints(pids)
	return pids
}

// removeGroups removes the lab's groups, deepest first. It fails while a process is left in one.
func (h Host) removeGroups() error {
	var all error
	for _, g := range h.groups() {
		var dirs []string
		_ = filepath.WalkDir(g, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for i := len(dirs) - 1; i >= 0; i-- {
			if err := syscall.Rmdir(dirs[i]); err != nil && !errors.Is(err, syscall.ENOENT) {
				all = errors.Join(all, &fs.PathError{Op: "rmdir", Path: dirs[i], Err: err})
			}
		}
	}
	return all
}
