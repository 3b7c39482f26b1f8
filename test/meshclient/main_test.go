package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// What is said of Ingresses gets an address where it says meshOnly; all else comes as it is.
func TestProxy(t *testing.T) {
	const status = `{"status":{"publicLoadBalancer":{"ingress":[{"meshOnly":true}]}}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, status)
	}))
	defer server.Close()
	handler, err := newProxy(&rest.Config{Host: server.URL}, "10.96.0.1")
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(handler)
	defer proxy.Close()
	const with = `"meshOnly":true,"ip":"10.96.0.1"`
	const group = "/apis/networking.internal.knative.dev/v1alpha1/"
	for path, want := range map[string]bool{
		group + "namespaces/ns/ingresses/name":     true,
		group + "namespaces/ns/ingresses":          true,
		group + "namespaces/ns/ingresses?watch=1":  false,
		group + "namespaces/ns/serverlessservices": false,
		"/api/v1/namespaces/ns/services/ingresses": true, // a name cannot hurt: no Service says meshOnly
	} {
		response, err := http.Get(proxy.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(body), with); got != want || !strings.Contains(string(body), "publicLoadBalancer") {
			t.Errorf("%s: got %s, want the address %t", path, body, want)
		}
	}
}

// What is printed is in the file though nobody reads the stream, and the exit code comes last.
func TestOutputWithoutAReader(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	code, err := toFile(file, func(w io.Writer) (int, error) {
		_, err := fmt.Fprint(w, "--- PASS")
		return 3, err
	})
	if err != nil || code != 3 {
		t.Fatalf("code %d, error %v", code, err)
	}
	if err := ended(file+".exit", code); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{file: "--- PASS", file + ".exit": "3"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
		}
	}
	reader, writer := io.Pipe()
	_ = reader.Close()
	if n, err := (careless{writer}).Write([]byte("lost")); n != 4 || err != nil {
		t.Errorf("got %d, %v; want to be content", n, err)
	}
}
