package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrs "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/doctor"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// kinds that the doctor looks at, by what it calls them; wayKinds are those that matter to
// single calls.
var (
	wayKinds = map[string]schema.GroupVersionResource{
		"Pod": pods, "Namespace": namespaces, "Deployment.apps": deployments,
		"NetworkPolicy.networking.k8s.io": networkPolicies, "Sidecar.networking.istio.io": sidecars,
	}
	doctorKinds = map[string]schema.GroupVersionResource{
		"Pod": pods, "Namespace": namespaces, "Deployment.apps": deployments,
		"NetworkPolicy.networking.k8s.io": networkPolicies, "Sidecar.networking.istio.io": sidecars,
		"VirtualService.networking.istio.io": virtualServices, "DestinationRule.networking.istio.io": destinationRules,
		"EnvoyFilter.networking.istio.io": envoyFilters, "PeerAuthentication.security.istio.io": peers, "AuthorizationPolicy.security.istio.io": authorizations,
		"MutatingWebhookConfiguration.admissionregistration.k8s.io":   mutating,
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io": validating,
	}
	// meshMap is the ConfigMap of Istio's own configuration; with revisions their names follow.
	meshMap, usualRoot = "istio", "istio-system"
)

// addMesh lists kinds of a live cluster, and tells which may not be listed.
func (d *documents) addMesh(ctx context.Context, kinds map[string]schema.GroupVersionResource) ([]doctor.Unread, error) {
	if d.live == nil {
		return nil, nil
	}
	var unread []doctor.Unread
	root := usualRoot
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if kinds[kind] == virtualServices && d.live.seesMesh {
			continue
		}
		all, err := d.live.list(ctx, kinds[kind], metav1.NamespaceAll, metav1.ListOptions{})
		if why, told := d.live.refusal(err, listing(kinds[kind]), kinds[kind]); told {
			unread = append(unread, doctor.Unread{Kind: kind, Why: why[0], Remedy: why[1]})
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, o := range all {
			if kind == "Pod" && o.GetLabels()["app"] == "istiod" {
				root = o.GetNamespace()
			}
		}
		if err := d.add(all); err != nil {
			return nil, err
		}
	}
	d.live.tolerate = d.tolerate
	if _, all := kinds["VirtualService.networking.istio.io"]; all {
		if err := errors.Join(d.addObservers(ctx), d.addEvents(ctx)); err != nil {
			return nil, err
		}
	}
	more, err := d.addMeshConfig(ctx, root)
	return append(unread, more...), err
}

// addObservers finds observers that run, whether or not the controller asks them.
func (d *documents) addObservers(ctx context.Context) error {
	found, err := d.live.list(ctx, services, metav1.NamespaceAll, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=net-mesh-observer"})
	if why, told := d.live.refusal(err, listing(services), services); told {
		d.refused = append(d.refused, doctor.Unread{Kind: "Service", Why: why[0], Remedy: why[1]})
		return nil
	}
	if err != nil {
		return err
	}
	// They are not asked for by name again.
	for _, o := range found {
		d.live.asked[object{services, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}}] = true
	}
	return d.add(found)
}

// listing names a right.
func listing(r schema.GroupVersionResource) string {
	what := "list " + r.GroupResource().String()
	if r == namespaces || r == mutating || r == validating {
		return what // they are in none
	}
	return what + " in all namespaces"
}

// tolerate notes what may not be read by name, once for a kind.
func (d *documents) tolerate(o object, err error) {
	kind := map[schema.GroupVersionResource]string{services: "Service", gateways: "Gateway.networking.istio.io", secretResource: "Secret"}[o.resource]
	why, _ := d.live.refusal(err, "get "+o.resource.GroupResource().String()+" "+o.name.String(), o.resource)
	if !slices.ContainsFunc(d.refused, func(u doctor.Unread) bool { return u.Kind == kind }) {
		d.refused = append(d.refused, doctor.Unread{Kind: kind, Why: why[0], Remedy: why[1]})
	}
}

// addMeshConfig reads Istio's own configuration: all that begin with its name where they may be
// listed, else the one.
func (d *documents) addMeshConfig(ctx context.Context, root string) ([]doctor.Unread, error) {
	all, err := d.live.list(ctx, configMaps, root, metav1.ListOptions{})
	if err != nil && apierrs.IsForbidden(err) {
		one, failed := d.live.api.Resource(configMaps).Namespace(root).Get(ctx, meshMap, metav1.GetOptions{})
		err = failed
		if failed == nil {
			all = []unstructured.Unstructured{*one}
		}
	}
	if why, told := d.live.refusal(err, "get configmap "+root+"/"+meshMap, configMaps); told {
		return []doctor.Unread{{Kind: "ConfigMap", Why: why[0], Remedy: why[1]}}, nil
	}
	if err != nil && !apierrs.IsNotFound(err) {
		return nil, err
	}
	return nil, d.add(slices.DeleteFunc(all, func(o unstructured.Unstructured) bool {
		return o.GetName() != meshMap && !strings.HasPrefix(o.GetName(), meshMap+"-")
	}))
}

// refusal says, in words for a Finding, what may not be read or does not exist, and what to do.
func (c *cluster) refusal(err error, what string, r schema.GroupVersionResource) (why [2]string, told bool) {
	var absent absentKind
	switch {
	case err == nil:
		return why, false
	case apierrs.IsForbidden(err):
		var status *apierrs.StatusError
		reason := err.Error()
		if errors.As(err, &status) {
			reason = status.Error()
		}
		return [2]string{fmt.Sprintf("cannot %s: %s", what, reason), "ask for the right to " + what}, true
	case errors.As(err, &absent), kindMissing(err):
		return [2]string{fmt.Sprintf("cluster %s has no %s (%s)", c.name, r.GroupResource(), r.Version), "install what brings it, such as Istio"}, true
	}
	return why, false
}

// patient is the world as the doctor wants it, and as it is translated.
func (d *documents) patient(ctx context.Context, clusterDomain string) (doctor.World, *world, error) {
	for {
		w, err := d.world(ctx, clusterDomain, change{})
		var fault configFault
		if err != nil && !errors.As(err, &fault) {
			return doctor.World{}, nil, err
		}
		if w == nil {
			w = fault.world
		}
		objects, err := doctor.Read(w.bundle.Rest)
		if err != nil {
			return doctor.World{}, nil, err
		}
		if d.live != nil {
			more, err := d.live.get(ctx, w.around(doctor.Observers(objects))...)
			if err == nil {
				err = d.add(more)
			}
			if err != nil {
				return doctor.World{}, nil, err
			}
			if len(more) > 0 {
				continue
			}
		}
		out, err := w.facts(objects, fault)
		out.Unread = d.refused
		return out, w, err
	}
}

// around names what no translation may have looked for: gateways without an Ingress, and
// observers.
func (w *world) around(observers []types.NamespacedName) []object {
	var out []object
	for _, g := range slices.Concat(w.config.Istio.External, w.config.Istio.Local) {
		out = append(out, object{gateways, g.Name}, object{services, g.Service})
	}
	for _, o := range observers {
		out = append(out, object{services, o})
	}
	return out
}

func (w *world) facts(objects doctor.Objects, fault configFault) (doctor.World, error) {
	system, err := w.bundle.SystemNamespace()
	out := doctor.World{
		SystemNamespace: system, ClusterDomain: w.config.ClusterDomain, About: w.about,
		Services: w.bundle.Services(), Objects: objects, ConfigWritten: w.bundle.Holds(config.IstioConfigMap), Ingresses: len(w.ingresses),
	}
	out.Network, _ = w.bundle.Entries(types.NamespacedName{Namespace: system, Name: config.NetworkConfigMap})
	if fault.error != nil {
		out.ConfigFault = fault.error.Error()
	} else {
		out.Config = &w.config
	}
	for i, all := range [][]config.Gateway{w.config.Istio.External, w.config.Istio.Local} {
		for _, g := range all {
			_, found := w.bundle.Gateway(g.Name)
			out.Gateways = append(out.Gateways, doctor.Gateway{Name: g.Name, Service: g.Service, Local: i == 1, Found: found})
		}
	}
	for _, s := range w.bundle.Serverlesses() {
		out.Revisions = append(out.Revisions, doctor.Revision{
			Name:    types.NamespacedName{Namespace: s.Namespace, Name: s.Name},
			Proxied: s.Spec.Mode == v1alpha1.SKSOperationModeProxy, HTTP2: s.Spec.ProtocolType == networking.ProtocolH2C,
		})
	}
	for _, t := range w.ingresses {
		out.Routes = append(out.Routes, t.routes()...)
	}
	return out, err
}

// routes are the VirtualServices of an Ingress in the doctor's words.
func (t translated) routes() []doctor.Route {
	var out []doctor.Route
	for _, e := range t.Plan.Exposures {
		r := doctor.Route{Ingress: t.Model.Name, VirtualService: e.Name, Mesh: e.Kind == plan.Mesh, ExportTo: e.ExportTo}
		for _, entry := range e.Entries {
			r.Entries = append(r.Entries, string(entry))
		}
		for _, h := range e.Hosts {
			r.Hosts = append(r.Hosts, h)
			if r.Mesh {
				r.Hosts = append(r.Hosts, t.added(h)...)
			}
		}
		out = append(out, r)
	}
	return out
}
