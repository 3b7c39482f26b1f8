package loopback

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	istioclient "istio.io/client-go/pkg/clientset/versioned/fake"
	corev1 "k8s.io/api/core/v1"
	apierrs "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"knative.dev/networking/pkg/apis/networking"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/reconciler"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/observer"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/reconciler/readiness"
	"github.com/net-mesh/net-mesh/pkg/resources"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// mesh is a cluster with proxies that do what the EnvoyFilters say, unless they refuse.
type mesh struct {
	snapshot.Reader // of the rest nothing is looked at

	t     *testing.T
	kube  *fake.Clientset
	istio *istioclient.Clientset
	r     *Reconciler
	data  map[string]string
	clock time.Time
	again time.Duration

	// refuses are the steps whose listener proxies refuse.
	refuses map[string]bool
	silent  bool
	ready   []*v1alpha1.Ingress
	events  chan string
}

var observerName = types.NamespacedName{Namespace: "net-mesh-observers", Name: "net-mesh-observer"}

func newMesh(t *testing.T, data map[string]string) *mesh {
	t.Helper()
	m := &mesh{
		t: t, data: data, kube: fake.NewClientset(), istio: istioclient.NewSimpleClientset(),
		clock: time.Unix(1e9, 0), refuses: map[string]bool{}, events: make(chan string, 100),
	}
	m.restart()
	return m
}

// restart forgets what the loop has in memory.
func (m *mesh) restart() {
	m.r = &Reconciler{
		logger: logging.FromContext(m.t.Context()), kube: m.kube, istio: m.istio, reader: m,
		root: "istio-system", observers: []types.NamespacedName{observerName},
		config: func() (config.Config, error) {
			istio, _, err := config.ParseIstio(m.data, "cluster.local", "knative-serving")
			return config.Config{Istio: istio, ClusterDomain: "cluster.local", SystemNamespace: "knative-serving"}, err
		},
		see: m.see, ingresses: func() ([]*v1alpha1.Ingress, error) { return m.ready, nil },
		events: &record.FakeRecorder{Events: m.events}, gate: NewGate(),
		now: func() time.Time { return m.clock }, again: func(d time.Duration) { m.again = d },
		awaited: map[step]time.Time{},
	}
	if err := m.r.Promote(reconciler.UniversalBucket(), nil); err != nil {
		m.t.Fatal(err)
	}
}

// Service implements snapshot.Reader.
func (m *mesh) Service(n types.NamespacedName) (*corev1.Service, bool) {
	switch n {
	case observerName:
		return &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "net-mesh-observer"}}}, true
	case types.NamespacedName{Namespace: "istio-system", Name: "istio-ingressgateway"}:
		return &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"istio": "ingressgateway"}}}, true
	}
	s, err := m.kube.CoreV1().Services(n.Namespace).Get(m.t.Context(), n.Name, metav1.GetOptions{})
	return s, err == nil
}

func (m *mesh) digest(namespace, name string) string {
	f, err := m.istio.NetworkingV1alpha3().EnvoyFilters(namespace).Get(m.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return f.Annotations[resources.DigestAnnotation]
}

// see is what the controller's own sidecar and an observer's answer.
func (m *mesh) see(_ context.Context, host string) ([]readiness.View, error) {
	own, observers := "", ""
	switch host {
	case plan.TrialHost:
		observers = m.digest(observerName.Namespace, resources.LoopbackTrial)
	case plan.ListenerHost:
		own = m.digest("istio-system", resources.LoopbackListener)
		observers = own
	case plan.SwitchHost:
		if own = m.digest("istio-system", resources.LoopbackSwitch); own != "" {
			own = m.digest("istio-system", resources.LoopbackListener)
		}
		observers = own
	}
	if m.refuses[host] {
		own, observers = "", ""
	}
	view := func(by, digest string) readiness.View {
		v := readiness.View{By: by, Observer: by == "observer"}
		switch {
		case m.silent && v.Observer:
			v.Silent, v.Fault = true, "has no ready pod"
		case digest == "":
			v.Fault = "gave no answer (timed out)"
		default:
			v.Sight = observer.Sight{Status: plan.LoopStatus, Digest: digest}
		}
		return v
	}
	return []readiness.View{view("own", own), view("observer", observers)}, nil
}

// look has the loop look once, and says what there is afterwards.
func (m *mesh) look() string {
	m.t.Helper()
	if err := m.r.Reconcile(m.t.Context(), "knative-serving/loopback"); err != nil {
		m.t.Fatal(err)
	}
	return m.there()
}

func (m *mesh) there() string {
	var out []string
	for _, f := range []struct{ namespace, name, short string }{
		{observerName.Namespace, resources.LoopbackTrial, "trial"},
		{"istio-system", resources.LoopbackListener, "listener"},
		{"istio-system", resources.LoopbackSwitch, "switch"},
	} {
		if m.digest(f.namespace, f.name) != "" {
			out = append(out, f.short)
		}
	}
	if _, there := m.Service(config.LocalGateway); there {
		out = append(out, "service")
	}
	doors, err := m.istio.NetworkingV1().Gateways("knative-serving").List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	for range doors.Items {
		out = append(out, "door")
	}
	return strings.Join(out, " ")
}

// goOn looks until the way is finished.
func (m *mesh) goOn() string {
	m.t.Helper()
	for range 20 {
		m.look()
		if m.r.gate.settled[true] || m.r.gate.settled[false] {
			return m.there()
		}
	}
	m.t.Fatal("never settled; there is", m.there())
	return ""
}

func (m *mesh) told(reason string) string {
	for {
		select {
		case e := <-m.events:
			if strings.Contains(e, reason) {
				return e
			}
		default:
			return ""
		}
	}
}

func ingress(name string, meshOnly bool) *v1alpha1.Ingress {
	ing := &v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{
		Namespace: "apps", Name: name,
		Annotations: map[string]string{networking.IngressClassAnnotationKey: "istio.ingress.networking.knative.dev"},
	}}
	ing.Status.InitializeConditions()
	ing.Status.MarkNetworkConfigured()
	address := []v1alpha1.LoadBalancerIngressStatus{{DomainInternal: "g", MeshOnly: meshOnly}}
	ing.Status.MarkLoadBalancerReady(address, address)
	return ing
}

var (
	meshOnly = map[string]string{"external-gateways": "[]", "local-gateways": "[]"}
	halfMesh = map[string]string{"local-gateways": "[]"}
)

// TestEachStepIsProvenBeforeTheNext: what is wrong with the first is seen by observers only.
func TestEachStepIsProvenBeforeTheNext(t *testing.T) {
	m := newMesh(t, halfMesh)
	for _, tt := range []struct{ refused, want string }{
		{plan.TrialHost, "trial service door"},
		{plan.TrialHost, "trial service door"},
		{plan.ListenerHost, "trial listener service door"},
		{plan.ListenerHost, "trial listener service door"},
		{plan.SwitchHost, "trial listener switch service door"},
		{"", "listener switch service door"},
		{"", "listener switch service door"},
	} {
		m.refuses = map[string]bool{tt.refused: true}
		if got := m.look(); got != tt.want {
			t.Fatalf("while proxies do not answer by %s yet there is %s; want %s", tt.refused, got, tt.want)
		}
		if settled, want := m.r.gate.Settled(true), tt.refused == ""; settled != want {
			t.Errorf("settled = %v with %s", settled, tt.want)
		}
	}
	if m.told(inForce) == "" || m.again != later {
		t.Error("nobody is told, or nobody looks again")
	}
	m.restart()
	writes := len(m.istio.Actions())
	if got := m.look(); got != "listener switch service door" || !m.r.gate.Settled(true) {
		t.Error("after a restart there is", got)
	}
	for _, a := range m.istio.Actions()[writes:] {
		if !slices.Contains([]string{"get", "list"}, a.GetVerb()) {
			t.Error("what is in force is written again:", a)
		}
	}
}

// TestWhatObserversDoNotShowIsWithdrawn, never reaches another sidecar, and is tried again.
func TestWhatObserversDoNotShowIsWithdrawn(t *testing.T) {
	m := newMesh(t, meshOnly)
	m.refuses[plan.TrialHost] = true
	m.look()
	m.clock = m.clock.Add(patience + time.Second)
	if got := m.look(); got != "service" {
		t.Error("there is", got)
	}
	if m.told(withdrawn) == "" || !m.r.gate.Settled(true) {
		t.Error("nobody is told, or others wait for what will not come")
	}
	m.look()
	if m.there() != "service" || m.again > mercy || m.again < mercy/2 {
		t.Error("it is not left alone:", m.there(), m.again)
	}
	m.clock, m.refuses = m.clock.Add(mercy), map[string]bool{}
	for range 5 {
		m.look()
	}
	if got := m.there(); got != "listener switch service" {
		t.Error("later there is", got)
	}
}

// TestSilenceIsWaitedFor: who cannot be asked says nothing against a listener. After a while people are told who it
// is, once.
func TestSilenceIsWaitedFor(t *testing.T) {
	m := newMesh(t, meshOnly)
	m.silent = true
	m.look()
	m.clock = m.clock.Add(2 * patience)
	if got := m.look(); got != "trial service" || m.r.gate.Settled(true) {
		t.Error("there is", got)
	}
	if got := m.told(awaiting); !strings.Contains(got, "observer has no ready pod") {
		t.Errorf("people are told %q", got)
	}
	m.clock = m.clock.Add(2 * patience)
	if m.look(); m.told(awaiting) != "" {
		t.Error("people are told again")
	}
	m.silent = false
	m.refuses[plan.TrialHost] = true
	if got := m.look(); got != "trial service" {
		t.Error("patience was spent on silence: there is", got)
	}
}

// TestWhatOthersDoNotShowIsTakenBack: there may be more kinds of proxies than observers.
func TestWhatOthersDoNotShowIsTakenBack(t *testing.T) {
	for _, host := range []string{plan.ListenerHost, plan.SwitchHost} {
		m := newMesh(t, meshOnly)
		m.refuses[host] = true
		for range 4 {
			m.look()
		}
		m.clock = m.clock.Add(patience + time.Second)
		if got := m.look(); got != "service" || m.told(withdrawn) == "" {
			t.Errorf("%s: there is %s", host, got)
		}
	}
}

// TestAnUpgradeIsTriedBesideWhatServes, and put back if sidecars do not show it.
func TestAnUpgradeIsTriedBesideWhatServes(t *testing.T) {
	m := newMesh(t, meshOnly)
	m.goOn()
	older := func() {
		f, err := m.istio.NetworkingV1alpha3().EnvoyFilters("istio-system").Get(t.Context(), resources.LoopbackListener, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		f.Annotations[resources.DigestAnnotation] = "older"
		f.Spec.ConfigPatches = f.Spec.ConfigPatches[:1]
		if _, err := m.istio.NetworkingV1alpha3().EnvoyFilters("istio-system").Update(t.Context(), f, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	older()
	m.refuses[plan.TrialHost] = true
	if got := m.look(); got != "trial listener switch service" || m.digest("istio-system", resources.LoopbackListener) != "older" {
		t.Error("before the trial is over there is", got)
	}
	m.refuses = map[string]bool{}
	if got := m.goOn(); got != "listener switch service" || m.digest("istio-system", resources.LoopbackListener) == "older" {
		t.Error("after the trial there is", got)
	}
}

// TestTheSwitchWaitsForIngresses: until they are served in the mesh only a local gateway
// serves them, and those that do not serve have nothing to lose.
func TestTheSwitchWaitsForIngresses(t *testing.T) {
	m := newMesh(t, halfMesh)
	other, unready := ingress("other", false), &v1alpha1.Ingress{ObjectMeta: ingress("unready", false).ObjectMeta}
	other.Annotations = nil
	m.ready = []*v1alpha1.Ingress{ingress("moved", true), ingress("moving", false), other, unready}
	for range 5 {
		m.look()
	}
	if got := m.there(); got != "trial listener service door" || m.again != soon || m.told(awaiting) != "" {
		t.Error("before, there is", got)
	}
	m.clock = m.clock.Add(patience + time.Second)
	if m.look(); !strings.Contains(m.told(awaiting), "apps/moving;") {
		t.Error("nobody is told who keeps all others waiting")
	}
	m.ready = []*v1alpha1.Ingress{ingress("moved", true), ingress("moving", true), other, unready}
	if got := m.goOn(); got != "listener switch service door" {
		t.Error("after, there is", got)
	}
}

// TestALocalGatewayTakesOver: the name leads to its Service again once every Ingress is served
// there, and the listener goes when no sidecar leads to it.
func TestALocalGatewayTakesOver(t *testing.T) {
	m := newMesh(t, halfMesh)
	m.goOn()
	m.data = map[string]string{}
	m.ready = []*v1alpha1.Ingress{ingress("moving", true)}
	if got := m.look(); got != "listener switch service door" || m.r.gate.Settled(false) {
		t.Error("while an Ingress is served in the mesh only there is", got)
	}
	s, _ := m.Service(config.LocalGateway)
	s.Spec.Selector = map[string]string{"istio": "ingressgateway"}
	if _, err := m.kube.CoreV1().Services(s.Namespace).Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	m.ready = []*v1alpha1.Ingress{ingress("moved", false)}
	if got := m.look(); got != "listener service door" || m.r.gate.Settled(false) {
		t.Error("first the switch goes; there is", got)
	}
	if got := m.goOn(); got != "service" {
		t.Error("at last there is", got)
	}
	if m.told(ended) == "" || m.again == later {
		t.Error("nobody is told, or it is looked at for ever")
	}
}

// TestSwitchedOffItGoesAtOnce, with the Service that only it needed.
func TestSwitchedOffItGoesAtOnce(t *testing.T) {
	m := newMesh(t, halfMesh)
	m.goOn()
	m.ready = []*v1alpha1.Ingress{ingress("served", true)}
	m.data = map[string]string{"local-gateways": "[]", "loopback": "false"}
	if got := m.goOn(); got != "" {
		t.Error("there is", got)
	}
}

// TestOthersHaveTheirService: one that others made, with pods or without, stays as it is.
func TestOthersHaveTheirService(t *testing.T) {
	m := newMesh(t, meshOnly)
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "istio-system", Name: "knative-local-gateway", Labels: map[string]string{"theirs": "true"}}}
	if _, err := m.kube.CoreV1().Services(s.Namespace).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	m.goOn()
	m.data = map[string]string{}
	m.goOn()
	got, there := m.Service(config.LocalGateway)
	if !there {
		t.Fatal("it was deleted")
	}
	if diff := cmp.Diff(s.Labels, got.Labels) + cmp.Diff(s.Spec, got.Spec) + cmp.Diff(s.Annotations, got.Annotations); diff != "" {
		t.Error("(-before +after)", diff)
	}
}

// TestWhoMayNotWriteHoldsNobodyBack.
func TestWhoMayNotWriteHoldsNobodyBack(t *testing.T) {
	m := newMesh(t, meshOnly)
	m.istio.PrependReactor("*", "envoyfilters", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrs.NewForbidden(a.GetResource().GroupResource(), "", errors.New("no right"))
	})
	if err := m.r.Reconcile(t.Context(), "knative-serving/loopback"); !apierrs.IsForbidden(err) {
		t.Error("error =", err)
	}
	if !m.r.gate.Settled(true) || m.told(forbidden) == "" {
		t.Error("others wait for what cannot come, or nobody is told")
	}
}

// TestNothingIsGivenUntried: without an observer all stays as it is.
func TestNothingIsGivenUntried(t *testing.T) {
	m := newMesh(t, meshOnly)
	m.r.observers = nil
	if got := m.look(); got != "service" || m.told("LoopbackUntried") == "" || !m.r.gate.Settled(true) {
		t.Error("there is", got)
	}
}

// TestWhoDoesNotLeadWritesNothing, and judges by what the leader wrote.
func TestWhoDoesNotLeadWritesNothing(t *testing.T) {
	m := newMesh(t, meshOnly)
	follower := newMesh(t, meshOnly)
	follower.istio, follower.kube = m.istio, m.kube
	follower.restart()
	follower.r.Demote(reconciler.UniversalBucket())
	for _, led := range []bool{false, true} {
		if led {
			m.goOn()
		}
		before := len(m.istio.Actions())
		follower.look()
		if got := follower.r.gate.Settled(true); got != led {
			t.Errorf("settled = %v, but the loopback is in force: %v", got, led)
		}
		for _, a := range m.istio.Actions()[before:] {
			if a.GetVerb() != "get" && a.GetVerb() != "list" {
				t.Error("it wrote:", a)
			}
		}
	}
}

// TestTheGateWakesWhoWasHeldBack, once.
func TestTheGateWakesWhoWasHeldBack(t *testing.T) {
	g, woken := NewGate(), 0
	g.OnOpen(func() { woken++ })
	g.set(true, true)
	g.set(false, false)
	if g.Settled(false) || woken != 0 {
		t.Error("woken", woken)
	}
	g.set(false, true)
	g.set(false, true)
	if !g.Settled(false) || g.Settled(true) || woken != 1 {
		t.Error("woken", woken)
	}
}

var _ snapshot.Reader = (*mesh)(nil)

// TestWhoReadsEventsGoesByTheLast: what fails is told, stays, and is told again when it answers.
func TestWhoReadsEventsGoesByTheLast(t *testing.T) {
	m := newMesh(t, meshOnly)
	m.goOn()
	if m.told(inForce) == "" {
		t.Fatal("nobody is told that it is in force")
	}
	m.look()
	if got := m.told(inForce); got != "" {
		t.Error("told twice:", got)
	}
	m.refuses[plan.SwitchHost] = true
	m.look()
	m.clock = m.clock.Add(patience + time.Second)
	if got := m.look(); got != "listener switch service" || m.told(failing) == "" {
		t.Error("nobody is told that it fails, or it does not stay: there is", got)
	}
	m.refuses = map[string]bool{}
	m.look()
	if m.told(inForce) == "" {
		t.Error("nobody is told that it answers again")
	}
	m.restart()
	m.look()
	if m.told(inForce) == "" {
		t.Error("a controller that starts does not say what is in force")
	}
}
