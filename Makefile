# Every target makes its own environment when it is missing. `make help` lists them.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
HTML   := _build/html
PORT   ?= 8000
HOST   ?= 127.0.0.1
DEVICE ?= cpu
REQUIREMENTS ?= requirements.txt
# Cores that share the tests; conftest.py keeps a test file or a notebook on one worker.
JOBS   ?= $(shell getconf _NPROCESSORS_ONLN)

# One thread a kernel, as in booktools/notebooks.py: outputs must not depend on the cores.
export OMP_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export PYTHONHASHSEED  ?= 0
export PYDEVD_DISABLE_FILE_VALIDATION ?= 1
# Each worker would compile every test file, and each kernel the package: ten seconds a worker.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup book serve check test test-all mutants notebooks bench results lint clean linkcheck picture chapter assignment slides explorer pdf epub

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## make .venv and install what the book needs

$(READY): $(REQUIREMENTS) requirements-alone.txt constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, this is " + v + "; name another with: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	@echo "Installing $(REQUIREMENTS) into $(VENV): the first time this downloads PyTorch ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $(REQUIREMENTS)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-alone.txt
	@touch $@

book: $(READY) ## build the book into _build/html and print its address
	@$(BIN)/python -m booktools.gates
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/jupyter-book build . -W -n --keep-going --quiet >/dev/null
	@echo "The book: file://$(CURDIR)/$(HTML)/index.html"

pdf: book ## bind the book into _build/attention-measured.pdf (needs Chromium)
	@$(BIN)/python -m booktools.volume pdf

epub: book ## bind the book into _build/attention-measured.epub (needs Chromium)
	@$(BIN)/python -m booktools.volume epub

serve: book ## build the book and serve it on http://localhost:8000 (PORT=, HOST=0.0.0.0 for others)
	$(BIN)/python -m booktools.serve $(HTML) --port $(PORT) --host $(HOST)

# The tests in tiers, by the markers in pyproject.toml.
check: lint ## while editing: lint, gates, unit, contract, refusals, doctests, exercises
	$(BIN)/python -m booktools.gates
	$(BIN)/python -m pytest -q -n $(JOBS) -m "not (slow or notebook or build or browser)"

# The first test builds the book when it is out of date, while the other workers run notebooks.
# There is one worker more than cores, since one that drives a browser or a kernel mostly waits.
test: lint ## check, the book, its pages in Chromium, the notebooks, small books, short trainings
	$(BIN)/python -m booktools.gates
	$(BIN)/python -m pytest -q -n $$(($(JOBS) + 1)) -m "not slow"

test-all: lint ## test, long trainings, Colab's environment, JupyterLab
	$(BIN)/python -m booktools.gates
	$(BIN)/python -m pytest -q -n $$(($(JOBS) + 1))

mutants: $(READY) ## break attnkit's core in every small way, and list what no test noticed
	rm -rf mutants
	$(BIN)/mutmut run --max-children $(JOBS)
	$(BIN)/mutmut results

notebooks: $(READY) ## execute every chapter and write its outputs (ONLY=05 for one)
	$(BIN)/python -m booktools.notebooks $(ONLY)

bench: $(READY) ## measure speed and memory, as ratios (DEVICE=cuda: after the tests that need a GPU)
	@test "$(DEVICE)" = cpu || $(BIN)/python -m pytest -q -m gpu tests
	$(BIN)/python -m benchmarks --device $(DEVICE)
	$(BIN)/python -m benchmarks.explorer
	$(BIN)/python -m benchmarks.live_translator

# The translators take hours each: python -m experiments.translate --help says how to train them.
results: $(READY) ## run the long experiments and write results/
	@set -e; $(foreach file,$(filter-out %/translate.py %/plan.py,$(wildcard experiments/[a-z]*.py)),\
	  echo "== $(file)"; $(BIN)/python -m experiments.$(basename $(notdir $(file)));)

lint: $(READY) ## ruff and codespell, as before every commit
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

linkcheck: $(READY) ## follow every link that leaves the book (needs a network)
	$(BIN)/jupyter-book build . --builder linkcheck

chapter: $(READY) ## start a chapter (N=10 NAME=machine_translation)
	$(BIN)/python -m booktools.new_chapter "$(N)" "$(NAME)"

assignment: $(READY) ## a chapter's exercises without solutions, for nbgrader or by hand (N=05)
	$(BIN)/python -m booktools.classroom assignment "$(N)"

slides: book ## the pictures of a page as slides (N=05; needs Chromium)
	$(BIN)/python -m booktools.classroom slides "$(N)"

explorer: $(READY) ## write a page with the explorer, without building the book
	$(BIN)/python -m booktools.widget_page

picture: book ## draw the picture in the README (needs Chromium)
	$(BIN)/python -m booktools.picture chapters/05b_self_attention

clean: ## remove what was built; the environment stays
	rm -rf _build build dist mutants *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
