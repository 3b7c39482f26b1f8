package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage is what a container has used.
type Usage struct {
	// CPU is the processor time since it began.
	CPU time.Duration
	// Memory is what its processes hold now that is of no file, in bytes.
	Memory int64
}

// Usage tells what a container of this lab has used, by its id in the runtime.
func (h Host) Usage(container string) (Usage, error) {
	return usage(h.groups(), container)
}

// usage looks for a container's groups below others, and reads them: those of version 2, or of the controllers of
// version 1 that count.
func usage(groups []string, container string) (Usage, error) {
	var u Usage
	var hasCPU, hasMemory bool
	for _, dir := range find(groups, container) {
		cpu, err := counter(dir, "cpuacct.usage", "")
		if err != nil {
			if cpu, err = counter(dir, "cpu.stat", "usage_usec"); err == nil {
				cpu *= int64(time.Microsecond)
			}
		}
		if err == nil {
			u.CPU, hasCPU = time.Duration(cpu), true
		}
		for _, name := range []string{"anon", "rss"} {
			if memory, err := counter(dir, "memory.stat", name); err == nil {
				u.Memory, hasMemory = memory, true
			}
		}
	}
	if !hasCPU || !hasMemory {
		return u, fmt.Errorf("container %s: no control group of this lab counts its processor time (%t) and memory (%t)", container, hasCPU, hasMemory)
	}
	return u, nil
}

// find returns the folders below others that have a name.
func find(roots []string, name string) []string {
	var dirs []string
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == name {
				dirs = append(dirs, path)
				return filepath.SkipDir
			}
			return nil //nolint:nilerr // a group may go while we look
		})
	}
	return dirs
}

// counter reads a file that holds one number, or that of a name in a file of names and numbers.
func counter(dir, file, name string) (int64, error) {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return 0, err
	}
	for l := range strings.Lines(string(text)) {
		f := strings.Fields(l)
		if name == "" && len(f) == 1 {
			return strconv.ParseInt(f[0], 10, 64)
		}
		if len(f) == 2 && f[0] == name {
			return strconv.ParseInt(f[1], 10, 64)
		}
	}
	return 0, errors.New(file + " has no " + name)
}
