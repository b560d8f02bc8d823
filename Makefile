# autopilot: 'make' prints this help.

GO          ?= go
GOFUMPT      = $(GO) run mvdan.cc/gofumpt@v0.12.0
STATICCHECK  = $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
CLI_VERSIONS = 2.1.197 2.1.330
CACHE       ?= $(CURDIR)/.cache
FUZZTIME    ?= 10s

export GOFLAGS ?= -buildvcs=false

.PHONY: help build demo test check e2e bench fuzz chaos man darwin clean

help: ## print this help
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/autopilot
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bin/autopilot ./cmd/autopilot

demo: build ## run the real loop on a scratch repository, with a stand-in for claude
	@bin/autopilot demo

test: ## run the tests
	$(GO) vet ./...
	$(GO) test -shuffle=on ./...

check: ## formatting, vet, staticcheck, tests with the race detector
	@out=$$($(GOFUMPT) -l cmd supervisor reflector probe sessions metrics); if [ -n "$$out" ]; then echo "not formatted:"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	$(STATICCHECK) ./...
	$(GO) test -race -shuffle=on ./...

e2e: ## tests with the real Claude Code CLI from npm, on loopback, without an account
	@for v in $(CLI_VERSIONS); do sh scripts/claude-cli.sh $$v $(CACHE)/claude >/dev/null || exit 1; done
	AUTOPILOT_E2E_CLI=$(CACHE)/claude AUTOPILOT_E2E_VERSIONS="$(CLI_VERSIONS)" $(GO) test -tags e2e -count=1 -timeout 40m -run E2E ./cmd/internal/e2e

bench: build ## benchmarks, each beside something to compare it with
	$(GO) run ./cmd/internal/bench

fuzz: ## every fuzz target for FUZZTIME
	@for p in $$($(GO) list ./...); do for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
		echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p || exit 1; done; done

chaos: ## kill the supervisor 200 times at random moments
	AUTOPILOT_CHAOS=200 $(GO) test -count=1 -timeout 30m -run Chaos ./cmd/internal/cli

man: ## write the manual pages into .cache/man
	$(GO) run ./cmd/internal/man $(CACHE)/man

darwin: ## compile for macOS
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) vet ./...

clean: ## remove what was built
	rm -rf bin $(CACHE)
