package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/net-mesh/net-mesh/test/lab/host"
)

// proxies are the containers of the proxies at each stop of a way. There may be no gateway where none is passed.
func (m Mesh) proxies(ctx context.Context, w way) (map[string][]string, error) {
	at := map[string][]string{}
	for _, s := range stops {
		out, err := m.Kubectl(ctx, nil, "-n", s.at.Namespace, "get", "pods", "-l", s.at.Selector, "-o", "json")
		if err != nil {
			return nil, err
		}
		containers, err := proxiesOf([]byte(out))
		if err != nil {
			return nil, err
		}
		if len(containers) > 0 {
			at[s.name] = containers
		} else if s.name != gatewayStop || w.mode == "gateway" {
			return nil, fmt.Errorf("%s: no pod of namespace %s with %s has a proxy that runs", w.name, s.at.Namespace, s.at.Selector)
		}
	}
	return at, nil
}

// proxiesOf reads the ids of the proxies' containers from a list of pods. Those of pods that are going are left out.
func proxiesOf(list []byte) ([]string, error) {
	var pods corev1.PodList
	if err := json.Unmarshal(list, &pods); err != nil {
		return nil, fmt.Errorf("list of pods: %w", err)
	}
	var ids []string
	for _, p := range pods.Items {
		if p.DeletionTimestamp != nil {
			continue
		}
		// Istio's sidecars may be init containers that stay.
		for _, c := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
			_, id, found := strings.Cut(c.ContainerID, "://")
			if c.Name == "istio-proxy" && c.State.Running != nil && found {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// used adds up what the containers at each stop have used.
func (m Mesh) used(at map[string][]string) (map[string]host.Usage, error) {
	all := map[string]host.Usage{}
	for stop, containers := range at {
		var sum host.Usage
		for _, c := range containers {
			u, err := m.Host.Usage(c)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", stop, err)
			}
			sum.CPU += u.CPU
			sum.Memory += u.Memory
		}
		all[stop] = sum
	}
	return all, nil
}

// add takes in what the load generator tells, and what was used meanwhile.
func (p *WayPass) add(r loadReport, before, after map[string]host.Usage) {
	p.Sent, p.P50, p.P99 = r.Sent, r.Took.P50, r.Took.P99
	for _, f := range r.Failures {
		p.Failed += f.Count
	}
	p.CPU = map[string]time.Duration{}
	for stop, u := range after {
		p.CPU[stop] = (u.CPU - before[stop].CPU) / time.Duration(r.Sent)
	}
	p.Memory = after[callerStop].Memory
}
