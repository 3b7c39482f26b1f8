package cli

import (
	"context"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/net-mesh/net-mesh/pkg/doctor"
)

func explainCommand() *cobra.Command {
	var in input
	var asked asked
	c := &cobra.Command{
		Use:   "explain URL [-f PATH...]",
		Short: "Print the way of one request, and why it goes there",
		Long: `Prints which Ingress, host and path serve a request, at which entry, with which backends, weights and
headers set, what stands between, and the decisions that led there. An entry is "mesh", the caller's
own sidecar, or a Gateway. Without --via and --from every entry that has the host is shown.

--from names a caller. Its sidecar comes first; gateways are shown only where that has no rule for the
request. A host without a dot is looked up in the caller's namespace. What is in the way is shown at the
stop where it is: a caller without a sidecar, a Sidecar object that hides the host, NetworkPolicies.

The identities are those of mTLS between proxies: who has no sidecar shows none, and sees none.
The activator stands between while the ServerlessService of a revision is in mode Proxy; where that is
not known both ways are shown.

The scheme chooses between servers with and without TLS. A port in the URL is not looked at, and
"-H 'Host: NAME'" replaces the URL's host, as it does with curl. What policies of Istio let a caller do
plays no part.

-o html is one file that needs no other; -o json is described in docs/netmesh.md.

Exit codes: 0 at least one of the entries routes it, 1 none does (a redirect is no route), or not all
requests get through, 2 wrong usage, or a world that cannot be read.`,
		Example: "  netmesh explain http://hello --from shop/default\n" +
			"  netmesh explain http://hello.default.svc.cluster.local/api -f world.yaml --via mesh\n" +
			"  netmesh explain https://hello.example.com -H 'Knative-Serving-Tag: blue' -o html > way.html",
		Args: cobra.ExactArgs(1),
	}
	in.flags(c)
	c.Flags().StringVar(&asked.via, "via", "", `the one entry to look at: mesh, or NAMESPACE/NAME of a Gateway`)
	c.Flags().StringVar(&asked.from, "from", "", "the caller, NAMESPACE/SERVICEACCOUNT")
	// Not a slice, which would split values at their commas.
	c.Flags().StringArrayVarP(&asked.headers, "header", "H", nil, "header of the request, 'NAME: VALUE'; may be repeated")
	format := output(c, "text", "mermaid", "html", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		a, err := asked.explain(c, &in, args[0])
		if err != nil {
			return err
		}
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

// explain reads the world and asks it.
func (a asked) explain(c *cobra.Command, in *input, url string) (answer, error) {
	q, err := ask(url, a)
	if err != nil {
		return answer{}, err
	}
	d, err := in.documents(c)
	if err != nil {
		return answer{}, err
	}
	unknown, err := d.addServerless(c.Context())
	if err != nil {
		return answer{}, err
	}
	unread, err := a.around(c, d)
	if err != nil {
		return answer{}, err
	}
	w, err := a.see(c, d, in.clusterDomain, unread)
	if err == nil && d.live != nil && w.mayBeLed(q) {
		if err = d.addLeader(c.Context(), q.within(in.clusterDomain)); err == nil {
			w, err = a.see(c, d, in.clusterDomain, unread)
		}
	}
	if err != nil {
		return answer{}, err
	}
	w.warnings = append(w.warnings, unknown...)
	out := w.explain(q)
	w.printWarnings(c.ErrOrStderr())
	return out, nil
}

// see translates the world, and looks around a caller that is named.
func (a asked) see(c *cobra.Command, d *documents, clusterDomain string, unread []doctor.Unread) (*world, error) {
	w, err := d.world(c.Context(), clusterDomain, change{})
	if err == nil && a.from != "" {
		err = w.lookAround(unread)
	}
	return w, err
}

// addServerless reads which revisions the activator stands before. Who may not know is
// told, and shown both ways.
func (d *documents) addServerless(ctx context.Context) (warnings []string, err error) {
	if d.live == nil {
		return nil, nil
	}
	all, err := d.live.list(ctx, serverless, d.live.namespace, metav1.ListOptions{})
	if err != nil {
		return []string{"whether the activator stands before a revision is not known: " + err.Error()}, nil //nolint:nilerr // who may not know goes on without
	}
	return nil, d.add(all)
}

// asked is a question as it is typed.
type asked struct {
	via, from string
	headers   []string
}
