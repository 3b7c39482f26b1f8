package configstore

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/logging"

	"github.com/net-mesh/net-mesh/pkg/config"
)

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "system"}, Data: data}
}

type world struct {
	*Store
	watcher *configmap.ManualWatcher
	events  *record.FakeRecorder
	changes int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{watcher: &configmap.ManualWatcher{Namespace: "system"}, events: record.NewFakeRecorder(10)}
	w.Store = New("cluster.local", "system", logging.FromContext(t.Context()), w.events, func() { w.changes++ })
	w.Watch(w.watcher)
	return w
}

func (w *world) set(name string, data map[string]string) { w.watcher.OnChange(configMap(name, data)) }

func TestNothingIsDecidedBeforeBothAreRead(t *testing.T) {
	w := newWorld(t)
	w.set(config.IstioConfigMap, nil)
	if _, err := w.Current(); err == nil || !strings.Contains(err.Error(), config.NetworkConfigMap) {
		t.Errorf("got error %v, want one that names %s", err, config.NetworkConfigMap)
	}
	w.set(config.NetworkConfigMap, nil)
	if _, err := w.Current(); err != nil {
		t.Error(err)
	}
}

func TestFaultyAtStartIsNoDefault(t *testing.T) {
	w := newWorld(t)
	w.set(config.NetworkConfigMap, nil)
	w.set(config.IstioConfigMap, map[string]string{"local-gateways": "nonsense: true"})
	if _, err := w.Current(); err == nil || !strings.Contains(err.Error(), "local-gateways") {
		t.Errorf("got error %v, want one that names the key", err)
	}
}

func TestFaultyLaterLeavesWhatWasRead(t *testing.T) {
	w := newWorld(t)
	w.set(config.NetworkConfigMap, nil)
	w.set(config.IstioConfigMap, map[string]string{"local-gateways": "[]"})
	w.set(config.IstioConfigMap, map[string]string{"local-gateways": "nonsense: true"})
	c, err := w.Current()
	if err != nil || len(c.Istio.Local) != 0 || len(c.Istio.External) != 1 {
		t.Errorf("got %+v and error %v, want the reading before", c.Istio, err)
	}
}

func TestOnlyChangesOfMeaningAreTold(t *testing.T) {
	w := newWorld(t)
	w.set(config.IstioConfigMap, nil)
	w.set(config.NetworkConfigMap, nil)
	before := w.changes
	w.set(config.IstioConfigMap, map[string]string{"_example": "x"})
	if w.changes != before {
		t.Error("a comment was told as a change")
	}
	w.set(config.NetworkConfigMap, map[string]string{"enable-mesh-pod-addressability": "true"})
	w.set(config.IstioConfigMap, map[string]string{"external-gateways": "[]"})
	if w.changes != before+2 {
		t.Errorf("%d changes were told, want 2", w.changes-before)
	}
}

func TestAReconciliationSeesOneConfig(t *testing.T) {
	w := newWorld(t)
	w.set(config.IstioConfigMap, map[string]string{"local-gateways": "[]", "unknown": "x"})
	w.set(config.NetworkConfigMap, nil)
	ctx := w.ToContext(t.Context())
	w.set(config.IstioConfigMap, nil)
	c, err := FromContext(ctx)
	if err != nil || len(c.Istio.Local) != 0 {
		t.Errorf("got %+v and error %v, want what held at the beginning", c.Istio, err)
	}
	if c.ClusterDomain != "cluster.local" || c.SystemNamespace != "system" {
		t.Errorf("got domain %q and namespace %q", c.ClusterDomain, c.SystemNamespace)
	}
	if _, err := FromContext(context.Background()); err == nil {
		t.Error("a context without configuration gave one")
	}
}

// TestTheConfigMapIsTold: once of each key and each fault, on the ConfigMap and not on the
// Ingresses, of which there may be thousands.
func TestTheConfigMapIsTold(t *testing.T) {
	w := newWorld(t)
	w.events.IncludeObject = true
	w.set(config.NetworkConfigMap, nil)
	w.set(config.IstioConfigMap, map[string]string{"typo": "x"})
	before := w.changes
	for _, data := range []map[string]string{
		{"typo": "x", "_example": "y"},
		{"typo": "x", "local-gateways": ""},
		{"local-gateways": "none"},
		{"local-gateways": "none", "_example": "y"},
		{},
	} {
		w.set(config.IstioConfigMap, data)
	}
	close(w.events.Events)
	var got []string
	for e := range w.events.Events {
		event, _, _ := strings.Cut(e, " involvedObject")
		got = append(got, event)
	}
	want := []string{
		"Normal ConfigKeyUnknown key typo of config-istio has no effect: it is not known; delete it or correct its spelling",
		`Normal ConfigKeyUnknown key local-gateways of config-istio has no effect: it is empty, and empty means the default; for no gateway write "[]"`,
		`Warning ConfigInvalid config-istio: local-gateways: want a YAML list of {namespace, name, service, labelSelector}, found the text "none"; correct it, what was read before stays in force`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("events (-want +got)", diff)
	}
	// A fault that comes, and one that goes: an Ingress that has no configuration yet says them.
	if w.changes != before+2 {
		t.Errorf("%d changes were told, want 2", w.changes-before)
	}
}
