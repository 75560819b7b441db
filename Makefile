# Everything a newcomer needs: `make ingest`, then `make ui`. `make help` lists the rest.
#
#   make ingest                         ingest every corpus of stackroom.yaml (as delivered: the sample library)
#   make ingest SOURCE=/path/to/folder  ingest a folder of your own
#   make ingest CORPUS=name             ingest one corpus
#
# Variables: PYTHON (interpreter to build .venv with), PIP_ARGS (passed to pip), STACKROOM_STATE (state folder),
# PORT (of the UI), ARGS (passed on to `stackroom ingest` or pytest).

SHELL := /bin/bash
.DEFAULT_GOAL := help

VENV ?= .venv
PORT ?= 3000
BIN := $(VENV)/bin

# One state folder for artefacts, stores and Dagster's instance; a relative path is relative to this folder.
STACKROOM_STATE ?= .stackroom
override STACKROOM_STATE := $(if $(filter /%,$(firstword $(STACKROOM_STATE))),$(STACKROOM_STATE),$(CURDIR)/$(STACKROOM_STATE))
export STACKROOM_STATE
export DAGSTER_HOME := $(CURDIR)
export DAGSTER_DISABLE_TELEMETRY := 1
export HF_HUB_OFFLINE := 1
export SOURCE CORPUS PYTHON PIP_ARGS VENV

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' Makefile

# Stamps: a target is rebuilt when pyproject.toml or constraints.txt is newer, and is otherwise instant.
$(VENV)/.installed-runtime: pyproject.toml constraints.txt tools/install.sh
	@tools/install.sh runtime

$(VENV)/.installed-dev: pyproject.toml constraints.txt tools/install.sh
	@tools/install.sh dev

.PHONY: install install-dev
install: $(VENV)/.installed-runtime ## make .venv and install what running needs
install-dev: $(VENV)/.installed-dev ## the same, plus what the tests need

.PHONY: ingest
ingest: $(VENV)/.installed-runtime ## ingest documents; SOURCE=folder or CORPUS=name to say which
	@$(BIN)/stackroom ingest $${CORPUS:+"$$CORPUS"} $${SOURCE:+--source "$$SOURCE"} $(ARGS)

.PHONY: ui
ui: $(VENV)/.installed-runtime ## start Dagster's web UI and daemon on http://127.0.0.1:3000
	@$(BIN)/stackroom ui --port $(PORT)

.PHONY: test test-all check
test: $(VENV)/.installed-dev ## run the tests (under ten minutes)
	$(BIN)/python -m pytest -m "not slow" $(ARGS)

test-all: $(VENV)/.installed-dev ## run all tests, the slow ones too
	$(BIN)/python -m pytest $(ARGS)

check: $(VENV)/.installed-dev ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.PHONY: sample-library
sample-library: $(VENV)/.installed-dev ## write library/ again (its content does not change unless its texts do)
	$(BIN)/python tools/library/build.py

.PHONY: docs
docs: $(VENV)/.installed-dev ## write the tables of docs/configuration.md again
	$(BIN)/python tools/config_reference.py

.PHONY: clean-state
clean-state: ## delete the state folder: stores, artefacts, caches and the history of runs
	@tools/clean_state.sh
