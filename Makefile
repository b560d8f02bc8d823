# autopilot: 'make' prints this help.

GO          ?= go
GOFUMPT      = $(GO) run mvdan.cc/gofumpt@v0.12.0
STATICCHECK  = $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
NFPM         = $(GO) run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0
CLI_VERSIONS = 2.1.197 2.1.330
CACHE       ?= $(CURDIR)/.cache
FUZZTIME    ?= 10s
PREFIX      ?= /usr/local
PLACE        = $(DESTDIR)$(patsubst ~/%,$(HOME)/%,$(PREFIX))
STAMP        = autopilot/cmd/internal/release/stamp

export GOFLAGS ?= -buildvcs=false

.PHONY: help build demo test check e2e cron page bench fuzz chaos man darwin clean dist package package-test install

help: ## print this help
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/autopilot
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w $(if $(VERSION),-X $(STAMP).version=$(VERSION))' -o bin/autopilot ./cmd/autopilot

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

cron: ## a night that a real cron daemon starts, in namespaces of its own (root)
	sh scripts/tools.sh cron crontab unshare
	PATH="$$PATH:/usr/sbin:/sbin" AUTOPILOT_REAL_CRON=1 $(GO) test -count=1 -timeout 10m -run TestRealCron ./cmd/internal/cli/schedulecmd

page: ## the live page in a real browser without a window (chromium)
	sh scripts/tools.sh chromium
	$(GO) test -tags page -count=1 -timeout 20m ./cmd/internal/serve/...

bench: build ## benchmarks, each beside something to compare it with
	$(GO) run ./cmd/internal/bench

fuzz: ## every fuzz target for FUZZTIME
	@for p in $$($(GO) list ./...); do for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
		echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p || exit 1; done; done

chaos: ## kill the supervisor 200 times at random moments
	AUTOPILOT_CHAOS=200 $(GO) test -count=1 -timeout 30m -run Chaos ./cmd/internal/cli

man: ## write the manual pages into .cache/man
	$(GO) run ./cmd/internal/man $(CACHE)/man

darwin: ## compile for macOS, the tests too
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) vet -trimpath ./...
	@for arch in arm64 amd64; do echo "build for darwin/$$arch"; \
		GOOS=darwin GOARCH=$$arch CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(CACHE)/darwin/$$arch/autopilot ./cmd/autopilot || exit 1; done

clean: ## remove what was built
	rm -rf bin $(CACHE)

dist: ## a release in .cache/dist: archives, deb, rpm, sums, bills of materials (VERSION=1.2.3, RELEASE_URL=...)
	$(GO) run ./cmd/internal/dist -version '$(VERSION)' -url '$(RELEASE_URL)' -out $(CACHE)/dist -packager '$(NFPM)'

package: ## the same for linux alone, in .cache/package (VERSION=1.2.3)
	$(GO) run ./cmd/internal/dist -version '$(VERSION)' -url '$(RELEASE_URL)' -out $(CACHE)/package -packager '$(NFPM)' -targets linux/amd64,linux/arm64

package-test: ## install.sh in several shells; archives, deb and rpm built twice, installed and removed
	sh scripts/tools.sh bash busybox curl dash dpkg mandoc rpm shellcheck wget
	AUTOPILOT_PACKAGE_TEST='$(NFPM)' $(GO) test -count=1 -timeout 20m ./cmd/internal/dist ./cmd/internal/release/installer

install: build man ## install below PREFIX (/usr/local), with manual pages and completions; DESTDIR goes before it
	install -d '$(PLACE)/bin' '$(PLACE)/share/man/man1' '$(PLACE)/share/bash-completion/completions' \
		'$(PLACE)/share/zsh/site-functions' '$(PLACE)/share/fish/vendor_completions.d'
	install -m 755 bin/autopilot '$(PLACE)/bin/autopilot'
	install -m 644 $(CACHE)/man/*.1 '$(PLACE)/share/man/man1'
	bin/autopilot completion bash >'$(PLACE)/share/bash-completion/completions/autopilot'
	bin/autopilot completion zsh >'$(PLACE)/share/zsh/site-functions/_autopilot'
	bin/autopilot completion fish >'$(PLACE)/share/fish/vendor_completions.d/autopilot.fish'
