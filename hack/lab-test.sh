#!/usr/bin/env bash
# The lab tests: a fresh lab, net-mesh installed, conformance in gateway mode, one short test for each
# capability. A failure leaves logs, objects and proxy configuration in .lab/failed.
set -euo pipefail
cd "$(dirname "$0")/.."
export LAB_NAME=${LAB_NAME:-test}
failed=.lab/failed

finish() {
  code=$?
  if [ "$code" != 0 ]; then
    rm -rf "$failed"
    echo "failed: collecting evidence in $failed" >&2
    timeout 120 bin/lab collect "$failed" || true
  fi
  if [ -z "${KEEP:-}" ]; then
    bin/lab down
    bin/lab leftovers
  fi
  exit "$code"
}
trap finish EXIT

bin/lab down
bin/lab up
bin/lab install
bin/lab conformance --mode gateway --report .lab/conformance-gateway.json
go test -tags lab -count=1 -v -timeout 30m ./test/e2e
