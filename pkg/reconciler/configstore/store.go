// Package configstore answers: what does the operator ask for right now? It watches
// the two ConfigMaps and hands each reconciliation one consistent Config. What is to be said
// about a ConfigMap is an event on the ConfigMap: it concerns no single Ingress.
package configstore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"knative.dev/pkg/configmap"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
)

// Store keeps the newest Config. A ConfigMap that cannot be read does not replace
// what was read before, and never makes built-in defaults apply.
type Store struct {
	clusterDomain, systemNamespace string
	logger                         *zap.SugaredLogger
	events                         record.EventRecorder
	onChange                       func()

	mu      sync.RWMutex
	istio   *part[config.Istio]
	network *part[config.Network]
}

// part is one ConfigMap: the newest good reading, and what is wrong with the newest.
type part[T any] struct {
	value    T
	findings []finding.Finding
	good     bool
	fault    error
}

// New returns an empty Store. onChange is called after each change of meaning.
func New(clusterDomain, systemNamespace string, logger *zap.SugaredLogger, events record.EventRecorder, onChange func()) *Store {
	return &Store{
		clusterDomain: clusterDomain, systemNamespace: systemNamespace,
		logger: logger, events: events, onChange: onChange,
		istio: &part[config.Istio]{}, network: &part[config.Network]{},
	}
}

// Watch subscribes to both ConfigMaps.
func (s *Store) Watch(w configmap.Watcher) {
	w.Watch(config.IstioConfigMap, func(m *corev1.ConfigMap) {
		istio, findings, err := config.ParseIstio(m.Data, s.clusterDomain, s.systemNamespace)
		observe(s, m, s.istio, part[config.Istio]{value: istio, findings: findings, fault: err})
	})
	w.Watch(config.NetworkConfigMap, func(m *corev1.ConfigMap) {
		network, err := config.ParseNetwork(m.Data)
		observe(s, m, s.network, part[config.Network]{value: network, fault: err})
	})
}

// configInvalid is the reason of the event; Ingresses without any configuration say the same.
const configInvalid = "ConfigInvalid"

// observe takes a new reading in. A faulty one leaves the value before it in force.
func observe[T any](s *Store, m *corev1.ConfigMap, into *part[T], read part[T]) {
	read.good = read.fault == nil
	s.mu.Lock()
	before := *into
	if read.fault != nil {
		read.value, read.good = before.value, before.good
		s.logger.Errorw("ConfigMap is not usable, what was read before stays in force", "configMap", m.Name, zap.Error(read.fault))
	}
	changed := before.good != read.good || !reflect.DeepEqual(before.value, read.value) || text(before.fault) != text(read.fault)
	*into = read
	s.mu.Unlock()
	s.tell(m, before.findings, read.findings, text(before.fault), read.fault)
	if changed {
		s.onChange()
	}
}

// tell makes an event of what was not said of the reading before.
func (s *Store) tell(m *corev1.ConfigMap, old, findings []finding.Finding, oldFault string, fault error) {
	for _, f := range findings {
		if !slices.Contains(old, f) {
			s.events.Event(m, corev1.EventTypeNormal, string(f.Reason), f.Message)
		}
	}
	if fault != nil && text(fault) != oldFault {
		s.events.Event(m, corev1.EventTypeWarning, configInvalid, fmt.Sprintf("%v; correct it, what was read before stays in force", fault))
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Current is the Config in force. The error says what is wrong in a ConfigMap of
// which no good reading exists: nothing may be decided without it.
func (s *Store) Current() (config.Config, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := errors.Join(absent(config.IstioConfigMap, s.istio), absent(config.NetworkConfigMap, s.network)); err != nil {
		return config.Config{}, err
	}
	return config.Config{
		Istio: s.istio.value, Network: s.network.value,
		ClusterDomain: s.clusterDomain, SystemNamespace: s.systemNamespace,
	}, nil
}

func absent[T any](name string, p *part[T]) error {
	switch {
	case p.good:
		return nil
	case p.fault != nil:
		return p.fault
	}
	return fmt.Errorf("%s: it has not been read yet", name)
}

type key struct{}

type reading struct {
	config config.Config
	err    error
}

// ToContext implements Knative's reconciler.ConfigStore: a reconciliation sees one
// Config from beginning to end.
func (s *Store) ToContext(ctx context.Context) context.Context {
	c, err := s.Current()
	return context.WithValue(ctx, key{}, reading{c, err})
}

// FromContext returns what ToContext stored; the results are those of Current.
func FromContext(ctx context.Context) (config.Config, error) {
	r, ok := ctx.Value(key{}).(reading)
	if !ok {
		return config.Config{}, errors.New("no configuration in the context")
	}
	return r.config, r.err
}
