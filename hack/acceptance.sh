#!/usr/bin/env bash
# The long runs. They take about two hours on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
export LAB_NAME=${LAB_NAME:-test}
COUNT=${COUNT:-10}
trap 'bin/lab down; bin/lab --name "$LAB_NAME-b" down' EXIT

bin/lab down
bin/lab up
bin/lab install
bin/lab conformance --mode gateway --count "$COUNT" --report .lab/acceptance-gateway.json
bin/lab conformance --mode half-mesh --count "$COUNT" --report .lab/acceptance-half-mesh.json
bin/lab conformance --mode mesh-only --count "$COUNT" --report .lab/acceptance-mesh-only.json
bin/lab profile set gateway
# The short tests, and a second lab beside the first: what happens in one must not be felt in the other.
go test -tags lab,acceptance -count=1 -v -timeout 90m ./test/e2e
