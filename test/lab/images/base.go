package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// baseSuite and basePackages make the root file system of images that need more than one static program:
// the sidecar (iptables) and the caller pods (curl).
const (
	baseSuite    = "bookworm"
	basePackages = "iptables,ca-certificates,iproute2,curl,procps"
)

// baseSkip is what no container of the lab reads.
var baseSkip = []string{"var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "var/log", "dev", "proc", "sys"}

// Base returns a Debian root file system as a tar archive, made by debootstrap from the machine's own
// Debian mirror once for each cache.
func Base(ctx context.Context, cache string) (string, error) {
	sum := sha256.Sum256([]byte(baseSuite + basePackages + strings.Join(baseSkip, ",")))
	file := filepath.Join(cache, "images", "base-"+hex.EncodeToString(sum[:])[:16]+".rootfs")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	root, err := os.MkdirTemp(filepath.Dir(file), ".base-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(root)
	// In a mount namespace of its own, so that a killed debootstrap leaves no /proc mounted in the cache.
	args := []string{"--mount", "--propagation", "private", "debootstrap", "--variant=minbase", "--include=" + basePackages, baseSuite, root}
	args = append(args, mirror()...)
	if out, err := exec.CommandContext(ctx, "unshare", args...).CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return "", fmt.Errorf("debootstrap: %w\n%s", err, strings.Join(lines[max(0, len(lines)-5):], "\n"))
	}
	skip := func(rel string) bool {
		for _, s := range baseSkip {
			if strings.HasPrefix(rel, s+"/") {
				return true
			}
		}
		return false
	}
	tmp := root + ".tar"
	defer os.Remove(tmp)
	if err := tarTree(root, tmp, skip); err != nil {
		return "", err
	}
	return file, os.Rename(tmp, file)
}

// mirror is what the environment variable DEBIAN_MIRROR says; without it debootstrap has its own default.
func mirror() []string {
	if m := os.Getenv("DEBIAN_MIRROR"); m != "" {
		return []string{m}
	}
	return nil
}
