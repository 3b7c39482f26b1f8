package lab

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A test passes only when the suite says so of this very test.
func TestOutcome(t *testing.T) {
	failed := errors.New("exit status 1")
	for _, row := range []struct {
		name, out string
		err       error
		want      string
	}{
		{"passed", "    --- PASS: TestIngressConformance/basics (6.30s)\nPASS\n", nil, "pass"},
		{"nothing ran", "testing: warning: no tests to run\nPASS\n", nil, "fail"},
		{"another one passed", "    --- PASS: TestIngressConformance/basics/http2 (6.30s)\nPASS\n", nil, "fail"},
		{"skipped", "    --- SKIP: TestIngressConformance/basics (0.00s)\nPASS\n", nil, "skip"},
		{"failed", "    --- FAIL: TestIngressConformance/basics (6.30s)\nFAIL\n", failed, "fail"},
		{"passed, then panicked", "    --- PASS: TestIngressConformance/basics (6.30s)\npanic: x\n", failed, "fail"},
	} {
		if got := outcome([]byte(row.out), "TestIngressConformance/basics", row.err); got != row.want {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
}

func TestSelectTests(t *testing.T) {
	for profile, want := range map[string]int{"gateway": 25, "half-mesh": 21, "mesh-only": 19, "half-mesh-alias": 25, "mesh-only-alias": 20} {
		got, err := selectTests(Profiles[profile], nil)
		if err != nil || len(got) != want {
			t.Errorf("%s: got %d tests (%v), want %d", profile, len(got), err, want)
		}
	}
	if _, err := selectTests(Profiles["half-mesh"], []string{"visibility"}); err == nil {
		t.Error("a test that the profile leaves out: got nil, want an error")
	}
	if others := allBut("basics"); len(others) != 24 || strings.Contains(strings.Join(others, " ")+" ", "basics ") {
		t.Errorf("all but basics: got %v", others)
	}
}

func TestManifestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"b.yaml", "a.yaml", "README.md"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("x: y"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := manifestFiles(dir)
	if err != nil || len(got) != 2 || filepath.Base(got[0]) != "a.yaml" {
		t.Errorf("got %v (%v), want a.yaml and b.yaml", got, err)
	}
	for _, bad := range []string{t.TempDir(), filepath.Join(dir, "c.yaml")} {
		if _, err := manifestFiles(bad); err == nil {
			t.Errorf("%s: got nil, want an error", bad)
		}
	}
}

// Each image that the product's manifests name is built from this checkout and replaced by its name in
// the lab.
func TestProductImages(t *testing.T) {
	config := Plugin{Manifests: []string{"../../config"}}
	manifest, err := config.read()
	if err != nil {
		t.Fatal(err)
	}
	images, packages := productImages(manifest)
	if want := []string{"./cmd/controller", "./cmd/observer", "./cmd/webhook"}; !slices.Equal(packages, want) {
		t.Errorf("packages %v, want %v", packages, want)
	}
	loaded := map[string]string{}
	for i, image := range images {
		if _, err := os.Stat(filepath.Join("../..", packages[i], "main.go")); err != nil {
			t.Errorf("image %s: %v", image, err)
		}
		loaded[image] = "dev.local/" + filepath.Base(packages[i]) + ":x"
	}
	named, err := rename(string(manifest), loaded)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range loaded {
		if n := strings.Count(string(named), "image: "+ref+"\n"); n != 1 {
			t.Errorf("%d containers run %s, want one", n, ref)
		}
	}
}

func TestRename(t *testing.T) {
	const manifest = "image: ko://a/b\n---\nimage: ko://a/b-c\n"
	got, err := rename(manifest, map[string]string{"ko://a/b": "one", "ko://a/b-c": "two"})
	if want := "image: one\n---\nimage: two\n"; err != nil || string(got) != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
	if _, err := rename(manifest, map[string]string{"ko://a/b-c": "two"}); err == nil || !strings.Contains(err.Error(), "ko://a/b,") {
		t.Errorf("got %v, want an error that names the image ko://a/b", err)
	}
}

// What cannot be run is refused before the profile is changed.
func TestConformanceIsCheckedFirst(t *testing.T) {
	current := Profiles["half-mesh"]
	for _, o := range []ConformanceOptions{
		{Count: 1, Mode: "gateway", Only: []string{"nosuch"}},
		{Count: 1, Mode: "mesh-only", Only: []string{"tls"}},
		{Count: 1, Mode: "sidecars"},
		{Mode: "gateway"},
		{Count: 1, Only: []string{"visibility"}},
	} {
		if _, _, err := o.check(current); err == nil {
			t.Errorf("%+v: got nil, want an error", o)
		}
	}
	p, tests, err := ConformanceOptions{Count: 1, Mode: "gateway", Only: []string{"visibility"}}.check(current)
	if err != nil || p.Name != "gateway" || !slices.Equal(tests, []string{"visibility"}) {
		t.Errorf("got profile %s, tests %v (%v)", p.Name, tests, err)
	}
}

func TestImagesOfAPlugin(t *testing.T) {
	for _, bad := range []string{"foo", "=a", "a="} {
		if _, err := ParseImages([]string{bad}); err == nil {
			t.Errorf("--image %s: got nil, want an error", bad)
		}
	}
	images, err := ParseImages([]string{"a=b=c"})
	if err != nil || images["a"] != "b=c" {
		t.Errorf("got %v (%v)", images, err)
	}
	if err := (Plugin{Images: images}).check(); err == nil {
		t.Error("an image without a manifest: got nil, want an error")
	}
	if err := (Plugin{Images: images, Manifests: []string{"m.yaml"}}).check(); err != nil {
		t.Error(err)
	}
}

func TestNoLab(t *testing.T) {
	for want, there := range map[string][]string{
		"there is no lab x, and no other on this machine":   nil,
		"there is no lab x (labs on this machine: a, test)": {"a", "test"},
	} {
		if got := noLab("x", there); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
