"""The figures in the docs can be measured again: no benchmark asks for what is no longer there."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
EXTRAS = {"httptools", "mlperf_loadgen", "uvloop"}


@pytest.mark.parametrize("script", sorted(BENCHMARKS.glob("*.py")), ids=lambda script: script.stem)
def test_a_benchmark_finds_what_it_imports(script, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    try:
        runpy.run_path(str(script), run_name="imported")
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
