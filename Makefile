# Every target sets up what it needs: an own environment in .venv with hash-pinned dependencies.
#   make demo    the woodpecker toy: a picture in demo_output/
#   make test    the test suite            make test-browser  reports in a real browser
#   make lint    formatting, lint, types, direction of imports
#   make bench   timings          make docs  the documentation in site/
#   make wheel   a wheel with compiled kernels in dist/   make test-numba  the core on the oldest and newest Numba
#   make soak    the long runs    make lock  renew the pinned dependencies

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
CACHE  := $(CURDIR)/.numba_cache
JOBS   ?= 2

# One thread per process: tests run in parallel, and timings should not depend on the number of cores.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-browser test-nojit test-numba lint wheel bench docs soak lock clean

help:
	@sed -n '2,8s/^# *//p' Makefile

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is wanted; name one with: make PYTHON=/path/to/python3.11 ..."; exit 2; }
	@$(PYTHON) -m venv $(VENV)

# One stamp per set of pinned packages. The package itself is installed in place, with the pinned build backend.
$(VENV)/.%.stamp: requirements/%.lock pyproject.toml | $(BIN)/python
	@echo "setting up $(VENV) from requirements/$*.lock"
	@$(PIP) install -qq --require-hashes -r requirements/$*.lock
	@$(PIP) install -qq --no-deps --no-build-isolation -e .
	@touch $@

# Its kernels go to the user's own cache, so that the first model of one's own need not compile them again.
demo: $(VENV)/.run.stamp
	@$(BIN)/nonsmooth run woodpecker --out demo_output --overwrite

test: $(VENV)/.test.stamp
	@rm -rf $(CACHE)/test
	@NUMBA_CACHE_DIR=$(CACHE)/test $(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m "not soak and not browser" tests

# Reports in a real browser; Debian's package is installed where none is found.
test-browser: $(VENV)/.test.stamp
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null \
		|| { echo "installing chromium"; apt-get install -y -qq chromium >/dev/null; }
	@NUMBA_CACHE_DIR=$(CACHE)/test $(BIN)/python -m pytest -m browser tests/browser

# The compiled core once more as plain Python: index errors show, and the logic does not depend on the compiler.
test-nojit: $(VENV)/.test.stamp
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n $(JOBS) -m "not soak" tests/_core

# The core on the oldest Numba that pyproject.toml allows and on the newest there is, each in an environment of its own.
OLDEST := $(shell sed -n 's/.*"numba>=\([0-9.]*\)".*/\1/p' pyproject.toml)
test-numba:
	@for numba in "numba==$(OLDEST).*" "numba>=$(OLDEST)"; do \
		echo "the core on $$numba"; \
		$(PYTHON) -m venv --clear $(VENV)-numba \
		&& $(VENV)-numba/bin/python -m pip --disable-pip-version-check install -qq -e ".[test]" "$$numba" \
		&& rm -rf $(CACHE)/numba \
		&& NUMBA_CACHE_DIR=$(CACHE)/numba $(VENV)-numba/bin/python -m pytest -n $(JOBS) --dist loadfile tests/_core \
		|| exit 1; \
	done

# A wheel whose kernels are compiled already, for each processor class; `pip install .` makes one without.
wheel: $(VENV)/.run.stamp
	@$(BIN)/python tools/build_kernels.py build/kernels
	@NONSMOOTH_WHEEL_KERNELS=build/kernels $(PIP) wheel -qq --no-deps --no-build-isolation -w dist .
	@ls dist/*.whl

lint: $(VENV)/.test.stamp
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(VENV)/.run.stamp
	@NUMBA_CACHE_DIR=$(CACHE)/bench $(BIN)/nonsmooth bench

docs: $(VENV)/.docs.stamp
	@NUMBA_CACHE_DIR=$(CACHE)/docs $(BIN)/python -m sphinx -W --keep-going -q -b html docs site
	@echo "documentation: site/index.html"

soak: $(VENV)/.test.stamp
	@NUMBA_CACHE_DIR=$(CACHE)/soak $(BIN)/python -m pytest -n $(JOBS) -m soak tests
	@NUMBA_CACHE_DIR=$(CACHE)/soak HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest -n $(JOBS) tests/test_invariants.py

# Renew the pinned dependencies; options of the machine's package source never enter the files.
COMPILE = $(VENV)/lock/bin/pip-compile --quiet --generate-hashes --no-emit-options --no-header --strip-extras --allow-unsafe
lock:
	@$(PYTHON) -m venv $(VENV)/lock && $(VENV)/lock/bin/python -m pip install -qq pip-tools
	@$(COMPILE) --extra test --extra lint -o requirements/test.lock pyproject.toml requirements/build.in
	@$(COMPILE) -c requirements/test.lock -o requirements/run.lock pyproject.toml requirements/build.in
	@$(COMPILE) --extra docs -c requirements/test.lock -o requirements/docs.lock pyproject.toml requirements/build.in

clean:
	@rm -rf .numba_cache .venv-numba demo_output site build dist
