package apply

import (
	"slices"
	"strings"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"knative.dev/networking/pkg/apis/networking"

	"github.com/net-mesh/net-mesh/pkg/resources"
)

// Objects that several owners need name all of them, and each owner writes down itself
// only: before anything that relies on the object is written, and until nothing does. Both
// writes, and the deletion by the last one, are of the version that was looked at. So if
// one leaves while another comes, one of the two fails and looks again.

// userIndex lists the shared objects that an owner needs.
const userIndex = "net-mesh.dev/user"

// userLabel, with the name of an Ingress behind it, says that this needs a copy. The label
// of the origin tells the namespace, which is that of the Ingress.
const userLabel = "user.net-mesh.dev/"

// sharedSuffix ends the names of shared copies, as net-istio's; no UID ends so.
const sharedSuffix = "-wildcard"

// sharedListeners is the holding of Gateways that stand in the namespace of all who need
// them: they are owners all, so that the garbage collector deletes after the last.
func sharedListeners() holding[*istiov1.Gateway] {
	return holding[*istiov1.Gateway]{
		index: userIndex, key: ownerUID,
		owns: func(_ Owner, have, want *istiov1.Gateway) bool { return madeFor(have, want) },
		has:  func(o Owner, have *istiov1.Gateway) bool { return slices.ContainsFunc(have.OwnerReferences, isTo(o)) },
		take: func(o Owner, into *istiov1.Gateway) {
			if !slices.ContainsFunc(into.OwnerReferences, isTo(o)) {
				into.OwnerReferences = append(into.OwnerReferences, reference(o))
			}
		},
		drop: func(o Owner, from *istiov1.Gateway) bool {
			from.OwnerReferences = slices.DeleteFunc(from.OwnerReferences, isTo(o))
			return slices.ContainsFunc(from.OwnerReferences, isUser)
		},
	}
}

// madeFor says whether a Gateway was made for the Secret that a wanted one is for: by us,
// who label it, or by net-istio, whose is controlled by the Secret.
func madeFor(have, want *istiov1.Gateway) bool {
	if by := metav1.GetControllerOf(have); by != nil && (by.Kind != "Secret" || by.Name != originOf(want)) {
		return false
	}
	return sameOrigin(have, want) || metav1.GetControllerOf(have) != nil && have.Labels[networking.OriginSecretNameLabelKey] == ""
}

// originOf is the name of the Secret that an object was made for.
func originOf(o metav1.Object) string {
	if name := o.GetAnnotations()[networking.OriginSecretNameLabelKey]; name != "" {
		return name
	}
	return o.GetLabels()[networking.OriginSecretNameLabelKey]
}

func isTo(o Owner) func(metav1.OwnerReference) bool {
	return func(r metav1.OwnerReference) bool { return r.UID == o.GetObjectMeta().GetUID() }
}

// isUser tells those who need an object from the Secret that net-istio makes its
// controller.
func isUser(r metav1.OwnerReference) bool {
	return r.Kind == "Ingress" && strings.HasPrefix(r.APIVersion, networking.GroupName+"/") && (r.Controller == nil || !*r.Controller)
}

func reference(o Owner) metav1.OwnerReference {
	version, kind := o.GetGroupVersionKind().ToAPIVersionAndKind()
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: o.GetObjectMeta().GetName(), UID: o.GetObjectMeta().GetUID()}
}

func gatewayUsers(o any) ([]string, error) {
	var users []string
	for _, r := range o.(metav1.Object).GetOwnerReferences() {
		if isUser(r) {
			users = append(users, string(r.UID))
		}
	}
	return users, nil
}

// sharedCopies is the holding of copies of Secrets beside a gateway's pods, where no owner
// reference reaches: labels name those who need them.
func sharedCopies() holding[*corev1.Secret] {
	return holding[*corev1.Secret]{
		index: userIndex, key: holder,
		owns: func(_ Owner, have, want *corev1.Secret) bool {
			_, alone := labelledHolder(have)
			return !alone && sameOrigin(have, want)
		},
		has:  func(o Owner, have *corev1.Secret) bool { _, ok := have.Labels[userKey(o)]; return ok },
		take: func(o Owner, into *corev1.Secret) { metav1.SetMetaDataLabel(&into.ObjectMeta, userKey(o), "") },
		drop: func(o Owner, from *corev1.Secret) bool {
			delete(from.Labels, userKey(o))
			return len(usersOf(from)) > 0
		},
	}
}

func userKey(o Owner) string { return userLabel + resources.LabelValue(o.GetObjectMeta().GetName()) }

// usersOf are the names, as far as a label holds them, of those who need a copy.
func usersOf(o metav1.Object) []string {
	var users []string
	for key := range o.GetLabels() {
		if name, ok := strings.CutPrefix(key, userLabel); ok {
			users = append(users, name)
		}
	}
	slices.Sort(users)
	return users
}

func secretUsers(o any) ([]string, error) {
	s := o.(*corev1.Secret)
	namespace := s.Labels[networking.OriginSecretNamespaceLabelKey]
	if namespace == "" {
		return nil, nil
	}
	users := usersOf(s)
	for i := range users {
		users[i] = namespace + "/" + users[i]
	}
	return users, nil
}

// userLabels select the shared copies that an owner needs.
func userLabels(o Owner) labels.Set {
	return labels.Set{userKey(o): "", networking.OriginSecretNamespaceLabelKey: o.GetObjectMeta().GetNamespace()}
}

// ownLabels select the copies that are an owner's alone.
func ownLabels(o Owner) labels.Set {
	m := o.GetObjectMeta()
	return labels.Set{resources.OwnerNamespaceLabel: m.GetNamespace(), resources.IngressLabel: resources.LabelValue(m.GetName())}
}
