package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The inotify instances that one user may have. A sidecar takes three, its proxy one and its agent two, and all
// sidecars of all labs run as one user; a proxy that gets none ends itself as soon as it starts. 128, the limit
// of most machines, was reached by three labs under load.
const (
	inotifyInstances = "/proc/sys/fs/inotify/max_user_instances"
	sidecarsTogether = 4096
)

// EnsureLimits raises the limits of the kernel that labs share. They are the machine's, and stay when labs go: who
// else needs them by then is not known. An error says what the machine does not allow; a lab that is alone does with
// less.
func (h Host) EnsureLimits() error { return atLeast(inotifyInstances, sidecarsTogether) }

func atLeast(file string, limit int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot read a limit of the kernel: %w", err)
	}
	have, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("%s is no number: %w", file, err)
	}
	if have >= limit {
		return nil
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(limit)), 0o644); err != nil {
		return fmt.Errorf("%s is %d and cannot be raised (%w); where proxies end as they start, have it set to %d outside of this sandbox", file, have, err, limit)
	}
	return nil
}
