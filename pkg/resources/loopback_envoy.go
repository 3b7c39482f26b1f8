package resources

import (
	"istio.io/api/networking/v1alpha3"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

// What follows is Envoy's configuration (envoyproxy/envoy, api/envoy/...), since Istio has no
// words for it. Istio gives what is added none of its own defaults, so each is said.

type (
	node = map[string]any
	list = []any
)

const (
	typeURL = "type.googleapis.com/envoy.extensions."
	// doorBind is what a gateway calls itself.
	doorBind = "127.0.0.1"
	// sidecarRoutes is Istio's name for the routes that sidecars have for port 80.
	sidecarRoutes = "80"
	// unlimited is where Istio sets no limit of its own, and Envoy has one.
	unlimited = 4294967295
)

func inContext(context v1alpha3.EnvoyFilter_PatchContext, cluster *v1alpha3.EnvoyFilter_ClusterMatch) *v1alpha3.EnvoyFilter_EnvoyConfigObjectMatch {
	out := &v1alpha3.EnvoyFilter_EnvoyConfigObjectMatch{Context: context}
	if cluster != nil {
		out.ObjectTypes = &v1alpha3.EnvoyFilter_EnvoyConfigObjectMatch_Cluster{Cluster: cluster}
	}
	return out
}

// clusterOf matches one cluster by its name; with none it is for what is added.
func clusterOf(context v1alpha3.EnvoyFilter_PatchContext, name string) *v1alpha3.EnvoyFilter_EnvoyConfigObjectMatch {
	if name == "" {
		return inContext(context, nil)
	}
	return inContext(context, &v1alpha3.EnvoyFilter_ClusterMatch{Name: name})
}

func routeTable() *v1alpha3.EnvoyFilter_EnvoyConfigObjectMatch {
	return &v1alpha3.EnvoyFilter_EnvoyConfigObjectMatch{
		Context: sidecars,
		ObjectTypes: &v1alpha3.EnvoyFilter_EnvoyConfigObjectMatch_RouteConfiguration{
			RouteConfiguration: &v1alpha3.EnvoyFilter_RouteConfigurationMatch{Name: sidecarRoutes},
		},
	}
}

// loopbackListener routes a request once more, by the routes that the sidecar has anyway. It
// must never pass requests on to where their connection was for: that is itself.
func loopbackListener(at place, digest string) node {
	return node{
		"name":              at.name,
		"address":           at.address(),
		"traffic_direction": "OUTBOUND",
		"filter_chains": list{node{"filters": list{node{
			"name":         "envoy.filters.network.http_connection_manager",
			"typed_config": connectionManager(at, digest),
		}}}},
	}
}

func connectionManager(at place, digest string) node {
	return node{
		"@type":       typeURL + "filters.network.http_connection_manager.v3.HttpConnectionManager",
		"stat_prefix": at.name,
		"codec_type":  "AUTO",
		"rds": node{
			"route_config_name": sidecarRoutes,
			"config_source":     node{"ads": node{}, "initial_fetch_timeout": "0s", "resource_api_version": "V3"},
		},
		"http_filters": loopbackFilters(),
		// Streams of events and of gRPC may be silent for long.
		"stream_idle_timeout": "0s",
		"upgrade_configs":     list{node{"upgrade_type": "websocket"}},
		"proxy_100_continue":  true,
		// The mesh's own listener has normalised the path in the mesh's way, whatever that is.
		"normalize_path":                   false,
		"path_with_escaped_slashes_action": "KEEP_UNCHANGED",
		"use_remote_address":               false,
		"server_header_transformation":     "PASS_THROUGH",
		"http_protocol_options":            headerCase(),
		// That listener has enforced the mesh's limits too. This is the most Envoy takes.
		"max_request_headers_kb":       8192,
		"common_http_protocol_options": node{"max_headers_count": unlimited},
		"local_reply_config":           refusal(digest),
	}
}

// loopbackFilters refuse what comes a second time, and mark what comes a first time. The rest
// is there for what routes say to filters of these names. Filters that only some builds of
// the proxy have, such as Istio's for ALPN and telemetry, are not: the first pass has them.
func loopbackFilters() list {
	return list{
		filter("net-mesh.refuse-loops", "fault.v3.HTTPFault", node{
			"headers": list{marked()},
			"abort":   node{"http_status": plan.LoopStatus, "percentage": node{"numerator": 100}},
		}),
		filter("net-mesh.mark", "header_mutation.v3.HeaderMutation", node{
			"mutations": node{"request_mutations": list{node{"append": node{
				"header": node{"key": plan.MarkHeader, "value": "1"}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
			}}}},
		}),
		filter("envoy.filters.http.fault", "fault.v3.HTTPFault", nil),
		filter("envoy.filters.http.cors", "cors.v3.Cors", nil),
		filter("envoy.filters.http.router", "router.v3.Router", nil),
	}
}

func filter(name, kind string, config node) node {
	typed := node{"@type": typeURL + "filters.http." + kind}
	for key, value := range config {
		typed[key] = value
	}
	return node{"name": name, "typed_config": typed}
}

func marked() node { return node{"name": plan.MarkHeader, "present_match": true} }

// refusal names the generation that refuses, and tells people why.
func refusal(digest string) node {
	return node{"mappers": list{node{
		"filter": node{"and_filter": node{"filters": list{
			node{"status_code_filter": node{"comparison": node{
				"op": "EQ", "value": node{"default_value": plan.LoopStatus, "runtime_key": "net_mesh.loop_status"},
			}}},
			node{"header_filter": node{"header": marked()}},
		}}},
		"headers_to_add": list{node{
			"header": node{"key": plan.DigestHeader, "value": digest}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
		}},
		"body": node{"inline_string": "net-mesh: this request came to the local gateway a second time: what routes its host leads there again. Call the host by its full name.\n"},
	}}}
}

// loopbackCluster leads to a listener of the same proxy, in the protocol of the caller.
func loopbackCluster(name string, address node) node {
	return node{
		"name":            name,
		"type":            "STATIC",
		"connect_timeout": "10s",
		"load_assignment": node{"cluster_name": name, "endpoints": list{node{
			"lb_endpoints": list{node{"endpoint": node{"address": address}}},
		}}},
		"circuit_breakers": node{"thresholds": list{node{
			"max_connections": unlimited, "max_pending_requests": unlimited, "max_requests": unlimited, "max_retries": unlimited,
		}}},
		"typed_extension_protocol_options": node{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": node{
			"@type": typeURL + "upstreams.http.v3.HttpProtocolOptions",
			"use_downstream_protocol_config": node{
				"http_protocol_options": headerCase(), "http2_protocol_options": node{},
			},
			"common_http_protocol_options": node{"max_headers_count": unlimited},
		}},
	}
}

// headerCase keeps names of headers as they were written, where the mesh has not changed them
// before.
func headerCase() node {
	return node{"header_key_format": node{"stateful_formatter": node{
		"name":         "preserve_case",
		"typed_config": node{"@type": typeURL + "http.header_formatters.preserve_case.v3.PreserveCaseFormatterConfig"},
	}}}
}

func virtualHost(name, host, cluster string) node {
	return node{
		"name":    name,
		"domains": list{host},
		"routes":  list{node{"match": node{"prefix": "/"}, "route": node{"cluster": cluster, "timeout": "0s"}}},
	}
}

// address is a socket in the pod's abstract namespace. It is no IP address, for Envoy refuses
// a listener at an address that another has, and a ServiceEntry of anybody may have Istio make
// one at any IP address and port: new sidecars would never become ready.
func (p place) address() node { return node{"pipe": node{"path": "@" + p.name}} }

// doorAddress is that of a door in the gateway's own pod. Gateways have no listeners of
// ServiceEntries.
func doorAddress() node {
	return node{"socket_address": node{"address": doorBind, "port_value": plan.DoorPort}}
}
