package cli_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestPageNeedsNoOther: it may be mailed, kept, and opened without a network.
func TestPageNeedsNoOther(t *testing.T) {
	reference := regexp.MustCompile(`(?i)(\s(src|href|srcset|action|data|poster|background|formaction)\s*=|url\(|@import|<(script|link|iframe|object|embed|img|base|form)\b|\son\w+\s*=)`)
	for _, name := range []string{"explain-html", "explain-html-no"} {
		text := read(t, "testdata/golden/"+name+".txt")
		if m := reference.FindString(text); m != "" {
			t.Errorf("%s has %q", name, m)
		}
		for _, want := range []string{
			"<!DOCTYPE html>", `<html lang="en">`, "<title>", "prefers-color-scheme: dark", "@media print",
			`content="default-src 'none'; style-src 'unsafe-inline'"`, "<h1>", "</html>",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
		if svg := regexp.MustCompile(`<svg[^>]*>`); strings.Count(text, "<svg") != strings.Count(strings.Join(svg.FindAllString(text, -1), ""), `aria-hidden="true"`) {
			t.Errorf("%s has a picture that screen readers would stumble over", name)
		}
	}
}

// TestPageEscapes: names, headers and URLs come from anybody.
func TestPageEscapes(t *testing.T) {
	const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>`
	text := strings.ReplaceAll(read(t, "testdata/hello.yaml"), "exact: blue", "exact: '"+hostile+"'")
	text = strings.ReplaceAll(text, `Knative-Serving-Default-Route: "true"`, `X-Evil: '`+hostile+`'`)
	text = strings.ReplaceAll(text, "Knative-Serving-Revision: hello-00001", "Knative-Serving-Revision: '"+hostile+"'")
	text = strings.ReplaceAll(text, "- hello.shop.example.com", "- hello.shop.example.com\n    - '"+hostile+"'")
	for _, args := range [][]string{
		{"http://hello.shop/" + hostile},
		{"http://hello.shop", "-H", "Knative-Serving-Tag: " + hostile},
		{"http://hello.shop.example.com", "-H", "Host: " + hostile},
		{"http://hello.shop", "-H", "Host: javascript:alert(1)"},
	} {
		out, problems, code := run([]byte(text), append([]string{"explain", "-f", "-", "-o", "html"}, args...)...)
		if code == 2 {
			t.Fatal(problems)
		}
		if strings.Contains(out, "<script") || strings.Contains(out, "<img") || strings.Contains(out, "onerror=alert(2)>") {
			t.Errorf("%q gets through:\n%s", args, out)
		}
		if !strings.Contains(out, "&lt;script&gt;") && !strings.Contains(out, "javascript:alert(1)") {
			t.Errorf("%q is not shown:\n%s", args, out)
		}
	}
}
