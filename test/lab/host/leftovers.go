package host

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Leftovers lists what is still there of the lab: processes, mounts, namespaces, groups, files. After
// Remove it is empty.
func (h Host) Leftovers() []string {
	var left []string
	for _, pid := range append(h.Processes(), h.guests()...) {
		left = append(left, fmt.Sprintf("process %d", pid))
	}
	for _, path := range append(append(h.groups(), h.dirs()...), h.netnsPath(), h.Run()) {
		if _, err := os.Lstat(path); err == nil {
			left = append(left, path)
		}
	}
	if f, err := os.Open("/proc/self/mountinfo"); err == nil {
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if strings.Contains(s.Text(), h.Dir+"/") || strings.Contains(s.Text(), h.Run()+"/") {
				left = append(left, "mount "+s.Text())
			}
		}
	}
	return append(left, h.strays()...)
}

// strays finds processes outside the lab's groups whose command line names a file of the lab.
func (h Host) strays() []string {
	var left []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil && (strings.Contains(string(text), h.Dir+"/") || strings.Contains(string(text), h.Run()+"/")) {
			left = append(left, "process "+filepath.Base(filepath.Dir(f))+" "+strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return left
}
