package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"knative.dev/pkg/configmap"
	"sigs.k8s.io/yaml"
)

// The files of config/ may be written one after the other into one stream: none runs into the next.
func TestManifestsStandApart(t *testing.T) {
	files, err := filepath.Glob("../../config/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var all []byte
	apart := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		apart += objects(t, text)
		all = append(all, text...)
	}
	if got := objects(t, all); got != apart || got < len(files) {
		t.Errorf("%d objects in one stream, %d file by file, of %d files", got, apart, len(files))
	}
}

// objects counts what the documents of a stream are.
func objects(t *testing.T, stream []byte) (n int) {
	t.Helper()
	for _, document := range bytes.Split(append([]byte("\n"), stream...), []byte("\n---\n")) {
		var object struct{ Kind string }
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Errorf("%v in\n%.200s", err, document)
		}
		if _, err := yaml.YAMLToJSONStrict(document); err != nil {
			t.Errorf("%v in\n%.200s", err, document)
		}
		if object.Kind != "" {
			n++
		}
	}
	return n
}

// What can be configured stands in the example.
func TestExampleHasEveryKey(t *testing.T) {
	example := manifest[corev1.ConfigMap](t, "400-config-istio.yaml").Data[configmap.ExampleKey]
	var data map[string]string
	if err := yaml.UnmarshalStrict([]byte(example), &data); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{externalGatewaysKey, localGatewaysKey, externalInMeshKey, meshDNSKey, exportKey} {
		if data[key] == "" {
			t.Errorf("%s has no line in the example", key)
		}
	}
	if !strings.Contains(example, "\n"+exportPrefix) {
		t.Errorf("%s has no line in the example", exportPrefix)
	}
	if _, findings, err := ParseIstio(data, "cluster.local", "knative-serving"); err != nil || len(findings) > 0 {
		t.Errorf("the example cannot be used as it is: findings %v, error %v", findings, err)
	}
}
