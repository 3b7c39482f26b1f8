package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"

	yaml3 "go.yaml.in/yaml/v3"
	strict "sigs.k8s.io/json"
)

// duplicate is a key that an object of a document has twice; lines count from 1.
type duplicate struct {
	key         string
	first, line int
}

// mergeKey takes the fields of another mapping in. Parsers let it be written more than once.
const mergeKey = "<<"

// duplicates finds keys that are written twice in one mapping. The parsers that count let the last
// one win in silence, so that of two documents without --- between them one would be left. A
// document that cannot be parsed has none; it is told elsewhere.
func duplicates(doc []byte) []duplicate {
	if bytes.HasPrefix(doc, []byte("{")) && json.Valid(doc) {
		// The parser of YAML, which knows lines, is much slower.
		var object map[string]any
		if faults, err := strict.UnmarshalStrict(doc, &object, strict.DisallowDuplicateFields); err == nil && len(faults) == 0 {
			return nil
		}
	}
	var root yaml3.Node
	if err := yaml3.Unmarshal(doc, &root); err != nil {
		return nil
	}
	return duplicatesIn(&root, nil)
}

// duplicatesIn does not follow aliases: what they stand for is looked at where it is written.
func duplicatesIn(node *yaml3.Node, found []duplicate) []duplicate {
	if node.Kind == yaml3.MappingNode {
		lines := map[string]int{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind != yaml3.ScalarNode || key.Value == mergeKey {
				continue
			}
			if first, twice := lines[key.Value]; twice {
				found = append(found, duplicate{key.Value, first, key.Line})
				continue
			}
			lines[key.Value] = key.Line
		}
	}
	for _, child := range node.Content {
		found = duplicatesIn(child, found)
	}
	return found
}

// refuseDuplicates says the first duplicate of a document as an error with its place.
func (r *reading) refuseDuplicates(doc []byte) error {
	if r.served {
		return nil
	}
	found := duplicates(doc)
	if len(found) == 0 {
		return nil
	}
	d, more := found[0], ""
	if n := len(found) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more of the document)", n)
	}
	at := position{r.at.file, r.at.line + d.line - 1}
	return fmt.Errorf("%skey %q is written twice, first in line %d%s; leave one, or put --- between two documents", at.prefix(), d.key, r.at.line+d.first-1, more)
}
