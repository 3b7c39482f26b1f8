package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrs "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"knative.dev/networking/pkg/apis/networking"

	"github.com/net-mesh/net-mesh/pkg/resources"
)

// uidLength is the length of a UID in the names of net-istio's copies.
const uidLength = 36

func secretKind(c kubernetes.Interface, cached cache.Indexer, whose holding[*corev1.Secret], refused *refusals) kind[*corev1.Secret] {
	return kind[*corev1.Secret]{
		name: "Secret", cached: cached, holding: whose, refused: refused,
		client: func(ns string) client[*corev1.Secret] { return c.CoreV1().Secrets(ns) },
		same: func(have, want *corev1.Secret) bool {
			return have.Type == want.Type && reflect.DeepEqual(have.Data, want.Data)
		},
		set: func(into, from *corev1.Secret) { into.Data, into.Type = from.Data, from.Type },
	}
}

// copies fulfils the promises of a Set: here, and only here, the bytes of a Secret are
// touched. The error names the sources that have gone since the Set was made.
func (w *Writer) copies(promised []resources.SecretCopy) ([]*corev1.Secret, error) {
	var errs []error
	out := make([]*corev1.Secret, 0, len(promised))
	for i, want := range named(promised) {
		from := promised[i].From
		item, found, err := w.secrets.cached.GetByKey(from.String())
		if err != nil || !found {
			errs = append(errs, fmt.Errorf("cannot copy Secret %s to %s: it has gone", from, promised[i].To))
			continue
		}
		source := item.(*corev1.Secret)
		want.Data, want.Type = source.Data, source.Type
		out = append(out, want)
	}
	return out, errors.Join(errs...)
}

// named gives the copies of a Set their metadata and no content.
func named(promised []resources.SecretCopy) []*corev1.Secret {
	out := make([]*corev1.Secret, 0, len(promised))
	for _, p := range promised {
		out = append(out, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: p.To.Namespace, Name: p.To.Name, Labels: maps.Clone(p.Labels), Annotations: maps.Clone(p.Annotations),
		}})
	}
	return out
}

// ownCopies is the holding of Secrets that are one Ingress' copies. The labels that say so
// are part of what is wanted.
func ownCopies() holding[*corev1.Secret] {
	return holding[*corev1.Secret]{
		index: ownerIndex, key: holder, owns: holds,
		has:  func(Owner, *corev1.Secret) bool { return true },
		take: func(Owner, *corev1.Secret) {},
	}
}

// holder is an owner as the labels of a copy name it: an owner reference does not reach
// across namespaces.
func holder(o Owner) string {
	m := o.GetObjectMeta()
	return m.GetNamespace() + "/" + resources.LabelValue(m.GetName())
}

// holds refuses every Secret that is not labelled as a copy of this very source, and
// every copy made for another Ingress.
func holds(o Owner, have, want *corev1.Secret) bool {
	if by, ok := labelledHolder(have); ok && by != holder(o) {
		return false
	}
	return sameOrigin(have, want)
}

// sameOrigin says whether an object is labelled as made for the very Secret.
func sameOrigin(have, want metav1.Object) bool {
	for _, label := range []string{networking.OriginSecretNameLabelKey, networking.OriginSecretNamespaceLabelKey} {
		if have.GetLabels()[label] == "" || have.GetLabels()[label] != want.GetLabels()[label] {
			return false
		}
	}
	return true
}

func labelledHolder(s *corev1.Secret) (string, bool) {
	namespace, ok := s.Labels[resources.OwnerNamespaceLabel]
	return namespace + "/" + s.Labels[resources.IngressLabel], ok
}

// holderOf indexes copies by the Ingress they were made for. net-istio's copies do not
// name it, but are called <ingress>-<UID of the source>, and Serving keeps the source in
// the namespace of the Ingress.
func holderOf(o any) ([]string, error) {
	s := o.(*corev1.Secret)
	namespace := s.Labels[networking.OriginSecretNamespaceLabelKey]
	if namespace == "" {
		return nil, nil
	}
	if by, ok := labelledHolder(s); ok {
		return []string{by}, nil
	}
	cut := len(s.Name) - uidLength - 1
	if cut <= 0 || strings.HasSuffix(s.Name, sharedSuffix) || s.Name[cut] != '-' || strings.Count(s.Name[cut+1:], "-") != 4 {
		return nil, nil
	}
	return []string{namespace + "/" + s.Name[:cut]}, nil
}

// listed asks the API for copies with the labels by which they are the owner's, that the
// cache does not hold.
func (w *Writer) listed(ctx context.Context, own labels.Set) ([]*corev1.Secret, error) {
	list, err := w.kube.CoreV1().Secrets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: own.String()})
	if err != nil {
		return nil, fmt.Errorf("cannot list the copies of Secrets: %w", err)
	}
	var out []*corev1.Secret
	for i := range list.Items {
		s := &list.Items[i]
		if _, cached := w.secrets.get(s); !cached && s.Labels[networking.OriginSecretNamespaceLabelKey] != "" {
			out = append(out, s)
		}
	}
	return sortByName(out), nil
}

// removeCopies deletes copies of Secrets, as far as the controller may. Anybody may label a
// Secret as such a copy, but real ones are only where the controller may write: a Secret
// anywhere else is left alone and told of, and holds nobody's Ingress. The first refusal
// speaks for its namespace, so that many such Secrets cost no more than one, and for a while.
func (k kind[T]) removeCopies(ctx context.Context, owner Owner, copies []T) error {
	var errs []error
	forbidden := map[string]bool{}
	for _, s := range copies {
		namespace := s.GetNamespace()
		if forbidden[namespace] {
			continue
		}
		err := k.delete(ctx, owner, s)
		switch {
		case apierrs.IsForbidden(err):
			forbidden[namespace] = true
			k.refused.note(namespace)
			warn(ctx, owner, eventRejected, fmt.Sprintf("Secret %s/%s is labelled as a copy made for this Ingress, but namespace %s may not be written. "+
				"If it is a copy, delete it, or bind ClusterRole net-mesh-secret-copies there; if not, remove its label %s",
				namespace, s.GetName(), namespace, networking.OriginSecretNamespaceLabelKey))
		case err != nil:
			errs = append(errs, k.failed(ctx, owner, "delete", s, err))
		}
	}
	return errors.Join(errs...)
}
