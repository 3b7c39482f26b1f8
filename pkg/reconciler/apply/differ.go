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

// contest is the one about an object that has to be put right; nil if only another holder is to be
// written.
func (k kind[T]) contest(have, want T) *contest {
	if k.contests == nil || k.alike(have, want) {
		return nil
	}
	return k.contests.about(contested{k.ref(have), have.GetUID()}, want, func(before object) bool {
		return k.alike(before.(T), want) && k.alike(want, before.(T))
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
