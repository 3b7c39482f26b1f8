package snapshot_test

import (
	"strings"
	"testing"

	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// TestDuplicateKeys: what a document says twice is refused, with the line, and nothing else is.
func TestDuplicateKeys(t *testing.T) {
	const head = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\n"
	for _, tt := range []struct {
		name, text, says string
		served           bool
	}{
		{"once in each of several mappings", head + "spec: {containers: [{name: a}, {name: b}]}\n", "", false},
		{"merged and replaced", head + "x: &x {a: b}\ny: {<<: *x, a: c}\nz: {<<: *x, <<: *x}\n", "", false},
		{"behind aliases once", head + "x: &x {a: b}\ny: [*x, *x]\n", "", false},
		{"deep", head + "spec:\n  containers:\n  - name: a\n    image: b\n    name: c\n", `in.yaml:8: key "name" is written twice, first in line 6`, false},
		{"of other spelling", head + "x: {'1': a,\n 1: b}\n", `in.yaml:5: key "1" is written twice, first in line 4`, false},
		{"behind a marker", head + "---\n" + head + "kind: Pod\n", `in.yaml:8: key "kind" is written twice, first in line 6`, false},
		{"JSON", "{\"kind\": \"Pod\",\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"Pod\"}\n", `in.yaml:3: key "kind" is written twice, first in line 1`, false},
		{"JSON in a list", `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod", "kind": "Pod"}]}`, `in.yaml:1: key "kind" is written twice, first in line 1`, false},
		{"of an API server, which has judged it", head + "kind: Pod\n", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := snapshot.ReadFiles(snapshot.File{Name: "in.yaml", Text: []byte(tt.text), Served: tt.served})
			if (err == nil) != (tt.says == "") || (err != nil && !strings.HasPrefix(err.Error(), tt.says)) {
				t.Errorf("%v, want %q", err, tt.says)
			}
		})
	}
}
