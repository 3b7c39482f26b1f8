package loopback

import (
	"context"
	"fmt"

	"knative.dev/networking/pkg/apis/networking"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	network "knative.dev/networking/pkg/config"

	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/reconciler/readiness"
	"github.com/net-mesh/net-mesh/pkg/reconciler/status"
)

// evidence is what the sidecars have said. Of several faults one is kept.
type evidence struct {
	asked int
	// silent is a sidecar that could not be asked, wrong one that answers otherwise.
	silent, wrong string
}

func (e evidence) proven() bool { return e.asked > 0 && e.silent == "" && e.wrong == "" }

// ask wants the refusal of the listener of this generation, from observers or from all.
func (r *Reconciler) ask(ctx context.Context, host, digest string, observersOnly bool) (evidence, error) {
	views, err := r.see(ctx, host)
	var out evidence
	for _, v := range views {
		if observersOnly && !v.Observer {
			continue
		}
		out.asked++
		switch {
		case v.Silent:
			out.silent = v.By + " " + v.Fault
		case v.Fault != "":
			out.wrong = v.By + " " + v.Fault
		case v.Sight.Status != plan.LoopStatus || v.Sight.Digest != digest:
			out.wrong = v.By + " " + answered(v, digest)
		}
	}
	if out.asked == 0 {
		out.silent = "nobody can be asked"
	}
	if out.silent == "" {
		r.over(hearing)
	}
	return out, err
}

func answered(v readiness.View, digest string) string {
	if v.Sight.Digest != "" && v.Sight.Digest != digest {
		return fmt.Sprintf("answered %d of another generation", v.Sight.Status)
	}
	return fmt.Sprintf("answered %d", v.Sight.Status)
}

// unpublished lists the Ingresses that serve, and do not yet as they are going to: in the mesh
// only, or at a local gateway. The address tells, since it is published after the proof. Who
// does not serve has nothing to lose.
func (r *Reconciler) unpublished(meshOnly bool) ([]string, error) {
	all, err := r.ingresses()
	var out []string
	for _, ing := range all {
		if ing.Annotations[networking.IngressClassAnnotationKey] != network.IstioIngressClassName ||
			ing.DeletionTimestamp != nil || !status.Serving(ing) {
			continue
		}
		if published(ing.Status.PrivateLoadBalancer) != meshOnly {
			out = append(out, ing.Namespace+"/"+ing.Name)
		}
	}
	return out, err
}

func published(s *v1alpha1.LoadBalancerStatus) (meshOnly bool) {
	return s != nil && len(s.Ingress) > 0 && s.Ingress[0].MeshOnly
}
