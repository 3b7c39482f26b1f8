package loopback

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"google.golang.org/protobuf/proto"
	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	istiov1alpha3 "istio.io/client-go/pkg/apis/networking/v1alpha3"
	corev1 "k8s.io/api/core/v1"
	apierrs "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/resources"
)

// provenAnnotation of the switch says which generation of the loopback sidecars have shown.
const provenAnnotation = "net-mesh.dev/proven"

// provenGeneration says which generation a switch was shown to lead to; empty if none.
func provenGeneration(sw *envoyFilter) string {
	if sw == nil {
		return ""
	}
	return sw.Annotations[provenAnnotation]
}

// errTheirs: something of our name is not ours. It is no failure of the API, so people are told.
var errTheirs = errors.New("belongs to somebody else")

func theirs(kind string, n types.NamespacedName) error {
	return fmt.Errorf("%s %s %w: it has no label %s; delete or rename it, or give it back the label", kind, n, errTheirs, resources.LoopbackLabel)
}

// filterSpec is what an EnvoyFilter was.
type filterSpec struct {
	spec   *v1alpha3.EnvoyFilter
	digest string
}

type envoyFilter = istiov1alpha3.EnvoyFilter

func listenerName(root string) types.NamespacedName {
	return types.NamespacedName{Namespace: root, Name: resources.LoopbackListener}
}

func switchName(root string) types.NamespacedName {
	return types.NamespacedName{Namespace: root, Name: resources.LoopbackSwitch}
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func splitKey(key string) (namespace, name string, err error) {
	return cache.SplitMetaNamespaceKey(key)
}

// filter asks the API, which knows best what there is: the order of steps hangs on it. It is
// nil if there is none.
func (r *Reconciler) filter(ctx context.Context, n types.NamespacedName) (*envoyFilter, error) {
	f, err := r.istio.NetworkingV1alpha3().EnvoyFilters(n.Namespace).Get(ctx, n.Name, metav1.GetOptions{})
	switch {
	case apierrs.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read EnvoyFilter %s: %w", n, err)
	case f.Labels[resources.LoopbackLabel] == "":
		return nil, theirs("EnvoyFilter", n)
	}
	return f, nil
}

// sameFilter says whether an EnvoyFilter is there as it is wanted.
func sameFilter(have, want *envoyFilter) bool {
	return have != nil && proto.Equal(&have.Spec, &want.Spec) &&
		have.Annotations[resources.DigestAnnotation] == want.Annotations[resources.DigestAnnotation]
}

func (r *Reconciler) ensureFilter(ctx context.Context, want *envoyFilter) error {
	have, err := r.filter(ctx, nameOf(want))
	if err != nil || sameFilter(have, want) {
		return err
	}
	return r.writeFilter(ctx, have, want)
}

func (r *Reconciler) writeFilter(ctx context.Context, have, want *envoyFilter) error {
	c := r.istio.NetworkingV1alpha3().EnvoyFilters(want.Namespace)
	if have == nil {
		_, err := c.Create(ctx, want.DeepCopy(), metav1.CreateOptions{})
		return failed("create EnvoyFilter", want, err)
	}
	next := have.DeepCopy()
	want.Spec.DeepCopyInto(&next.Spec)
	next.Annotations = with(have.Annotations, want.Annotations)
	_, err := c.Update(ctx, next, metav1.UpdateOptions{})
	return failed("update EnvoyFilter", want, err)
}

// restore puts the listener back as it was.
func (r *Reconciler) restore(ctx context.Context, listener *envoyFilter) error {
	have, err := r.filter(ctx, nameOf(listener))
	if err != nil || have == nil {
		return err
	}
	old := have.DeepCopy()
	r.before.spec.DeepCopyInto(&old.Spec)
	old.Annotations = with(have.Annotations, map[string]string{resources.DigestAnnotation: r.before.digest})
	r.before = nil
	return r.writeFilter(ctx, have, old)
}

// markProven notes on the switch that it is in force.
func (r *Reconciler) markProven(ctx context.Context, set resources.LoopbackSet) error {
	have, err := r.filter(ctx, nameOf(set.Switch))
	if err != nil || have == nil || have.Annotations[provenAnnotation] == set.Digest {
		return err
	}
	next := have.DeepCopy()
	next.Annotations = with(have.Annotations, map[string]string{provenAnnotation: set.Digest})
	return r.writeFilter(ctx, have, next)
}

func (r *Reconciler) deleteFilter(ctx context.Context, n types.NamespacedName) error {
	have, err := r.filter(ctx, n)
	if err != nil || have == nil {
		return err
	}
	return failed("delete EnvoyFilter", have, gone(r.istio.NetworkingV1alpha3().EnvoyFilters(n.Namespace).Delete(ctx, n.Name, metav1.DeleteOptions{})))
}

// ensureService makes the Service if there is none. One that is there stays as it is: where
// sidecars lead its name elsewhere it does not matter what endpoints it has.
func (r *Reconciler) ensureService(ctx context.Context, want *corev1.Service) error {
	if _, found := r.reader.Service(nameOf(want)); found {
		return nil
	}
	_, err := r.kube.CoreV1().Services(want.Namespace).Create(ctx, want.DeepCopy(), metav1.CreateOptions{})
	if apierrs.IsAlreadyExists(err) {
		return nil
	}
	return failed("create Service", want, err)
}

// syncDoors makes the doors that are wanted, and takes others away.
func (r *Reconciler) syncDoors(ctx context.Context, cfg config.Config, wanted []*istiov1.Gateway) error {
	c := r.istio.NetworkingV1().Gateways(cfg.SystemNamespace)
	list, err := c.List(ctx, metav1.ListOptions{LabelSelector: resources.LoopbackLabel})
	if err != nil {
		return fmt.Errorf("cannot list Gateways of the loopback: %w", err)
	}
	have := map[string]*istiov1.Gateway{}
	for _, g := range list.Items {
		have[g.Name] = g
	}
	for _, want := range wanted {
		old := have[want.Name]
		delete(have, want.Name)
		switch {
		case old == nil:
			_, err = c.Create(ctx, want.DeepCopy(), metav1.CreateOptions{})
		case !proto.Equal(&old.Spec, &want.Spec):
			next := old.DeepCopy()
			want.Spec.DeepCopyInto(&next.Spec)
			_, err = c.Update(ctx, next, metav1.UpdateOptions{})
		}
		if apierrs.IsAlreadyExists(err) {
			return theirs("Gateway", nameOf(want))
		}
		if err != nil {
			return failed("write Gateway", want, err)
		}
	}
	for _, g := range have {
		if err := gone(c.Delete(ctx, g.Name, metav1.DeleteOptions{})); err != nil {
			return failed("delete Gateway", g, err)
		}
	}
	return nil
}

func gone(err error) error {
	if apierrs.IsNotFound(err) {
		return nil
	}
	return err
}

func failed(what string, o metav1.Object, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot %s %s of the loopback: %w", what, nameOf(o), err)
}

func with(have, more map[string]string) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, more)
	return out
}
