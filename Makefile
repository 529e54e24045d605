# `make` lists the targets. Everything here is plain cargo, but for the Python package, the website and the bill of materials.
CARGO ?= cargo
FUZZ_CASES ?= 50000
LDPC_SPEED := --manifest-path tools/ldpc-speed/Cargo.toml --target-dir $(or $(CARGO_TARGET_DIR),target)/ldpc-speed
# A tool with a workspace and a lock of its own.
MUTANTS := --manifest-path tools/mutants/Cargo.toml --target-dir $(or $(CARGO_TARGET_DIR),target)/mutants/tool
ARGS ?=
OUT := $(or $(CARGO_TARGET_DIR),target)
MATURIN ?= maturin
ALL_DRIVES = $(CARGO) test --release -p flashkeep-ssd --test golden
# Not published: their manifests say why.
INTERNAL := --exclude flashkeep-py --exclude flashkeep-theory --exclude flashkeep-ssd-tests

.DEFAULT_GOAL := help
.PHONY: help setup check parts test python serve compare golden figures bench ldpc fuzz mutants docs site wheels package sbom

help: ## List the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "  make %-8s %s\n", $$1, $$2 }'

setup: ## Say which tools are missing; installs nothing
	@missing=0; \
	need() { if eval "$$1" >/dev/null 2>&1; then echo "found    $$2"; else echo "missing  $$2: $$3"; missing=1; fi; }; \
	need "$(CARGO) --version" "cargo, rustc" "install Rust 1.90 or newer with rustup"; \
	need "cc --version" "cc" "any C compiler: rustc links with it"; \
	need "$(CARGO) fmt --version" "rustfmt" "rustup component add rustfmt"; \
	need "$(CARGO) clippy --version" "clippy" "rustup component add clippy"; \
	need "python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))'" "python3 (optional)" \
		"Python 3.10 or newer with venv, for the Python package"; \
	optional() { $$1 --version >/dev/null 2>&1 && echo "found    $$1 (optional)" || echo "missing  $$1 (optional): $$2"; }; \
	optional $(MATURIN) "pip install maturin, for make wheels"; \
	optional mdbook "cargo install mdbook, for make site"; \
	exit $$missing

check: ## Format and lints
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) fmt --manifest-path tools/mutants/Cargo.toml --check
	$(CARGO) fmt --manifest-path tools/ldpc-speed/Cargo.toml --check

parts: ## Tests of the engine's parts, without optimisation: 5 s after a change, 20 s at first
	$(CARGO) test -p flashkeep-ssd --lib --config profile.dev.package.flashkeep-ssd.opt-level=0

# A one-off build leaves out incremental data, which only the next change would need, and makes faster tests.
test: export CARGO_INCREMENTAL = 0
test: check parts ## Format, lints and all tests, those of the Python package where Python is there
	$(CARGO) test --workspace
	python/check.sh --if-there

python: ## Build the Python package into target/python and run its tests
	python/check.sh

serve: ## A served drive under thousands of kills of its process, with file systems, PostgreSQL, fio and clients that count; half an hour
	FLASHKEEP_KILLS=200 $(CARGO) test --release -p flashkeep-nbd

compare: ## Compare the default schemes on the bundled trace; ARGS="..." adds options
	$(CARGO) run --release -- compare $(ARGS)

golden: ## Compare the lives of 11,000 drives with another revision, BASE=REV, and keep nothing; ten minutes
	@test -n "$(BASE)" || { echo "which revision? make golden BASE=REV" >&2; exit 2; }
	@rm -rf $(OUT)/golden && mkdir -p $(OUT)/golden && git worktree prune && git worktree add --detach $(OUT)/golden/base $(BASE)
	@export CARGO_TARGET_DIR=$(abspath $(OUT)); table=$(abspath $(OUT))/golden/base.csv; \
	(cd $(OUT)/golden/base && FLASHKEEP_GOLDEN_OUT=$$table $(ALL_DRIVES)); \
	git worktree remove --force $(OUT)/golden/base; \
	test -e $$table || { echo "$(BASE) has no table of all drives" >&2; exit 2; }; \
	FLASHKEEP_GOLDEN_BASE=$$table $(ALL_DRIVES)

figures: ## Run the figures of papers again (experiments/), beside what they state; ARGS="code-zones --only fig9" for some
	$(CARGO) run --release -- figures $(ARGS)

bench: ## Speed of the engine, of erasure codes beside ISA-L if installed, of page codes beside FLASHKEEP_BCH_PEER if set and ldpc-toolbox
	$(CARGO) bench -p flashkeep-ssd $(BENCH_ARGS)
	$(CARGO) bench -p flashkeep-coding
	$(CARGO) bench -p flashkeep-nbd
	$(CARGO) run --release $(LDPC_SPEED)

ldpc: ## Measure frame errors of LDPC codes, docs/ldpc.md; ARGS="rber codes=ldpc-4k-0.901-2 until=1e-4 threads=4"
	$(CARGO) run --release -p flashkeep-coding --example ldpc -- $(or $(ARGS),rber)

fuzz: ## The random tests of trace readers, FUZZ_CASES (50000) times each; some minutes
	PROPTEST_CASES=$(FUZZ_CASES) $(CARGO) test -p flashkeep-trace --test hostile --test mapping

mutants: ## Break the engine in 300 small ways and count which are noticed; an hour and more; ARGS="--count 500 --seed 2"
	$(CARGO) test $(MUTANTS)
	$(CARGO) run --release $(MUTANTS) -- $(ARGS)

docs: ## Build the reference of all crates with rustdoc
	$(CARGO) doc --workspace --no-deps

site: ## The documents as a website with search, in target/site/html; needs Python and mdbook, no network
	python3 tools/site.py $(OUT)/site

wheels: ## The Python package with the program and the plugin of nbdkit, in target/wheels, for every Python from 3.10; ARGS="--zig" for older Linux
	@$(MATURIN) --version >/dev/null 2>&1 || { echo "maturin is missing: pip install maturin" >&2; exit 1; }
	$(MATURIN) build --release --locked --out $(OUT)/wheels $(ARGS)
	python3 tools/wheels.py $(OUT)/wheels/*.whl

package: ## Package and build the crates that are published; ARGS="--no-verify" only packages them
	$(CARGO) package --workspace $(INTERNAL) --allow-dirty $(ARGS)

sbom: ## The bill of materials of what is shipped, CycloneDX JSON in target/sbom.cdx.json; needs Python
	python3 tools/sbom.py >$(OUT)/sbom.cdx.json
