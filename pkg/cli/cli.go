// Package cli answers: what would the controller make of this world, and why? It is
// the controller's own line, over objects that are written down in files.
package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
)

// Exit codes. What "no" means is said by each command: an Invalid finding, a request
// that is not routed, worlds that differ.
const (
	yes   = 0
	no    = 1
	usage = 2
)

// exit is an error that says how the program ends, where all has been printed already.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Run runs one command line and returns its exit code.
func Run(args []string, in io.Reader, out, problems io.Writer) int {
	root := command()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(problems)
	err := root.Execute()
	var code exit
	switch {
	case err == nil:
		return yes
	case errors.As(err, &code):
		return int(code)
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(problems, "netmesh:", printable(line))
	}
	return usage
}

const about = `netmesh shows what the net-mesh controller makes of Knative's Ingresses, and why.

It reads objects from files, folders or standard input, never from a cluster, and runs
the controller's own translation over them. What to feed it:

    kubectl get king,services,secrets,gateways.networking.istio.io -A -o yaml > world.yaml
    kubectl -n knative-serving get configmap config-istio config-network -o yaml > config.yaml
    netmesh lint -f world.yaml -f config.yaml

These kinds are read: Ingress (Knative's), Service and Secret (Kubernetes'), Gateway
(Istio's), and the ConfigMaps config-istio and config-network, which have their defaults
where absent. Other kinds are ignored with a warning. Of Secrets only the certificate
is looked at, and no key is ever printed.

Exit codes: 0 yes, 1 no, 2 wrong usage or documents that cannot be read.`

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "netmesh",
		Short:         "Shows what net-mesh makes of Knative's Ingresses, and why",
		Long:          about,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(translateCommand(), lintCommand(), explainCommand(), diffCommand())
	return root
}

// oneOf is a flag that accepts a few words.
type oneOf struct {
	value    string
	accepted []string
}

// output adds the flag -o; the first word is its default.
func output(c *cobra.Command, accepted ...string) *oneOf {
	o := &oneOf{accepted[0], accepted}
	c.Flags().VarP(o, "output", "o", "how to print: "+strings.Join(accepted, ", "))
	return o
}

func (o *oneOf) String() string { return o.value }

// Type implements pflag.Value; it is what help shows in place of a value.
func (o *oneOf) Type() string { return "FORMAT" }

func (o *oneOf) Set(value string) error {
	for _, word := range o.accepted {
		if word == value {
			o.value = value
			return nil
		}
	}
	return fmt.Errorf("accepted are %s", strings.Join(o.accepted, ", "))
}

// printable makes one line of a text that may come from anybody: a terminal obeys
// control characters.
func printable(text string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(clean), " ")
}
