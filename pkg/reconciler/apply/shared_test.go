package apply

import (
	"errors"
	"slices"
	"strings"
	"testing"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"
	apierrs "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"knative.dev/networking/pkg/apis/networking"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/pkg/kmeta"

	"github.com/net-mesh/net-mesh/pkg/resources"
)

const (
	sharedCopyName    = "apps--cert-wildcard"
	sharedGatewayName = "wildcard-1"
)

var neighbour = &v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "world", UID: "uid-of-world"}}

// sharedSet wants one wildcard certificate's objects.
func sharedSet() resources.Set {
	g := &istiov1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: sharedGatewayName, Labels: origin}}
	g.Spec.Selector = map[string]string{"istio": "gw"}
	return resources.Set{
		SharedGateways: []*istiov1.Gateway{g},
		SharedSecrets: []resources.SecretCopy{{
			From: types.NamespacedName{Namespace: "apps", Name: "cert"}, To: types.NamespacedName{Namespace: "gw", Name: sharedCopyName}, Labels: origin,
		}},
	}
}

// listener is the shared Gateway as it is when the owners need it.
func listener(owners ...Owner) *istiov1.Gateway {
	g := sharedSet().SharedGateways[0]
	g.UID, g.ResourceVersion = "uid-of-gateway", "7"
	for _, o := range owners {
		g.OwnerReferences = append(g.OwnerReferences, reference(o))
	}
	return g
}

// carried is the shared copy as it is when the owners need it.
func carried(owners ...Owner) *corev1.Secret {
	s := secret("gw", sharedCopyName, "new", map[string]string{})
	s.UID, s.ResourceVersion = "uid-of-copy", "8"
	for k, v := range origin {
		s.Labels[k] = v
	}
	for _, o := range owners {
		s.Labels[userKey(o)] = ""
	}
	return s
}

func byNetIstio(g *istiov1.Gateway) *istiov1.Gateway {
	yes := true
	g.Labels = nil
	g.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "cert", UID: "uid-of-cert", Controller: &yes}}
	return g
}

func bySomebody(g *istiov1.Gateway) *istiov1.Gateway {
	g.OwnerReferences = []metav1.OwnerReference{*kmeta.NewControllerRef(neighbour)}
	return g
}

func ofAnotherSecret(g *istiov1.Gateway) *istiov1.Gateway {
	g.Labels = map[string]string{networking.OriginSecretNameLabelKey: "another", networking.OriginSecretNamespaceLabelKey: "apps"}
	return g
}

// TestSyncShared states how one of several owners comes to an object.
func TestSyncShared(t *testing.T) {
	const both = 2
	source := secret("apps", "cert", "new", nil)
	update := []string{"update gateways apps/" + sharedGatewayName, "update secrets gw/" + sharedCopyName}
	for _, row := range []struct {
		name    string
		have    []runtime.Object
		writes  []string
		refused []string
		users   int
	}{
		{name: "the first creates", writes: []string{"create gateways apps/" + sharedGatewayName, "create secrets gw/" + sharedCopyName}, users: 1},
		{name: "the second writes itself down", have: []runtime.Object{listener(neighbour), carried(neighbour)}, writes: update, users: both},
		{name: "steady", have: []runtime.Object{listener(neighbour, owner), carried(neighbour, owner)}, users: both},
		{name: "rotated", have: []runtime.Object{listener(neighbour, owner), func() *corev1.Secret {
			s := carried(neighbour, owner)
			s.Data[corev1.TLSPrivateKeyKey] = []byte("old")
			return s
		}()}, writes: update[1:], users: both},
		{name: "adopt net-istio's", have: []runtime.Object{byNetIstio(listener()), carried()}, writes: update, users: 1},
		{name: "adopt what a backup has brought back", have: []runtime.Object{listener(), carried()}, writes: update, users: 1},
		{name: "refuse what somebody controls", have: []runtime.Object{bySomebody(listener()), secret("gw", sharedCopyName, "theirs", nil)}, refused: []string{sharedCopyName, sharedGatewayName}},
		{name: "refuse that of another certificate", have: []runtime.Object{ofAnotherSecret(listener(neighbour)), secret("gw", sharedCopyName, "theirs", ours)}, refused: []string{sharedCopyName, sharedGatewayName}},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx, w, c := newCluster(t, append([]runtime.Object{source}, row.have...)...)
			changes, err := w.Sync(ctx, owner, sharedSet())
			if err != nil {
				t.Fatal(err)
			}
			same(t, "writes", row.writes, c.writes())
			same(t, "refused", row.refused, names(changes.Refused))
			if row.users == 0 {
				return
			}
			g, s := c.shared(t)
			if users, _ := gatewayUsers(g); len(users) != row.users || !slices.Contains(users, string(owner.UID)) {
				t.Errorf("users of the Gateway: %v, want %d", users, row.users)
			}
			if users, _ := secretUsers(s); len(users) != row.users || !slices.Contains(users, "apps/hello") || string(s.Data[corev1.TLSPrivateKeyKey]) != "new" {
				t.Errorf("users of the copy: %v, want %d; key %s", users, row.users, s.Data[corev1.TLSPrivateKeyKey])
			}
		})
	}
}

func (c *cluster) shared(t *testing.T) (*istiov1.Gateway, *corev1.Secret) {
	t.Helper()
	g, err := c.istio.NetworkingV1().Gateways("apps").Get(t.Context(), sharedGatewayName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.kube.CoreV1().Secrets("gw").Get(t.Context(), sharedCopyName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return g, s
}

// TestLeaveShared states what becomes of shared objects when an owner no longer wants them,
// or goes: the last one takes them along, nobody else does.
func TestLeaveShared(t *testing.T) {
	update := []string{"update gateways apps/" + sharedGatewayName, "update secrets gw/" + sharedCopyName}
	deletion := []string{"delete gateways apps/" + sharedGatewayName, "delete secrets gw/" + sharedCopyName}
	for _, row := range []struct {
		name   string
		have   []runtime.Object
		writes []string
	}{
		{name: "others stay", have: []runtime.Object{listener(neighbour, owner), carried(neighbour, owner)}, writes: update},
		{name: "the last goes", have: []runtime.Object{listener(owner), carried(owner)}, writes: deletion},
		{name: "the last after net-istio", have: []runtime.Object{func() *istiov1.Gateway {
			g := byNetIstio(listener())
			g.OwnerReferences = append(g.OwnerReferences, reference(owner))
			return g
		}(), carried(owner)}, writes: deletion},
		{name: "who never came does not leave", have: []runtime.Object{listener(neighbour), carried(neighbour)}},
		{name: "what nobody has come to is left to net-istio", have: []runtime.Object{byNetIstio(listener()), carried()}},
	} {
		for what, leave := range map[string]func(*Writer, *testing.T) error{
			"prune":    func(w *Writer, t *testing.T) error { return w.Prune(t.Context(), owner, resources.Set{}) },
			"finalize": func(w *Writer, t *testing.T) error { return w.Finalize(t.Context(), owner) },
		} {
			t.Run(row.name+"/"+what, func(t *testing.T) {
				_, w, c := newCluster(t, row.have...)
				if err := leave(w, t); err != nil {
					t.Fatal(err)
				}
				same(t, "writes", row.writes, c.writes())
				for _, a := range append(c.kube.Actions(), c.istio.Actions()...) {
					d, ok := a.(clienttesting.DeleteActionImpl)
					if !ok {
						continue
					}
					if p := d.DeleteOptions.Preconditions; p == nil || p.UID == nil || p.ResourceVersion == nil || *p.ResourceVersion == "" {
						t.Errorf("%s is deleted in whatever version it is", d.Name)
					}
				}
			})
		}
	}
}

// TestACopyTheCacheHasNotHeardOfIsLeft: nobody would take the owner out of it later.
func TestACopyTheCacheHasNotHeardOfIsLeft(t *testing.T) {
	ctx, w, c := newCluster(t)
	if err := c.kube.Tracker().Add(carried(owner)); err != nil {
		t.Fatal(err)
	}
	if err := w.Finalize(ctx, owner); err != nil {
		t.Fatal(err)
	}
	same(t, "writes", []string{"delete secrets gw/" + sharedCopyName}, c.writes())
}

// TestOneComesWhileTheLastGoes: whichever write is the second fails, and its owner looks
// again. Who comes too late creates.
func TestOneComesWhileTheLastGoes(t *testing.T) {
	conflict := func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrs.NewConflict(corev1.Resource("any"), "any", errors.New("of another version"))
	}
	gone := func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrs.NewNotFound(corev1.Resource("any"), "any")
	}
	source := secret("apps", "cert", "new", nil)
	t.Run("somebody has come", func(t *testing.T) {
		ctx, w, c := newCluster(t, listener(owner), carried(owner))
		c.kube.PrependReactor("delete", "secrets", conflict)
		c.istio.PrependReactor("delete", "gateways", conflict)
		if err := w.Prune(ctx, owner, resources.Set{}); !apierrs.IsConflict(err) {
			t.Errorf("error %v, want a conflict, so that it is looked at again", err)
		}
	})
	t.Run("the last has gone", func(t *testing.T) {
		ctx, w, c := newCluster(t, source, listener(neighbour), carried(neighbour))
		c.kube.PrependReactor("update", "secrets", gone)
		c.istio.PrependReactor("update", "gateways", gone)
		if err := errors.Join(
			c.istio.Tracker().Delete(istiov1.SchemeGroupVersion.WithResource("gateways"), "apps", sharedGatewayName),
			c.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), "gw", sharedCopyName),
		); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Sync(ctx, owner, sharedSet()); err != nil {
			t.Fatal(err)
		}
		g, s := c.shared(t)
		if len(g.OwnerReferences) != 1 || len(usersOf(s)) != 1 {
			t.Errorf("owners %v and labels %v, want this owner alone", g.OwnerReferences, s.Labels)
		}
	})
	t.Run("two have come", func(t *testing.T) {
		ctx, w, c := newCluster(t, source, listener(neighbour), carried(neighbour))
		c.kube.PrependReactor("update", "secrets", conflict)
		if _, err := w.Sync(ctx, owner, sharedSet()); !apierrs.IsConflict(err) || !strings.Contains(err.Error(), sharedCopyName) {
			t.Errorf("error %v, want a conflict that names the copy", err)
		}
	})
}

// TestPreviewOfShared: who comes or leaves changes the object, who is the first or the last
// creates or deletes it.
func TestPreviewOfShared(t *testing.T) {
	source := secret("apps", "cert", "new", nil)
	for _, row := range []struct {
		name string
		have []runtime.Object
		set  resources.Set
		want Verb // of both objects; empty: nothing
	}{
		{"the first", nil, sharedSet(), Create},
		{"the second", []runtime.Object{listener(neighbour), carried(neighbour)}, sharedSet(), Update},
		{"steady", []runtime.Object{listener(owner), carried(owner)}, sharedSet(), ""},
		{"one of two leaves", []runtime.Object{listener(neighbour, owner), carried(neighbour, owner)}, resources.Set{}, Update},
		{"the last leaves", []runtime.Object{listener(owner), carried(owner)}, resources.Set{}, Delete},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, w, _ := newCluster(t, append([]runtime.Object{source}, row.have...)...)
			changes, err := w.Preview(owner, row.set)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range changes {
				got = append(got, string(c.Verb)+" "+c.Name)
			}
			slices.Sort(got)
			var want []string
			if row.want != "" {
				want = []string{string(row.want) + " " + sharedCopyName, string(row.want) + " " + sharedGatewayName}
			}
			same(t, "changes", want, got)
		})
	}
}
