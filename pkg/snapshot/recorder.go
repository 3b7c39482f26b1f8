package snapshot

import (
	"cmp"
	"maps"
	"slices"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
)

// Recorder is a Reader that remembers what was asked of it, found or not.
type Recorder struct {
	Reader

	seen                map[Ref]struct{}
	keys, targets, mesh map[string]struct{}
}

// Record wraps a Reader.
func Record(r Reader) *Recorder {
	return &Recorder{Reader: r, seen: map[Ref]struct{}{}, keys: map[string]struct{}{}, targets: map[string]struct{}{}, mesh: map[string]struct{}{}}
}

// Service implements Reader.
func (r *Recorder) Service(name types.NamespacedName) (*corev1.Service, bool) {
	s, found := r.Reader.Service(name)
	r.note("v1", "Service", name, found)
	return s, found
}

// Secret implements Reader.
func (r *Recorder) Secret(name types.NamespacedName) (*corev1.Secret, bool) {
	s, found := r.Reader.Secret(name)
	r.note("v1", "Secret", name, found)
	return s, found
}

// Gateway implements Reader.
func (r *Recorder) Gateway(name types.NamespacedName) (*istiov1.Gateway, bool) {
	g, found := r.Reader.Gateway(name)
	r.note(istiov1.SchemeGroupVersion.String(), "Gateway", name, found)
	return g, found
}

// VirtualService implements Reader.
func (r *Recorder) VirtualService(name types.NamespacedName) (*istiov1.VirtualService, bool) {
	vs, found := r.Reader.VirtualService(name)
	r.note(istiov1.SchemeGroupVersion.String(), "VirtualService", name, found)
	return vs, found
}

// Claimants implements Reader.
func (r *Recorder) Claimants(hostKey string) []*v1alpha1.Ingress {
	r.keys[hostKey] = struct{}{}
	return r.Reader.Claimants(hostKey)
}

// Targets returns the claimants of a host that a backend leads to.
func (r *Recorder) Targets(hostKey string) []*v1alpha1.Ingress {
	r.targets[hostKey] = struct{}{}
	return r.Reader.Claimants(hostKey)
}

// VirtualServices implements Reader.
func (r *Recorder) VirtualServices(hostKey string) []*istiov1.VirtualService {
	r.mesh[hostKey] = struct{}{}
	return r.Reader.VirtualServices(hostKey)
}

// MeshKeys lists by which VirtualServices were asked for, sorted.
func (r *Recorder) MeshKeys() []string { return slices.Sorted(maps.Keys(r.mesh)) }

// TargetKeys lists by which targets were asked for, sorted.
func (r *Recorder) TargetKeys() []string { return slices.Sorted(maps.Keys(r.targets)) }

// HostKeys lists by which claimants were asked for, sorted.
func (r *Recorder) HostKeys() []string { return slices.Sorted(maps.Keys(r.keys)) }

// Refs lists what was asked, sorted.
func (r *Recorder) Refs() []Ref {
	refs := make([]Ref, 0, len(r.seen))
	for ref := range r.seen {
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b Ref) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return refs
}

// note passes over names that no object can have: nobody of that name will come, and who
// watches refuses it. One misspelt host would keep the rest from being served.
func (r *Recorder) note(apiVersion, kind string, name types.NamespacedName, found bool) {
	if len(validation.IsDNS1123Label(name.Namespace))+len(validation.IsDNS1123Subdomain(name.Name)) > 0 {
		return
	}
	r.seen[Ref{APIVersion: apiVersion, Kind: kind, Namespace: name.Namespace, Name: name.Name, Found: found}] = struct{}{}
}
