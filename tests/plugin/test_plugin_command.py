"""A vendor's executable in a whole session: what it does wrong is a finding, and nothing of it is left."""

import os
import sys

PROGRAM = """
import json, os, sys, time
print("key", os.environ["VENDOR_KEY"], file=sys.stderr, flush=True)
open("pid", "w").write(str(os.getpid()))
for place, line in enumerate(sys.stdin):
    asked = json.loads(line)
    {turn}
    print(json.dumps({{"id": asked["id"], "output": asked["input"] % 10}}), flush=True)
"""
SUITE = f"""
from pytest_procure import Command

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate("vendor", backend=Command([{sys.executable!r}, "vendor.py"], environment=["VENDOR_KEY"],
                                                timeout="LIMIT"))]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    inputs = list(range(300))
    return {{"numbers": Dataset.from_arrays("numbers", inputs=inputs, references=[i % 10 for i in inputs])}}
"""
TEST = '@pytest.mark.bar("accuracy", at_least=0.9)\ndef test_it(procure): procure.run()'
KEY = "hunter2hunter2"


def ended(suite, monkeypatch, turn="pass", limit="60 s"):
    monkeypatch.setenv("VENDOR_KEY", KEY)
    suite.write("vendor.py", PROGRAM.format(turn=turn))
    suite.conftest(SUITE.replace("LIMIT", limit))
    suite.tests(TEST)
    ran = suite.run("--procure-report")
    assert ran.quiet, ran.text
    return ran


def gone(suite):
    try:
        os.kill(int((suite.path / "pid").read_text()), 0)
    except ProcessLookupError:
        return True
    return False


def test_a_program_that_answers_right_is_accepted_and_ended(suite, monkeypatch):
    assert ended(suite, monkeypatch).verdicts == {"test_it[vendor]": "accept"}
    assert gone(suite)


def test_a_program_that_ends_in_the_middle_is_rejected_with_its_reason(suite, monkeypatch):
    ran = ended(suite, monkeypatch, "if place == 100: sys.exit(7)")
    assert ran.verdicts == {"test_it[vendor]": "reject"}
    (run,) = ran.results["test_it[vendor]"]["runs"]
    assert "the program ended with exit status 7" in run["error_texts"][0]
    assert run["failures"]["error"] >= 190
    assert gone(suite)


def test_a_program_that_hangs_is_rejected_with_its_reason(suite, monkeypatch):
    ran = ended(suite, monkeypatch, "if place == 100: time.sleep(600)", limit="1 s")
    assert ran.verdicts == {"test_it[vendor]": "reject"}
    assert "it did not answer within 1 s" in ran.text
    assert gone(suite)


def test_a_secret_is_in_no_file_that_the_run_wrote(suite, monkeypatch):
    ended(suite, monkeypatch, "if place == 100: raise ValueError(os.environ['VENDOR_KEY'])")
    written = [file for file in suite.path.rglob("*") if file.is_file()]
    assert any(file.name == "verdict.json" for file in written)
    assert not [file.name for file in written if KEY.encode() in file.read_bytes()]


def test_a_secret_that_is_answered_is_in_no_file_that_the_run_wrote(suite, monkeypatch):
    said = 'json.dumps({"id": asked["id"], "output": os.environ["VENDOR_KEY"]})'
    leak = f"if place > 100: print({said}, flush=True)"
    ran = ended(suite, monkeypatch, leak + "; continue")
    assert ran.verdicts == {"test_it[vendor]": "reject"}
    written = [file for file in suite.path.rglob("*") if file.is_file()]
    assert not [file.name for file in written if KEY.encode() in file.read_bytes()]
    assert KEY not in ran.text
    assert any(b"[redacted]" in file.read_bytes() for file in written if file.suffix == ".jsonl")
