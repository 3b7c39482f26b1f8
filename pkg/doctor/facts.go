package doctor

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// facts are a World with what several checks want to know of it.
type facts struct {
	World
	mesh mesh
	// workloads are pods, and what the pods of Deployments without any would be.
	workloads  []Workload
	namespaces map[string]map[string]string
	// policies by namespace, and what the controller is told of observers; both are asked for often.
	policies map[string][]*networkingv1.NetworkPolicy
	observed observing
	// selectors are those of the policies, read once, and telling the labels by which any object
	// tells pods apart.
	selectors map[*metav1.LabelSelector]labels.Selector
	telling   map[string]bool
	// all are blocks of policies in which each pod is, whatever address it will have.
	all map[*networkingv1.IPBlock]bool
}

// mesh is what Istio's mesh configuration says.
type mesh struct {
	// known: the configuration has been read.
	known bool
	// root is the namespace whose policies are for all.
	root         string
	registryOnly bool
	// exportTo is where VirtualServices are seen that do not say it themselves; nil is all.
	exportTo []string
	// domains are the trust domains that identities may have.
	domains []string
	fault   string
}

func newFacts(w World) *facts {
	f := &facts{World: w, namespaces: map[string]map[string]string{}, policies: map[string][]*networkingv1.NetworkPolicy{}, observed: observersOf(w.Deployments)}
	for _, p := range w.NetworkPolicies {
		f.policies[p.Namespace] = append(f.policies[p.Namespace], p)
	}
	for _, n := range w.Namespaces {
		all := maps.Clone(n.Labels)
		if all == nil {
			all = map[string]string{}
		}
		// The API server sets it; who writes a Namespace down leaves it out.
		all[namespaceLabel] = n.Name
		f.namespaces[n.Name] = all
	}
	f.selectors, f.telling = f.readSelectors(), f.tellingLabels()
	f.mesh = f.readMesh()
	f.workloads = f.gather()
	f.all = f.blocksOfAll()
	f.Revisions = f.allRevisions()
	return f
}

// readMesh finds Istio's own configuration: beside istiod, or else in the usual place.
func (f *facts) readMesh() mesh {
	m := mesh{root: defaultRoot, domains: []string{"cluster.local"}}
	for _, p := range f.Pods {
		if p.Labels[appLabel] == istiodApp {
			m.root = p.Namespace
		}
	}
	beside := m.root
	for _, cm := range f.ConfigMaps {
		if cm.Namespace != beside {
			continue
		}
		var text struct {
			RootNamespace         string
			TrustDomain           string
			OutboundTrafficPolicy struct{ Mode string }
			DefaultExport         []string `json:"defaultVirtualServiceExportTo"`
		}
		if err := yaml.Unmarshal([]byte(cm.Data["mesh"]), &text); err != nil {
			m.fault = "ConfigMap " + nameOf(cm) + ": " + err.Error()
			return m
		}
		// With revisions of Istio there are several; what any of them demands is told.
		m.known, m.root = true, cmp.Or(text.RootNamespace, m.root)
		m.registryOnly = m.registryOnly || text.OutboundTrafficPolicy.Mode == "REGISTRY_ONLY"
		if m.exportTo == nil {
			m.exportTo = text.DefaultExport
		}
		if text.TrustDomain != "" {
			m.domains = append(m.domains, text.TrustDomain)
		}
	}
	return m
}

// allRevisions adds those that have pods or a Deployment and whose ServerlessService is not
// seen; whether the activator stands before them now is not known.
func (f *facts) allRevisions() []Revision {
	out := slices.Clone(f.Revisions)
	for _, w := range f.workloads {
		name := types.NamespacedName{Namespace: w.Namespace, Name: w.Labels[revisionLabel]}
		if name.Name != "" && !slices.ContainsFunc(out, func(r Revision) bool { return r.Name == name }) {
			out = append(out, Revision{Name: name})
		}
	}
	return out
}

// injects says whether a namespace asks for sidecars. Which webhook injects is not looked at.
func (f *facts) injects(namespace string) bool {
	have := f.namespaces[namespace]
	if have["istio-injection"] == "disabled" {
		return false
	}
	return have["istio-injection"] == "enabled" || have["istio.io/rev"] != ""
}

// bare says whether a namespace is known not to ask for sidecars; its pods may.
func (f *facts) bare(namespace string) bool {
	_, known := f.namespaces[namespace]
	return known && !f.notRead(kindNamespace) && !f.injects(namespace)
}

// served are the namespaces of routes, sorted.
func (f *facts) served() []string {
	all := map[string]bool{}
	for _, r := range f.Routes {
		all[r.Ingress.Namespace] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// infrastructure says whether a namespace is that of Kubernetes, Istio, Serving or an observer,
// and so not of callers.
func (f *facts) infrastructure(namespace string) bool {
	if strings.HasPrefix(namespace, "kube-") || namespace == f.SystemNamespace || namespace == f.mesh.root {
		return true
	}
	for _, o := range f.observers().services {
		if o.Namespace == namespace {
			return true
		}
	}
	return false
}

func (f *facts) localGateway() bool { return f.Config != nil && len(f.Config.Istio.Local) > 0 }

func (f *facts) service(n types.NamespacedName) *corev1.Service {
	for _, s := range f.Services {
		if s.Namespace == n.Namespace && s.Name == n.Name {
			return s
		}
	}
	return nil
}

// behind are the workloads that a Service leads to; none for one without selector.
func (f *facts) behind(s *corev1.Service) []Workload {
	if s == nil || len(s.Spec.Selector) == 0 {
		return nil
	}
	selector := labels.SelectorFromSet(s.Spec.Selector)
	return f.choose(func(w Workload) bool { return w.Namespace == s.Namespace && selector.Matches(labels.Set(w.Labels)) })
}

func (f *facts) choose(wanted func(Workload) bool) []Workload {
	var out []Workload
	for _, w := range f.workloads {
		if wanted(w) {
			out = append(out, w)
		}
	}
	return out
}

// systemPods are those of a Deployment of Serving.
func (f *facts) systemPods(app string) []Workload {
	return f.choose(func(w Workload) bool { return w.Namespace == f.SystemNamespace && w.Labels[appLabel] == app })
}

func (f *facts) revisionPods() []Workload {
	return f.choose(func(w Workload) bool { return w.Labels[revisionLabel] != "" })
}

func nameOf(o metav1.Object) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}

func compareNames[T metav1.Object](a, b T) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}

// older orders as Istio does where of two objects one is to count.
func older(a, b metav1.Object) int {
	at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	return cmp.Or(at.Compare(bt.Time), cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetNamespace(), b.GetNamespace()))
}

// some lists names, and how many more there are.
func some(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and " + count(len(names)-most, "other", "others")
}
