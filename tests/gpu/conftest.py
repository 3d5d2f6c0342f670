"""Tests that take an NVIDIA GPU: `make test-gpu`. Without one the session ends in a sentence, not green."""

import pytest

from pytest_procure.telemetry.nvml import gpus


def pytest_collection_finish(session):
    if not any(item.get_closest_marker("gpu") for item in session.items):
        return
    _, reason = gpus()
    if reason:
        pytest.exit(f"these tests take an NVIDIA GPU, and there is none: {reason}", returncode=1)


@pytest.fixture
def torch():
    found = pytest.importorskip("torch")
    assert found.cuda.is_available(), "torch sees no GPU: it is a build for processors, or for another driver"
    return found


@pytest.fixture(scope="module")
def onnxruntime():
    return pytest.importorskip("onnxruntime")
