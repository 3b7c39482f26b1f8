package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// difference is what a change does to everything the controller writes.
type difference struct {
	Added   []finding.Ref `json:"added"`
	Changed []changed     `json:"changed"`
	Removed []finding.Ref `json:"removed"`
	// Refused are objects of somebody else that have names the controller needs.
	Refused   []finding.Ref `json:"refused"`
	Addresses []moved       `json:"addresses"`
}

// changed is an object that is there before and after.
type changed struct {
	finding.Ref
	// Diff is a unified diff of the object's YAML.
	Diff string `json:"diff"`
}

// moved is a published address: Serving points a Route's placeholder Service at it.
type moved struct {
	Ingress string `json:"ingress"`
	Scope   string `json:"scope"`
	Before  string `json:"before"`
	After   string `json:"after"`
	// Note says what becomes of the placeholder Service, where its type changes.
	Note string `json:"note,omitempty"`
}

// compare lists the differences in the order of names.
func compare(before, after *world) (difference, error) {
	d := difference{Added: []finding.Ref{}, Changed: []changed{}, Removed: []finding.Ref{}, Refused: []finding.Ref{}, Addresses: moves(before, after)}
	old, err := before.written()
	if err != nil {
		return d, err
	}
	fresh, err := after.written()
	if err != nil {
		return d, err
	}
	for _, ref := range names(old, fresh) {
		was, existed := old[ref]
		is, exists := fresh[ref]
		switch {
		case !existed:
			d.Added = append(d.Added, ref)
		case !exists:
			d.Removed = append(d.Removed, ref)
		case was != is:
			text, err := unified(ref, was, is)
			if err != nil {
				return d, err
			}
			d.Changed = append(d.Changed, changed{ref, text})
		}
	}
	return d, nil
}

// written maps every object to its YAML.
func (w *world) written() (map[finding.Ref]string, error) {
	out := map[finding.Ref]string{}
	for _, t := range w.ingresses {
		for _, any := range t.Objects.All() {
			o, ok := any.(interface {
				metav1.Object
				runtime.Object
			})
			if !ok {
				return nil, fmt.Errorf("%T is no object of Kubernetes", any)
			}
			text, err := yaml.Marshal(o)
			if err != nil {
				return nil, err
			}
			out[finding.Ref{Kind: o.GetObjectKind().GroupVersionKind().Kind, Namespace: o.GetNamespace(), Name: o.GetName()}] = string(text)
		}
	}
	return out, nil
}

func names(sets ...map[finding.Ref]string) []finding.Ref {
	var all []finding.Ref
	for _, set := range sets {
		for ref := range set {
			all = append(all, ref)
		}
	}
	slices.SortFunc(all, func(a, b finding.Ref) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(all)
}

func unified(ref finding.Ref, was, is string) (string, error) {
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(was), B: difflib.SplitLines(is), Context: 3,
		FromFile: ref.Kind + " " + nameOf(ref) + " before", ToFile: ref.Kind + " " + nameOf(ref) + " after",
	})
}

// moves compares the addresses of the Ingresses that are in both worlds.
func moves(before, after *world) []moved {
	out := []moved{}
	for _, is := range after.ingresses {
		for _, was := range before.ingresses {
			if was.Model.Name == is.Model.Name {
				out = append(out, slices.DeleteFunc(movesOf(is, was.Plan.Public, was.Plan.Private), func(m moved) bool {
					return !was.hosts(m.Scope) && !is.hosts(m.Scope) // nobody asks for the address
				})...)
			}
		}
	}
	return out
}

// hosts says whether the Ingress has any of a scope.
func (t translated) hosts(scope string) bool {
	return slices.ContainsFunc(t.Model.VirtualHosts, func(vh model.VirtualHost) bool { return string(vh.Scope) == scope && len(vh.Hosts) > 0 })
}

// movesOf compares the addresses of one Ingress with those it had.
func movesOf(is translated, public, private []plan.Address) []moved {
	var out []moved
	for _, m := range []moved{
		{Scope: "External", Before: addresses(public), After: addresses(is.Plan.Public)},
		{Scope: "Local", Before: addresses(private), After: addresses(is.Plan.Private), Note: is.placeholder(private)},
	} {
		if m.Ingress = is.Model.Name.String(); m.Before != m.After {
			out = append(out, m)
		}
	}
	return out
}

// placeholder says what Serving does with the Service that carries a Route's cluster-local
// name: it is of type ExternalName where there is an address, of type ClusterIP where only
// the mesh serves, and its type cannot be changed back without deleting it. Ingresses
// without such a name, as of DomainMappings, have none.
func (t translated) placeholder(was []plan.Address) string {
	is := t.Plan.Private
	inCluster := slices.ContainsFunc(t.Model.VirtualHosts, func(vh model.VirtualHost) bool {
		return slices.ContainsFunc(vh.Hosts, func(h model.Host) bool { return len(h.Short) > 0 })
	})
	if !inCluster || len(was) == 0 || len(is) == 0 || (was[0].DomainInternal == "") == (is[0].DomainInternal == "") {
		return ""
	}
	if is[0].DomainInternal == "" {
		return "Serving then changes the type of the Route's placeholder Service from ExternalName to ClusterIP; callers may see the old address until their DNS answers expire"
	}
	return "Serving then deletes the Route's placeholder Service, of type ClusterIP, and creates it as ExternalName; its name may fail to resolve for a moment"
}

func addresses(all []plan.Address) string {
	var words []string
	for _, a := range all {
		words = append(words, cmp.Or(a.DomainInternal, "MeshOnly"))
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// print ends with the exit code that says whether there was a difference.
func (d difference) print(to io.Writer, format string) error {
	if format == "json" {
		if err := printJSON(to, d); err != nil {
			return err
		}
	} else if _, err := io.WriteString(to, d.text()); err != nil {
		return err
	}
	if len(d.Added)+len(d.Changed)+len(d.Removed)+len(d.Refused)+len(d.Addresses) > 0 {
		return exit(no)
	}
	return nil
}

func (d difference) text() string {
	var out strings.Builder
	for _, ref := range d.Added {
		fmt.Fprintf(&out, "+ %s %s\n", ref.Kind, nameOf(ref))
	}
	for _, ref := range d.Removed {
		fmt.Fprintf(&out, "- %s %s\n", ref.Kind, nameOf(ref))
	}
	for _, ref := range d.Refused {
		fmt.Fprintf(&out, "! %s %s belongs to somebody else\n", ref.Kind, nameOf(ref))
	}
	for _, m := range d.Addresses {
		fmt.Fprintf(&out, "~ address of Ingress %s, scope %s: %s -> %s\n", m.Ingress, m.Scope, m.Before, m.After)
		if m.Note != "" {
			fmt.Fprintf(&out, "  %s\n", m.Note)
		}
	}
	for _, c := range d.Changed {
		fmt.Fprintf(&out, "~ %s %s\n%s", c.Kind, nameOf(c.Ref), c.Diff)
	}
	return out.String()
}
