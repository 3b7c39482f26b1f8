package apply

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking"
)

// UsersChanged names the Ingresses that have come to need a shared object, or no longer
// do, if that is all that an update has changed. For a copy of a Secret it does not know
// names that no label can hold; their Ingresses hear of the Gateway, which is written with
// the copy.
func UsersChanged(old, next any) (users []types.NamespacedName, only bool) {
	switch next := next.(type) {
	case *istiov1.Gateway:
		old, ok := old.(*istiov1.Gateway)
		if !ok || !proto.Equal(&old.Spec, &next.Spec) || !maps.Equal(old.Labels, next.Labels) || !maps.Equal(old.Annotations, next.Annotations) {
			return nil, false
		}
		users = eitherOf(ownersNamed(old), ownersNamed(next))
	case *corev1.Secret:
		old, ok := old.(*corev1.Secret)
		if !ok || old.Type != next.Type || !equality.Semantic.DeepEqual(old.Data, next.Data) ||
			!maps.Equal(withoutUsers(old), withoutUsers(next)) || !maps.Equal(old.Annotations, next.Annotations) {
			return nil, false
		}
		users = eitherOf(usersNamed(old), usersNamed(next))
	}
	return users, len(users) > 0
}

func ownersNamed(g *istiov1.Gateway) []types.NamespacedName {
	var out []types.NamespacedName
	for _, r := range g.OwnerReferences {
		if isUser(r) {
			out = append(out, types.NamespacedName{Namespace: g.Namespace, Name: r.Name})
		}
	}
	return out
}

func usersNamed(s *corev1.Secret) []types.NamespacedName {
	var out []types.NamespacedName
	for _, name := range usersOf(s) {
		out = append(out, types.NamespacedName{Namespace: s.Labels[networking.OriginSecretNamespaceLabelKey], Name: name})
	}
	return out
}

func withoutUsers(o metav1.Object) map[string]string {
	out := maps.Clone(o.GetLabels())
	maps.DeleteFunc(out, func(key, _ string) bool { return strings.HasPrefix(key, userLabel) })
	return out
}

// eitherOf are the names that are in one of the lists only.
func eitherOf(a, b []types.NamespacedName) []types.NamespacedName {
	var out []types.NamespacedName
	for _, pair := range [][2][]types.NamespacedName{{a, b}, {b, a}} {
		for _, n := range pair[0] {
			if !slices.Contains(pair[1], n) {
				out = append(out, n)
			}
		}
	}
	return out
}
