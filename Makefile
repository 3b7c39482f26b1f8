# make help lists the targets. The lab's name is LAB_NAME; several labs may run side by side.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
# One set of flags for every build, so that lab, tests and programs share compiled packages.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -buildvcs=false
export GOWORK := off

LAB := bin/lab
LAB_NAME ?= lab
# make test uses a lab of its own, and removes it; KEEP=1 leaves it up.
TEST_LAB ?= test
KEEP ?=

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 22
	@echo "LAB_NAME=... chooses the lab (default lab); KEEP=1 keeps the lab of the tests."

.PHONY: demo
demo: prerequisites netmesh ## from nothing to a mesh with net-mesh; a Service at zero is called from inside it
	$(LAB) --name $(LAB_NAME) up --profile mesh-only
	$(LAB) --name $(LAB_NAME) install
	$(LAB) --name $(LAB_NAME) demo

.PHONY: test
test: unit lab-test ## everything that must pass: unit, golden, lab and conformance tests

.PHONY: unit
unit: ## build, vet, unit and golden tests
	go build ./...
	go vet ./... && go vet -tags lab ./test/... && go vet -tags lab,acceptance ./test/...
	@unformatted=$$(gofmt -l cmd hack pkg test); if [ -n "$$unformatted" ]; then echo "not gofmt-ed: $$unformatted"; exit 1; fi
	go test ./...

.PHONY: lab-test
lab-test: prerequisites ## on a real mesh: conformance in gateway mode, one short test for each capability
	LAB_NAME=$(TEST_LAB) KEEP=$(KEEP) hack/lab-test.sh

.PHONY: acceptance
acceptance: prerequisites ## the long runs: conformance ten times, two labs at once, nothing left behind
	LAB_NAME=$(TEST_LAB) hack/acceptance.sh

.PHONY: lab-up
lab-up: prerequisites netmesh ## bring a lab up with net-mesh in it
	$(LAB) --name $(LAB_NAME) up
	$(LAB) --name $(LAB_NAME) install

.PHONY: lab-down
lab-down: lab ## remove the lab
	$(LAB) --name $(LAB_NAME) down

.PHONY: prerequisites
prerequisites: lab ## check this machine, and install the Debian packages the lab needs
	$(LAB) prerequisites --install

.PHONY: lab
lab: ## build the lab program
	@go build -o $(LAB) ./hack/lab

.PHONY: netmesh
netmesh: ## build the netmesh command line, and kubectl-netmesh, its name as a plugin of kubectl
	@# With the commit, which "netmesh version" tells, where git says which it is.
	@go build -buildvcs=auto -o bin/netmesh ./cmd/netmesh 2>/dev/null || go build -o bin/netmesh ./cmd/netmesh
	ln -sf netmesh bin/kubectl-netmesh

.PHONY: goldens
goldens: ## rewrite the golden files; look at every difference before it is committed
	go test ./pkg/translate ./pkg/cli -update

.PHONY: bench
bench: ## times and allocations of translations, with few and many Ingresses and hosts
	go test ./test/bench -run '^$$' -bench . -benchtime 3x -timeout 10m

.PHONY: bench-mesh
bench-mesh: lab ## in a lab that is up: 60 and 300 Ingresses at once, when Ready, whether served, what a sidecar holds; PEER="-f ... --image ..." measures another plugin beside
	$(LAB) --name $(LAB_NAME) bench --report .lab/bench-mesh.json $(PEER)

.PHONY: bench-ways
bench-ways: lab ## in a lab that is up: p50, p99 and processor time of a call directly, by the loopback and by a local gateway
	$(LAB) --name $(LAB_NAME) bench ways --report .lab/bench-ways.json

.PHONY: lint
lint: ## golangci-lint with the import rules
	golangci-lint run ./...
