# Everything runs in .venv, which the first target that needs it makes.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
USABLE := $(VENV)/.usable
INSTALLED := $(VENV)/.installed
TESTS ?= tests
# How many files are tested at a time; 0 for one after the other in one process.
JOBS ?= 2
WEB_SOURCES := $(shell find web -path web/node_modules -prune -o -type f -print)
CLIENT := alfred/server/client/index.html
WEB_PACKAGES := web/node_modules/.package-lock.json

.PHONY: help setup web web-check pictures serve check format test bench eval eval-diagnosis eval-recordings demo \
  demo-diagnosis download-size wheel-check clean

help:
	@echo "make setup        make .venv and install Alfred, its embedded model's engine and tools"
	@echo "make web          build the web client into the package; needs Node.js 20.19 or newer"
	@echo "make web-check    formatting, lint, types and unit tests of the web client"
	@echo "make pictures     the pictures of docs/img anew, from a real browser"
	@echo "make serve        the inbox in your browser: builds the client, starts API and worker"
	@echo "make demo         three postings from capture to stored rows, with the embedded model"
	@echo "make demo-diagnosis    a real system is broken, and Alfred is asked what is wrong"
	@echo "make check        formatting, lint, types, layers"
	@echo "make test         every test; the first run fetches a small model, 491 MB, and Chromium"
	@echo "make test TESTS=tests/unit    some of them"
	@echo "make format       format the code and mend what lint can"
	@echo "make eval         how well the embedded model reads the cases of evals/; half an hour"
	@echo "make eval-diagnosis    what the embedded model makes of recorded incidents; hours"
	@echo "make eval-recordings   write the recordings of evals/cases/diagnosis anew"
	@echo "make bench        what a turn costs, beside LangGraph as documented; minutes"
	@echo "make wheel-check  build the wheel and use it outside the tree"
	@echo "make clean        remove what these targets made"

setup: $(INSTALLED)

# What using Alfred needs; its tests and tools need more.
$(USABLE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Alfred needs Python 3.11 or newer: make setup PYTHON=/path/to/python3.11")'
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing Alfred into $(VENV) ..."
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[embedded]"
	@touch $@

$(INSTALLED): $(USABLE) tests/schemathesis.txt
	@echo "Installing what the tests need ..."
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[embedded,dev]"
	@$(PY) -m venv $(VENV)/schemathesis
	@$(VENV)/schemathesis/bin/python -m pip install --quiet --disable-pip-version-check \
	  -r tests/schemathesis.txt
	@touch $@

web: $(CLIENT)

$(WEB_PACKAGES): web/package.json web/package-lock.json
	@command -v npm >/dev/null || { echo "The web client needs Node.js 20.19 or newer, with npm."; exit 1; }
	npm --prefix web ci --no-audit --no-fund
	@touch $@

$(CLIENT): $(WEB_PACKAGES) $(WEB_SOURCES)
	npm --prefix web run build

web-check: $(WEB_PACKAGES)
	npm --prefix web run check
	npm --prefix web test

pictures: $(INSTALLED) $(CLIENT)
	$(PY) -m tests.pictures

# Without Node.js a client that was built before is served, or none: the API works alone.
serve:
	@echo "Downloads at most 1,384 MB in all: Python packages 116 MB, those of the client 151 MB,"
	@echo "the embedded model 1,117 MB. What is already here is not fetched again."
	@$(MAKE) --no-print-directory $(USABLE)
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory web; \
	  else echo "Node.js is missing: the web client is not built."; fi
	@exec $(VENV)/bin/alfred serve

check: $(INSTALLED)
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m pyright
	$(PY) -m pytest -q tests/contract/test_layers.py

format: $(INSTALLED)
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

# A browser looks at the client; what looks at no page needs no Node.js.
test: $(INSTALLED) $(if $(filter tests/unit% tests/contract%,$(TESTS)),,$(CLIENT))
	$(PY) -m pytest -n $(JOBS) --dist loadfile $(TESTS)

eval: $(USABLE)
	$(VENV)/bin/alfred model pull
	$(VENV)/bin/alfred eval extract_job --cases evals/cases/extract_job.jsonl

eval-diagnosis: $(USABLE)
	$(VENV)/bin/alfred model pull
	$(VENV)/bin/alfred eval diagnosis --cases evals/cases/diagnosis

# Needed whenever a prompt, a schema or a case of the diagnosis changes.
eval-recordings: $(INSTALLED)
	$(PY) -m evals.record_answers

bench: $(INSTALLED)
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]"
	$(PY) -m bench.whole_job

# The figures are those of `make download-size`.
demo:
	@echo "Downloads at most 1,233 MB in all: Python packages 116 MB, the embedded model 1,117 MB."
	@echo "What is already here is not fetched again."
	@$(MAKE) --no-print-directory $(USABLE)
	@$(PY) demo/run.py

# Debian's package of Prometheus is 19 MB, its list of packages 10 MB.
demo-diagnosis:
	@echo "Downloads at most 1,262 MB in all: Python packages 116 MB, the embedded model 1,117 MB,"
	@echo "Prometheus 29 MB. What is already here is not fetched again."
	@$(MAKE) --no-print-directory $(USABLE)
	@$(PY) -m demo.diagnosis.run

download-size: $(USABLE)
	@folder=$$(mktemp -d) && $(PY) -m pip download --quiet -d $$folder -c constraints.txt \
	  ".[embedded]" && du -cb $$folder/* | tail -n 1; rm -rf $$folder
	@folder=$$(mktemp -d) && cp web/package.json web/package-lock.json $$folder \
	  && npm --prefix $$folder ci --cache $$folder/cache --no-audit --no-fund --silent \
	  && du -sb $$folder/cache/_cacache/content-v2; rm -rf $$folder

wheel-check: $(INSTALLED) $(CLIENT)
	tests/wheel_check.sh

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis dist build web/node_modules alfred/server/client
	find alfred tests -name __pycache__ -type d -prune -exec rm -rf {} +
