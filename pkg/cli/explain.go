package cli

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

func explainCommand() *cobra.Command {
	var in input
	var via string
	var headers []string
	c := &cobra.Command{
		Use:   "explain URL -f PATH...",
		Short: "Print the way of one request, and why it goes there",
		Long: `Prints which Ingress, host and path serve a request, at which entry, with which backends, weights and
headers set, and the decisions that led there. An entry is "mesh", the caller's own sidecar, or a
Gateway. Without --via every entry that has the host is shown.

The scheme chooses between servers with and without TLS. A port in the URL is not looked at, and
"-H 'Host: NAME'" replaces the URL's host, as it does with curl. Where the caller runs, and what
policies let it do, plays no part.

Exit codes: 0 at least one of the entries routes it, 1 none does (a redirect is no route),
2 wrong usage or documents that cannot be read.`,
		Example: "  netmesh explain http://hello.default.svc.cluster.local/api -f world.yaml --via mesh\n" +
			"  netmesh explain https://hello.example.com -f world.yaml -H 'Knative-Serving-Tag: blue' -o mermaid",
		Args: cobra.ExactArgs(1),
	}
	in.flags(c)
	c.Flags().StringVar(&via, "via", "", `the one entry to look at: mesh, or NAMESPACE/NAME of a Gateway`)
	// Not a slice, which would split values at their commas.
	c.Flags().StringArrayVarP(&headers, "header", "H", nil, "header of the request, 'NAME: VALUE'; may be repeated")
	format := output(c, "text", "mermaid", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		q, err := ask(args[0], headers, via)
		if err != nil {
			return err
		}
		files, err := in.files(c.InOrStdin())
		if err != nil {
			return err
		}
		w, err := newWorld(files, in.clusterDomain)
		if err != nil {
			return err
		}
		w.printWarnings(c.ErrOrStderr())
		a := w.explain(q)
		if err := a.print(c.OutOrStdout(), format.value); err != nil {
			return err
		}
		if !a.Routed {
			return exit(no)
		}
		return nil
	}
	return c
}

// question is a request and the entry it comes in by; none means all.
type question struct {
	url     string
	tls     bool
	request model.Request
	via     plan.Entry
}

func ask(raw string, headers []string, via string) (question, error) {
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		return question{}, fmt.Errorf("URL: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return question{}, fmt.Errorf("URL %q: want http://HOST/PATH or https://HOST/PATH", raw)
	}
	if namespace, name, ok := strings.Cut(via, "/"); via != "" && plan.Entry(via) != plan.MeshEntry && (!ok || namespace == "" || name == "") {
		return question{}, fmt.Errorf("--via %q: want mesh, or NAMESPACE/NAME of a Gateway", via)
	}
	q := question{url: raw, tls: u.Scheme == "https", via: plan.Entry(via)}
	// Proxies compare the path as it was sent, and without the query.
	q.request = model.Request{Host: strings.ToLower(u.Hostname()), Path: u.EscapedPath()}
	if q.request.Path == "" {
		q.request.Path = "/"
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return question{}, fmt.Errorf("-H %q: want 'NAME: VALUE'", h)
		}
		if value = strings.TrimSpace(value); strings.EqualFold(name, "Host") {
			q.request.Host = strings.ToLower(value)
			continue
		}
		q.request.Headers = append(q.request.Headers, model.KV{Key: name, Value: value})
	}
	return q, nil
}
