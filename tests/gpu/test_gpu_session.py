"""A whole session on a GPU: the fixture, the bars that only a GPU has, and a pack that verifies."""

import json
import os
import subprocess
import sys

import pytest

from pytest_procure.verify import verify

pytestmark = pytest.mark.gpu

CONFTEST = """
import numpy as np
import pytest
from pytest_procure import Candidate, Dataset, TorchModule

def same():
    import torch
    module = torch.nn.Linear(1024, 1024, bias=False)
    torch.nn.init.eye_(module.weight)
    return module

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    backend = TorchModule(same, device="cuda:0", decode="argmax")
    return [Candidate("here", backend=backend, precision="fp32"),
            Candidate("apart", backend=backend, precision="fp32", isolation="process")]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    labels = np.arange(1000)
    return {"rows": Dataset.from_arrays("rows", inputs=np.eye(1024, dtype="f")[:1000], references=labels)}
"""
TESTS = """
import pytest

@pytest.mark.scenario("single_stream", duration="3 s", launches=5)
@pytest.mark.bar("accuracy", at_least=0.9)
@pytest.mark.bar("gpu_memory_peak", at_most="1000 GB")
@pytest.mark.bar("energy_per_request", at_most="100000 J")
def test_it(procure, gpu):
    "Is it right, and what does it take?"
    assert gpu.memory > 1e9
    procure.run()
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """What a session leaves, with an offer in its own process and one in another."""
    folder = tmp_path_factory.mktemp("session")
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "test_it.py").write_text(TESTS, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "--procure-report", "-p", "no:cacheprovider"],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    left = folder / "procure-report"
    assert (left / "verdict.json").exists(), ran.stdout + ran.stderr
    return left, json.loads((left / "verdict.json").read_text("utf-8"))


@pytest.fixture(params=["here", "apart"])
def result(torch, session, request):
    """The result of one of the two offers."""
    results = [each for requirement in session[1]["requirements"] for each in requirement["results"]]
    (found,) = [each for each in results if each["candidate"] == request.param]
    return found


def finding(result, metric):
    (found,) = [each for each in result["findings"] if each["metric"] == metric]
    return found


def test_the_answers_of_a_session_on_a_gpu_are_right(result):
    assert result["problem"] == ""
    assert finding(result, "accuracy")["estimate"]["number"] == 1
    assert [run["failures"] for run in result["runs"]] == [{}]


def test_the_memory_of_a_session_on_a_gpu_is_measured(result):
    found = finding(result, "gpu_memory_peak")
    assert found["estimate"] is not None, found["sentence"]
    assert found["estimate"]["unit"] == "GB"
    assert found["estimate"]["number"] > 0.1


def test_the_energy_of_a_session_on_a_gpu_is_measured(result):
    found = finding(result, "energy_per_request")
    assert found["estimate"] is not None, found["sentence"]
    assert found["estimate"]["number"] > 0


def test_the_gpu_stands_in_the_record_of_each_run(result, torch):
    for run in result["runs"]:
        (gpu,) = run["audit"]["gpus"]
        assert gpu["uuid"].startswith("GPU-")
        assert gpu["lost"] == ""


def test_the_pack_of_a_session_on_a_gpu_verifies(torch, session):
    assert [str(each) for each in verify(session[0]).mismatches] == []
