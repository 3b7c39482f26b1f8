package cli_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrs "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// server is as much of an API server as is read by us. Whatever would write is a failure.
type server struct {
	t       *testing.T
	objects []unstructured.Unstructured
	// forbidden and missing resources, such as "secrets".
	forbidden, missing []string
	// seeOnly is the one namespace whose Ingresses may be seen, unless empty.
	seeOnly string
	// unlisted is a namespace whose ConfigMaps may not be listed, hidden one whose may not be had.
	unlisted, hidden string
	// small lists come in pages of one object.
	small bool

	mu    sync.Mutex
	asked []string
}

// newServer serves the objects of files, and has KUBECONFIG lead to it.
func newServer(t *testing.T, files ...string) *server {
	t.Helper()
	s := &server{t: t}
	for _, file := range files {
		s.add(read(t, file))
	}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	t.Setenv("KUBECONFIG", kubeconfig(t, web.URL))
	return s
}

// behind serves by something else, and returns its URL.
func behind(t *testing.T, handler http.HandlerFunc) string {
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	return web.URL
}

func kubeconfig(t *testing.T, url string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: test\ncontexts: [{name: test, context: {cluster: test, user: test}}]\n" +
		"users: [{name: test, user: {token: letmein}}]\nclusters: [{name: test, cluster: {server: '" + url + "'}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// add takes documents in; a later one replaces an earlier one. What the API server makes of a Secret's plain text is not done.
func (s *server) add(text string) {
	s.t.Helper()
	for _, doc := range strings.Split("\n"+text, "\n---") {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			s.t.Fatal(err)
		}
		if len(o.Object) == 0 {
			continue
		}
		if o.GetKind() == "VirtualService" {
			o.SetAPIVersion("networking.istio.io/v1") // an API server gives each version as any other
		}
		s.objects = slices.DeleteFunc(s.objects, func(old unstructured.Unstructured) bool {
			return old.GroupVersionKind() == o.GroupVersionKind() && old.GetNamespace() == o.GetNamespace() && old.GetName() == o.GetName()
		})
		s.objects = append(s.objects, o)
	}
}

// find returns the object to be changed by a test.
func (s *server) find(kind, name string) *unstructured.Unstructured {
	s.t.Helper()
	i := slices.IndexFunc(s.objects, func(o unstructured.Unstructured) bool { return o.GetKind() == kind && o.GetName() == name })
	if i < 0 {
		s.t.Fatalf("no %s %s", kind, name)
	}
	return &s.objects[i]
}

func (s *server) remove(kind, name string) {
	s.t.Helper()
	gone := s.find(kind, name).DeepCopy()
	s.objects = slices.DeleteFunc(s.objects, func(o unstructured.Unstructured) bool {
		return o.GetKind() == gone.GetKind() && o.GetName() == gone.GetName()
	})
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.URL.Query().Get("watch") != "" {
		s.t.Errorf("%s %s: only to be read", r.Method, r.URL)
	}
	gvr, namespace, name := parsePath(r.URL.Path)
	s.mu.Lock()
	s.asked = append(s.asked, gvr.Resource+" "+namespace+"/"+name)
	s.mu.Unlock()
	switch {
	case slices.Contains(s.missing, gvr.Resource):
		http.Error(w, "404 page not found", http.StatusNotFound)
	case slices.Contains(s.forbidden, gvr.Resource):
		refuse(w, apierrs.NewForbidden(gvr.GroupResource(), name, errors.New("nobody may")))
	case s.seeOnly != "" && gvr.Resource == "ingresses" && namespace != s.seeOnly:
		refuse(w, apierrs.NewForbidden(gvr.GroupResource(), name, errors.New("not there")))
	case gvr.Resource == "configmaps" && namespace != "" && ((name == "" && namespace == s.unlisted) || namespace == s.hidden):
		refuse(w, apierrs.NewForbidden(gvr.GroupResource(), name, errors.New("not these")))
	case name == "":
		s.list(w, r, gvr, namespace)
	default:
		s.get(w, gvr, namespace, name)
	}
}

func (s *server) get(w http.ResponseWriter, gvr schema.GroupVersionResource, namespace, name string) {
	for _, o := range s.objects {
		if is(o, gvr) && o.GetNamespace() == namespace && o.GetName() == name {
			answer(w, o.Object)
			return
		}
	}
	refuse(w, apierrs.NewNotFound(gvr.GroupResource(), name))
}

func (s *server) list(w http.ResponseWriter, r *http.Request, gvr schema.GroupVersionResource, namespace string) {
	byLabel, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		s.t.Error(err)
	}
	byField, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	if err != nil {
		s.t.Error(err)
	}
	items, kind := []any{}, "List"
	for _, o := range s.objects {
		if is(o, gvr) && (namespace == "" || o.GetNamespace() == namespace) &&
			byLabel.Matches(labels.Set(o.GetLabels())) && byField.Matches(fields.Set{"metadata.name": o.GetName()}) {
			kind = o.GetKind() + "List"
			item := maps.Clone(o.Object)
			if gvr.Group == "" {
				// As the API server does with its own kinds.
				delete(item, "kind")
				delete(item, "apiVersion")
			}
			items = append(items, item)
		}
	}
	metadata := map[string]any{}
	if s.small && len(items) > 1 {
		from := len(r.URL.Query().Get("continue"))
		if from+1 < len(items) {
			metadata["continue"] = strings.Repeat("x", from+1)
		}
		items = items[from : from+1]
	}
	answer(w, map[string]any{"apiVersion": gvr.GroupVersion().String(), "kind": kind, "metadata": metadata, "items": items})
}

// parsePath reads /api/v1/... and /apis/GROUP/VERSION/... .
func parsePath(path string) (gvr schema.GroupVersionResource, namespace, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if parts[0] == "apis" {
		gvr.Group, parts = parts[1], parts[1:]
	}
	gvr.Version, parts = parts[1], parts[2:]
	if parts[0] == "namespaces" && len(parts) > 2 {
		namespace, parts = parts[1], parts[2:]
	}
	gvr.Resource = parts[0]
	if len(parts) > 1 {
		name = parts[1]
	}
	return gvr, namespace, name
}

// is compares by the plurals that kinds here have.
func is(o unstructured.Unstructured, gvr schema.GroupVersionResource) bool {
	plural := strings.ToLower(o.GetKind()) + "s"
	plurals := []string{plural, strings.TrimSuffix(plural, "s") + "es", strings.TrimSuffix(plural, "ys") + "ies"}
	return o.GroupVersionKind().GroupVersion() == gvr.GroupVersion() && slices.Contains(plurals, gvr.Resource)
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, err *apierrs.StatusError) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(err.ErrStatus.Code))
	status := err.ErrStatus
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	_ = json.NewEncoder(w).Encode(status)
}
