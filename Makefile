# make without arguments prints this menu.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
KUBECTL ?= kubectl
DOCKER ?= docker
IMG ?= handloop:latest
DEPLOYED := build/deploy
INSTALL := tools/install.sh $(BIN)/python
NEIGHBOURS := sandbox explore learn
LOCKS := requirements/program.lock $(NEIGHBOURS:=/requirements.lock)

.DEFAULT_GOAL := help
.PHONY: help venv install-dev run walkthrough sandbox test test-nightly explore show coverage compile-tests pictures page recordings see docs lint format bench manifests lock audit distributions size clean
.PHONY: bundle chart image build-installer install uninstall deploy undeploy e2e e2e-local e2e-examples soak soak-shards

help: ## print this menu
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(VENV)/.installed $(VENV)/.linked ## a virtual environment, .venv, with the dependencies of the program and its neighbours

install-dev: $(VENV)/.installed-dev $(VENV)/.linked ## the same, with the tools of the tests and checks

run: venv ## run the controllers on the built-in sandbox, in one process; no cluster needed
	@$(BIN)/python -m controller --sandbox

walkthrough: venv ## the chapters in this terminal; ARGS=3 tells one, ARGS=list names them
	@$(BIN)/python -m handloop walkthrough $(ARGS)

sandbox: venv ## run the sandbox's API server alone
	@$(BIN)/python -m controller sandbox

# more workers than cores, because most of the longer tests wait; PYTEST_ARGS=-n0 runs all in one process
# TESTS= takes some of the tests alone: TESTS=tests all but those of the neighbours, TESTS=sandbox/tests those of one
WORKERS ?= 5
PLANS ?= 6000
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=20
# every worker imports every test: the first time is the last one that they are compiled
test test-nightly coverage compile-tests: export PYTHONDONTWRITEBYTECODE :=

compile-tests: install-dev
	@$(BIN)/python -m pytest --collect-only -qq > /dev/null || true # the tests will say it

test: install-dev ## run every test; if TEST_KUBECONFIG is set, also against that real API server
	$(PYTEST) $(TESTS) $(PYTEST_ARGS)

test-nightly: install-dev ## the same at length: pairs of faults, new examples of properties
	FAULT_SEEDS=100 IDLE_MYAPPS=50 $(PYTEST) -m '' --hypothesis-profile=new-examples $(PYTEST_ARGS)

explore: install-dev ## play PLANS=6000 plans of faults of our controllers and examples, on all processors: 4 minutes on two
	EXPLORED_PLANS=$(PLANS) $(PYTEST) -n0 -m nightly -rP -k pairs_triples explore/tests/exploration/test_our_own.py $(PYTEST_ARGS)

show: install-dev ## run what shows a guarantee or a fault of the docs: ROW=G07, ROW=A08
	@$(BIN)/python -m tools.shown $(ROW)

coverage: install-dev ## measure which lines and branches the tests run, the programs that they start included
	$(PYTEST) --cov --cov-report=term --cov-report=html:build/coverage/html $(PYTEST_ARGS)

pictures: page ## take the pictures of the live page anew, for README and docs; needs chromium
	mkdir -p learn/docs/live
	WRITE_PICTURES=1 REQUIRE_CHROMIUM=1 $(BIN)/python -m pytest learn/tests/walkthrough/live/test_pictures.py
	$(BIN)/python -m tools.situations

recordings: install-dev ## record the runs of the live page anew: learn/docs/live-page/runs, and the page with them
	$(BIN)/python -m tools.recorded_runs

page: install-dev ## write learn/docs/live-page/index.html anew, after a change of the page, its scenes or a step's source
	$(BIN)/python -m tools.recorded_runs --page

PAGE := $(CURDIR)/learn/docs/live-page/index.html
see: ## open the live page with its recordings in a browser; needs nothing installed
	@$(PYTHON) -c 'import sys, webbrowser; sys.exit(not webbrowser.open("file://" + sys.argv[1]))' "$(PAGE)" \
		|| echo "no browser was found: open $(PAGE) in one"

docs: install-dev ## build the site of the docs, build/docs/index.html; every warning is an error
	$(BIN)/python -m sphinx -q -W --keep-going -d build/docs-trees docs build/docs

lint: install-dev ## check with ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install-dev ## format with ruff
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-bench $(VENV)/.linked ## measure beside the peers, 12 minutes, ROUNDS=1 fewer; writes docs/performance.md
	$(BIN)/python benchmarks/all.py $(if $(ROUNDS),--rounds $(ROUNDS)) $(BENCH_ARGS)

manifests: venv ## write the generated manifests from the types and the declared access
	$(BIN)/python -m controller manifests crd > manifests/crd/crds.yaml
	$(BIN)/python -m controller manifests user-roles > manifests/rbac/user_roles.yaml
	$(BIN)/python -m controller manifests rbac $(RBAC_FLAGS) > manifests/rbac/role.yaml
	$(BIN)/python -m controller manifests rbac $(RBAC_FLAGS:--leader-elect=--shards=16) > manifests/shards/role.yaml
# the flags of the Deployment
RBAC_FLAGS := --leader-elect --metrics-auth --leader-elect-resource-namespace=handloop-system

chart: venv ## write manifests/charts, for helm: the program and its CRDs
	$(BIN)/python -m controller chart --image $(IMG)

bundle: venv ## write manifests/bundle, for the Operator Lifecycle Manager; REPLACES= names the version before
	$(BIN)/python -m controller bundle --image $(IMG) $(if $(REPLACES),--replaces $(REPLACES))

install: venv ## make .venv, and apply the CRDs to the current context's cluster; without one apply nothing
	@if context=$$($(KUBECTL) config current-context 2>/dev/null); then \
		echo "applying the CRDs to the cluster of context $$context ..."; \
		$(KUBECTL) apply -k manifests/crd; \
	else echo "no current context: the CRDs were not applied anywhere"; fi

uninstall: ## delete the CRDs from that cluster, and every Foo and MyApp with them
	$(KUBECTL) delete --ignore-not-found -k manifests/crd

deploy: $(DEPLOYED)/kustomization.yaml ## apply CRDs, roles and the Deployment, with the image IMG
	$(KUBECTL) apply -k $(DEPLOYED)

undeploy: ## delete all that deploy applied, with the CRDs and their objects
	$(KUBECTL) delete --ignore-not-found -k manifests/default

image: ## build the container image IMG
	$(DOCKER) build --tag $(IMG) --build-arg HANDLOOP_LOCAL_VERSION="$$($(PYTHON) -c \
		'import handloop.controller.cli.version as v; print(v.exact_version().removeprefix(v.version()))')" .

build-installer: $(DEPLOYED)/kustomization.yaml ## write manifests/install.yaml: all that deploy applies, in one file
	$(KUBECTL) kustomize $(DEPLOYED) > manifests/install.yaml

e2e: install-dev ## run the in-cluster tests on a kind cluster; needs docker, kind and kubectl
	tests/e2e/run-in-kind $(PYTEST_ARGS)

e2e-local: install-dev ## run the same tests on CONTROLPLANE, with pods as processes; Linux, as root
	tests/e2e/run-in-processes $(PYTEST_ARGS)

e2e-examples: install-dev ## deploy each example there, as a project of handloop init; Linux, as root
	tests/e2e/run-examples-in-processes

soak: install-dev ## half an hour of faults for three replicas on CONTROLPLANE; writes docs/soak.md
	PYTHONPATH=tests:sandbox $(BIN)/python -m soak --seconds=$(SOAK) --seed=$(SEED) --controlplane=$(CONTROLPLANE)

soak-shards: install-dev ## two hundred times faults for three replicas with shards on CONTROLPLANE
	PYTHONPATH=tests:sandbox $(BIN)/python -m soak.shards --seeds=$(SEEDS) --seed=$(SEED) --controlplane=$(CONTROLPLANE)
SOAK ?= 30m
SEEDS ?= 200
SEED ?= 1
CONTROLPLANE ?= ../shared/controlplane

# manifests/default with the image IMG: an overlay, so manifests/ stays as it is
$(DEPLOYED)/kustomization.yaml: FORCE
	@mkdir -p $(DEPLOYED)
	@printf '%s\n' 'resources:' '  - ../../manifests/default' 'patches:' '  - target:' '      kind: Deployment' \
		'      name: handloop' '    patch: |-' '      - op: replace' \
		'        path: /spec/template/spec/containers/0/image' '        value: $(IMG)' > $@
FORCE:

lock: ## pin the dependencies again, with hashes: of the program, with the sandbox, with the tests, of the builds
	$(PYTHON) -m venv $(VENV)-lock && $(VENV)-lock/bin/python -m pip install --quiet pip-tools
	$(VENV)-lock/bin/python -m tools.locks $(LOCK)
# LOCK= adds new dependencies, and leaves every other version as it is
LOCK ?= --upgrade

audit: ## look for known vulnerabilities in the locked packages
	$(PYTHON) -m venv $(VENV)-audit && $(VENV)-audit/bin/python -m pip install --quiet pip-audit
	$(VENV)-audit/bin/pip-audit --disable-pip --require-hashes $(AUDIT_ARGS) \
		--requirement learn/requirements.lock

ifneq ($(VERSION),)
distributions: export HANDLOOP_LOCAL_VERSION := # of a release: the plain version
endif
# the same commit gives the same wheels
distributions: export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || echo 315532800)
distributions: install-dev ## build/distributions: sdist and wheel of each project; VERSION= refuses any other version
	@for folder in . $(NEIGHBOURS); do \
		test -z "$(VERSION)" || grep -qx 'version = "$(VERSION)"' $$folder/pyproject.toml || \
			{ echo "the version in $$folder is not $(VERSION)" >&2; exit 1; }; done
	rm -rf build/distributions
	for folder in . $(NEIGHBOURS); do (cd $$folder && $(CURDIR)/$(BIN)/python -c \
		'from setuptools.build_meta import build_sdist; build_sdist("$(CURDIR)/build/distributions")') || exit; done
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/distributions \
		build/distributions/*.tar.gz
	rm -rf *.egg-info $(NEIGHBOURS:=/*.egg-info) # else pytest would find the plugin of this checkout twice

size: ## print the lines of each package
	@for folder in handloop apis client workqueue informers controller tests \
		$(foreach name,$(NEIGHBOURS),$(name)/handloop_$(name) $(name)/tests); do \
		printf '%-24s %6d\n' $$folder $$(find $$folder -name '*.py' -exec cat {} + | wc -l); done

clean: ## remove the virtual environment and the files of the tools
	rm -rf $(VENV) $(VENV)-lock $(VENV)-audit .sandbox .pytest_cache .mypy_cache .ruff_cache .hypothesis build $(NEIGHBOURS:=/build) *.egg-info $(NEIGHBOURS:=/*.egg-info)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# the projects beside this one: `python -m handloop_sandbox`, and imports of tests and tools
$(VENV)/.linked: Makefile | $(VENV)/bin/python
	@printf '%s\n' $(NEIGHBOURS:%=$(CURDIR)/%) > $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/neighbours.pth
	@touch $@

$(VENV)/.installed: $(LOCKS) | $(VENV)/bin/python
	@echo "installing the dependencies into $(VENV) ..."
	@$(INSTALL) learn/requirements.lock
	@touch $@

$(VENV)/.installed-dev: requirements/dev.lock $(LOCKS) | $(VENV)/bin/python
	@echo "installing the dependencies and the tools into $(VENV) ..."
	@$(INSTALL) requirements/dev.lock
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: benchmarks/requirements.lock $(VENV)/.installed
	@echo "installing the peers into $(VENV) ..."
	@$(INSTALL) benchmarks/requirements.lock
	@touch $@
