"""What the example offers where torch is installed: vendor A's network again, by another runtime."""

import importlib.util
import json
import runpy
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "example_suite" / "form_digits"
EAGER, COMPILED = "vendor A, torch eager", "vendor A, torch.compile"


def roster(monkeypatch, *, with_torch):
    """The candidates, by name."""
    found = object() if with_torch else None
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")  # the suite sets it for its session
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: found)
    made = runpy.run_path(str(FOLDER / "conftest.py"), run_name="conftest")
    return {candidate.name: candidate for candidate in made["pytest_procure_candidates"]()}


def test_without_torch_the_offers_are_the_three_of_the_story(monkeypatch):
    assert set(roster(monkeypatch, with_torch=False)) == {"vendor A", "vendor B", "vendor B recalibrated"}


def test_with_torch_there_are_two_more(monkeypatch):
    offers = roster(monkeypatch, with_torch=True)
    assert list(offers)[3:] == [EAGER, COMPILED]
    assert offers[COMPILED].backend.compile
    assert not offers[EAGER].backend.compile


def test_torch_reads_as_many_scans_as_onnxruntime_does(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(FOLDER))
    offers = roster(monkeypatch, with_torch=True)
    loaded = {name: offers[name].backend.load(FOLDER) for name in ("vendor A", EAGER)}
    labels = np.load(FOLDER / "data" / "labels.npy")
    recorded = json.loads((FOLDER / "digests.json").read_text("utf-8"))["read_right"]["vendor-a-fp32"]
    for rendering in ("clean", "brighter"):
        grey = np.load(FOLDER / "data" / f"scans-{rendering}.npy")
        scans = (grey / np.float32(255))[:, np.newaxis].astype(np.float32)
        read = {name: np.array(each.predict(scans)) for name, each in loaded.items()}
        assert abs(int((read[EAGER] == labels).sum()) - recorded[rendering]) <= 2
        assert (read[EAGER] != read["vendor A"]).sum() <= 2
    assert loaded[EAGER].describe()["runtime"] == f"torch {torch.__version__}"
    loaded[EAGER].close()
