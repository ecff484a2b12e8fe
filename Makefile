# Everything a newcomer needs: `make demo` and `make test` set up what they use in .venv, from locked and hashed
# requirements, and need only Python 3.11 or newer (3.11, 3.12, 3.13) and make.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1 && { echo $$p; break; }; done)
VENV ?= .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.runreel

.DEFAULT_GOAL := help
.PHONY: help demo test check torture bench agents lock clean

help: ## Say what can be made
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 14

demo: $(STAMPS)/demo ## Record a small agent, look at the run, replay it: nothing to set up, no network, no key
	@$(BIN)/runreel demo

test: $(STAMPS)/dev ## Run the tests
	@$(BIN)/python -m pytest -q -n 2 --dist loadscope $(ARGS)

check: $(STAMPS)/dev ## Lint, types, the import contract, the docs
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/docs

torture: $(STAMPS)/dev ## Kill and starve the collector for long: 200 kills, outages of a minute
	RUNREEL_KILLS=200 RUNREEL_OUTAGE_S=60 $(BIN)/python -m pytest -q tests/collector/test_durability.py tests/deploy/test_outages.py $(ARGS)

bench: $(STAMPS)/dev ## Measure speed as ratios against stock alternatives; writes bench/results.json
	$(BIN)/python bench/run.py $(ARGS)

agents: $(STAMPS)/dev ## Record and replay the agents of examples/agents, each in its own environment; table in docs/agents.md
	$(BIN)/python scripts/agents_table.py $(ARGS)

COMPILE = $(BIN)/uv pip compile pyproject.toml --generate-hashes --universal --python-version 3.11 \
	--no-header --no-emit-index-url --no-annotate -q

lock: $(STAMPS)/dev ## Resolve the requirements again, with hashes
	$(COMPILE) --extra dev -o requirements/dev.txt
	$(COMPILE) --extra demo --extra build -c requirements/dev.txt -o requirements/demo.txt
	$(COMPILE) --extra server --extra build -c requirements/dev.txt -o requirements/server.txt

clean: ## Remove what was built and installed
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(STAMPS)/created:
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11, 3.12 or 3.13 found. Install one, or say which: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Setting up $(VENV) with $$($(PYTHON) --version)."
	@$(PYTHON) -m venv $(VENV) || { echo "make: $(PYTHON) has no venv module (on Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@mkdir -p $(STAMPS) && touch $@

# The project itself is installed without its dependencies: a hashed requirements file cannot name a folder. The build
# backend is in the requirements, and is found on PATH.
define install
	@echo "Installing $(1) packages (about $(2) MB to download, once; pip's cache is used where it has them)."
	@$(BIN)/python -m pip install --disable-pip-version-check --require-hashes --progress-bar on -r requirements/$(1).txt | $(BIN)/python -u scripts/pip_progress.py requirements/$(1).txt
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --disable-pip-version-check -q --no-deps --no-build-isolation -e .
	@touch $@
endef

$(STAMPS)/demo: $(STAMPS)/created requirements/demo.txt pyproject.toml
	$(call install,demo,225)

$(STAMPS)/dev: $(STAMPS)/created requirements/dev.txt pyproject.toml
	$(call install,dev,290)
	@touch $(STAMPS)/demo
