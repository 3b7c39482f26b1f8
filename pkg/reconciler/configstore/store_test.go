package configstore

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	changes int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{watcher: &configmap.ManualWatcher{Namespace: "system"}}
	w.Store = New("cluster.local", "system", logging.FromContext(t.Context()), func() { w.changes++ })
	w.Watch(w.watcher)
	return w
}

func (w *world) set(name string, data map[string]string) { w.watcher.OnChange(configMap(name, data)) }

func TestNothingIsDecidedBeforeBothAreRead(t *testing.T) {
	w := newWorld(t)
	w.set(config.IstioConfigMap, nil)
	if _, _, err := w.Current(); err == nil || !strings.Contains(err.Error(), config.NetworkConfigMap) {
		t.Errorf("got error %v, want one that names %s", err, config.NetworkConfigMap)
	}
	w.set(config.NetworkConfigMap, nil)
	if _, _, err := w.Current(); err != nil {
		t.Error(err)
	}
}

func TestFaultyAtStartIsNoDefault(t *testing.T) {
	w := newWorld(t)
	w.set(config.NetworkConfigMap, nil)
	w.set(config.IstioConfigMap, map[string]string{"local-gateways": "nonsense: true"})
	if _, _, err := w.Current(); err == nil || !strings.Contains(err.Error(), "local-gateways") {
		t.Errorf("got error %v, want one that names the key", err)
	}
}

func TestFaultyLaterLeavesWhatWasRead(t *testing.T) {
	w := newWorld(t)
	w.set(config.NetworkConfigMap, nil)
	w.set(config.IstioConfigMap, map[string]string{"local-gateways": "[]"})
	w.set(config.IstioConfigMap, map[string]string{"local-gateways": "nonsense: true"})
	c, _, err := w.Current()
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
	c, findings, err := FromContext(ctx)
	if err != nil || len(c.Istio.Local) != 0 || len(findings) != 1 {
		t.Errorf("got %+v, findings %v and error %v, want what held at the beginning", c.Istio, findings, err)
	}
	if c.ClusterDomain != "cluster.local" || c.SystemNamespace != "system" {
		t.Errorf("got domain %q and namespace %q", c.ClusterDomain, c.SystemNamespace)
	}
	if _, _, err := FromContext(context.Background()); err == nil {
		t.Error("a context without configuration gave one")
	}
}
