// Package cli answers: what would the controller make of this world, and why? It is
// the controller's own line, over objects of a live cluster or written down in files.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
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

// plugin is what kubectl looks for when it is asked for "kubectl netmesh".
const plugin = "kubectl-netmesh"

// Run runs one command line and returns its exit code. The program is the path by which it
// was called.
func Run(program string, args []string, in io.Reader, out, problems io.Writer) int {
	name := "netmesh"
	if filepath.Base(program) == plugin {
		name = "kubectl netmesh"
	}
	root := command(name)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(problems)
	err := root.ExecuteContext(context.Background())
	var code exit
	switch {
	case err == nil:
		return yes
	case errors.As(err, &code):
		return int(code)
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(problems, name+":", printable(line))
	}
	return usage
}

const about = `netmesh shows what the net-mesh controller makes of Knative's Ingresses, and why. It runs the
controller's own translation, and changes nothing.

It reads the live cluster of the kubeconfig: the Ingresses, config-istio and config-network, and of
other objects those that the controller would look at. With -f it reads documents instead:

    kubectl get king,sks,services,secrets,gateways.networking.istio.io,virtualservices.networking.istio.io -A -o yaml > world.yaml
    kubectl -n knative-serving get configmap config-istio config-network -o yaml > config.yaml
    netmesh lint -f world.yaml -f config.yaml

These kinds are read: Ingress and ServerlessService (Knative's), Service and Secret (Kubernetes'),
Gateway (Istio's), and the ConfigMaps config-istio and config-network, which have their defaults
where documents do not hold them. doctor and explain --from read more, which their help names. Other
kinds are ignored with a warning. Of Secrets only the
certificate is looked at, and no key is ever printed.

Exit codes: 0 yes, 1 no, 2 wrong usage, or a world that cannot be read.`

func command(name string) *cobra.Command {
	root := &cobra.Command{
		Use:           "netmesh",
		Short:         "Shows what net-mesh makes of Knative's Ingresses, and why",
		Long:          about,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: name},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(translateCommand(), lintCommand(), explainCommand(), diffCommand(), doctorCommand(), versionCommand())
	for _, c := range append(root.Commands(), root) {
		c.Long = called(name, c.Long)
		c.Example = called(name, c.Example)
	}
	return root
}

// commandLine is a line of help that is to be typed.
var commandLine = regexp.MustCompile(`(?m)(^ +|\| )netmesh `)

// called puts the name by which the program was called into lines of help.
func called(name, help string) string { return commandLine.ReplaceAllString(help, "${1}"+name+" ") }

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
