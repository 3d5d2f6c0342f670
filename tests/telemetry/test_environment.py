import getpass
import json
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_procure.telemetry.environment import (
    _cpu_model,
    _cpu_quota,
    _instructions,
    _memory,
    _memory_limit,
    _variables,
    commit,
    environment,
)


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
    assert [part for part in text.split('", "') if str(Path.home()) in part] == []
    assert socket.gethostname() not in text
    assert "hush" not in text
    if getpass.getuser() != "root":  # a word that kernels' names may hold
        assert getpass.getuser() not in text


def test_variables_that_change_how_inference_runs_are_kept():
    found = _variables(
        {"OMP_NUM_THREADS": "4", "CUDA_VISIBLE_DEVICES": "0,1", "HOME": "/home/a", "AWS_SECRET": "b"}
    )
    assert found == {"CUDA_VISIBLE_DEVICES": "0,1", "OMP_NUM_THREADS": "4"}


def test_secrets_among_the_variables_of_a_runtime_are_left_out():
    assert _variables({"VLLM_API_KEY": "hush", "ORT_AUTH": "hush", "NCCL_DEBUG": "INFO"}) == {
        "NCCL_DEBUG": "INFO"
    }


def test_every_installed_distribution_is_listed_with_its_version():
    from importlib.metadata import distributions

    listed = environment()["distributions"]
    assert len(listed) >= 0.9 * len({each.metadata["Name"].lower() for each in distributions()})
    assert listed["numpy"] == np.__version__


@pytest.fixture
def repository(tmp_path):
    def git(*arguments):
        settings = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
        command = ["git", *settings, *arguments]  # found as everybody finds it
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "test_x.py").write_text("pass\n")
    git("add", ".")
    git("commit", "-q", "-m", "x")
    return tmp_path


def test_the_suites_commit_is_told_and_whether_files_differ_from_it(repository):
    clean = commit(repository)
    assert len(clean["commit"]) == 40
    assert (clean["dirty"], clean["changed_files"]) == (False, 0)
    (repository / "test_x.py").write_text("raise\n")
    (repository / "new.py").write_text("pass\n")
    assert commit(repository) == {"commit": clean["commit"], "dirty": True, "changed_files": 2}


def test_a_suite_without_a_repository_has_no_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit(tmp_path) is None


def test_a_path_in_a_variable_is_told_without_its_text():
    assert _variables({"LD_PRELOAD": "/home/a/lib.so"}) == {"LD_PRELOAD": "(a path)"}


@pytest.mark.parametrize("read", [_cpu_model, _cpu_quota, _instructions, _memory, _memory_limit])
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
