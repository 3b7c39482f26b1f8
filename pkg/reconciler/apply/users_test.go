package apply

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestUsersChanged states who is concerned by an update of a shared object.
func TestUsersChanged(t *testing.T) {
	moved := listener(owner)
	moved.Spec.Selector = map[string]string{"istio": "other"}
	rotated := carried(owner)
	rotated.Data[corev1.TLSPrivateKeyKey] = []byte("old")
	for _, row := range []struct {
		name      string
		old, next any
		users     []string
		only      bool
	}{
		{name: "a user of the Gateway has come", old: listener(neighbour), next: listener(neighbour, owner), users: []string{"apps/hello"}, only: true},
		{name: "a user of the Gateway has gone", old: listener(neighbour, owner), next: listener(owner), users: []string{"apps/world"}, only: true},
		{name: "a user of the copy has come", old: carried(neighbour), next: carried(neighbour, owner), users: []string{"apps/hello"}, only: true},
		{name: "the Gateway has changed", old: listener(neighbour), next: moved},
		{name: "the certificate was renewed", old: carried(neighbour), next: rotated},
		{name: "told again", old: listener(owner), next: listener(owner)},
		{name: "another kind", old: vs("a"), next: vs("a", hosts("b"))},
	} {
		t.Run(row.name, func(t *testing.T) {
			users, only := UsersChanged(row.old, row.next)
			var got []string
			for _, u := range users {
				got = append(got, u.String())
			}
			if only != row.only || !slices.Equal(got, row.users) {
				t.Errorf("got %v, %v, want %v, %v", got, only, row.users, row.only)
			}
		})
	}
}
