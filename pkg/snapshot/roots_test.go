package snapshot_test

import (
	"slices"
	"strings"
	"testing"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// TestDelegateKey: what could be a delegate of an Ingress, and of which one.
func TestDelegateKey(t *testing.T) {
	for name, want := range map[string]string{
		"hello-delegate":                              "hello",
		"hello-delegate-0a1b2c3d":                     "hello",
		"hello-delegate-0a1b2c3d4e5f6071":             "hello",
		"hello-delegate-delegate":                     "hello-delegate",
		"hello-delegate-0a1b2c3d-delegate":            "hello-delegate-0a1b2c3d",
		"www.example.org-delegate":                    "www.example.org",
		"hello-delegate-0a1b2c3":                      "", // too short for a hash
		"hello-delegate-0a1b2c3x":                     "",
		"hello":                                       "",
		"hello-0a1b2c3d":                              "",
		"delegate":                                    "",
		snapshot.DelegateName("hello", ""):            "hello",
		snapshot.DelegateName("hello", "-ffffffff"):   "hello",
		snapshot.DelegateName("a-delegate-bcdef", ""): "a-delegate-bcdef",
	} {
		key, is := snapshot.DelegateKey(types.NamespacedName{Namespace: "apps", Name: name})
		if is != (want != "") || is && key != (types.NamespacedName{Namespace: "apps", Name: want}) {
			t.Errorf("%s: %v, %v; want %s", name, key, is, want)
		}
	}
}

// TestVirtualServicesOfBundles: those that delegate are found by what they delegate to, and all are there for
// whoever looks at the whole mesh.
func TestVirtualServicesOfBundles(t *testing.T) {
	const head = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {namespace: apps, name: "
	b, err := snapshot.ReadBundle([]byte(head + "root}\nspec: {hosts: [a.com], http: [{delegate: {name: x-delegate}}, {delegate: {name: x-delegate}}, {delegate: {name: else}}]}\n---\n" +
		head + "leaf}\nspec: {http: [{route: [{destination: {host: x}}]}]}\n---\n" +
		head + "other}\nspec: {hosts: [a.com], http: [{route: [{destination: {host: x}}]}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Ignored) != 0 {
		t.Error("ignored are", b.Ignored)
	}
	if len(b.Rest) != 3 {
		t.Errorf("the rest holds %d documents, and whoever looks at the whole mesh wants all", len(b.Rest))
	}
	if got := b.Delegating(types.NamespacedName{Namespace: "apps", Name: "x"}); len(got) != 1 || got[0].Name != "root" {
		t.Error("those who delegate are", got)
	}
	if _, there := b.VirtualService(types.NamespacedName{Namespace: "apps", Name: "leaf"}); !there {
		t.Error("what is delegated to is not found")
	}
}

// asking notes by which keys those who delegate are asked for.
type asking struct {
	*snapshot.Bundle
	keys map[types.NamespacedName]bool
}

func (a asking) Delegating(key types.NamespacedName) []*istiov1.VirtualService {
	a.keys[key] = true
	return a.Bundle.Delegating(key)
}

// TestRootsAreWatchedByTheKeysTheyAreLookedForBy: else a change of one would wake nobody.
func TestRootsAreWatchedByTheKeysTheyAreLookedForBy(t *testing.T) {
	b, err := snapshot.ReadBundle()
	if err != nil {
		t.Fatal(err)
	}
	for length := 1; length < 254; length++ {
		ing := &v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: strings.Repeat("a", length)}}
		a := asking{b, map[types.NamespacedName]bool{}}
		snapshot.Ingress(a, config.Config{}, ing)
		keys := snapshot.DelegateKeys(types.NamespacedName{Namespace: ing.Namespace, Name: ing.Name})
		if len(a.keys) != len(keys) || slices.ContainsFunc(keys, func(key types.NamespacedName) bool { return !a.keys[key] }) {
			t.Errorf("%d characters: looked for by %v, and found by %v", length, a.keys, keys)
		}
	}
}
