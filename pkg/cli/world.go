package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking"
	network "knative.dev/networking/pkg/config"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/doctor"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

// world is a bundle and what the controller would make of it.
type world struct {
	bundle    *snapshot.Bundle
	config    config.Config
	about     []finding.Finding // what is to be said of the configuration
	ingresses []translated      // those the controller would serve, by name
	warnings  []string
	// looked are kinds that play a part, though none in a translation.
	looked []string
	// mesh answers what stands in the way of a call; nil where it is not asked.
	mesh *doctor.View
	// asked: what is missing was asked for in a cluster, so it is not there.
	asked bool
}

// configFault is a configuration that cannot be read, in a world that else can.
type configFault struct {
	error
	world *world
	// written: so it is, and not only asked about.
	written bool
}

// Error adds what becomes of it.
func (f configFault) Error() string {
	if !f.written {
		return f.error.Error()
	}
	return f.error.Error() + "; the controller goes on with what it read before"
}

func (f configFault) Unwrap() error { return f.error }

// translated is one Ingress at every step of the line.
type translated struct {
	translate.Result
	World snapshot.World
}

// setting is one entry of a ConfigMap that replaces what the documents say.
type setting struct{ configMap, key, value string }

// change is what makes a world differ from what is written: entries of ConfigMaps, and
// then a mode. The zero value changes nothing.
type change struct {
	settings []setting
	mode     mode
}

// newWorld reads documents and translates all they hold.
func newWorld(files []snapshot.File, clusterDomain string, c change) (*world, error) {
	b, err := snapshot.ReadFiles(files...)
	if err != nil {
		return nil, err
	}
	namespace, err := b.SystemNamespace()
	if err != nil {
		return nil, err
	}
	for _, s := range c.settings {
		b.Set(types.NamespacedName{Namespace: namespace, Name: s.configMap}, s.key, s.value)
	}
	w := &world{bundle: b, warnings: warnings(b)}
	if w.config, w.about, err = b.Config(clusterDomain, namespace); err != nil {
		w.config = config.Config{ClusterDomain: clusterDomain, SystemNamespace: namespace}
		return nil, configFault{err, w, len(c.settings) == 0}
	}
	w.config.Istio = c.mode.apply(w.config.Istio, config.DefaultIstio(clusterDomain, namespace))
	for _, ing := range b.Ingresses {
		name := types.NamespacedName{Namespace: ing.Namespace, Name: ing.Name}
		switch class := ing.Annotations[networking.IngressClassAnnotationKey]; {
		case class != network.IstioIngressClassName:
			w.warn("Ingress %s is left out: its annotation %s is %q, and the controller serves %q only",
				name, networking.IngressClassAnnotationKey, class, network.IstioIngressClassName)
		case ing.DeletionTimestamp != nil:
			w.warn("Ingress %s is left out: it is being deleted", name)
		default:
			s := snapshot.Ingress(b, w.config, ing)
			w.ingresses = append(w.ingresses, translated{translate.Ingress(s), s.World})
		}
	}
	if len(b.Ingresses) == 0 {
		w.warn("there is no Ingress of Knative's in what was read")
	}
	return w, nil
}

func (w *world) warn(format string, args ...any) {
	w.warnings = append(w.warnings, fmt.Sprintf(format, args...))
}

// ignored has a line for each kind that plays no part.
func (w *world) ignored() []string {
	var kinds, lines []string
	b := w.bundle
	first, count := map[string]finding.Ref{}, map[string]int{}
	for _, ref := range b.Ignored {
		if slices.Contains(w.looked, ref.Kind) {
			continue
		}
		if count[ref.Kind]++; count[ref.Kind] == 1 {
			kinds = append(kinds, ref.Kind)
			first[ref.Kind] = ref
		}
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		lines = append(lines, fmt.Sprintf("ignored %d of kind %s, which play no part; the first is %s", count[kind], kind, nameOf(first[kind])))
	}
	return lines
}

// warnings has a line for each object that was given twice, and each field that is not known.
func warnings(b *snapshot.Bundle) []string {
	var lines []string
	for _, ref := range b.Replaced {
		lines = append(lines, fmt.Sprintf("%s %s is given more than once; the last one counts", ref.Kind, nameOf(ref)))
	}
	for _, u := range b.Unknown {
		kind, _, _ := strings.Cut(u.Object.Kind, ".")
		lines = append(lines, fmt.Sprintf("%s: %s has no field %s, so it is ignored in %s; correct its spelling or remove it", position(u), kind, u.Path, nameOf(u.Object)))
	}
	return lines
}

func position(u snapshot.UnknownField) string {
	if u.File == "" {
		return fmt.Sprintf("line %d", u.Line)
	}
	return fmt.Sprintf("%s:%d", u.File, u.Line)
}

// missing lists what the translations looked for and did not find, of the kinds that can
// be read by name.
func (w *world) missing() []object {
	var out []object
	for _, t := range w.ingresses {
		for _, ref := range t.World.Refs {
			if r, known := resourceOf[ref.Kind]; known && !ref.Found {
				out = append(out, object{r, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}})
			}
		}
	}
	return out
}

func nameOf(ref finding.Ref) string {
	if ref.Namespace == "" {
		return ref.Name
	}
	return ref.Namespace + "/" + ref.Name
}

// only keeps one Ingress; the world around it stays.
func (w *world) only(name string) error {
	if namespace, rest, ok := strings.Cut(name, "/"); !ok || namespace == "" || rest == "" || strings.Contains(rest, "/") {
		return fmt.Errorf("--ingress %s: want NAMESPACE/NAME", name)
	}
	kept := slices.DeleteFunc(slices.Clone(w.ingresses), func(t translated) bool { return t.Model.Name.String() != name })
	if len(kept) == 0 {
		return fmt.Errorf("--ingress %s: there is no such Ingress that the controller would serve", name)
	}
	w.ingresses = kept
	return nil
}

// findings are those of the configuration and of all Ingresses, each said once.
func (w *world) findings() []finding.Finding {
	all := slices.Clone(w.about)
	for _, t := range w.ingresses {
		all = append(all, t.Findings...)
	}
	return finding.Sort(all)
}

// verdict is the exit code of commands that judge.
func (w *world) verdict() error {
	if worst, any := finding.Worst(w.findings()); any && worst == finding.Invalid {
		return exit(no)
	}
	return nil
}

func (w *world) printWarnings(to io.Writer) {
	for _, line := range slices.Concat(w.ignored(), w.warnings) {
		fmt.Fprintln(to, "warning:", printable(line))
	}
}
