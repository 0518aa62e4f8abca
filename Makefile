# make without arguments prints this menu.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
KUBECTL ?= kubectl
DOCKER ?= docker
IMG ?= handloop:latest
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes

.DEFAULT_GOAL := help
.PHONY: help install-deps install-dev run sandbox test lint format bench manifests lock size clean
.PHONY: image build-installer install uninstall deploy undeploy e2e e2e-local

help: ## this menu
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(VENV)/.installed ## a virtual environment in .venv with everything the program needs

install-dev: $(VENV)/.installed-dev ## the same with everything the tests and checks need

run: install ## the built-in sandbox and the controller on it, in one process; no cluster needed
	@$(BIN)/python -m controller --sandbox

sandbox: install ## the API server alone
	@$(BIN)/python -m controller sandbox

test: install-dev ## every test; with TEST_KUBECONFIG set also against that real API server
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: install-dev ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install-dev ## let ruff write the layout
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-bench ## measure beside the peers; see benchmarks/README.md
	$(BIN)/python benchmarks/sync_and_events.py
	$(BIN)/python benchmarks/queue_cycles.py

manifests: install ## write the generated manifests from the types and the declared access
	$(BIN)/python -m controller manifests crd --controllers=foo > manifests/crd/samplecontroller.k8s.io_foos.yaml
	$(BIN)/python -m controller manifests crd --controllers=myapp > manifests/crd/example.com_myapps.yaml
	$(BIN)/python -m controller manifests rbac $(RBAC_FLAGS) > manifests/rbac/role.yaml
# as the Deployment runs them
RBAC_FLAGS := --leader-elect --leader-elect-resource-namespace=handloop-system

lock: install-dev ## pin the dependencies again, with hashes
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --upgrade $(LOCK_FLAGS) --output-file=requirements.lock pyproject.toml
	$(BIN)/pip-compile --quiet --upgrade $(LOCK_FLAGS) --extra=dev --constraint=requirements.lock --output-file=requirements-dev.lock pyproject.toml
	echo lightkube | $(BIN)/pip-compile --quiet --upgrade $(LOCK_FLAGS) --constraint=requirements.lock --output-file=benchmarks/requirements.lock -
LOCK_FLAGS := --generate-hashes --strip-extras --no-annotate --no-emit-index-url --no-emit-trusted-host --no-emit-find-links

size: ## lines per package
	@for folder in apis client workqueue informers controller sandbox tests; do \
		printf '%-12s %6d\n' $$folder $$(find $$folder -name '*.py' -exec cat {} + | wc -l); done

clean: ## remove the virtual environment and what the tools leave behind
	rm -rf $(VENV) .sandbox .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.lock | $(VENV)/bin/python
	@echo "installing the dependencies into $(VENV) ..."
	@$(PIP_INSTALL) -r requirements.lock
	@touch $@

$(VENV)/.installed-dev: requirements-dev.lock | $(VENV)/bin/python
	@echo "installing the dependencies and the tools into $(VENV) ..."
	@$(PIP_INSTALL) -r requirements-dev.lock
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: benchmarks/requirements.lock $(VENV)/.installed
	@echo "installing the peers into $(VENV) ..."
	@$(PIP_INSTALL) -r benchmarks/requirements.lock
	@touch $@
