package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/networking/pkg/http/header"

	"github.com/net-mesh/net-mesh/pkg/finding"
)

// What Istio's webhook refuses, it refuses with the whole VirtualService, and with it all that is
// served beside. What it lets through and Envoy refuses is worse: every proxy then keeps its old
// routes, whosever they are. So a path that neither would take is left out by itself. Istio's rules
// are in pkg/config/validation of istio/istio, Envoy's in config/core/v3/base.proto.

// maxHeader is the longest name and value of a header that Envoy lets be set, in bytes.
const maxHeader = 16384

// wellFormed says whether a path can be written for Istio, and reports what cannot. Splits say so
// for themselves.
func (in *ingest) wellFormed(field string, path v1alpha1.HTTPIngressPath) bool {
	before := len(in.findings)
	if fault := pathFault(path.Path); fault != "" {
		in.report(finding.PathInvalid, field+".path", "path %q of %s can match no request: %s; correct the path", path.Path, field, fault)
	}
	if fault := rewriteFault(path.RewriteHost); fault != "" {
		in.report(finding.HostInvalid, field+".rewriteHost", "rewriteHost %q of %s is no host: %s; correct it", path.RewriteHost, field, fault)
	}
	if len(path.Headers) > 0 {
		match := map[string]string{}
		for name, m := range path.Headers {
			match[name] = m.Exact
		}
		in.headers(field, ".headers", match, matchedFault)
	}
	in.headers(field, ".appendHeaders", path.AppendHeaders, setFault)
	return len(in.findings) == before
}

// headers says whether headers can be written for Istio, and reports those that cannot. Values are
// not shown: some are secrets.
func (in *ingest) headers(of, part string, all map[string]string, valueFault func(string) string) bool {
	if len(all) == 0 { // as in most paths
		return true
	}
	field, before := of+part, len(in.findings)
	written := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if fault := nameFault(name); fault != "" {
			in.report(finding.HeaderInvalid, field, "header %q of %s cannot be used: %s; correct or remove it", name, field, fault)
		} else if fault := valueFault(all[name]); fault != "" {
			in.report(finding.HeaderInvalid, field, "header %q of %s has a value that cannot be used: %s; correct it", name, field, fault)
		}
		once := strings.ToLower(name)
		if other, again := written[once]; again {
			in.report(finding.HeaderInvalid, field, "headers %q and %q of %s are one, since case does not matter; remove one", other, name, field)
		}
		written[once] = name
	}
	return len(in.findings) == before
}

// pathFault says in words why no request has a path that begins so; empty if some may. An
// empty one fits all.
func pathFault(path string) string {
	if path == "" {
		return ""
	}
	if path[0] != '/' {
		return "it does not begin with /"
	}
	for i := range len(path) {
		switch c := path[i]; {
		case c == '?':
			return "what follows ? is no part of a path"
		case c == '#':
			return "what follows # is not sent"
		case c == '%' && !escaped(path[i:]):
			return "% is not followed by two hexadecimal digits"
		case c != '%' && c != '/' && !alphanumeric(c) && !strings.ContainsRune("-._~!$&'()*+,;=:@", rune(c)):
			return fmt.Sprintf("%q has to be written percent-encoded", c)
		}
	}
	// Istio has proxies resolve them before they compare (pathNormalization), escaped ones too. The
	// last may go on.
	segments := strings.Split(strings.ReplaceAll(strings.ToLower(path), "%2e", "."), "/")
	for _, s := range segments[:len(segments)-1] {
		if s == "." || s == ".." {
			return fmt.Sprintf("/%s/ is resolved before paths are compared", s)
		}
	}
	return ""
}

func escaped(s string) bool {
	const digits = "0123456789abcdefABCDEF"
	return len(s) > 2 && strings.IndexByte(digits, s[1]) >= 0 && strings.IndexByte(digits, s[2]) >= 0
}

// nameFault says in words why a header cannot have a name; empty if it can.
func nameFault(name string) string {
	switch {
	case name == "":
		return "its name is empty"
	case len(name) > maxHeader:
		return fmt.Sprintf("its name is longer than %d bytes", maxHeader)
	case strings.EqualFold(name, "host") || name == ":authority":
		return "the host is no header here; use the hosts of the rule, or rewriteHost"
	case strings.EqualFold(name, header.HashKey):
		return "probes need it, which prove that the Ingress is served"
	}
	for i := range len(name) {
		if c := name[i]; !alphanumeric(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return fmt.Sprintf("names of headers have no %q", c)
		}
	}
	return ""
}

// setFault says in words why a header cannot be set to a value; empty if it can.
func setFault(value string) string {
	if len(value)+strings.Count(value, "%") > maxHeader { // a % is written twice
		return fmt.Sprintf("it is longer than %d bytes", maxHeader)
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return fmt.Sprintf("it holds the control character %q", c)
		}
	}
	return ""
}

// matchedFault says in words why no request has a header of a value; empty if some may.
func matchedFault(value string) string {
	if strings.Trim(value, " \t") != value {
		return "it begins or ends with a space, which is not sent"
	}
	return setFault(value)
}

// rewriteFault says in words why no request can be for a host; empty if one can, or if there is
// none. A port may follow. More is allowed than in a rule: nobody here has to serve the host.
func rewriteFault(host string) string {
	if host == "" {
		return ""
	}
	name, port, hasPort := strings.Cut(host, ":")
	if hasPort && (port == "" || len(port) > 5 || !allDigits(port)) {
		return fmt.Sprintf("%q is no port", port)
	}
	if len(name) > validation.DNS1123SubdomainMaxLength {
		return fmt.Sprintf("it is longer than %d characters", validation.DNS1123SubdomainMaxLength)
	}
	for _, label := range strings.Split(name, ".") {
		if label == "" || len(label) > validation.DNS1123LabelMaxLength {
			return fmt.Sprintf("between dots there are 1 to %d characters", validation.DNS1123LabelMaxLength)
		}
		for i := range len(label) {
			if c := label[i]; !alphanumeric(c) && c != '-' && c != '_' {
				return fmt.Sprintf("names of hosts have no %q", c)
			}
		}
	}
	return ""
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
