package apply

import (
	"context"
	"errors"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"

	"github.com/net-mesh/net-mesh/pkg/resources"
)

// unname takes names away whose routes may go with the same Sync: those of stale ServiceEntries that are
// not asked for any more or that another owner has, and those that wanted ones only lose.
func (w *Writer) unname(ctx context.Context, owner Owner, set resources.Set, losing []*istiov1.ServiceEntry, c *Changes) error {
	k := w.serviceEntries
	k.look(owner, set.ServiceEntries, c)
	return errors.Join(
		k.write(ctx, owner, losing, losing, c),
		k.shrink(ctx, owner, c, k.stale(owner, set.ServiceEntries), func(old *istiov1.ServiceEntry) (*istiov1.ServiceEntry, bool) {
			next := old.DeepCopy()
			next.Spec.Hosts = allowed(old.Spec.Hosts, []string{meshGateway}, set)
			return next, len(next.Spec.Hosts) > 0
		}))
}

// losing divides wanted ServiceEntries into those that get no hosts and lose some that no other one has,
// and the rest.
func (w *Writer) losing(wanted []*istiov1.ServiceEntry) (losing, rest []*istiov1.ServiceEntry) {
	var all []string
	for _, want := range wanted {
		all = append(all, want.Spec.Hosts...)
	}
	for _, want := range wanted {
		have, found := w.serviceEntries.get(want)
		if kept := len(want.Spec.Hosts); found && kept < len(have.Spec.Hosts) &&
			len(common(want.Spec.Hosts, have.Spec.Hosts)) == kept && len(common(have.Spec.Hosts, all)) == kept {
			losing = append(losing, want)
		} else {
			rest = append(rest, want)
		}
	}
	return losing, rest
}
