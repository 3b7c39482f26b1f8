package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// item is one element of a gateway list.
type item struct {
	Namespace     string                `json:"namespace"`
	Name          string                `json:"name"`
	Service       string                `json:"service"`
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// fields are those that an entry has, by the path of what they are in. As with net-istio
// upper and lower case do not matter.
var fields = map[string][]string{
	"":                                {"namespace", "name", "service", "labelSelector"},
	"labelSelector.":                  {"matchLabels", "matchExpressions"},
	"labelSelector.matchExpressions.": {"key", "operator", "values"},
}

const wantList = "want a YAML list of {namespace, name, service, labelSelector}"

// entry is an item as it was written.
type entry struct {
	item
	// unknown are the paths of fields that an entry does not have.
	unknown []string
}

// readEntries reads a list. What is wrong is said in plain words, and of an entry by its
// number, from 0 as in the paths of Kubernetes.
func readEntries(value string) ([]entry, error) {
	var whole any
	if err := yaml.Unmarshal([]byte(value), &whole); err != nil {
		return nil, fmt.Errorf("%s: %s", wantList, strings.TrimPrefix(err.Error(), "error converting YAML to JSON: yaml: "))
	}
	list, ok := whole.([]any)
	if !ok && whole != nil {
		return nil, fmt.Errorf("%s, found %s", wantList, word(whole))
	}
	var out []entry
	for i, one := range list {
		e := entry{}
		if _, ok := one.(map[string]any); !ok {
			return nil, fmt.Errorf("entry %d: want {namespace, name, service, labelSelector}, found %s", i, word(one))
		}
		text, err := json.Marshal(one)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		// By way of YAML, which takes a name such as 123 for text.
		if err := yaml.Unmarshal(text, &e.item); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, Plain(err))
		}
		e.unknown = unknownIn(one, "", "")
		out = append(out, e)
	}
	return out, nil
}

// unknownIn lists the paths of unknown fields, sorted. path is where v is, kind the same
// without the numbers of lists.
func unknownIn(v any, kind, path string) []string {
	var out []string
	switch v := v.(type) {
	case []any:
		for i, one := range v {
			out = append(out, unknownIn(one, kind, fmt.Sprintf("%s[%d].", strings.TrimSuffix(path, "."), i))...)
		}
	case map[string]any:
		known, limited := fields[kind]
		for _, key := range slices.Sorted(maps.Keys(v)) {
			i := slices.IndexFunc(known, func(name string) bool { return strings.EqualFold(name, key) })
			switch {
			case !limited:
			case i < 0:
				out = append(out, path+key)
			default:
				out = append(out, unknownIn(v[key], kind+known[i]+".", path+key+".")...)
			}
		}
	}
	return out
}

// alsoUnknown ends an error about an entry: what is missing may just be misspelt.
func (e entry) alsoUnknown() string {
	switch len(e.unknown) {
	case 0:
		return ""
	case 1:
		return "; there is no field " + e.unknown[0]
	}
	return "; there are no fields " + strings.Join(e.unknown, ", ")
}

var setTwice = regexp.MustCompile(`key "([^"]*)" already set in map`)

// twice is a field that is written twice in one entry.
func twice(value string) (field string, ok bool) {
	_, err := yaml.YAMLToJSONStrict([]byte(value))
	if err == nil {
		return "", false
	}
	m := setTwice.FindStringSubmatch(err.Error())
	if m == nil {
		return "", false
	}
	return m[1], true
}

func (it item) gateway() (Gateway, error) {
	var missing []string
	for _, field := range []struct{ name, value string }{
		{"namespace", it.Namespace}, {"name", it.Name}, {"service", it.Service},
	} {
		if field.value == "" {
			missing = append(missing, field.name)
		}
	}
	if len(missing) > 0 {
		is := "is"
		if len(missing) > 1 {
			is = "are"
		}
		return Gateway{}, fmt.Errorf("%s %s missing; a gateway needs namespace, name and service", strings.Join(missing, ", "), is)
	}
	for _, name := range []string{it.Namespace, it.Name} {
		// Istio refuses every VirtualService that names another.
		if faults := validation.IsDNS1123Label(name); len(faults) > 0 {
			return Gateway{}, fmt.Errorf("gateway %s/%s: %q: %s", it.Namespace, it.Name, name, faults[0])
		}
	}
	if _, err := metav1.LabelSelectorAsSelector(it.LabelSelector); err != nil {
		return Gateway{}, fmt.Errorf("labelSelector: %w; correct it, or leave it out for the default gateway", err)
	}
	service, host, err := parseService(it.Service)
	if err != nil {
		return Gateway{}, err
	}
	return Gateway{
		Name:        types.NamespacedName{Namespace: it.Namespace, Name: it.Name},
		Service:     service,
		ServiceHost: host,
		Selector:    it.LabelSelector,
	}, nil
}

// word says in plain words what a value is.
func word(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("the text %q", v)
	case bool:
		return fmt.Sprintf("%t, which is no text without quotes", v)
	case []any:
		return "a list"
	case map[string]any:
		return "fields"
	}
	return fmt.Sprintf("the number %v", v)
}
