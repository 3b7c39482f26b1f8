package snapshot

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	strict "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/net-mesh/net-mesh/pkg/finding"
)

// UnknownField is a field of a document that its kind does not have, most likely misspelt.
type UnknownField struct {
	// File and Line of the field; File is empty for documents without name.
	File string
	Line int
	// Object it was written in, and the path of the field there.
	Object finding.Ref
	Path   string
}

// unknownField is how the strict parsers of Kubernetes and of protocol buffers say it; the
// latter gives the last part of the path only.
var unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)

// noteUnknown reads a document once more, strictly. It is for people who write documents,
// so what an API server gave is passed over.
func (r *reading) noteUnknown(ref finding.Ref, object any, doc []byte) {
	if r.served {
		return
	}
	raw, err := yaml.YAMLToJSON(doc)
	if err != nil {
		return // the lenient parser has read it, and it is the one that counts
	}
	paths := unknownIn(raw, object)
	if len(paths) == 0 {
		return
	}
	for _, path := range paths {
		within := path
		if r.inList {
			within = fmt.Sprintf("items[%d].%s", r.item, path)
		}
		r.bundle.Unknown = append(r.bundle.Unknown, UnknownField{
			File: r.at.file, Line: r.at.line + lineOf(r.whole, within) - 1, Object: ref, Path: path,
		})
	}
}

// unknownIn lists the unknown fields of an object's JSON.
func unknownIn(raw []byte, object any) []string {
	var paths []string
	fresh := reflect.New(reflect.TypeOf(object).Elem()).Interface()
	faults, err := strict.UnmarshalStrict(raw, fresh)
	if err != nil {
		return nil
	}
	for _, fault := range faults {
		if m := unknownField.FindStringSubmatch(fault.Error()); m != nil {
			paths = append(paths, m[1])
		}
	}
	if _, ok := object.(*istiov1.Gateway); ok {
		paths = append(paths, unknownInGateway(raw)...)
	}
	return paths
}

// unknownInGateway finds one at most: Istio's own decoder passes over unknown fields, and
// the strict one of protocol buffers stops at the first.
func unknownInGateway(raw []byte) []string {
	var g struct{ Spec any }
	if err := json.Unmarshal(raw, &g); err != nil || g.Spec == nil {
		return nil
	}
	spec, err := json.Marshal(g.Spec)
	if err != nil {
		return nil
	}
	err = protojson.Unmarshal(spec, &v1alpha3.Gateway{})
	if err == nil {
		return nil
	}
	m := unknownField.FindStringSubmatch(err.Error())
	if m == nil {
		return nil
	}
	path, _ := pathTo(g.Spec, m[1])
	return []string{"spec." + path}
}

// pathTo finds a key in a JSON value, the first in the order of names.
func pathTo(v any, key string) (string, bool) {
	switch v := v.(type) {
	case map[string]any:
		if _, here := v[key]; here {
			return key, true
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if rest, ok := pathTo(v[name], key); ok {
				return join(name, rest), true
			}
		}
	case []any:
		for i := range v {
			if rest, ok := pathTo(v[i], key); ok {
				return join(fmt.Sprintf("[%d]", i), rest), true
			}
		}
	}
	return "", false
}

func join(first, rest string) string {
	if strings.HasPrefix(rest, "[") {
		return first + rest
	}
	return first + "." + rest
}

// lineOf gives the line of a field in a document, counted from 1; where the path ends
// before the field, the line of its last part.
func lineOf(doc []byte, path string) int {
	var root yaml3.Node
	if err := yaml3.Unmarshal(doc, &root); err != nil || len(root.Content) == 0 {
		return 1
	}
	node, line := root.Content[0], 1
	for node != nil && path != "" {
		if node.Kind == yaml3.AliasNode {
			node = node.Alias
		}
		var found int
		if node, found, path = step(node, path); node != nil {
			line = found
		}
	}
	return line
}

// step follows the first part of a path. Keys may hold dots, so the longest one that fits
// is taken.
func step(node *yaml3.Node, path string) (next *yaml3.Node, line int, rest string) {
	switch node.Kind {
	case yaml3.MappingNode:
		length := -1
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i].Value
			after, ok := strings.CutPrefix(path, key)
			if !ok || len(key) <= length || (after != "" && after[0] != '.' && after[0] != '[') {
				continue
			}
			next, line, rest, length = node.Content[i+1], node.Content[i].Line, strings.TrimPrefix(after, "."), len(key)
		}
	case yaml3.SequenceNode:
		number, after, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(number)
		if ok && err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i].Line, strings.TrimPrefix(after, ".")
		}
	}
	return next, line, rest
}
