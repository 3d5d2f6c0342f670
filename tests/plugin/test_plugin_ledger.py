"""The ledger: which run decides, at what risk, and what no run can hide."""

import json
import os
import signal
import subprocess
import sys

import pytest
from sealed_suite import READS, WRITES, kept_out, ledger, seal

RERUN = ("--procure-rerun", "the room was too warm")


def events(suite):
    return [entry["event"] for entry in ledger(suite)]


def rewrite(suite, change):
    path = suite.path / "procure-ledger.jsonl"
    path.write_bytes(change(path.read_bytes()))


def lines(change):
    """Change a ledger line by line."""
    return lambda data: b"".join(change(data.splitlines(keepends=True)))


def test_begin_stands_in_the_ledger_before_the_first_request_and_measured_before_the_test_sees_it(suite):
    suite.conftest("""
        from pathlib import Path
        seen = Path(__file__).parent / "seen.txt"
        def note(what):
            entries = (seen.parent / "procure-ledger.jsonl").read_text().splitlines()
            with seen.open("a") as stream:
                stream.write(f"{what} {len(entries)}\\n")
        def answer(inputs):
            note("asked")
            return answers(1.0)(inputs)
        def pytest_procure_candidates():
            return [Candidate("good", backend=answer)]
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests("""
        from conftest import note
        def test_reads(procure):
            result = procure.run()
            note("seen")
            assert result.accuracy >= 0.9
    """)
    seal(suite)
    assert suite.run().status == 0
    told = (suite.path / "seen.txt").read_text().split("\n")
    assert {line for line in told if line.startswith("asked")} == {"asked 2"}  # seal, begin
    assert "seen 3" in told  # and measured
    assert events(suite) == ["seal", "begin", "measured", "end"]


def test_every_run_is_in_the_ledger_without_the_report_flag_too(sealed):
    assert sealed.run().status == 0
    assert events(sealed) == ["seal", "begin", "measured", "end"]


def test_a_suite_that_is_not_sealed_has_no_ledger(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    suite.run()
    assert not (suite.path / "procure-ledger.jsonl").exists()
    assert not (suite.path / ".procure").exists()


def test_a_second_run_that_nobody_declared_is_not_acceptable_and_asks_nothing(sealed):
    assert sealed.run().status == 0
    ended = sealed.run("--procure-report")
    kept_out(ended, "this would be run 2 of it on this candidate, and the first complete run decides")
    assert events(sealed) == ["seal", "begin", "measured", "end"]


def test_the_best_of_several_runs_cannot_be_picked(suite):
    """The first run turned the offer down; a better one does not undo it unless it is declared, and shown."""
    suite.offers(good=0.5)
    suite.tests(READS)
    seal(suite)
    assert suite.run().status == 1
    again = suite.run("--procure-report")
    kept_out(again, "the first complete run decides")
    assert "reject" in again.words
    declared = suite.run("--procure-report", *RERUN)
    assert declared.status == 1
    assert "Run 2 of 2" in declared.words
    assert "run again because: the room was too warm" in declared.words
    verdicts = [run["verdict"] for run in declared.record["ledger"]["runs"]]
    assert verdicts == ["reject", "reject"]


def test_run_k_is_judged_alone_at_a_share_of_the_consumers_risk(sealed):
    seen = []
    for arguments in ((), RERUN, RERUN):
        ended = sealed.run("--procure-report", *arguments)
        assert ended.status == 0
        (finding,) = ended.results["test_reads[good]"]["findings"]
        series = ended.results["test_reads[good]"]["series"]
        seen.append(
            (series["run"], series["of"], finding["n"], finding["confidence"], series["consumer_risk"])
        )
    assert seen == [(1, 1, 400, 0.95, 0.05), (2, 2, 400, 0.975, 0.025), (3, 3, 400, 0.9875, 0.0125)]
    assert any("at most twice the consumer's risk" in rule for rule in ended.record["rule"])


def test_a_bars_own_risk_is_shared_too(suite):
    suite.offers(good=1.0)
    suite.tests(READS.replace("design=0.97", "consumer_risk=0.02"))
    seal(suite)
    suite.run()
    (finding,) = suite.run("--procure-report", *RERUN).results["test_reads[good]"]["findings"]
    assert finding["confidence"] == 0.99


def test_another_candidate_digest_starts_another_series(suite):
    def model(text):
        suite.write("model.txt", text)

    model("first")
    suite.conftest("""
        class Model:
            device, releases_gil = "cpu", False
            def load(self, base):
                self.text = (base / "model.txt").read_text()
                return self
            def predict(self, inputs): return answers(1.0)(inputs)
            def describe(self): return {"runtime": "toy 1.0", "sha256": self.text}
            def close(self): pass
        def pytest_procure_candidates():
            return [Candidate("good", backend=Model())]
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests(READS)
    seal(suite)
    assert suite.run().status == 0
    model("second")
    seal(suite)
    ended = suite.run("--procure-report")
    assert ended.status == 0
    assert ended.results["test_reads[good]"]["series"]["run"] == 1
    assert len(ended.record["ledger"]["runs"]) == 2


def test_sealing_again_starts_no_series(sealed):
    assert sealed.run().status == 0
    seal(sealed)
    kept_out(sealed.run("--procure-report"), "this would be run 2 of it")


def killed(suite, *arguments):
    """Run the suite in a process of its own, which does not live to its end."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, str(suite.path)]
    ended = subprocess.run(
        command, check=False, cwd=suite.path, env=environment, capture_output=True, timeout=60
    )
    assert ended.returncode == -signal.SIGKILL


def test_a_run_that_was_killed_when_its_result_was_seen_is_a_look(sealed):
    sealed.tests(READS + "\n    import os, signal\n    os.kill(os.getpid(), signal.SIGKILL)\n")
    seal(sealed)
    killed(sealed)
    assert events(sealed) == ["seal", "seal", "begin", "measured"]
    sealed.tests(READS)
    seal(sealed)
    kept_out(sealed.run("--procure-report"), "killed before its verdict")
    ended = sealed.run("--procure-report", *RERUN)
    assert ended.status == 0
    assert ended.results["test_reads[good]"]["series"]["run"] == 2
    assert ended.record["ledger"]["runs"][0]["verdict"] == ""


def test_a_candidate_that_kills_the_session_while_it_loses_pays_for_each_try(suite):
    """At 372 of 400 it would be accepted at a first run's risk, and is not at a third's."""
    suite.write("stop.txt", "yes")
    suite.conftest("""
        import os, signal
        from pathlib import Path
        def answer(inputs):
            if (Path(__file__).parent / "stop.txt").exists():
                os.kill(os.getpid(), signal.SIGKILL)
            return answers(0.93)(inputs)
        def pytest_procure_candidates():
            return [Candidate("good", backend=answer)]
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests(READS)
    seal(suite)
    killed(suite)
    killed(suite, *RERUN)
    assert events(suite) == ["seal", "begin", "begin"]
    (suite.path / "stop.txt").unlink()
    kept_out(suite.run("--procure-report"), "did not come to its end")
    ended = suite.run("--procure-report", *RERUN)
    result = ended.results["test_reads[good]"]
    assert result["verdict"] == "inconclusive"
    assert result["findings"][0]["estimate"]["number"] == 0.93
    told = {key: result["series"][key] for key in ("run", "of", "aborted", "consumer_risk")}
    assert told == {"run": 3, "of": 3, "aborted": 2, "consumer_risk": 0.0125}
    assert [run["state"] for run in ended.record["ledger"]["runs"]] == ["aborted", "aborted", "complete"]
    said = "Run 3 of 3, 2 of them aborted, judged at a consumer's risk of 1.25"
    assert said in ended.words
    assert said in (ended.folder / "report.html").read_text("utf-8").replace("&#39;", "'")


def test_the_offer_of_that_attack_is_accepted_by_a_first_run(suite):
    suite.offers(good=0.93)
    suite.tests(READS)
    seal(suite)
    assert suite.run().status == 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        pytest.param(lambda data: data.replace(b'"reject"', b'"accept"'), "it does not follow", id="edited"),
        pytest.param(lines(lambda all_: all_[:1] + all_[2:]), "it does not follow", id="removed"),
        pytest.param(lines(lambda all_: [*all_[:-2], all_[-1], all_[-2]]), "it does not follow", id="moved"),
        pytest.param(lines(lambda all_: all_[:-1]), "its end was cut off", id="last cut off"),
        pytest.param(lines(lambda all_: all_[:1]), "its end was cut off", id="all runs cut off"),
        pytest.param(lambda data: data[:-20], "ends in the middle of an entry", id="torn"),
        pytest.param(lambda data: data + b"{}\n", "it does not follow", id="added"),
        pytest.param(lambda data: data.replace(b",", b", ", 1), "no entry as it was written", id="spelt"),
        pytest.param(lambda _: b"", "is empty", id="emptied"),
    ],
)
def test_a_ledger_that_was_tampered_with_is_a_mistake_in_one_line(suite, change, sentence):
    suite.offers(good=0.5)
    suite.tests(READS)
    seal(suite)
    suite.run()
    suite.run(*RERUN)
    rewrite(suite, change)
    said = suite.mistake("--procure-report", *RERUN)
    assert "procure-ledger.jsonl" in said
    assert sentence in said


def test_a_ledger_that_is_tampered_with_while_a_run_goes_ends_it(suite):
    suite.conftest("""
        from pathlib import Path
        ledger = Path(__file__).parent / "procure-ledger.jsonl"
        def answer(inputs):
            if ledger.exists() and b"begin" in (data := ledger.read_bytes()):
                ledger.write_bytes(data.replace(b"begin", b"bogus"))
            return answers(1.0)(inputs)
        def pytest_procure_candidates():
            return [Candidate("good", backend=answer)]
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests(READS)
    seal(suite)
    kept_out(suite.run("--procure-report"), "its end was cut off, or an older copy stands in its place")


def test_a_ledger_that_is_gone_is_a_mistake_in_one_line(sealed):
    sealed.run()
    (sealed.path / "procure-ledger.jsonl").unlink()
    assert "procure-ledger.jsonl is missing beside the spec" in sealed.mistake()


def test_a_head_that_was_kept_elsewhere_shows_that_runs_were_removed(sealed):
    """The local head can be removed along with the runs; one that somebody else keeps cannot."""
    sealed.run()
    head = sealed.run("--procure-report", *RERUN).record["ledger"]["head"]
    rewrite(sealed, lines(lambda all_: all_[:1]))
    (sealed.path / ".procure" / "head").unlink()
    said = sealed.mistake("--procure-ledger-head", head)
    assert "which was kept elsewhere: runs were removed" in said


def test_a_head_that_is_found_is_told_as_an_anchor(sealed):
    head = sealed.run("--procure-report").record["ledger"]["head"]
    ended = sealed.run("--procure-report", "--procure-ledger-head", head[:16], *RERUN)
    assert ended.record["ledger"]["anchored"] is True
    assert "was given and found" in (ended.folder / "report.html").read_text("utf-8")


def test_without_an_anchor_the_report_says_what_it_cannot_exclude(sealed):
    ended = sealed.run("--procure-report")
    assert "cannot be excluded unless a head was kept elsewhere" in (ended.folder / "report.html").read_text(
        "utf-8"
    )


def test_a_ledger_that_cannot_be_written_lets_no_run_begin(sealed):
    path = sealed.path / "procure-ledger.jsonl"
    kept = path.rename(sealed.path / "kept.jsonl")
    path.symlink_to(kept)
    assert "procure-ledger.jsonl cannot be opened" in sealed.mistake()


def test_under_xdist_the_ledger_and_the_verdict_are_the_same(sealed_two):
    pytest.importorskip("xdist")
    ended = sealed_two.run("--procure-report", "-n", "1", process=True)
    assert ended.status == 0, ended.text
    assert events(sealed_two) == ["seal"] + ["begin", "measured", "end"] * 2
    assert ended.record["seal"]["state"] == "sealed"
    assert ended.results["test_reads[good]"]["series"]["of"] == 1


def test_under_xdist_a_moved_bar_is_told_by_the_worker(sealed):
    pytest.importorskip("xdist")
    sealed.tests(READS.replace("at_least=0.9", "at_least=0.8"))
    ended = sealed.run("--procure-report", "-n", "1", process=True)
    kept_out(ended, "bar `accuracy` is loosened, from at least 0.9 as sealed to at least 0.8")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-k", "writes"), "it was deselected"),
        (("test_it.py::test_writes",), "it is sealed, and was left out"),
    ],
)
def test_under_xdist_a_requirement_left_out_keeps_the_offer_from_acceptance(sealed_two, arguments, sentence):
    pytest.importorskip("xdist")
    kept_out(sealed_two.run("--procure-report", "-n", "1", *arguments, process=True), sentence)


def test_under_xdist_a_worker_that_dies_keeps_the_offer_from_acceptance(sealed):
    pytest.importorskip("xdist")
    sealed.tests(READS + WRITES + "\n    import os, signal\n    os.kill(os.getpid(), signal.SIGKILL)\n")
    seal(sealed)
    ended = sealed.run("--procure-report", "-n", "1", process=True)
    kept_out(ended, "the process that ran it died")
    assert ended.verdicts == {"test_reads[good]": "accept", "test_writes[good]": "not tested"}
    (died,) = [run for run in ended.record["ledger"]["runs"] if not run["verdict"]]
    assert died["requirement"] == "test_it.py::test_writes"


def test_many_processes_add_to_one_ledger_without_losing_an_entry(sealed):
    code = (
        "import sys; from pathlib import Path; from pytest_procure.evidence.ledger import Ledger\n"
        "ledger = Ledger(Path(sys.argv[1]))\n"
        "for _ in range(20): ledger.append('end', lambda chain: {'run': '', 'verdict': ''})\n"
    )
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(sealed.path)], env=environment) for _ in range(4)
    ]
    assert [each.wait(60) for each in started] == [0, 0, 0, 0]
    entries = ledger(sealed)
    assert [entry["entry"] for entry in entries] == list(range(1, 82))
    assert sealed.run().status == 0


def test_the_ledger_is_canonical_json_line_by_line(sealed):
    sealed.run()
    for line in (sealed.path / "procure-ledger.jsonl").read_text().splitlines():
        assert json.dumps(json.loads(line), sort_keys=True, separators=(",", ":")) == line


@pytest.mark.parametrize("flag", [("--procure-ledger-head", "ab12"), ("--procure-rerun", "a better fan")])
def test_a_flag_about_a_seal_needs_one(suite, flag):
    suite.offers(good=1.0)
    suite.tests("def test_reads(procure):\n    assert procure.run().accuracy >= 0.9\n")
    said = suite.mistake(*flag)
    assert said.startswith(f"`{flag[0]}` is about a sealed suite, and there is no procure-spec.json in")
