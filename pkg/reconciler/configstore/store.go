// Package configstore answers: what does the operator ask for right now? It watches
// the two ConfigMaps and hands each reconciliation one consistent Config.
package configstore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"knative.dev/pkg/configmap"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
)

// Store keeps the newest Config. A ConfigMap that cannot be read does not replace
// what was read before, and never makes built-in defaults apply.
type Store struct {
	clusterDomain, systemNamespace string
	logger                         *zap.SugaredLogger
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
func New(clusterDomain, systemNamespace string, logger *zap.SugaredLogger, onChange func()) *Store {
	return &Store{
		clusterDomain: clusterDomain, systemNamespace: systemNamespace,
		logger: logger, onChange: onChange,
		istio: &part[config.Istio]{}, network: &part[config.Network]{},
	}
}

// Watch subscribes to both ConfigMaps.
func (s *Store) Watch(w configmap.Watcher) {
	w.Watch(config.IstioConfigMap, func(m *corev1.ConfigMap) {
		istio, findings, err := config.ParseIstio(m.Data, s.clusterDomain, s.systemNamespace)
		observe(s, m.Name, s.istio, part[config.Istio]{value: istio, findings: findings, fault: err})
	})
	w.Watch(config.NetworkConfigMap, func(m *corev1.ConfigMap) {
		network, err := config.ParseNetwork(m.Data)
		observe(s, m.Name, s.network, part[config.Network]{value: network, fault: err})
	})
}

// observe takes a new reading in. A faulty one leaves the value before it in force.
func observe[T any](s *Store, name string, into *part[T], read part[T]) {
	read.good = read.fault == nil
	s.mu.Lock()
	if read.fault != nil {
		read.value, read.good = into.value, into.good
		s.logger.Errorw("ConfigMap is not usable, what was read before stays in force", "configMap", name, zap.Error(read.fault))
	}
	changed := !reflect.DeepEqual(*into, read)
	*into = read
	s.mu.Unlock()
	if changed {
		s.onChange()
	}
}

// Current is the Config in force. The error says what is wrong in a ConfigMap of
// which no good reading exists: nothing may be decided without it.
func (s *Store) Current() (config.Config, []finding.Finding, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := errors.Join(absent(config.IstioConfigMap, s.istio), absent(config.NetworkConfigMap, s.network)); err != nil {
		return config.Config{}, nil, err
	}
	return config.Config{
		Istio: s.istio.value, Network: s.network.value,
		ClusterDomain: s.clusterDomain, SystemNamespace: s.systemNamespace,
	}, s.istio.findings, nil
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
	config   config.Config
	findings []finding.Finding
	err      error
}

// ToContext implements Knative's reconciler.ConfigStore: a reconciliation sees one
// Config from beginning to end.
func (s *Store) ToContext(ctx context.Context) context.Context {
	c, findings, err := s.Current()
	return context.WithValue(ctx, key{}, reading{c, findings, err})
}

// FromContext returns what ToContext stored; the results are those of Current.
func FromContext(ctx context.Context) (config.Config, []finding.Finding, error) {
	r, ok := ctx.Value(key{}).(reading)
	if !ok {
		return config.Config{}, nil, errors.New("no configuration in the context")
	}
	return r.config, r.findings, r.err
}
