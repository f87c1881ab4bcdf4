# The commands a person needs. `make` alone lists them.

BINARY := alibaba-cloud-controller-manager
# The oldest compiler that builds this package stands in Cargo.toml, and only there.
RUST_VERSION := $(shell sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)
# The oldest Go that compiles all that is in Go; only tests are.
GO_VERSION := $(shell sed -n 's/^go *//p' tests/*/go.mod | sort -V | tail -1)
# Further words for the demo, such as `make demo ARGS=--exit`.
ARGS ?=
# How many random lives `make soak` plays, which one alone if one is named, and of which kind: clb, nlb, mixed, or all.
SEEDS ?= 1000
SEED ?=
CAST ?=
# What `make image` builds, and with what.
IMAGE ?= $(BINARY):$(shell sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml)
DOCKER ?= docker

# The real control plane of the tests, and what it is built from.
CONTROL_PLANE := target/kubernetes/control-plane
CONTROL_PLANE_SOURCES := $(addprefix tests/kubernetes/,go.mod go.sum audit-policy.yaml) $(wildcard tests/kubernetes/*.go)
# Clients are told the version that go.mod pins.
KUBERNETES_VERSION := $(shell sed -n 's/^\tk8s.io\/kubernetes v\([0-9.]*\)$$/\1/p' tests/kubernetes/go.mod)

.DEFAULT_GOAL := help
.PHONY: help demo test test-sdk test-kubernetes demo-kubernetes soak bench lint build image prerequisites

help: ## Lists these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: prerequisites ## Plays the main job against a simulated cloud and cluster, then stays up until Ctrl-C
	@cargo build --locked
	@cargo run --quiet --locked -- demo $(ARGS)

demo-kubernetes: prerequisites ## Plays the main job on a real Kubernetes control plane
	@command -v go >/dev/null 2>&1 || { \
		echo "missing: go. Install Go $(GO_VERSION) or newer (https://go.dev/dl)." >&2; exit 1; }
	@$(MAKE) --no-print-directory $(CONTROL_PLANE)
	@cargo build --locked --example demo_kubernetes
	@target/debug/examples/demo_kubernetes $(ARGS)

# Without Go a part of the tests does not run. That is said, and where CI is set it is a failure.
test: prerequisites ## Runs all tests
	cargo test --locked --no-fail-fast
	@if command -v go >/dev/null 2>&1; then $(MAKE) --no-print-directory --keep-going test-sdk test-kubernetes; else \
		echo "NOT RUN: tests/sdk, which drives the simulated cloud with the official SDKs, and tests/control_plane," \
			"which plays the stories on a real Kubernetes control plane. missing: go. Install Go $(GO_VERSION) or newer (https://go.dev/dl)." >&2; \
		test -z "$$CI"; \
	fi

test-sdk: prerequisites ## Drives the simulated cloud with the official Go SDKs
	@command -v go >/dev/null 2>&1 || { \
		echo "missing: go. Install Go $(GO_VERSION) or newer (https://go.dev/dl)." >&2; exit 1; }
	@cargo build --locked
	cd tests/sdk && SIMULATOR="$(CURDIR)/target/debug/$(BINARY)" go test -vet=off -count=1

test-kubernetes: prerequisites ## Plays the stories on a real Kubernetes control plane
	@command -v go >/dev/null 2>&1 || { \
		echo "missing: go. Install Go $(GO_VERSION) or newer (https://go.dev/dl)." >&2; exit 1; }
	@$(MAKE) --no-print-directory $(CONTROL_PLANE)
	cargo test --locked --test control_plane -- --test-threads=3
	@# And what people are shown first.
	cargo run --quiet --locked --example demo_kubernetes -- --exit

# Minutes at first; Go keeps what it compiled.
$(CONTROL_PLANE): $(CONTROL_PLANE_SOURCES)
	@echo "building a Kubernetes $(KUBERNETES_VERSION) control plane; the first time takes minutes"
	@mkdir -p $(@D)
	cd tests/kubernetes && go build -mod=readonly -trimpath -buildvcs=false -o $(CURDIR)/$@ -ldflags "-s -w \
		-X k8s.io/component-base/version.gitVersion=v$(KUBERNETES_VERSION) \
		-X k8s.io/component-base/version.gitMajor=$(word 1,$(subst ., ,$(KUBERNETES_VERSION))) \
		-X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(KUBERNETES_VERSION)))" .

soak: prerequisites ## Plays random lives of a cluster: SEEDS=10000 of them, or SEED=417 alone
	SEEDS=$(SEEDS) SEED=$(SEED) CAST=$(CAST) cargo test --locked --test capabilities lives::soak -- --ignored

bench: build ## Measures speed, memory and size
	@if command -v go >/dev/null 2>&1; then $(MAKE) --no-print-directory $(CONTROL_PLANE); else \
		echo "NOT MEASURED: many Services and nodes on a real API server. missing: go. Install Go $(GO_VERSION) or newer (https://go.dev/dl)." >&2; \
	fi
	@# Building the benches puts a binary with the simulators in the same place.
	cp target/release/$(BINARY) target/$(BINARY)-release
	CCM_BINARY=$(CURDIR)/target/$(BINARY)-release cargo bench --locked

lint: prerequisites ## Checks formatting, and code with and without the simulators; warnings are errors
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --test control_plane -- -D warnings
	cargo clippy --locked --no-default-features --lib --bins -- -D warnings

build: prerequisites ## Builds the release binary, without the simulators, as the image has it
	cargo build --release --locked --no-default-features

image: ## Builds the container image; IMAGE=name:tag names it
	$(DOCKER) build --file deploy/Dockerfile --tag $(IMAGE) \
		--build-arg CCM_COMMIT="$$(git rev-parse --short=12 HEAD)" \
		--build-arg SOURCE_DATE_EPOCH="$$(git log -1 --format=%ct)" .

# Says what is missing and how to get it, rather than failing halfway through a build.
prerequisites:
	@missing=0; \
	for tool in cargo rustc; do \
		command -v $$tool >/dev/null 2>&1 && continue; \
		echo "missing: $$tool. Install Rust $(RUST_VERSION) or newer with rustup (https://rustup.rs)." >&2; missing=1; \
	done; \
	command -v cc >/dev/null 2>&1 || { \
		echo "missing: cc. Install a C compiler (Debian, Ubuntu: build-essential; Alibaba Cloud Linux, Fedora: gcc;" \
			"macOS: xcode-select --install)." >&2; missing=1; }; \
	if [ $$missing = 0 ]; then \
		rustc --version | awk -v need=$(RUST_VERSION) '{ split($$2, have, "."); split(need, want, "."); \
			exit !(have[1] > want[1] || have[1] == want[1] && have[2] + 0 >= want[2] + 0) }' || { \
		echo "too old: $$(rustc --version). This package needs Rust $(RUST_VERSION) or newer: rustup update stable." >&2; \
		missing=1; }; \
	fi; \
	exit $$missing
