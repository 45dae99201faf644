# Everything here starts from nothing but make and Python 3.11 to 3.13.
#
#   PYTHON=python3.12   the interpreter to start from (default: python3)
#   UV=                 leave uv alone and install with pip (default: uv where it is on PATH)
#   ARGS="-k mlknn"     passed on to pytest by test, test-slow and bench
#   FILES=tests/benchmarks/test_bench_spec.py  make bench: these files only (all of them take an hour)
#   MLFS_BENCH_STORES=FOLDER  make bench: where large stores are kept for the next time
#   MLFS_LONG_RUN_SECONDS=7200  make test-slow ARGS="-s -k nothing_grows": two hours of jobs on one
#                       cluster instead of ten minutes, and what they leave behind
#
# All paths are relative to the checkout, so its own path may hold blanks.

PYTHON ?= python3
UV ?= $(shell command -v uv 2>/dev/null)
ARGS ?=
FILES ?= tests/benchmarks

VENV := .venv
BIN := $(VENV)/bin

# A stamp says what the environment was last brought up to; a newer lock or pyproject.toml renews it.
READY_TO_RUN := $(VENV)/.ready-to-run
READY_TO_TEST := $(VENV)/.ready-to-test
READY_TO_BENCH := $(VENV)/.ready-to-bench

ifneq ($(strip $(UV)),)
CREATED := $(VENV)/.created-by-uv
create_venv = "$(UV)" venv --quiet --allow-existing --python "$(PYTHON)" $(VENV)
pip_install = "$(UV)" pip install --quiet --python $(BIN)/python
else
CREATED := $(VENV)/.created-by-pip
create_venv = "$(PYTHON)" -m venv $(VENV)
# As with uv, modules are compiled when they are first imported: most of them never are.
pip_install = $(BIN)/python -m pip --quiet --disable-pip-version-check install --no-compile
endif

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help venv quickstart test test-slow lint wheel-check bench lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

venv: $(READY_TO_TEST) ## the environment of a developer: .venv with the locked packages

quickstart: $(READY_TO_RUN) ## the main job on planted data: a table on the screen, a report in runs/
	@test -d "$${MLFS_STORES:-storage/stores}/quickstart.zarr" || $(BIN)/mlfs data synth quickstart
	$(BIN)/mlfs run jobs/quickstart.toml

test: lint ## what CI runs: lint, then all tests and wheel-check side by side
	@PYTHON="$(PYTHON)" UV="$(UV)" sh tests/run_all.sh $(BIN)/python $(ARGS)

test-slow: $(READY_TO_TEST) ## the longer checks, run before an issue is closed
	HYPOTHESIS_PROFILE=slow $(BIN)/python -m pytest -m slow $(ARGS)

lint: $(READY_TO_TEST) ## ruff, mypy --strict and the import contracts
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports

wheel-check: $(READY_TO_TEST) ## the wheel in a clean environment: the quickstart, run from another folder
	PYTHON="$(PYTHON)" UV="$(UV)" sh tests/wheel_check.sh $(BIN)/python

# A BLAS kernel forced from outside would slow the peers down, so the benchmarks let it choose.
bench: $(READY_TO_BENCH) ## side by side with peers; without ARGS it writes BENCHMARKS.md
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE MLFS_BENCH=$(if $(strip $(ARGS)),print,write) \
	    $(BIN)/python -m pytest $(FILES) -p no:randomly -m "slow or not slow" $(ARGS)

# Locks carry hashes and no addresses. Pins stay as they are where they can: make lock ARGS=--upgrade
# moves them. dev.lock is solved first; the others agree with it.
lock: ## write requirements/*.lock anew (needs uv)
	@test -n "$(strip $(UV))" || { echo "make lock needs uv on PATH: pip install uv" >&2; exit 1; }
	$(compile) pyproject.toml --extra test --extra lint requirements/build.in -o requirements/dev.lock
	$(compile) pyproject.toml -c requirements/dev.lock -o requirements/runtime.lock
	$(compile) requirements/build.in -c requirements/dev.lock -o requirements/build.lock
	$(compile) pyproject.toml --extra bench -c requirements/dev.lock -o requirements/bench.lock

compile = "$(UV)" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-header $(ARGS)

clean: ## remove the environment, caches and builds; stores and runs stay
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find mlfs_dask tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(CREATED):
	@command -v "$(PYTHON)" >/dev/null || { \
	    echo "There is no $(PYTHON) here: install Python 3.11 to 3.13, or say make PYTHON=PATH" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; v = sys.version_info; \
	    sys.exit(0 if (3, 11) <= v[:2] < (3, 14) else "mlfs-dask needs Python 3.11 to 3.13; " \
	    "$(PYTHON) is %d.%d.%d: say make PYTHON=python3.12, for example" % v[:3])'
	$(create_venv)
	@touch $@

$(READY_TO_RUN): requirements/runtime.lock requirements/build.lock pyproject.toml | $(CREATED)
	$(pip_install) --require-hashes -r requirements/runtime.lock -r requirements/build.lock
	$(pip_install) --no-deps --no-build-isolation --editable .
	@touch $@

$(READY_TO_TEST): requirements/dev.lock $(READY_TO_RUN)
	$(pip_install) --require-hashes -r requirements/dev.lock
	@touch $@

$(READY_TO_BENCH): requirements/bench.lock $(READY_TO_TEST)
	$(pip_install) --require-hashes -r requirements/bench.lock
	@touch $@
