package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/reconciler/apply"
	"github.com/net-mesh/net-mesh/pkg/resources"
)

// against compares a world with what is in a cluster, by the controller's own writer. own
// says that its Ingresses were read from this very cluster.
func (w *world) against(ctx context.Context, c *cluster, own bool) (difference, error) {
	d := difference{Added: []finding.Ref{}, Changed: []changed{}, Removed: []finding.Ref{}, Refused: []finding.Ref{}, Addresses: []moved{}}
	owners, err := w.owners(ctx, c, own)
	if err != nil {
		return d, err
	}
	caches, err := w.caches(ctx, c)
	if err != nil {
		return d, err
	}
	writer := apply.NewWriter(nil, nil, caches)
	var faults []error
	for _, t := range w.ingresses {
		owner := owners[t.Model.Name]
		changes, err := writer.Preview(owner, t.Objects)
		if err != nil {
			faults = append(faults, fmt.Errorf("ingress %s: %w", t.Model.Name, err))
		}
		for _, one := range changes {
			faults = append(faults, d.take(one))
		}
		d.Addresses = append(d.Addresses, movesOf(t, published(owner.Status.PublicLoadBalancer), published(owner.Status.PrivateLoadBalancer))...)
	}
	return d, errors.Join(faults...)
}

func (d *difference) take(c apply.Change) error {
	switch c.Verb {
	case apply.Create:
		if !slices.Contains(d.Added, c.Ref) { // each Ingress that shares it creates it
			d.Added = append(d.Added, c.Ref)
		}
	case apply.Delete:
		d.Removed = append(d.Removed, c.Ref)
	case apply.Refuse:
		d.Refused = append(d.Refused, c.Ref)
	case apply.Update:
		was, err := content(c.Have)
		if err != nil {
			return err
		}
		is, err := content(c.Next)
		if err != nil {
			return err
		}
		text, err := unified(c.Ref, was, is)
		if err != nil {
			return err
		}
		d.Changed = append(d.Changed, changed{c.Ref, text})
	}
	return nil
}

// content is an object's YAML without what the API server keeps about it.
func content(o runtime.Object) (string, error) {
	o = o.DeepCopyObject()
	m, err := meta.Accessor(o)
	if err != nil {
		return "", err
	}
	m.SetManagedFields(nil)
	m.SetResourceVersion("")
	m.SetUID("")
	m.SetGeneration(0)
	m.SetCreationTimestamp(metav1.Time{})
	if s, ok := o.(*corev1.Secret); ok {
		text, err := yaml.Marshal(shownSums(s))
		return string(text), err
	}
	text, err := yaml.Marshal(o)
	return string(text), err
}

// owners are the Ingresses as the cluster has them, because objects that are there name
// the UID it gave; an Ingress that is not there yet is as it is written.
func (w *world) owners(ctx context.Context, c *cluster, own bool) (map[types.NamespacedName]*v1alpha1.Ingress, error) {
	out := map[types.NamespacedName]*v1alpha1.Ingress{}
	var wanted []object
	for _, ing := range w.bundle.Ingresses {
		name := types.NamespacedName{Namespace: ing.Namespace, Name: ing.Name}
		out[name] = ing
		wanted = append(wanted, object{ingresses, name})
	}
	if own {
		return out, nil
	}
	found, err := c.get(ctx, wanted...)
	if err != nil {
		return nil, err
	}
	for _, o := range found {
		ing, err := typed[v1alpha1.Ingress](o)
		if err != nil {
			return nil, err
		}
		out[types.NamespacedName{Namespace: ing.Namespace, Name: ing.Name}] = ing
	}
	for name, ing := range out {
		if !slices.ContainsFunc(found, func(o unstructured.Unstructured) bool {
			return o.GetNamespace() == name.Namespace && o.GetName() == name.Name
		}) {
			ing = ing.DeepCopy()
			// What a file says of its status is of another cluster, or another time.
			ing.Status = v1alpha1.IngressStatus{}
			out[name] = ing
		}
	}
	return out, nil
}

// caches hold what the controller's would: all objects that are labelled as some
// Ingress', and what else has a name that is needed.
func (w *world) caches(ctx context.Context, c *cluster) (apply.Caches, error) {
	caches := apply.NewCaches()
	there, err := c.written(ctx)
	if err != nil {
		return caches, err
	}
	named, err := c.get(ctx, w.wanted()...)
	if err != nil {
		return caches, err
	}
	for _, o := range append(there, named...) {
		object, err := c.cached(o)
		if err == nil {
			err = caches.Add(object)
		}
		if err != nil {
			return caches, err
		}
	}
	// Sources of copies are those of the world that is compared.
	for _, t := range w.ingresses {
		for _, copied := range slices.Concat(t.Objects.Secrets, t.Objects.SharedSecrets) {
			source, fetched := c.secrets[copied.From]
			if whole, ok := w.bundle.Secret(copied.From); ok && !fetched {
				source = summed(whole)
			}
			if source == nil {
				continue // the Preview tells
			}
			if err := caches.Add(source); err != nil {
				return caches, err
			}
		}
	}
	return caches, nil
}

// written lists what carries the labels of some Ingress.
func (c *cluster) written(ctx context.Context) ([]unstructured.Unstructured, error) {
	ours := metav1.ListOptions{LabelSelector: resources.IngressLabel}
	copies := metav1.ListOptions{LabelSelector: networking.OriginSecretNamespaceLabelKey}
	var out []unstructured.Unstructured
	for _, one := range []struct {
		resource  schema.GroupVersionResource
		namespace string
		labelled  metav1.ListOptions
	}{
		{virtualServices, c.namespace, ours}, {gateways, c.namespace, ours}, {gateways, c.namespace, copies},
		{destinationRules, c.namespace, ours}, {serviceEntries, c.namespace, ours}, {secretResource, metav1.NamespaceAll, copies},
	} {
		some, err := c.list(ctx, one.resource, one.namespace, one.labelled)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

// wanted names all objects that the controller would write.
func (w *world) wanted() []object {
	var out []object
	for _, t := range w.ingresses {
		for _, s := range slices.Concat(t.Objects.Secrets, t.Objects.SharedSecrets) {
			out = append(out, object{secretResource, s.To})
		}
		for _, g := range slices.Concat(t.Objects.Gateways, t.Objects.SharedGateways) {
			out = append(out, object{gateways, types.NamespacedName{Namespace: g.Namespace, Name: g.Name}})
		}
		for _, r := range t.Objects.DestinationRules {
			out = append(out, object{destinationRules, types.NamespacedName{Namespace: r.Namespace, Name: r.Name}})
		}
		for _, v := range t.Objects.VirtualServices {
			out = append(out, object{virtualServices, types.NamespacedName{Namespace: v.Namespace, Name: v.Name}})
		}
		for _, e := range t.Objects.ServiceEntries {
			out = append(out, object{serviceEntries, types.NamespacedName{Namespace: e.Namespace, Name: e.Name}})
		}
	}
	return out
}

// cached types an object as the controller's caches do. A Secret is reduced to sums.
func (c *cluster) cached(o unstructured.Unstructured) (runtime.Object, error) {
	switch o.GetKind() {
	case "VirtualService":
		return typed[istiov1.VirtualService](o)
	case "Gateway":
		return typed[istiov1.Gateway](o)
	case "DestinationRule":
		return typed[istiov1.DestinationRule](o)
	case "ServiceEntry":
		return typed[istiov1.ServiceEntry](o)
	case "Secret":
		s, err := typed[corev1.Secret](o)
		if err != nil {
			return nil, err
		}
		return summed(s), nil
	}
	return nil, fmt.Errorf("no cache for kind %s", o.GetKind())
}

// published says the addresses of a status in the words of a Plan.
func published(s *v1alpha1.LoadBalancerStatus) []plan.Address {
	if s == nil {
		return nil
	}
	var out []plan.Address
	for _, i := range s.Ingress {
		out = append(out, plan.Address{DomainInternal: cmp.Or(i.DomainInternal, i.Domain, i.IP), MeshOnly: i.MeshOnly})
	}
	return out
}
