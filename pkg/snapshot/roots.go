package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/pkg/kmeta"
)

// Root is a VirtualService of others that delegates to what an Ingress has, or would have if it
// were asked to.
type Root struct {
	Name types.NamespacedName
	// Hosts are as they are written there.
	Hosts []string
	// Routes are those of its HTTP routes that do so, in its order.
	Routes []RootRoute
}

// RootRoute is an HTTP route that delegates.
type RootRoute struct {
	// Index is its place in the VirtualService, Name what it is called there, if anything.
	Index int
	Name  string
	// To is the VirtualService that it delegates to, in the namespace of the Ingress. Taken: there is
	// one of that name, and it is not the Ingress'.
	To    string
	Taken bool
	// Matches are alternatives; without any the route takes all requests.
	Matches []RootMatch
}

// RootMatch is one condition of a RootRoute, as far as it can be at odds with a route of ours.
type RootMatch struct {
	URI Text
	// Headers are sorted by name.
	Headers         []NamedText
	IgnoreURICase   bool
	SourceNamespace string
}

// NamedText is the condition on a header.
type NamedText struct {
	Name string
	Text Text
}

// Text is a condition on a text; the zero value is none.
type Text struct {
	Kind  TextKind
	Value string
}

// TextKind says how a text is compared.
type TextKind string

// Kinds of a Text that is there.
const (
	TextExact  TextKind = "exact"
	TextPrefix TextKind = "prefix"
	TextRegex  TextKind = "regex"
	// TextAny is there and says nothing, so that presence is asked for.
	TextAny TextKind = "any"
)

// delegateSuffix comes between the name of an Ingress and what tells one of its delegates from
// another.
const delegateSuffix = "-delegate"

// DelegateName is that of a VirtualService to which others delegate. The mark is empty for the first
// of an Ingress, else a dash and hexadecimal digits.
func DelegateName(ingress, mark string) string { return kmeta.ChildName(ingress, delegateSuffix+mark) }

// DelegateKey is equal for all names that the delegates of one Ingress can have, unless they are
// shortened; is says whether a VirtualService is called as if it were one.
func DelegateKey(of types.NamespacedName) (key types.NamespacedName, is bool) {
	name := of.Name
	if i := strings.LastIndexByte(name, '-'); i >= 0 && len(name)-i > 8 && strings.Trim(name[i+1:], "0123456789abcdef") == "" {
		name = name[:i]
	}
	base, is := strings.CutSuffix(name, delegateSuffix)
	return types.NamespacedName{Namespace: of.Namespace, Name: base}, is
}

// plainName is how long the name of an Ingress may be for those of its delegates to hold it
// in full, with sixteen digits.
const plainName = 63 - len(delegateSuffix+"-0123456789abcdef")

// DelegateKeys lists the keys by which roots of an Ingress are looked for, and by which it is found
// when one of them changes.
func DelegateKeys(ingress types.NamespacedName) []types.NamespacedName {
	if len(ingress.Name) <= plainName {
		return []types.NamespacedName{ingress}
	}
	var keys []types.NamespacedName
	for _, mark := range []string{"", "-01234567", "-0123456789abcdef"} {
		key, _ := DelegateKey(types.NamespacedName{Namespace: ingress.Namespace, Name: DelegateName(ingress.Name, mark)})
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Delegations lists the keys of all that a VirtualService delegates to, sorted, each once. One without
// hosts is a delegate itself, and Istio looks no further.
func Delegations(vs *istiov1.VirtualService) []types.NamespacedName {
	if len(vs.Spec.GetHosts()) == 0 {
		return nil
	}
	var keys []types.NamespacedName
	for _, route := range vs.Spec.GetHttp() {
		if route.GetDelegate() == nil {
			continue
		}
		if key, is := DelegateKey(delegateOf(vs, route)); is {
			keys = append(keys, key)
		}
	}
	// There may be thousands, for whoever wants to keep us busy.
	slices.SortFunc(keys, compareNames)
	return slices.Compact(keys)
}

// delegateOf names what a route delegates to; without a namespace that of its own is meant.
func delegateOf(vs *istiov1.VirtualService, route *v1alpha3.HTTPRoute) types.NamespacedName {
	to := route.GetDelegate()
	return types.NamespacedName{Namespace: cmp.Or(to.GetNamespace(), vs.Namespace), Name: to.GetName()}
}

// roots gathers the VirtualServices that delegate to an Ingress, by name.
func roots(r Reader, ing *v1alpha1.Ingress) []Root {
	if len(ing.Name) <= plainName { // nearly all, and then nothing has to be remembered
		return rootsBy(r, ing, nil, nameOf(ing))
	}
	var out []Root
	for _, key := range DelegateKeys(nameOf(ing)) {
		out = rootsBy(r, ing, out, key)
	}
	return out
}

func rootsBy(r Reader, ing *v1alpha1.Ingress, known []Root, key types.NamespacedName) []Root {
	for _, vs := range r.Delegating(key) {
		if !slices.ContainsFunc(known, func(root Root) bool { return root.Name == nameOf(vs) }) {
			known = append(known, root(r, ing, vs))
		}
	}
	slices.SortFunc(known, func(a, b Root) int { return compareNames(a.Name, b.Name) })
	return known
}

func root(r Reader, ing *v1alpha1.Ingress, vs *istiov1.VirtualService) Root {
	out, keys := Root{Name: nameOf(vs), Hosts: slices.Clone(vs.Spec.GetHosts())}, DelegateKeys(nameOf(ing))
	for i, route := range vs.Spec.GetHttp() {
		if route.GetDelegate() == nil {
			continue
		}
		to := delegateOf(vs, route)
		if key, is := DelegateKey(to); !is || !slices.Contains(keys, key) {
			continue
		}
		have, there := r.VirtualService(to)
		one := RootRoute{Index: i, Name: route.GetName(), To: to.Name, Taken: there && !metav1.IsControlledBy(have, ing)}
		for _, m := range route.GetMatch() {
			one.Matches = append(one.Matches, rootMatch(m))
		}
		out.Routes = append(out.Routes, one)
	}
	return out
}

func rootMatch(m *v1alpha3.HTTPMatchRequest) RootMatch {
	out := RootMatch{URI: textOf(m.GetUri()), IgnoreURICase: m.GetIgnoreUriCase(), SourceNamespace: m.GetSourceNamespace()}
	for _, name := range slices.Sorted(maps.Keys(m.GetHeaders())) {
		if text := textOf(m.GetHeaders()[name]); text.Kind != "" {
			out.Headers = append(out.Headers, NamedText{Name: name, Text: text})
		}
	}
	return out
}

func textOf(m *v1alpha3.StringMatch) Text {
	if m == nil {
		return Text{}
	}
	switch t := m.GetMatchType().(type) {
	case *v1alpha3.StringMatch_Exact:
		return Text{TextExact, t.Exact}
	case *v1alpha3.StringMatch_Prefix:
		return Text{TextPrefix, t.Prefix}
	case *v1alpha3.StringMatch_Regex:
		return Text{TextRegex, t.Regex}
	}
	return Text{Kind: TextAny}
}

// delegation takes a VirtualService in, and says whether it plays a part: it delegates, or is
// delegated to. One that cannot be read plays none: the API server would not have taken it, and nobody
// is kept from the rest by it.
func (r *reading) delegation(doc []byte) bool {
	vs := &istiov1.VirtualService{}
	if err := r.decode(doc, vs); err != nil || checkName("VirtualService", nameOf(vs)) != nil {
		return false
	}
	r.bundle.virtualServices[nameOf(vs)] = vs
	return len(vs.Spec.GetHosts()) == 0 || len(Delegations(vs)) > 0
}
