package images

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func program(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// An image says how it is run and holds its files for anybody to execute.
func TestArchive(t *testing.T) {
	image := Program("hello", program(t, "binary"))
	archive, err := image.Archive(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag("dev.local/hello:lab")
	if err != nil {
		t.Fatal(err)
	}
	got, err := tarball.ImageFromPath(archive, &tag)
	if err != nil {
		t.Fatal(err)
	}
	config, err := got.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || len(config.Config.Entrypoint) != 1 || config.Config.Entrypoint[0] != "/ko-app/hello" {
		t.Errorf("config %+v: want user 65532:65532 and entry point /ko-app/hello", config.Config)
	}
	layers, err := got.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers (%v), want 1", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	checkFiles(t, content)
}

func checkFiles(t *testing.T, layer io.Reader) {
	t.Helper()
	want := map[string]int64{"ko-app/": 0o755, "ko-app/hello": 0o755, "tmp/": 0o1777}
	for r := tar.NewReader(layer); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if mode, known := want[h.Name]; !known || mode != h.Mode || h.Uid != 0 {
			t.Errorf("entry %s has mode %o and owner %d; wanted are %v, owned by root", h.Name, h.Mode, h.Uid, want)
		}
		delete(want, h.Name)
	}
	if len(want) > 0 {
		t.Errorf("entries %v are missing", want)
	}
}

// Equal content has one archive and one name; other content another.
func TestContentDecides(t *testing.T) {
	cache := t.TempDir()
	ref := func(content string) (string, string) {
		i := Program("hello", program(t, content))
		i.Tag = "content"
		archive, err := i.Archive(cache)
		if err != nil {
			t.Fatal(err)
		}
		r, err := i.Ref()
		if err != nil {
			t.Fatal(err)
		}
		return archive, r
	}
	a1, r1 := ref("one")
	a2, r2 := ref("one")
	a3, r3 := ref("two")
	if a1 != a2 || r1 != r2 || a1 == a3 || r1 == r3 {
		t.Errorf("one: %s %s, one again: %s %s, two: %s %s", a1, r1, a2, r2, a3, r3)
	}
	layer := func() []byte {
		l, err := Program("hello", program(t, "one")).ownLayer()
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if !bytes.Equal(layer(), layer()) {
		t.Error("the same files make two different layers")
	}
}

func TestMissingProgram(t *testing.T) {
	if _, err := Program("hello", "/does/not/exist").Archive(t.TempDir()); err == nil {
		t.Error("got nil, want an error that names the file")
	}
}
