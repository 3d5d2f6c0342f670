"""An offer is held to what it declares: another precision or device says nothing of it."""

import html
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "backends"))
import tiny_onnx as tiny

pytest.importorskip("onnxruntime")

SUITE = """
from pytest_procure import OnnxRuntime

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    backend = OnnxRuntime("m.onnx", decode="argmax")
    return [Candidate("honest", backend=backend, precision="fp32"),
            Candidate("other", backend=backend, precision="int8", hardware="1 x H100")]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    rows = np.eye(3, dtype=np.float32)[np.arange(300) % 3] + np.arange(300, dtype=np.float32)[:, None] / 1000
    return {"rows": Dataset.from_arrays("rows", inputs=rows, references=np.arange(300) % 3)}
"""


@pytest.fixture
def offers(suite):
    (suite.path / "m.onnx").write_bytes(tiny.adds(tiny.weights("w", [0, 0, 0])))
    suite.conftest(SUITE)
    return suite


def test_a_precision_or_device_that_is_not_as_declared_makes_the_run_invalid(offers):
    offers.tests('@pytest.mark.bar("accuracy", at_least=0.9)\ndef test_it(procure): procure.run()')
    ran = offers.run("--procure-report")
    assert ran.verdicts == {"test_it[honest]": "accept", "test_it[other]": "invalid"}
    assert ran.status != 0
    result = ran.results["test_it[other]"]
    assert "declared `int8`, observed weights or operators in fp32 (100%)" in result["problem"]
    assert "declared `1 x H100`, observed a run on the CPU" in result["problem"]
    assert [finding["verdict"] for finding in result["findings"]] == ["invalid"]
    assert any("declared `int8`" in note for note in ran.record["notes"])
    assert not any("honest" in note for note in ran.record["notes"])


def test_nobody_is_compared_with_an_offer_that_is_not_what_it_says(offers):
    offers.tests(
        '@pytest.mark.bar("accuracy", below="other", margin=0.05)\ndef test_it(procure): procure.run()'
    )
    ran = offers.run("--procure-report")
    assert ran.verdicts == {"test_it[honest]": "not tested"}
    assert "`other` is no measure for others" in ran.words


def test_a_precision_that_nobody_could_observe_is_told_and_decides_nothing(offers):
    unseen = 'Candidate("unseen", backend=lambda b: b.argmax(1).tolist(), precision="int8")'
    offers.conftest(SUITE.replace('return [Candidate("honest"', f'return [{unseen}, Candidate("honest"'))
    offers.tests('@pytest.mark.bar("accuracy", at_least=0.9)\ndef test_it(procure): procure.run()')
    ran = offers.run("--procure-report", "--procure-candidate", "unseen", "--procure-candidate", "honest")
    assert ran.verdicts == {"test_it[unseen]": "accept", "test_it[honest]": "accept"}
    (note,) = (note for note in ran.record["notes"] if "precision" in note)
    assert note.startswith("Candidate `unseen`: precision: declared `int8`, and not observed")
    assert "declared `int8`, and not observed" in html.unescape(
        (ran.folder / "report.html").read_text("utf-8")
    )
