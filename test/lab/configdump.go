package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// Held is what a sidecar holds for some hosts.
type Held struct {
	VHosts int `json:"vhosts"`
	Routes int `json:"routes"`
	// Ruled are the Routes that a VirtualService made; Istio calls its own "default".
	Ruled int `json:"ruled"`
	// Bytes are those of the virtual hosts as JSON without white space.
	Bytes int `json:"bytes"`
}

// Held looks at the sidecar of a pod, such as deploy/caller, for virtual hosts with a domain that concerns.
func (m Mesh) Held(ctx context.Context, namespace, pod string, concerns func(domain string) bool) (Held, error) {
	dump, err := m.Kubectl(ctx, nil, "-n", namespace, "exec", pod, "-c", "istio-proxy", "--", "pilot-agent", "request", "GET", "config_dump")
	if err != nil {
		return Held{}, err
	}
	return held([]byte(dump), concerns)
}

// held reads Envoy's config_dump (envoy.admin.v3.ConfigDump).
func held(dump []byte, concerns func(string) bool) (Held, error) {
	var all struct {
		Configs []struct {
			Dynamic []struct {
				Config struct {
					VHosts []json.RawMessage `json:"virtual_hosts"`
				} `json:"route_config"`
			} `json:"dynamic_route_configs"`
		} `json:"configs"`
	}
	if err := json.Unmarshal(dump, &all); err != nil {
		return Held{}, fmt.Errorf("config_dump of a sidecar: %w", err)
	}
	var h Held
	for _, part := range all.Configs {
		for _, route := range part.Dynamic {
			for _, vhost := range route.Config.VHosts {
				if err := h.add(vhost, concerns); err != nil {
					return h, err
				}
			}
		}
	}
	return h, nil
}

func (h *Held) add(vhost json.RawMessage, concerns func(string) bool) error {
	var v struct {
		Domains []string `json:"domains"`
		Routes  []struct {
			Name string `json:"name"`
		} `json:"routes"`
	}
	if err := json.Unmarshal(vhost, &v); err != nil {
		return fmt.Errorf("a virtual host of config_dump: %w", err)
	}
	if !slices.ContainsFunc(v.Domains, concerns) {
		return nil
	}
	var small bytes.Buffer
	if err := json.Compact(&small, vhost); err != nil {
		return err
	}
	h.VHosts++
	h.Routes += len(v.Routes)
	h.Bytes += small.Len()
	for _, r := range v.Routes {
		if r.Name != "default" {
			h.Ruled++
		}
	}
	return nil
}
