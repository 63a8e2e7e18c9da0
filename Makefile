# Everything runs in .venv, made from pinned versions. Needs Python 3.11+, git and a package index.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode \
	--override constraints-overrides.txt --constraint constraints.txt
PINS := pyproject.toml constraints.txt constraints-overrides.txt

.DEFAULT_GOAL := help
.PHONY: help demo test lint airflow constraints clean

help:  ## Show these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo  ## Run the main job on real data and the stand-in server: load, backfill, correct, rebuild
	@$(BIN)/python -m sr_assets.demo --assets assets --home .demo

test: $(VENV)/.test  ## Run all tests (starts what it needs)
	@$(BIN)/pytest -n 2 --dist loadfile

lint: $(VENV)/.test  ## Check style and types
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy

airflow: $(VENV)/.test  ## Run a local Airflow on the example, with the stand-in beside it
	@$(BIN)/python assets/_landing.py .airflow/storage
	@$(BIN)/python -m sr_assets.airflow.local --home .airflow --dags dags

constraints: $(VENV)/bin/uv  ## Pin the newest versions that fit pyproject.toml
	@$(BIN)/uv pip compile --quiet --upgrade pyproject.toml --all-extras --override constraints-overrides.txt \
		--python-version 3.11 --no-header --no-annotate -o constraints.txt
	@echo "uv==$$($(BIN)/uv --version | cut -d' ' -f2)" >> constraints.txt
	@LC_ALL=C sort -o constraints.txt constraints.txt

clean:  ## Remove the demo's and Airflow's folders and the virtual environment
	rm -rf $(VENV) .demo .airflow

$(VENV)/bin/uv:
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt uv

$(VENV)/.demo: $(VENV)/bin/uv $(PINS)
	@echo "installing what the demo needs"
	@$(INSTALL) -e '.[standin,example]'
	@touch $@

$(VENV)/.test: $(VENV)/bin/uv $(PINS)
	@echo "installing everything, Airflow too"
	@$(INSTALL) -e '.[standin,example,airflow,test,lint]'
	@touch $@ $(VENV)/.demo
