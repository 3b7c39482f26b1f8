package doctor_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/doctor"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// meshes are the golden ones of the command line.
const meshes = "../cli/testdata/doctor/*.yaml"

// world is around the documents what a translation would say of them.
func world(t testing.TB, files ...snapshot.File) (doctor.World, error) {
	t.Helper()
	b, err := snapshot.ReadFiles(files...)
	if err != nil {
		return doctor.World{}, err
	}
	objects, err := doctor.Read(b.Rest)
	if err != nil {
		return doctor.World{}, err
	}
	istio := config.DefaultIstio("cluster.local", "knative-serving")
	w := doctor.World{
		SystemNamespace: "knative-serving", ClusterDomain: "cluster.local", Config: &config.Config{Istio: istio},
		Services: b.Services(), Objects: objects,
		Routes: []doctor.Route{
			{Ingress: types.NamespacedName{Namespace: "shop", Name: "hello"}, VirtualService: "hello-mesh", Mesh: true, Entries: []string{"mesh"}, Hosts: []string{"hello.shop.svc.cluster.local"}},
			{Ingress: types.NamespacedName{Namespace: "shop", Name: "hello"}, VirtualService: "hello-ingress", Entries: []string{"knative-serving/knative-ingress-gateway"}, Hosts: []string{"hello.shop.example.com"}},
		},
		Revisions: []doctor.Revision{{Name: types.NamespacedName{Namespace: "shop", Name: "hello-00001"}, Proxied: true}},
	}
	for _, g := range append(istio.External, istio.Local...) {
		w.Gateways = append(w.Gateways, doctor.Gateway{Name: g.Name, Service: g.Service, Found: true})
	}
	return w, nil
}

// examine asks everything, and prints it; what it says is not looked at.
func examine(t testing.TB, w doctor.World) doctor.Report {
	t.Helper()
	r := doctor.Examine(w)
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	v := doctor.Look(w)
	caller := v.Caller("clients", "caller")
	v.Unmeshed(caller)
	for _, route := range w.Routes {
		v.Hidden(caller, route)
	}
	for _, to := range []doctor.Stop{v.Activator(), v.Revision(types.NamespacedName{Namespace: "shop", Name: "hello-00002"}), v.Gateway("knative-serving/knative-local-gateway"), {}} {
		v.Shut(caller, to, true)
	}
	return r
}

// TestHoles takes every field of every document away, one by one, and puts an empty value, or in
// a list null, in its place: the API server lets much of that through.
func TestHoles(t *testing.T) {
	var around []snapshot.File
	for _, name := range []string{"serving", "net-mesh", "istio", "strict", "apps", "kubeflow"} {
		for _, doc := range documents(t, strings.Replace(meshes, "*", name, 1)) {
			// JSON is read faster, and they are read often.
			around = append(around, snapshot.File{Name: name, Text: text(t, doc)})
		}
	}
	tried := 0
	for _, doc := range documents(t, meshes) {
		for _, hole := range holes(doc) {
			tried++
			// It replaces the whole one, if that is around.
			w, err := world(t, append(slices.Clone(around), snapshot.File{Name: "hole", Text: hole})...)
			if err != nil {
				continue // it could not be read, and that is said
			}
			examine(t, w)
		}
	}
	if tried < 1000 {
		t.Error("only", tried, "holes")
	}
}

// documents but the configuration, which is given.
func documents(t testing.TB, pattern string) []map[string]any {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal("no meshes", err)
	}
	var out []map[string]any
	for _, file := range files {
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range strings.Split("\n"+string(whole), "\n---") {
			var o map[string]any
			if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
				t.Fatal(err)
			}
			if o["kind"] != "ConfigMap" || !strings.HasPrefix(o["metadata"].(map[string]any)["name"].(string), "config-") {
				out = append(out, o)
			}
		}
	}
	return out
}

func text(t testing.TB, o any) []byte {
	t.Helper()
	out, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// holes are the documents that a value becomes with one of its parts changed.
func holes(doc map[string]any) [][]byte {
	var out [][]byte
	show := func() {
		if raw, err := json.Marshal(doc); err == nil {
			out = append(out, raw)
		}
	}
	var dig func(v any)
	dig = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, old := range v {
				delete(v, key)
				show()
				v[key] = map[string]any{}
				show()
				v[key] = old
				dig(old)
			}
		case []any:
			for i, old := range v {
				for _, other := range []any{nil, map[string]any{}} {
					v[i] = other
					show()
				}
				v[i] = old
				dig(old)
			}
		}
	}
	dig(doc)
	return out
}

// FuzzExamine reads documents as they come.
func FuzzExamine(f *testing.F) {
	for _, doc := range documents(f, meshes) {
		f.Add(text(f, doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		w, err := world(t, snapshot.File{Name: "fuzz", Text: doc})
		if err != nil {
			return
		}
		examine(t, w)
	})
}

// TestNothingIsNeverFit: of a world of which nothing is known nothing is said to be fit but what
// follows from that nothing.
func TestNothingIsNeverFit(t *testing.T) {
	unread := []doctor.Unread{}
	for _, kind := range append(doctor.Kinds(), "Service", "Gateway.networking.istio.io") {
		unread = append(unread, doctor.Unread{Kind: kind, Why: "cannot list it", Remedy: "ask for the right"})
	}
	r := examine(t, doctor.World{SystemNamespace: "knative-serving", ClusterDomain: "cluster.local", Unread: unread, ConfigFault: "it is faulty"})
	if !r.Unfit() {
		t.Error("fit")
	}
	for _, c := range r.Checks {
		for _, found := range c.Findings {
			if found.Verdict() == doctor.Good {
				t.Errorf("%s: %s", c.Name, found.Message)
			}
		}
	}
}
