import getpass
import json
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_procure.telemetry.environment import _cpu_model, _cpu_quota, _memory, _variables, environment


def test_the_environment_is_plain_data_with_nothing_invented():
    found = environment()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["python"]["version"] == sys.version.split()[0]
    assert found["cpu"]["count"] >= found["cpu"]["usable"] >= 1
    assert found["distributions"]["numpy"]
    assert bool(found["gpus"]) != bool(found["gpus_absent"])


def test_no_person_host_or_folder_is_named(monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", str(Path.home() / "lib" / "libjemalloc.so"))
    monkeypatch.setenv("ORT_API_TOKEN", "hush")
    text = json.dumps(environment())
    assert str(Path.home()) not in text
    assert socket.gethostname() not in text
    assert "hush" not in text
    if getpass.getuser() != "root":  # a word that kernels' names may hold
        assert getpass.getuser() not in text


def test_variables_that_change_how_inference_runs_are_kept():
    found = _variables(
        {"OMP_NUM_THREADS": "4", "CUDA_VISIBLE_DEVICES": "0,1", "HOME": "/home/a", "AWS_SECRET": "b"}
    )
    assert found == {"CUDA_VISIBLE_DEVICES": "0,1", "OMP_NUM_THREADS": "4"}


def test_a_path_in_a_variable_is_told_without_its_text():
    assert _variables({"LD_PRELOAD": "/home/a/lib.so"}) == {"LD_PRELOAD": "(a path)"}


@pytest.mark.parametrize("read", [_cpu_model, _cpu_quota, _memory])
def test_what_cannot_be_read_is_none(tmp_path, read):
    assert read(tmp_path / "missing") is None
    (tmp_path / "odd").write_text("nothing to see\n")
    assert read(tmp_path / "odd") is None


@pytest.mark.parametrize(("text", "processors"), [("150000 100000\n", 1.5), ("max 100000\n", None)])
def test_a_containers_share_of_processors_is_read(tmp_path, text, processors):
    (tmp_path / "cpu.max").write_text(text)
    assert _cpu_quota(tmp_path / "cpu.max") == processors


def test_a_runtime_is_described_only_when_it_is_in_use(monkeypatch):
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert environment()["runtimes"] == {}
    runtime = SimpleNamespace(
        __version__="1.32.0", get_build_info=lambda: "built", get_available_providers=lambda: ["CPU"]
    )
    monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
    assert environment()["runtimes"]["onnxruntime"] == {
        "version": "1.32.0",
        "build": "built",
        "providers": ["CPU"],
    }
