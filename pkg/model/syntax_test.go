package model

import "testing"

// TestPaths says which paths some request may have, as it reaches the routes of a proxy.
func TestPaths(t *testing.T) {
	for path, fits := range map[string]bool{
		"": true, "/": true, "/a/b": true, "/a//b/": true, "/.well-known/acme-challenge/x": true, "/a/.": true, "/a/..": true, "/...": true, "/a/.../b": true,
		"/a;v=1,2/~b!$&'()*+:@": true, "/%C3%BC": true, "/%2e%2e": true, "/.%2Ea/b": true,
		"a": false, "/a?b": false, "/a#b": false, "/%": false, "/%2": false, "/%zz": false, "/a b": false, "/{a}": false, "/ü": false, "/a\\b": false,
		"/./a": false, "/a/../b": false, "/..//": false, "/a/%2E./b": false, "/%2e/": false,
	} {
		if fault := pathFault(path); (fault == "") != fits {
			t.Errorf("%q: %q", path, fault)
		}
	}
}
