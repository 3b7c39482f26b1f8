package loopback

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrs "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/pkg/reconciler"

	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/resources"
)

// change edits an EnvoyFilter by hand.
func (m *mesh) change(name string, by func(*envoyFilter)) {
	m.t.Helper()
	c := m.istio.NetworkingV1alpha3().EnvoyFilters("istio-system")
	f, err := c.Get(m.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	by(f)
	if _, err := c.Update(m.t.Context(), f, metav1.UpdateOptions{}); err != nil {
		m.t.Fatal(err)
	}
}

func (m *mesh) remove(name string) {
	m.t.Helper()
	if err := m.istio.NetworkingV1alpha3().EnvoyFilters("istio-system").Delete(m.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		m.t.Fatal(err)
	}
}

// TestWhatIsLedToStays: once Ingresses have left their local gateway requests have no other way,
// so whatever a sidecar answers after a change, nothing of it is taken away.
func TestWhatIsLedToStays(t *testing.T) {
	changes := map[string]func(*mesh){
		"another external gateway": func(m *mesh) { m.data = halfMesh },
		"the switch was edited": func(m *mesh) {
			m.change(resources.LoopbackSwitch, func(f *envoyFilter) { f.Spec.ConfigPatches = f.Spec.ConfigPatches[:1] })
		},
		"the switch is of an older version": func(m *mesh) {
			m.change(resources.LoopbackSwitch, func(f *envoyFilter) {
				f.Annotations[resources.DigestAnnotation], f.Annotations[provenAnnotation] = "older", "older"
			})
		},
	}
	for name, change := range changes {
		for _, restarted := range []bool{false, true} {
			m := newMesh(t, meshOnly)
			m.goOn()
			change(m)
			m.refuses[plan.SwitchHost] = true
			m.look()
			if restarted {
				m.restart()
				m.look()
			}
			m.clock = m.clock.Add(patience + time.Second)
			for range 3 {
				if got := m.look(); !strings.HasPrefix(got, "listener switch service") {
					t.Fatalf("%s: there is %s", name, got)
				}
			}
			if m.told(failing) == "" {
				t.Errorf("%s: nobody is told", name)
			}
			m.refuses = map[string]bool{}
			if m.goOn(); m.told(inForce) == "" || !m.r.gate.Settled(true) {
				t.Errorf("%s: it does not end well", name)
			}
		}
	}
}

// TestWhatWasProvenIsPutBackAtOnce: without the listener that the name leads to all that is sent
// there fails. That it was in force is better proof than a trial, which may not even be possible.
func TestWhatWasProvenIsPutBackAtOnce(t *testing.T) {
	harms := map[string]func(*mesh){
		"deleted": func(m *mesh) { m.remove(resources.LoopbackListener) },
		"edited": func(m *mesh) {
			m.change(resources.LoopbackListener, func(f *envoyFilter) { f.Spec.ConfigPatches = f.Spec.ConfigPatches[:1] })
		},
	}
	for name, harm := range harms {
		for _, hindrance := range []string{"", "no observer", "a silent observer", "a refused trial"} {
			m := newMesh(t, meshOnly)
			m.goOn()
			harm(m)
			switch hindrance {
			case "no observer":
				m.r.observers = nil
			case "a silent observer":
				m.silent = true
			case "a refused trial":
				m.refuses[plan.TrialHost] = true
			}
			if got := m.look(); got != "listener switch service" {
				t.Errorf("%s, with %s: there is %s", name, hindrance, got)
			}
			f, err := m.r.filter(t.Context(), listenerName("istio-system"))
			if err != nil || f == nil || len(f.Spec.ConfigPatches) != 3 {
				t.Errorf("%s, with %s: it is not as it was", name, hindrance)
			}
		}
	}
}

// TestPatienceIsOfOneWay: what was awaited on a way that was not finished, or while another
// process led, says nothing of the next time.
func TestPatienceIsOfOneWay(t *testing.T) {
	between := map[string]func(*mesh){
		"a local gateway that came and went": func(m *mesh) {
			m.data = map[string]string{}
			m.look()
			m.clock = m.clock.Add(10 * patience)
			m.look()
			m.data = meshOnly
		},
		"another leader": func(m *mesh) {
			m.r.Demote(reconciler.UniversalBucket())
			m.look()
			m.clock = m.clock.Add(10 * patience)
			if err := m.r.Promote(reconciler.UniversalBucket(), nil); err != nil {
				m.t.Fatal(err)
			}
		},
		"a configuration that cannot be read": func(m *mesh) {
			m.data = map[string]string{"loopback": "perhaps"}
			m.look()
			m.clock = m.clock.Add(10 * patience)
			m.look()
			m.data = meshOnly
		},
	}
	for name, change := range between {
		for _, host := range []string{plan.TrialHost, plan.ListenerHost, plan.SwitchHost} {
			m := newMesh(t, meshOnly)
			m.refuses[host] = true
			for range 4 {
				m.look()
			}
			change(m)
			for range 4 {
				m.look()
			}
			if e := m.told(withdrawn); e != "" {
				t.Errorf("%s: without patience for %s: %s", name, host, e)
			}
		}
	}
}

// TestClearingIsWaitedForEachTime: a listener does not go from under sidecars that lead to it
// because somebody was silent on an earlier way back.
func TestClearingIsWaitedForEachTime(t *testing.T) {
	m := newMesh(t, meshOnly)
	m.goOn()
	m.data, m.silent = map[string]string{}, true
	m.look()
	m.look()
	m.data, m.silent = meshOnly, false
	m.goOn()
	m.clock = m.clock.Add(10 * patience)
	m.data, m.silent = map[string]string{}, true
	m.look()
	if got := m.look(); got != "listener service" {
		t.Error("there is", got)
	}
}

// TestNothingIsToldAgainAndAgain: whatever state lasts, it is an event or two, however often it is
// looked at.
func TestNothingIsToldAgainAndAgain(t *testing.T) {
	lasting := map[string]func(*mesh){
		"no observer, and no rights": func(m *mesh) {
			m.r.observers = nil
			m.istio.PrependReactor("*", "envoyfilters", func(a clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrs.NewForbidden(a.GetResource().GroupResource(), "", errors.New("no right"))
			})
		},
		"the observer went, and an Ingress does not move": func(m *mesh) {
			m.ready = []*v1alpha1.Ingress{ingress("moving", false)}
			for range 4 {
				m.look()
			}
			m.r.observers = nil
		},
		"the observer went from what is in force": func(m *mesh) {
			m.goOn()
			m.r.observers = nil
		},
	}
	for name, last := range lasting {
		m := newMesh(t, meshOnly)
		last(m)
		for range 20 {
			_ = m.r.Reconcile(t.Context(), "knative-serving/loopback") // its error is what lasts
			m.clock = m.clock.Add(patience)
		}
		if got := len(m.events); got > 3 {
			t.Errorf("%s: %d events", name, got)
		}
	}
}

// TestWhoDoesNotLeadWaitsForNothingElse: another process may lead for Ingresses than for the
// loopback. What the leader does not wait for, it does not either.
func TestWhoDoesNotLeadWaitsForNothingElse(t *testing.T) {
	states := map[string]func(*mesh){
		"no observer": func(m *mesh) { m.r.observers = nil },
		"no rights": func(m *mesh) {
			m.istio.PrependReactor("*", "envoyfilters", func(a clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrs.NewForbidden(a.GetResource().GroupResource(), "", errors.New("no right"))
			})
		},
	}
	for name, state := range states {
		m := newMesh(t, meshOnly)
		state(m)
		m.r.Demote(reconciler.UniversalBucket())
		_ = m.r.Reconcile(t.Context(), "knative-serving/loopback")
		if !m.r.gate.Settled(true) {
			t.Errorf("%s: Ingresses wait for ever", name)
		}
		if len(m.events) > 0 {
			t.Errorf("%s: who does not lead tells %s", name, <-m.events)
		}
	}
}

// TestWhatIsInTheWayIsTold: nobody reads logs to learn why the loopback does not come.
func TestWhatIsInTheWayIsTold(t *testing.T) {
	unlabel := func(o metav1.Object) { o.SetLabels(nil) }
	ways := map[string]func(*mesh){
		"EnvoyFilter istio-system/net-mesh-loopback": func(m *mesh) {
			m.change(resources.LoopbackListener, func(f *envoyFilter) { unlabel(f) })
		},
		"EnvoyFilter istio-system/net-mesh-loopback-switch": func(m *mesh) {
			m.change(resources.LoopbackSwitch, func(f *envoyFilter) { unlabel(f) })
		},
		"Gateway knative-serving/net-mesh-loopback-": func(m *mesh) {
			c := m.istio.NetworkingV1().Gateways("knative-serving")
			list, err := c.List(m.t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) != 1 {
				m.t.Fatal(list, err)
			}
			unlabel(list.Items[0])
			if _, err := c.Update(m.t.Context(), list.Items[0], metav1.UpdateOptions{}); err != nil {
				m.t.Fatal(err)
			}
		},
	}
	for what, change := range ways {
		m := newMesh(t, halfMesh)
		m.goOn()
		change(m)
		for range 3 {
			if err := m.r.Reconcile(t.Context(), "knative-serving/loopback"); err == nil {
				t.Errorf("%s: no error", what)
			}
		}
		e := m.told(failing)
		if !strings.Contains(e, what) || !strings.Contains(e, resources.LoopbackLabel) || !strings.Contains(e, "rename") {
			t.Errorf("%s: told %q", what, e)
		}
		if e := m.told(failing); e != "" {
			t.Errorf("%s: told again: %s", what, e)
		}
	}
}
