// Package images answers: what is in each container image of the lab? Images are put together from files
// without Docker and kept as archives that containerd imports.
package images

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Prefix starts every image's name. Knative resolves no tags of this registry name by default.
const Prefix = "dev.local/"

// DefaultTag is that of images which never change under a running lab.
const DefaultTag = "lab"

// Nobody is the user of images that need no other; numeric, because runAsNonRoot accepts no name.
const Nobody = "65532:65532"

// Image says what one image holds.
type Image struct {
	// Name is the last part: "activator" becomes dev.local/activator:lab.
	Name string
	// Tag is what follows the colon, DefaultTag when "". "content" stands for a digest of the image's
	// content, so that a Deployment changes when its image does.
	Tag string
	// Base is a root file system as a tar archive, "" for none.
	Base string
	// Files maps paths in the image to files of this machine.
	Files map[string]string
	// Entrypoint is the command line.
	Entrypoint []string
	// User is "uid:gid".
	User string
}

// Ref is the image's full name.
func (i Image) Ref() (string, error) {
	tag := i.Tag
	if tag == "" {
		tag = DefaultTag
	}
	if tag == "content" {
		key, err := i.key()
		return Prefix + i.Name + ":" + key, err
	}
	return Prefix + i.Name + ":" + tag, nil
}

// Archive returns the path of the image's archive in the folder cache, making it unless one of the same
// content is there. User files are told apart by content; a base archive by its name, which carries its content.
func (i Image) Archive(cache string) (string, error) {
	key, err := i.key()
	if err != nil {
		return "", fmt.Errorf("image %s: %w", i.Name, err)
	}
	file := filepath.Join(cache, "images", i.Name+"-"+key+".tar")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	img, err := i.build()
	if err != nil {
		return "", fmt.Errorf("image %s: %w", i.Name, err)
	}
	ref, err := i.Ref()
	if err != nil {
		return "", err
	}
	return file, write(img, ref, file)
}

func write(img v1.Image, ref, file string) error {
	tag, err := name.NewTag(ref)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".image-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if err := tarball.Write(tag, img, tmp); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

func (i Image) build() (v1.Image, error) {
	config := &v1.ConfigFile{
		Architecture: "amd64", OS: "linux",
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: i.Entrypoint, User: i.User, WorkingDir: "/",
			Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		},
	}
	img, err := mutate.ConfigFile(empty.Image, config)
	if err != nil {
		return nil, err
	}
	if i.Base != "" {
		base, err := os.ReadFile(i.Base)
		if err != nil {
			return nil, err
		}
		if img, err = mutate.AppendLayers(img, layer(base)); err != nil {
			return nil, err
		}
	}
	own, err := i.ownLayer()
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(img, layer(own))
}

// layer is left uncompressed: it never travels, and compressing costs more than reading.
func layer(content []byte) v1.Layer { return static.NewLayer(content, types.DockerUncompressedLayer) }

// ownLayer holds the image's files with owner root and no time, so that equal files make equal layers.
func (i Image) ownLayer() ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	made := map[string]bool{}
	mkdir := func(dir string, mode int64) error {
		if made[dir] {
			return nil
		}
		made[dir] = true
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: mode})
	}
	for _, dest := range i.sorted() {
		rel := strings.TrimPrefix(dest, "/")
		parts := strings.Split(path.Dir(rel), "/")
		for n := range parts {
			if dir := path.Join(parts[:n+1]...); dir != "." {
				if err := mkdir(dir, 0o755); err != nil {
					return nil, err
				}
			}
		}
		if err := add(w, rel, i.Files[dest]); err != nil {
			return nil, err
		}
	}
	if err := mkdir("tmp", 0o1777); err != nil {
		return nil, err
	}
	return buf.Bytes(), w.Close()
}

func add(w *tar.Writer, dest, source string) error {
	f, err := os.Open(source)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	mode := int64(0o644)
	if st.Mode()&0o111 != 0 {
		mode = 0o755
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: dest, Mode: mode, Size: st.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

func (i Image) sorted() []string {
	var paths []string
	for p := range i.Files {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	return paths
}

func (i Image) key() (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "2 %s:%s %v %s %s\n", i.Name, i.Tag, i.Entrypoint, i.User, filepath.Base(i.Base))
	for _, dest := range i.sorted() {
		f, err := os.Open(i.Files[dest])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s\n", dest)
		_, err = io.Copy(sum, f)
		f.Close()
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// tarTree packs a folder into an archive, leaving out what skip names.
func tarTree(root, file string, skip func(rel string) bool) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	w := tar.NewWriter(out)
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, p)
		if err != nil || rel == "." {
			return err
		}
		if skip(rel) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		return addEntry(w, p, rel, d)
	})
	if err != nil {
		return err
	}
	return w.Close()
}

func addEntry(w *tar.Writer, p, rel string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil || info.Mode()&(fs.ModeDevice|fs.ModeSocket|fs.ModeNamedPipe) != 0 {
		return err
	}
	link := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(p); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	header.Name, header.ModTime = rel, time.Unix(0, 0)
	header.Uname, header.Gname = "", ""
	if d.IsDir() {
		header.Name += "/"
	}
	if err := w.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(p)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
