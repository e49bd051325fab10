# Everything runs in .venv, made from requirements.lock; nothing is installed elsewhere.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: run test test-hapi check bench fuzz counterfactuals lock clean

run: $(READY)
	@$(BIN)/readback run ehr

test: $(READY) check
	@$(BIN)/pytest -n auto --cov --cov-report=term:skip-covered

# A real HAPI FHIR: through docker where there is an engine, else put together by Maven with Java 17; else skipped.
test-hapi: $(READY)
	@docker/test-hapi

check: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/mypy docker/load.py
	@$(BIN)/lint-imports

bench: $(READY)
	@$(BIN)/python -m benchmarks

# Sends the FHIR server 100,000 requests of every kind: none may end in a fault, leave its fork or take a second.
fuzz: $(READY)
	@$(BIN)/python -m benchmarks.fuzz

# Renames every pinned repository, and shows that it parses, imports and holds no old name; takes some minutes.
counterfactuals: $(READY)
	@READBACK_ALL_REPOSITORIES=1 $(BIN)/pytest -q tests/repoqa/test_pinned.py

lock: $(READY)
	@$(BIN)/pip install --quiet pip-tools
	@$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-header --no-emit-index-url \
		--no-emit-trusted-host --no-emit-find-links --extra dev --extra polars --output-file requirements.lock pyproject.toml

clean:
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "readback needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another with: make PYTHON=python3.12")'
	@echo "Making the environment in $(VENV) (about a minute, once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
