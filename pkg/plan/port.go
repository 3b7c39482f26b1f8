package plan

import (
	"fmt"
	"slices"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// Ports of the gateways' own listeners.
const (
	plainPort = 80
	tlsPort   = 443
	// localTLSPort is where Knative's Service knative-local-gateway leads its port 443. At
	// pods that serve the world too it must not be the port that the world reaches.
	localTLSPort = 8444
)

// tlsPortOf is the port at which our listeners end TLS. For public hosts Istio takes 443
// for the port of a Service. A local gateway has the port of its pods that its own Service
// leads callers of port 443 to: another Service before the same pods may lead its 443
// elsewhere.
func tlsPortOf(scope model.Scope, pods snapshot.Service) uint32 {
	if scope != config.Local {
		return tlsPort
	}
	if _, leads := portOf(pods, localTLSPort); leads {
		return localTLSPort
	}
	for _, p := range pods.Ports {
		if p.Number == tlsPort && p.Target > 0 {
			return uint32(p.Target)
		}
	}
	if _, leads := portOf(pods, tlsPort); leads {
		return tlsPort
	}
	return localTLSPort
}

// redirects are servers on every port where the shared gateway would answer
// without TLS.
func redirects(g snapshot.Gateway, hosts []string) []Server {
	var ports []uint32
	for _, s := range g.Servers {
		if plainProtocol(s.Protocol) && !s.Redirect && !slices.Contains(ports, s.Port) {
			ports = append(ports, s.Port)
		}
	}
	if len(ports) == 0 {
		ports = []uint32{plainPort}
	}
	servers := make([]Server, 0, len(ports))
	for i, port := range ports {
		name := "http-server"
		if i > 0 {
			name = fmt.Sprintf("http-server-%d", port)
		}
		servers = append(servers, Server{Name: name, Port: port, Hosts: hosts, Redirect: true})
	}
	return servers
}

// portOf finds the Service port that leads to a gateway's listener. Istio takes the
// number in a Gateway for that of a Service port; a gateway may also be written for
// the pods' own port, as knative-local-gateway is.
func portOf(pods snapshot.Service, number uint32) (snapshot.Port, bool) {
	for _, p := range pods.Ports {
		if p.Number == int32(number) {
			return p, true
		}
	}
	for _, p := range pods.Ports {
		if p.Target == int32(number) {
			return p, true
		}
	}
	return snapshot.Port{}, false
}

func plainProtocol(p string) bool {
	return p == "HTTP" || p == "HTTP2" || p == "GRPC"
}
