package cli

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/net-mesh/net-mesh/pkg/resources"
)

func translateCommand() *cobra.Command {
	var in input
	var ingress string
	var loopback bool
	c := &cobra.Command{
		Use:   "translate [-f PATH...]",
		Short: "Print every object the controller would write",
		Long: `Prints every object the controller would write, in the order in which it would write them,
by Ingress. Findings go to standard error, one a line.

-o yaml   the objects as a stream of documents
-o json   the objects as one List
-o model  what each Ingress asks for, before any mode plays a part
-o plan   where each host is exposed and why, addresses and probes

--loopback prints what sidecars are given in place of a local gateway, which is of no Ingress, and
nothing else. Observers, which try it first, are those that the Deployment of the controller lists.

A copy of a certificate is printed as a Secret without data. Its annotation net-mesh.dev/data-from
names the Secret, NAMESPACE/NAME, from which the controller takes data and type. So the output is
for reading and comparing, not for kubectl apply.

Exit codes: 0 nothing Invalid, 1 an Invalid finding (what is valid is printed all the same),
2 wrong usage, or a world that cannot be read.`,
		Example: "  netmesh translate -n shop\n  netmesh translate -f world.yaml --ingress default/hello\n  kubectl get king,services,secrets,gateways.networking.istio.io -A -o yaml | netmesh translate -f - -f config.yaml -o plan",
		Args:    cobra.NoArgs,
	}
	in.flags(c)
	c.Flags().StringVar(&ingress, "ingress", "", "translate this Ingress only, given as NAMESPACE/NAME")
	c.Flags().BoolVar(&loopback, "loopback", false, "print what stands in for a local gateway instead")
	c.MarkFlagsMutuallyExclusive("loopback", "ingress")
	format := output(c, "yaml", "json", "model", "plan")
	c.RunE = func(c *cobra.Command, _ []string) error {
		d, err := in.documents(c)
		if err != nil {
			return err
		}
		if loopback {
			return d.printLoopback(c, in.clusterDomain, format.value)
		}
		w, err := d.world(c.Context(), in.clusterDomain, change{})
		if err == nil && c.Flags().Changed("ingress") {
			err = w.only(ingress)
		}
		if err != nil {
			return err
		}
		w.printWarnings(c.ErrOrStderr())
		if err := printFindings(c.ErrOrStderr(), w.findings()); err != nil {
			return err
		}
		if err := w.print(c.OutOrStdout(), format.value); err != nil {
			return err
		}
		return w.verdict()
	}
	return c
}

func (w *world) print(to io.Writer, format string) error {
	documents := []any{}
	var sets []resources.Set
	for _, t := range w.ingresses {
		switch format {
		case "model":
			documents = append(documents, t.Model)
		case "plan":
			documents = append(documents, t.Plan)
		default:
			sets = append(sets, t.Objects)
		}
	}
	documents = append(documents, resources.Objects(sets...)...)
	if format == "json" {
		return printJSON(to, map[string]any{"apiVersion": "v1", "kind": "List", "items": documents})
	}
	return printYAML(to, documents)
}

func printYAML(to io.Writer, documents []any) error {
	var text bytes.Buffer
	for i, d := range documents {
		if i > 0 {
			text.WriteString("---\n")
		}
		one, err := yaml.Marshal(d)
		if err != nil {
			return err
		}
		text.Write(one)
	}
	_, err := to.Write(text.Bytes())
	return err
}

func printJSON(to io.Writer, v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	// What is printed is read by people and programs, not by browsers.
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := to.Write(text.Bytes())
	return err
}
