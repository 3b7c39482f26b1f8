package readiness

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/net-mesh/net-mesh/pkg/observer"
)

var (
	own    = viewer{kind: ownSidecar}
	remote = viewer{kind: anObserver, service: watching, address: first}
	both   = Sidecars{Own: true, Namespace: "sys", Observers: []types.NamespacedName{watching}}
)

// mesh is sidecars that know hosts by their digest, from some time on.
type mesh struct {
	mu     sync.Mutex
	routes map[viewer]map[string]string
	broken map[viewer]error
	// slow is how long an answer takes.
	slow time.Duration
	// lost: to a host that is not known there is no answer, as long as patience lasts.
	lost      bool
	questions []observer.Question
	at        times
}

func (m *mesh) look(_ context.Context, by viewer, q observer.Question) ([]observer.Sight, error) {
	m.at.note()
	<-time.After(m.slow)
	if m.lost && m.knowsNot(by, q.Hosts) {
		<-time.After(q.Patience)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.questions = append(m.questions, q)
	if err := m.broken[by]; err != nil {
		return nil, err
	}
	var out []observer.Sight
	for _, host := range q.Hosts {
		s := observer.Sight{Status: 404}
		if digest := m.routes[by][host]; digest != "" {
			s = observer.Sight{Status: 200, Hash: "h1", Digest: digest}
		}
		out = append(out, s)
	}
	return out, nil
}

func (m *mesh) knowsNot(by viewer, hosts []string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(hosts, func(host string) bool { return m.routes[by][host] == "" })
}

// tell has sidecars know a host.
func (m *mesh) tell(host, digest string, all ...viewer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range all {
		if m.routes == nil {
			m.routes = map[viewer]map[string]string{}
		}
		if m.routes[v] == nil {
			m.routes[v] = map[string]string{}
		}
		m.routes[v][host] = digest
	}
}

func (m *mesh) fail(v viewer, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = map[viewer]error{v: err}
}

func (m *mesh) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.questions)
}

// hosts counts those that were asked for.
func (m *mesh) hosts() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, q := range m.questions {
		n += len(q.Hosts)
	}
	return n
}

// within is a checker that asks the mesh.
func within(t *testing.T, s Sidecars, index cache.Indexer, m *mesh, data *answers, wake func(types.NamespacedName)) *Checker {
	t.Helper()
	c := checker(t, index, data.ask, wake)
	c.sidecars, c.look = s, m.look
	return c
}
