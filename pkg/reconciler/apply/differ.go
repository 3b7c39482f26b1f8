package apply

import "maps"

// next is what an update would write, and whether that differs from what is there.
func (k kind[T]) next(owner Owner, have, want T) (next T, differs bool) {
	if k.holding.has(owner, have) && k.alike(have, want) {
		return have, false
	}
	next = have.DeepCopyObject().(T)
	k.set(next, want)
	next.SetLabels(merged(have.GetLabels(), want.GetLabels()))
	next.SetAnnotations(merged(have.GetAnnotations(), want.GetAnnotations()))
	k.holding.take(owner, next)
	return next, true
}

// alike says whether all that is wanted of an object is there, whoever holds it.
func (k kind[T]) alike(have, want T) bool {
	return k.same(have, want) && within(want.GetLabels(), have.GetLabels()) && within(want.GetAnnotations(), have.GetAnnotations())
}

// contest is the one about an object that has to be put right in the end, or about its holder alone;
// nil if nothing has to be.
func (k kind[T]) contest(owner Owner, have, settled T) *contest {
	if k.contests == nil {
		return nil
	}
	which := contested{Ref: k.ref(have), uid: have.GetUID()}
	if k.alike(have, settled) {
		k.contests.over(which)
		which.holder = owner.GetObjectMeta().GetUID()
		if k.holding.has(owner, have) {
			k.contests.over(which)
			return nil
		}
	}
	return k.contests.about(which, settled, func(before object) bool {
		return k.alike(before.(T), settled) && k.alike(settled, before.(T))
	})
}

// within says whether have contains every entry of want.
func within(want, have map[string]string) bool {
	for key, value := range want {
		if got, ok := have[key]; !ok || got != value {
			return false
		}
	}
	return true
}

func merged(have, want map[string]string) map[string]string {
	if len(want) == 0 {
		return have
	}
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, want)
	return out
}
