package lab

import (
	"context"
	"os"
	"path/filepath"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
	"github.com/net-mesh/net-mesh/test/lab/images"
	"github.com/net-mesh/net-mesh/test/lab/pins"
)

// Program builds a command of this checkout's tests, by the name of its folder in test, and tells where it is.
func (m Mesh) Program(ctx context.Context, name string) (string, error) {
	dir, err := m.lab.builder().Build(ctx, pins.TestProgram(name))
	return filepath.Join(dir, name), err
}

// CopyIn puts a command of this checkout's tests into the pod of the Deployment caller of a namespace, and tells
// where it is there. Nothing that runs there is disturbed.
func (m Mesh) CopyIn(ctx context.Context, namespace, name string) (string, error) {
	program, err := m.Program(ctx, name)
	if err != nil {
		return "", err
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	file := "/tmp/" + name
	_, err = m.Kubectl(ctx, binary, "-n", namespace, "exec", "-i", "deploy/caller", "-c", "caller", "--",
		"sh", "-c", "cat > "+file+".new && chmod +x "+file+".new && mv "+file+".new "+file)
	return file, err
}

// ProgramImage loads an image of a command of this checkout's tests, and tells its name, which follows its content.
func (m Mesh) ProgramImage(ctx context.Context, name string) (string, error) {
	program, err := m.Program(ctx, name)
	if err != nil {
		return "", err
	}
	return m.lab.loadProgram(ctx, m.Cluster, name, program)
}

// loadProgram loads an image of a static program, and tells its name, which follows its content.
func (l *Lab) loadProgram(ctx context.Context, c cluster.Cluster, name, program string) (string, error) {
	image := images.Program(name, program)
	image.Tag = "content"
	file, err := image.Archive(l.Host.Cache)
	if err != nil {
		return "", err
	}
	if err := c.Load(ctx, file); err != nil {
		return "", err
	}
	return image.Ref()
}
