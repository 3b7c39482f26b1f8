package cli

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// explainHTML draws an answer as one file that needs no other. The template escapes all that is
// put into it; nothing here may call a text safe.
//
//go:embed explain.html
var explainHTML string

var explainPage = template.Must(template.New("explain").Funcs(template.FuncMap{
	"entry": entryName,
	"show":  printable,
	"words": func(w when) string { return w.words() },
	"kind":  func(p place) string { return strings.ToLower(string(p)) },
	"title": func(p place) string {
		return map[place]string{sidecar: "the caller's sidecar", gateway: "gateway", activator: "activator", app: "application"}[p]
	},
	"stops": stopsWord,
	"led":   ledWords,
	"share": func(percent float64) string { return fmt.Sprintf("%v %%", percent) },
}).Parse(explainHTML))

func (a answer) html(to io.Writer) error {
	var text bytes.Buffer
	if err := explainPage.Execute(&text, a); err != nil {
		return err
	}
	_, err := to.Write(text.Bytes())
	return err
}
