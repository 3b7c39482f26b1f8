package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
