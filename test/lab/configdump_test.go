package lab

import "testing"

// Only virtual hosts of the rush count, white space does not, and Istio's own routes are told apart.
func TestHeld(t *testing.T) {
	const dump = `{"configs": [
	 {"@type": "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump", "bootstrap": {}},
	 {"@type": "type.googleapis.com/envoy.admin.v3.RoutesConfigDump", "dynamic_route_configs": [
	  {"route_config": {"name": "80", "virtual_hosts": [
	   {"name": "a", "domains": ["rush-1.apps.svc.cluster.local", "rush-1.apps"], "routes": [{"name": "rush-1.probe"}, {"name": "rush-1.0.0"}]},
	   {"name": "b", "domains": ["rush-a.apps.svc.cluster.local"], "routes": [{"name": "default"}]}]}},
	  {"route_config": {"name": "81", "virtual_hosts": [
	   {"name": "c", "domains": ["rush-22:81"], "routes": [{"name": "default"}]}]}}]}]}`
	got, err := held([]byte(dump), rushHost)
	a := `{"name":"a","domains":["rush-1.apps.svc.cluster.local","rush-1.apps"],"routes":[{"name":"rush-1.probe"},{"name":"rush-1.0.0"}]}`
	c := `{"name":"c","domains":["rush-22:81"],"routes":[{"name":"default"}]}`
	if want := (Held{VHosts: 2, Routes: 3, Ruled: 2, Bytes: len(a) + len(c)}); got != want || err != nil {
		t.Errorf("got %+v (%v), want %+v", got, err, want)
	}
	if _, err := held([]byte("no"), rushHost); err == nil {
		t.Error("got nil, want an error")
	}
}
