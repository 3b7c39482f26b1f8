package ingress

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestNotice states who hears of what becomes of an object.
func TestNotice(t *testing.T) {
	copied := func(data string, users ...string) *corev1.Secret {
		s := &corev1.Secret{Data: map[string][]byte{"tls.crt": []byte(data)}, ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"networking.internal.knative.dev/originSecretNamespace": "apps"},
		}}
		for _, user := range users {
			s.Labels["user.net-mesh.dev/"+user] = ""
		}
		return s
	}
	for _, row := range []struct {
		name      string
		told      func(notice)
		everybody int
		one       string
	}{
		{"an object comes", func(n notice) { n.OnAdd(copied("a", "x"), false) }, 1, ""},
		{"an object goes", func(n notice) { n.OnDelete(copied("a", "x")) }, 1, ""},
		{"a certificate is renewed", func(n notice) { n.OnUpdate(copied("a", "x"), copied("b", "x")) }, 1, ""},
		{"another Ingress comes to share it", func(n notice) { n.OnUpdate(copied("a", "x"), copied("a", "x", "y")) }, 0, "apps/y"},
		{"it is told again", func(n notice) { n.OnUpdate(copied("a", "x"), copied("a", "x")) }, 1, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var everybody int
			var one string
			row.told(notice{of: func(any) { everybody++ }, users: func(n types.NamespacedName) { one += n.String() }})
			if everybody != row.everybody || one != row.one {
				t.Errorf("everybody who looked was told %d times, and %q; want %d and %q", everybody, one, row.everybody, row.one)
			}
		})
	}
}
