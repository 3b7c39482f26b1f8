// Command netmesh shows what the controller makes of Knative's Ingresses, and why,
// without a cluster.
package main

import (
	"os"

	"github.com/net-mesh/net-mesh/pkg/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
