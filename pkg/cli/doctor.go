package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/net-mesh/net-mesh/pkg/doctor"
)

func doctorCommand() *cobra.Command {
	var in input
	c := &cobra.Command{
		Use:   "doctor [-f PATH...]",
		Short: "Say whether this mesh is fit for Knative's routes, and what to do",
		Long: `Looks at what people set up around the routes: Serving, the controller and its observers, sidecars,
mTLS, gateways, Sidecar objects, NetworkPolicies, VirtualServices and DestinationRules of others, and
policies. Prints what is wrong, what is not known because it could not be read, what is worth knowing,
and what is fit, each with the object, what comes of it, and what to do.

-o fixes prints the objects that would mend what is wrong, for kubectl; read them first. They admit what
calls need and no more. Nothing is written by netmesh.

It wants the right to list, in all namespaces, pods, namespaces, deployments, networkpolicies, webhook
configurations, and Istio's sidecars, virtualservices, destinationrules, peerauthentications,
authorizationpolicies and envoyfilters; and to get the ConfigMap istio beside istiod. What may not be read is not known.
With -f these have to be among the documents:

    kubectl get namespaces,pods,deployments,networkpolicies,sidecars,virtualservices,destinationrules,\
peerauthentications,authorizationpolicies,envoyfilters,mutatingwebhookconfigurations,validatingwebhookconfigurations -A -o yaml
    kubectl -n istio-system get configmap istio -o yaml

Exit codes: 0 fit, also with something worth knowing, 1 something is wrong or not known, 2 wrong usage,
or a world that cannot be read.`,
		Example: "  netmesh doctor\n  netmesh doctor -o fixes | kubectl apply --dry-run=server -f -",
		Args:    cobra.NoArgs,
	}
	in.flags(c)
	format := output(c, "text", "json", "yaml", "fixes")
	c.RunE = func(c *cobra.Command, _ []string) error {
		r, err := in.examine(c)
		if err != nil {
			return err
		}
		if err := printReport(c.OutOrStdout(), r, format.value); err != nil {
			return err
		}
		if format.value == "fixes" && len(r.Fixes(doctor.Wrong)) == 0 {
			fmt.Fprintln(c.ErrOrStderr(), "no object would mend anything")
		}
		if r.Unfit() {
			return exit(no)
		}
		return nil
	}
	return c
}

// examine reads the world as far as it may be read, and asks the doctor.
func (i *input) examine(c *cobra.Command) (doctor.Report, error) {
	d, err := i.documents(c)
	if err != nil {
		return doctor.Report{}, err
	}
	unread, err := d.addMesh(c.Context(), doctorKinds)
	if err != nil {
		return doctor.Report{}, err
	}
	if unknown, err := d.addServerless(c.Context()); err != nil {
		return doctor.Report{}, err
	} else if len(unknown) > 0 {
		d.warnings = append(d.warnings, unknown...)
	}
	world, w, err := d.patient(c.Context(), i.clusterDomain)
	if err != nil {
		return doctor.Report{}, err
	}
	world.Unread = append(world.Unread, unread...)
	if d.live == nil {
		world.Unread = append(world.Unread, world.Absent()...)
	}
	w.looked = doctor.Kinds()
	w.printWarnings(c.ErrOrStderr())
	return doctor.Examine(world), nil
}
