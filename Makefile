# Needs python3 (3.11 or newer) with venv, and nothing else. Everything is installed into
# .venv; a stamp per extra keeps later runs quick.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
DEMO_OUT ?= demo

# One BLAS thread per test process: pytest-xdist already uses the cores.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: help demo test lint format types docs bench goals mutants coverage dist clean
.DEFAULT_GOAL := help
.NOTPARALLEL:

help:
	@echo "make demo    identify a virtual robot, from motion to report"
	@echo "make test    run the tests"
	@echo "make lint    check style (make format repairs it)"
	@echo "make types   check types"
	@echo "make docs    build the documentation into docs/_build/html"
	@echo "make bench   run the benchmarks"
	@echo "make goals   check the benchmarks' goals that need no clock, in half a minute"
	@echo "make mutants see whether tests notice wrong changes (MUTANTS='--sample 0': known ones)"
	@echo "make coverage  branch coverage of the tests"
	@echo "make dist    build source archive and wheel, and try the wheel in a fresh environment"
	@echo "make clean   remove everything that was made"

demo: $(VENV)/.have-runtime
	$(BIN)/steelyard demo -o $(DEMO_OUT)

test: $(VENV)/.have-test
	$(ONE_THREAD) $(BIN)/python -m pytest -n auto --dist loadfile $(PYTEST_ARGS)

lint: $(VENV)/.have-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.have-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.have-dev
	$(BIN)/mypy

docs: $(VENV)/.have-docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "The documentation is $(abspath docs/_build/html)/index.html"

bench: $(VENV)/.have-test
	$(BIN)/python benchmarks/run.py $(or $(BENCH),compress)

goals: $(VENV)/.have-test
	$(ONE_THREAD) $(BIN)/python benchmarks/run.py --quick

mutants: $(VENV)/.have-dev
	$(ONE_THREAD) $(BIN)/python tools/mutants/run.py $(MUTANTS)

coverage: $(VENV)/.have-dev
	rm -rf build/coverage
	$(ONE_THREAD) $(BIN)/python -m coverage run -m pytest -n auto --dist loadfile $(PYTEST_ARGS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report --skip-covered --sort=-miss

# The fresh environment sees the wheel, not this checkout.
dist:
	rm -rf dist build
	$(PYTHON) -m venv build/tools
	build/tools/bin/python -m pip --disable-pip-version-check install --quiet build
	build/tools/bin/python -m build
	$(PYTHON) -m venv build/fresh
	build/fresh/bin/python -m pip --disable-pip-version-check install --quiet dist/*.whl
	@for file in $$(cd src && find steelyard -type f -not -path '*/__pycache__/*'); do \
	  test -e build/fresh/lib/python*/site-packages/$$file || \
	  { echo "$$file is not in the wheel" >&2; exit 1; }; done
	cd build && fresh/bin/steelyard info --self-test

clean:
	rm -rf $(VENV) $(DEMO_OUT) build dist docs/_build docs/examples docs/api benchmarks/.cache
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests examples benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Steelyard needs Python 3.11 or newer; try 'make PYTHON=python3.12 ...'" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.have-runtime: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable .
	@touch $@

$(VENV)/.have-%: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable '.[$*]'
	@touch $@ $(VENV)/.have-runtime
