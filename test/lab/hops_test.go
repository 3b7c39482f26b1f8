package lab

import "testing"

const (
	callerID    = "spiffe://cluster.local/ns/clients/sa/caller"
	activatorID = "spiffe://cluster.local/ns/knative-serving/sa/activator"
	appID       = "spiffe://cluster.local/ns/apps/sa/default"
)

// Each proxy writes its line at a time of its own, so every line that the others name must be awaited.
func TestWhole(t *testing.T) {
	way := []Hop{
		{Pod: "clients/a", Cluster: "outbound|80||hello", Callee: activatorID},
		{Pod: "knative-serving/b", Cluster: "inbound|8012||", Caller: callerID},
		{Pod: "knative-serving/b", Cluster: "outbound|80||hello-private", Callee: appID},
		{Pod: "apps/c", Cluster: "inbound|8012||", Caller: activatorID},
	}
	if err := whole(way, "clients", "apps"); err != nil {
		t.Errorf("the whole way: got %v, want nil", err)
	}
	for i := range way {
		short := append(append([]Hop{}, way[:i]...), way[i+1:]...)
		if whole(short, "clients", "apps") == nil {
			t.Errorf("without line %d (%s): got nil, want an error", i, way[i].Pod)
		}
	}
	gateway := []Hop{
		{Pod: "clients/a", Cluster: "outbound|80||gateway", Callee: "spiffe://cluster.local/ns/istio-system/sa/gw"},
		{Pod: "istio-system/g", Cluster: "outbound|80||hello", Caller: callerID, Callee: appID},
		{Pod: "apps/c", Cluster: "inbound|8012||", Caller: "spiffe://cluster.local/ns/istio-system/sa/gw"},
	}
	if err := whole(gateway, "clients", "apps"); err != nil {
		t.Errorf("a way through a gateway: got %v, want nil", err)
	}
}
