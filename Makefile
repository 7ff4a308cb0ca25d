# Everything runs in .venv, which is made here; nothing needs to be installed by hand.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
SOURCES := $(shell find skprivate -name '*.pyx' -o -name '*.pxd') setup.py pyproject.toml

export PIP_DISABLE_PIP_VERSION_CHECK = 1
export PIP_QUIET = 1

.PHONY: demo test lint types doc bench clean

demo: $(STAMPS)/plot
	$(BIN)/python -m skprivate

test: $(STAMPS)/test
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(STAMPS)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(abspath $(BIN)):$$PATH" cython-lint skprivate

types: $(STAMPS)/lint
	$(BIN)/mypy

doc: $(STAMPS)/doc
	$(BIN)/python -m sphinx -q -N -W --keep-going -b html doc doc/_build/html

bench: $(STAMPS)/test
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist *.egg-info doc/_build doc/generated doc/auto_examples
	find skprivate -name '*.so' -delete -o -name '*.c' -delete

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --upgrade pip

# Editable: the package runs from this folder; a changed kernel or extra is the only reason to install again.
$(STAMPS)/plot: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --editable '.[plot,progress]'
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/test $(STAMPS)/lint $(STAMPS)/doc: $(STAMPS)/%: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --editable '.[plot,progress,$*]'
	@mkdir -p $(STAMPS) && touch $@
