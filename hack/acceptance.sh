#!/usr/bin/env bash
# The long runs. They take about three hours on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
export LAB_NAME=${LAB_NAME:-test}
COUNT=${COUNT:-10}
trap 'bin/lab down; bin/lab --name "$LAB_NAME-b" down' EXIT

bin/lab down
bin/lab up
bin/lab install
for mode in gateway half-mesh half-mesh-alias mesh-only mesh-only-alias; do
  bin/lab conformance --mode "$mode" --count "$COUNT" --report ".lab/acceptance-$mode.json"
done
bin/lab profile set gateway
# The short tests, and a second lab beside the first: what happens in one must not be felt in the other.
go test -tags lab,acceptance -count=1 -v -timeout 90m ./test/e2e
