package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrs "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/resources"
)

// roots reads the VirtualServices of others that delegate, wherever they are. Not everybody may list
// them; then that is told.
func (d *documents) roots(ctx context.Context) error {
	all, err := d.live.list(ctx, virtualServices, metav1.NamespaceAll, metav1.ListOptions{LabelSelector: "!" + resources.IngressLabel})
	var absent absentKind
	switch {
	case errors.As(err, &absent):
		return nil // then nobody delegates; what else there should be of Istio's is found missing by itself
	case apierrs.IsForbidden(err):
		d.warnings = append(d.warnings, fmt.Sprintf("whether VirtualServices of others delegate to these Ingresses is not known: %v", err))
		return nil
	case err != nil:
		return err
	}
	return d.add(slices.DeleteFunc(all, func(o unstructured.Unstructured) bool { return !delegates(o) }))
}

// delegates says whether a VirtualService does so.
func delegates(o unstructured.Unstructured) bool {
	routes, _, err := unstructured.NestedSlice(o.Object, "spec", "http")
	return err == nil && slices.ContainsFunc(routes, func(route any) bool {
		fields, is := route.(map[string]any)
		return is && fields["delegate"] != nil
	})
}

// delegated says which VirtualServices of others have a host and delegate requests for it to an Ingress.
// Their conditions are not compared.
func (w *world) delegated(host string) []string {
	var why []string
	for _, t := range w.ingresses {
		for _, root := range t.World.Roots {
			if !slices.ContainsFunc(root.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
				continue
			}
			for _, route := range root.Routes {
				i := slices.IndexFunc(t.Plan.Delegates, func(e plan.Delegate) bool { return e.Name == route.To })
				from := fmt.Sprintf("VirtualService %s has the host, and its spec.http[%d] delegates to %s of Ingress %s", root.Name, route.Index, route.To, t.Model.Name)
				if i < 0 {
					why = append(why, from+", which is not there")
					continue
				}
				why = append(why, fmt.Sprintf("%s; ask for host %s, which has the same routes", from, t.Plan.Delegates[i].Host))
			}
		}
	}
	return why
}
