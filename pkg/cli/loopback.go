package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/doctor"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

// controllerDeployment is that of the controller, which keeps its name from net-istio.
const controllerDeployment = "net-istio-controller"

// printLoopback prints what stands in for a local gateway, and the Findings about it.
func (d *documents) printLoopback(c *cobra.Command, clusterDomain, format string) error {
	if format == "model" {
		return errors.New("-o model: the loopback is of no Ingress, so it has no model; see -o plan")
	}
	l, w, err := d.loopback(c.Context(), clusterDomain)
	if err != nil {
		return err
	}
	w.looked = doctor.Kinds()
	w.printWarnings(c.ErrOrStderr())
	if err := printFindings(c.ErrOrStderr(), l.Findings); err != nil {
		return err
	}
	if format == "plan" {
		return printYAML(c.OutOrStdout(), []any{l.Plan})
	}
	all := l.Objects.All()
	if format == "json" {
		return printJSON(c.OutOrStdout(), map[string]any{"apiVersion": "v1", "kind": "List", "items": append([]any{}, all...)})
	}
	return printYAML(c.OutOrStdout(), all)
}

// loopback translates it, with the Services that the controller would look at.
func (d *documents) loopback(ctx context.Context, clusterDomain string) (translate.LoopbackResult, *world, error) {
	for {
		w, err := d.world(ctx, clusterDomain, change{})
		if err != nil {
			return translate.LoopbackResult{}, nil, err
		}
		objects, err := doctor.Read(w.bundle.Rest)
		if err != nil {
			return translate.LoopbackResult{}, nil, err
		}
		observers := doctor.Observers(objects)
		if d.live != nil {
			more, err := d.live.get(ctx, w.aroundLoopback(observers)...)
			if err == nil {
				err = d.add(more)
			}
			if err != nil {
				return translate.LoopbackResult{}, nil, err
			}
			if len(more) > 0 {
				continue
			}
		}
		return translate.Loopback(snapshot.LoopbackOf(w.bundle, w.config, doctor.Root(objects), observers)), w, nil
	}
}

func (w *world) aroundLoopback(observers []types.NamespacedName) []object {
	out := []object{
		{deployments, types.NamespacedName{Namespace: w.config.SystemNamespace, Name: controllerDeployment}},
		{services, config.LocalGateway},
	}
	for _, g := range w.config.Istio.External {
		out = append(out, object{services, g.Service})
	}
	for _, o := range observers {
		out = append(out, object{services, o})
	}
	return out
}

// addEvents reads what was said of config-istio. Who may not is told less.
func (d *documents) addEvents(ctx context.Context) error {
	system, err := d.live.systemNamespace(ctx)
	if err != nil {
		return err
	}
	found, err := d.live.list(ctx, events, system, metav1.ListOptions{FieldSelector: "involvedObject.name=" + config.IstioConfigMap})
	if _, told := d.live.refusal(err, listing(events), events); told {
		return nil
	}
	if err != nil {
		return err
	}
	return d.add(found)
}
