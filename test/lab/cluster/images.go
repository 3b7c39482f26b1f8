package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ctr drives containerd inside the lab. The client only talks to the socket, so it needs no namespace.
func (c Cluster) ctr(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "ctr", append([]string{"-a", c.socket(), "-n", "k8s.io"}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// Load imports image archives. An archive that this lab has imported before is not read again: the names
// of archives made by the lab carry their content.
func (c Cluster) Load(ctx context.Context, archives ...string) error {
	for _, a := range archives {
		mark := c.Host.Path("imported", filepath.Base(a))
		if _, err := os.Stat(mark); err == nil {
			continue
		}
		if err := c.Import(ctx, a); err != nil {
			return err
		}
		if err := c.write(map[string]string{"imported/" + filepath.Base(a): ""}); err != nil {
			return err
		}
	}
	return nil
}

// Import imports an image archive, whatever was imported before.
func (c Cluster) Import(ctx context.Context, archive string) error {
	_, err := c.ctr(ctx, "images", "import", archive)
	return err
}
