# `make demo` plays a tournament, `make test` runs the tests. Both install what they need into .venv.

PYTHON ?= python3
BIN := .venv/bin
PACKAGES := pyproject.toml $(wildcard plugins/*/pyproject.toml)
# Three processes on two cores: tests of processes and clocks wait for a part of their time.
PYTEST_FLAGS ?= -n 3 --dist loadfile
# Three workers and hundreds of child processes would each compile all modules again.
export PYTHONDONTWRITEBYTECODE =
MUTANTS ?=
# All tests of one part, those marked slow too: make test PKG=go
PKG ?=
DIST ?= dist
TESTS_framework := tests/framework tests/belief_search tests/plugins tests/web tests/types
TESTS_tournaments := tests/tournaments tests/comparing tests/types
TESTS_go := tests/go tests/go_learning tests/tsumego tests/types
TESTS_rbc := tests/rbc tests/types
TESTS_classics := tests/classics tests/types
TESTS_miniblind := tests/miniblind tests/types
TESTS_openspiel := tests/openspiel tests/types
TESTS_docs := tests/docs
TESTS_promises := tests/promises
TESTS := $(if $(PKG),$(or $(TESTS_$(PKG)),$(error PKG=$(PKG): there is no such part; there are \
	framework tournaments go rbc classics miniblind openspiel docs promises)))
# A green run of all parts is written down, with its time from here: tests/records.py.
RECORDED = $(if $(PKG),,MIAI_RECORD="$1 $(shell date +%s)")
STRENGTH := runs/strength-$(shell date +%Y%m%d)
# Matches want a folder or weights and take hours; figures.py runs others of these.
BENCHMARKS := $(filter-out %_matches.py %/go_settings.py %/go_five.py %/go_networks.py %/go_zero.py %/go_values.py %/go_judges.py %/figures.py %/pages.py %/opponents.py %/rbc_questions.py,$(wildcard benchmarks/*.py))

.PHONY: demo test test-all check docs format bench figures size soak mutants fuzz strength pictures audit dist oldest clean help

demo: .venv/installed
	$(BIN)/miai tournament run configs/quickstart.toml --out runs/demo-$$(date +%Y%m%d-%H%M%S)
	@echo "Play in the browser: $(BIN)/miai web --open"

test: .venv/installed-dev
	$(BIN)/python -m tests.compile_kernels
	$(call RECORDED,test) $(BIN)/pytest -m "$(if $(PKG),,not slow and )not soak" $(PYTEST_FLAGS) $(TESTS)

test-all: .venv/installed-dev
	$(call RECORDED,test-all) $(BIN)/pytest -m "not soak" $(PYTEST_FLAGS) $(TESTS)

check: .venv/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python benchmarks/pages.py --check
	$(BIN)/mypy

docs: .venv/installed-dev
	$(BIN)/sphinx-build -W --keep-going -q -j 2 -b html docs docs/_build/html

format: .venv/installed-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/python benchmarks/pages.py

size: .venv/installed-dev
	$(BIN)/python -m tests.size --wheels

soak: .venv/installed-dev
	$(call RECORDED,soak) MIAI_TEST_SEED=random $(BIN)/pytest -m soak --timeout 3600

bench: .venv/installed-dev
	for benchmark in $(BENCHMARKS); do $(BIN)/python $$benchmark || exit 1; done

mutants: .venv/installed-dev
	$(BIN)/pip install -q "cosmic-ray>=8.7"
	$(BIN)/python -m tests.mutants $(MUTANTS)

fuzz: .venv/installed-dev
	$(BIN)/pip install -q "atheris>=3"
	$(BIN)/python -m tests.fuzz

strength: .venv/installed-dev
	for match in configs/strength/*.toml; do \
		$(BIN)/miai tournament run $$match --out $(STRENGTH)/$$(basename $$match .toml) || exit 1; done
	$(BIN)/python -m tests.records strength $(STRENGTH)

figures: .venv/installed-dev
	$(BIN)/python benchmarks/figures.py

pictures: .venv/installed-dev
	$(BIN)/python docs/site/pictures.py

audit: .venv/installed-dev
	$(BIN)/bandit -q -c pyproject.toml -ll -r framework tournaments plugins
	$(BIN)/pip-audit --skip-editable

dist: .venv/installed-dev
	rm -f $(DIST)/miai*
	for source in . plugins/*/; do \
		(cd $$source && $(abspath $(BIN))/python -m hatchling build -d $(abspath $(DIST))) || exit 1; done

# The tests with the lowest version of each requirement that the distributions allow.
oldest:
	$(PYTHON) -m venv --clear .oldest
	.oldest/bin/python -m pip install -q uv
	.oldest/bin/uv pip install -q --python .oldest --resolution lowest-direct -r requirements-dev.txt
	.oldest/bin/pytest -m "not slow and not soak" $(PYTEST_FLAGS) $(TESTS)

clean:
	rm -rf dist docs/_build docs/api docs/catalogue .venv .oldest .mypy_cache .ruff_cache .pytest_cache .hypothesis

help:
	@echo "demo test test-all check docs format size soak mutants fuzz strength bench figures pictures audit dist oldest clean"

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "miai needs Python 3.11 or later; run: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python $(PACKAGES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[web]" \
		-e plugins/classics -e plugins/go -e plugins/miniblind -e plugins/rbc
	@touch $@

.venv/installed-dev: .venv/bin/python requirements-dev.txt $(PACKAGES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@ .venv/installed
