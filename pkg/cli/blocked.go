package cli

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking"

	"github.com/net-mesh/net-mesh/pkg/doctor"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// lookAround gives a world what is needed to say what blocks a call. Who may not read it is told.
func (w *world) lookAround(unread []doctor.Unread) error {
	objects, err := doctor.Read(w.bundle.Rest)
	if err != nil {
		return err
	}
	facts, err := w.facts(objects, configFault{})
	if err != nil {
		return err
	}
	facts.Unread = unread
	for _, u := range unread {
		w.warn("whether a Sidecar object or a NetworkPolicy is in the way is not known in full: %s; %s", u.Why, u.Remedy)
	}
	view := doctor.Look(facts)
	w.mesh, w.looked = &view, doctor.Kinds()
	return nil
}

// around reads what may be in the way of a caller that is named.
func (a asked) around(c *cobra.Command, d *documents) ([]doctor.Unread, error) {
	if a.from == "" {
		return nil, nil
	}
	unread, err := d.addMesh(c.Context(), wayKinds)
	if d.live != nil {
		// What a translation looks for has to be read, or the command fails, as without a caller.
		d.live.tolerate = nil
	}
	return unread, err
}

// known says whether the caller's sidecar knows the route, and else what hides it.
func (c claim) known(w *world, entry plan.Entry, q question) *doctor.Blocker {
	if entry != plan.MeshEntry || q.from == nil || w.mesh == nil {
		return nil
	}
	caller := w.mesh.Caller(q.from.Namespace, q.from.ServiceAccount)
	unmeshed, hidden := w.mesh.Unmeshed(caller), (*doctor.Blocker)(nil)
	for _, r := range c.by.routes() {
		if r.VirtualService == c.exposure.Name {
			hidden = w.mesh.Hidden(caller, r)
		}
	}
	if unmeshed != nil && (!unmeshed.Maybe || hidden == nil || hidden.Maybe) {
		return unmeshed
	}
	return hidden
}

// obstruct asks, between each stop and the next, what is in the way.
func (w *world) obstruct(ways []passage, service types.NamespacedName, revision string, from *caller) {
	if w.mesh == nil {
		return
	}
	s, known := w.bundle.Serverless(service)
	http2 := known && s.Spec.ProtocolType == networking.ProtocolH2C
	for _, p := range ways {
		for i := 1; i < len(p.Hops); i++ {
			before, ok := w.stop(p.Hops[i-1], service.Namespace, revision, from)
			after, too := w.stop(p.Hops[i], service.Namespace, revision, from)
			if ok && too {
				p.Hops[i].Blocker = w.mesh.Shut(before, after, http2)
			}
		}
	}
}

func (w *world) stop(h hop, namespace, revision string, from *caller) (doctor.Stop, bool) {
	switch h.At {
	case sidecar:
		if from == nil {
			return doctor.Stop{}, false
		}
		return w.mesh.Caller(from.Namespace, from.ServiceAccount), true
	case gateway:
		return w.mesh.Gateway(h.Name), true
	case activator:
		return w.mesh.Activator(), true
	}
	return w.mesh.Revision(types.NamespacedName{Namespace: namespace, Name: revision}), revision != ""
}

// stopped gives what surely stops a passage.
func (p passage) stopped() *doctor.Blocker {
	for _, h := range p.Hops {
		if h.Blocker != nil && !h.Blocker.Maybe {
			return h.Blocker
		}
	}
	return nil
}

// lookForServices says which shares go to a Service that does not exist: nothing resolves there,
// and proxies answer with 503.
func (c claim) lookForServices(w *world, found model.Route, shown *route) {
	for i, s := range found.Splits {
		name := s.Backend.Service
		if !slices.ContainsFunc(c.by.World.Refs, func(ref snapshot.Ref) bool {
			return ref.Kind == "Service" && ref.Namespace == name.Namespace && ref.Name == name.Name && !ref.Found
		}) {
			continue
		}
		b := &doctor.Blocker{
			Reason: doctor.ServiceMissing, Object: finding.Ref{Kind: "Service", Namespace: name.Namespace, Name: name.Name},
			Because: fmt.Sprintf("Service %s does not exist", name), Remedy: "create it or correct the split",
		}
		if !w.asked && len(w.bundle.Services()) == 0 {
			b.Maybe = true
			b.Because = fmt.Sprintf("whether Service %s exists is not known, since the documents hold no Service", name)
			b.Remedy = `add what "kubectl get services -A -o yaml" prints`
		}
		shown.To[i].Blocker = b
	}
}

// stopped says why some share of the requests never arrives, if that is so.
func (r *route) stopped() string {
	for _, d := range r.To {
		if d.Blocker != nil && !d.Blocker.Maybe {
			return fmt.Sprintf("what goes to %s never arrives: %s", cmp.Or(d.Revision, d.Host), d.Blocker.Because)
		}
		if len(d.Passages) > 0 && !slices.ContainsFunc(d.Passages, func(p passage) bool { return p.stopped() == nil }) {
			b := d.Passages[0].stopped()
			return fmt.Sprintf("what goes to %s never arrives: %s %s stops it", cmp.Or(d.Revision, d.Host), b.Object.Kind, nameOf(b.Object))
		}
	}
	return ""
}

func blockerWords(b *doctor.Blocker) string { return b.Because + "; " + b.Remedy }
