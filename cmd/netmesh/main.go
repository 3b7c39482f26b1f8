// Command netmesh shows what the controller makes of Knative's Ingresses, and why. Called
// kubectl-netmesh it is a plugin of kubectl.
package main

import (
	"os"

	"github.com/net-mesh/net-mesh/pkg/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[0], os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
