# Two commands do all the set-up on a fresh clone with nothing but Python >= 3.11: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The versions of `dev`, from `python tools/lock.py`; empty (make test CONSTRAINTS=) for the newest ones.
CONSTRAINTS ?= constraints-dev.txt

.PHONY: demo test test-ray check smoke docs lint audit clean

demo: $(VENV)/.demo
	$(BIN)/weft score examples/essay.txt --explain

# One worker per core, at most eight; a worker that has finished takes tests from the others.
test: $(VENV)/.dev
	$(BIN)/python -m pytest -n logical --maxprocesses 8 --dist worksteal -m 'not ray'

# The tests that start Ray, which takes half a minute.
test-ray: $(VENV)/.dev
	$(BIN)/python -m pytest -m ray

# Lint, types and the quick tests, at the same time; before every commit.
check: $(VENV)/.dev
	$(MAKE) --jobs 2 lint smoke

# What breaks first: the shape of the package, arithmetic, searches, readers, the golden values of quick models.
SMOKE := tests/docs/test_house.py tests/scoring tests/ordering tests/generation tests/io tests/corpora/text \
	tests/corpora/negatives tests/evaluation/test_metrics.py tests/training/test_config.py tests/golden
smoke: $(VENV)/.dev
	$(BIN)/weft score examples/essay.txt > $(VENV)/.smoke
	$(BIN)/python -m pytest -m 'not slow' $(SMOKE)

# Numbers and outputs of the pages, then the site in site/; a warning of mkdocs is an error.
docs: $(VENV)/.dev
	$(BIN)/python -m paper.build
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html; for the search box: python -m http.server --directory site"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Known vulnerabilities of the locked versions, where the data of pip-audit can be reached.
audit: $(VENV)/.dev
	$(BIN)/python tools/audit.py

clean:
	rm -rf $(VENV) build dist site src/*.egg-info

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "weft needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V). Try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml $(CONSTRAINTS)
	$(BIN)/python -m pip install --quiet $(addprefix --constraint ,$(CONSTRAINTS)) --editable '.[dev]'
	@touch $@ $(VENV)/.demo
