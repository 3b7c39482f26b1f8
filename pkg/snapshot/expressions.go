package snapshot

import (
	"regexp"
	"regexp/syntax"

	"istio.io/api/networking/v1alpha3"
)

// What a VirtualService of an InferenceService may be at most to be looked at: the conditions of its
// routes with each of its hosts, and the steps of one regular expression. KServe's are far below. Whoever
// may write one could keep the controller busy for hours otherwise.
const (
	mostComparisons = 4096
	mostSteps       = 2000
)

// expressions are regular expressions by their text.
type expressions map[string]*regexp.Regexp

// expressionsOf reads those for hosts, each once. It says no if one is not understood, or all of it
// would be too much to compare with a number of hosts.
func expressionsOf(routes []*v1alpha3.HTTPRoute, hosts int) (expressions, bool) {
	out, conditions := expressions{}, 0
	for _, r := range routes {
		if conditions += 1 + len(r.GetMatch()); conditions*hosts > mostComparisons {
			return nil, false
		}
		for _, m := range r.GetMatch() {
			text := m.GetAuthority().GetRegex()
			if text == "" || out[text] != nil {
				continue
			}
			if out[text] = expression(text); out[text] == nil {
				return nil, false
			}
		}
	}
	return out, true
}

// expression is nil for what is no regular expression, or a large one. Several steps may come of one
// byte.
func expression(text string) *regexp.Regexp {
	if len(text) > mostSteps {
		return nil
	}
	whole := `\A(?:` + text + `)\z`
	parsed, err := syntax.Parse(whole, syntax.Perl)
	if err != nil {
		return nil
	}
	steps, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(steps.Inst) > mostSteps {
		return nil
	}
	out, err := regexp.Compile(whole)
	if err != nil {
		return nil
	}
	return out
}
