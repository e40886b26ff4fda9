# Everything a contributor does by name. Bare `make` prints the targets; ./check runs what must hold, as CI does.
# Recipes are plain POSIX sh and need nothing but Go, except `differential` and `clients`, whose needs ./check installs.

.DEFAULT_GOAL := help

# Tools come from tools/go.mod, so that everybody runs the same versions and the main module stays free of them.
TOOL := go tool -modfile=tools/go.mod

# Packages with unit tests: all but the suites that have a target of their own. The first also plays sessions in real time against a
# real beanstalkd, so it runs without the race detector, which would slow down one side only; the second builds packages.
UNIT = $$(go list ./... | grep -v -e '/conformance' -e '/packaging')

# Inputs for each fuzz target, or a time; runs of each benchmark, and the sessions of the long differential test.
FUZZTIME ?= 5000x
BENCHTIME ?= 10x
SEEDS ?= 1 2 3
STEPS ?= 200000

.PHONY: help
help: ## Print this list
	@awk -F ':.*## ' '/^## / { printf "\n%s\n", substr($$0, 4) } \
		/^[a-z-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

## Build and run

.PHONY: build
build: ## Build bin/haricot
	go build -o bin/haricot ./cmd/haricot

.PHONY: run
run: ## Serve on 127.0.0.1:11300 until interrupted
	go run ./cmd/haricot -l 127.0.0.1 -p 11300

.PHONY: cross
cross: ## Build for the other systems that must stay green; vet compiles the tests too
	GOOS=darwin GOARCH=amd64 go build ./...
	GOOS=darwin GOARCH=arm64 go build ./...
	GOOS=darwin GOARCH=arm64 go vet ./...
	GOOS=windows GOARCH=amd64 go build ./internal/protocol/... $(addprefix ./,$(addsuffix /...,$(wildcard client)))

## Test

.PHONY: check
check: ## Install what is missing, then run every part that CI runs
	./check

.PHONY: test
test: ## Tests of all packages with the race detector; the longest ones in full without it
	go test -race -short $(UNIT)
	go test ./internal/store ./sim

.PHONY: conformance
conformance: ## Scripts recorded from the reference server, against it and against haricot, in fake time and over sockets
	go test -race -run TestFakeTime ./conformance
	go test ./conformance

.PHONY: differential
differential: ## Random sessions against haricot and beanstalkd in lockstep, a few thousand steps
	go test -count=1 -v ./conformance/differential

.PHONY: differential-long
differential-long: ## The same for each seed in SEEDS (1 2 3), STEPS (200000) long
	set -e; for seed in $(SEEDS); do \
		go test -count=1 -v -timeout 4h ./conformance/differential -run TestLockstep -steps $(STEPS) -seed $$seed; \
	done

.PHONY: fuzz
fuzz: ## Fuzz each target FUZZTIME: times (5000x) or a time (1m)
	scripts/fuzz $(FUZZTIME)

.PHONY: bench
bench: build ## Beside beanstalkd, in turns: the table of docs/performance.md, 15 minutes; BENCHFLAGS=-quick takes two
	go run ./internal/load/compare $(BENCHFLAGS) bin/haricot beanstalkd

.PHONY: bench-smoke
bench-smoke: ## Run each benchmark a few times and each row of `make bench` once, tiny, to see that they still work
	go test -count=1 -run TestSmoke ./internal/load/compare
	go test -run '^$$' -bench . -benchtime $(BENCHTIME) ./...

.PHONY: client
client: ## The parts of our own client that are modules of their own
	cd client/otel && go test -race ./...
	cd client/bench && go vet ./...

.PHONY: clients
clients: build ## Other people's client libraries against haricot
	clients/run bin/haricot

.PHONY: console
console: build ## The console in a real browser
	clients/console/run bin/haricot

## Ship

.PHONY: deb
deb: ## Debian packages of haricot and haricot-beanstalkd, into dist/
	packaging/deb dist

.PHONY: release
release: ## Archives for linux and darwin, amd64 and arm64, with checksums and lists of what they are made of, into dist/
	scripts/release dist

.PHONY: package
package: ## Build all that is shipped, twice; install, upgrade, remove it in a small system; run the cookbook (as root)
	go test -timeout 40m ./packaging/...

## Read and tidy

.PHONY: lint
lint: ## go vet, golangci-lint, and the formatting of every Go file, those of nested modules too
	go vet ./...
	$(TOOL) golangci-lint run --allow-parallel-runners ./...
	$(TOOL) golangci-lint fmt --diff

.PHONY: format
format: ## Rewrite every Go file as `make lint` wants it
	$(TOOL) golangci-lint fmt

.PHONY: vuln
vuln: ## Look dependencies up in Go's vulnerability database (needs the internet)
	$(TOOL) govulncheck ./...

.PHONY: longest
longest: ## Print the ten longest functions outside tests
	go run -C tools ./longest ..
