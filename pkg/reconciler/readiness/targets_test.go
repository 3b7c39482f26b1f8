package readiness

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discovery "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

func slice(name string, family discoveryv1.AddressType, port int32, ips ...string) *discoveryv1.EndpointSlice {
	portName := "http2"
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: name,
			Labels: map[string]string{discoveryv1.LabelServiceName: service.Name}},
		AddressType: family,
		Ports:       []discoveryv1.EndpointPort{{Name: &portName, Port: &port}},
	}
	for _, ip := range ips {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip}})
	}
	return s
}

func unready(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	no := false
	for i := range s.Endpoints {
		s.Endpoints[i].Conditions.Ready = &no
	}
	return s
}

func indexed(slices ...*discoveryv1.EndpointSlice) cache.Indexer {
	index := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, s := range slices {
		_ = index.Add(s)
	}
	return index
}

// TestTargets states which pods are asked, and on which of their ports.
func TestTargets(t *testing.T) {
	https := atHTTP
	https.Scheme, https.ServicePort, https.PortName = plan.HTTPS, 443, "https"
	tls := slice("tls", discoveryv1.AddressTypeIPv4, 8443, "10.0.0.1")
	name := "https"
	tls.Ports[0].Name = &name
	const nobody = "a ready pod behind port 80 of Service istio-system/gw, to serve hello.example.com at Gateway ns/gateway"
	for _, row := range []struct {
		name    string
		slices  []*discoveryv1.EndpointSlice
		probe   plan.Probe
		want    []string
		missing string
	}{
		{name: "pods of all slices", probe: atHTTP, slices: []*discoveryv1.EndpointSlice{
			slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1"), slice("b", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.2"),
		}, want: []string{"10.0.0.1:8080", "10.0.0.2:8080"}},
		{name: "a pod in two slices", probe: atHTTP, slices: []*discoveryv1.EndpointSlice{
			slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1"), slice("b", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1"),
		}, want: []string{"10.0.0.1:8080"}},
		{name: "pods that number their port differently", probe: atHTTP, slices: []*discoveryv1.EndpointSlice{
			slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1"), slice("b", discoveryv1.AddressTypeIPv4, 9080, "10.0.0.2"),
		}, want: []string{"10.0.0.1:8080", "10.0.0.2:9080"}},
		{name: "by the port's name", probe: https, slices: []*discoveryv1.EndpointSlice{tls, slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1")},
			want: []string{"10.0.0.1:8443"}},
		{name: "dual stack", probe: atHTTP, slices: []*discoveryv1.EndpointSlice{
			slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1"), slice("b", discoveryv1.AddressTypeIPv6, 8080, "fd00::1"),
		}, want: []string{"10.0.0.1:8080", "[fd00::1]:8080"}},
		{name: "no slice", probe: atHTTP, missing: nobody},
		{name: "no pod that is ready", probe: atHTTP, slices: []*discoveryv1.EndpointSlice{unready(slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1"))},
			missing: nobody},
		{name: "no such port", probe: https, slices: []*discoveryv1.EndpointSlice{slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1")},
			missing: "a ready pod behind port 443 of Service istio-system/gw, to serve hello.example.com at Gateway ns/gateway"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := &Checker{slices: discovery.NewEndpointSliceLister(indexed(row.slices...))}
			targets, missing, err := c.targets([]plan.Probe{row.probe})
			var got []string
			for _, target := range targets {
				got = append(got, target.address)
			}
			if diff := cmp.Diff(row.want, got); diff != "" || err != nil {
				t.Errorf("error %v, addresses (-want +got):\n%s", err, diff)
			}
			if strings.Join(missing, "; ") != row.missing {
				t.Errorf("missing %q, want %q", missing, row.missing)
			}
		})
	}
}
