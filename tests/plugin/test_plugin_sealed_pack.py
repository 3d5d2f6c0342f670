"""A sealed suite's pack holds spec and ledger and is held to both; what was cut, moved or left out shows."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from sealed_suite import READS, WRITES, seal

from pytest_procure.cli import main
from pytest_procure.evidence import manifest, pack
from pytest_procure.evidence.plain import dumps
from pytest_procure.report.outputs import outputs
from pytest_procure.verify import verify

RERUN = ("--procure-rerun", "a better fan")


@pytest.fixture
def ran(sealed_two):
    """The folder of a sealed run that holds."""
    ended = sealed_two.run("--procure-report")
    assert ended.status == 0, ended.text
    return ended.folder


def wrong(folder):
    """Make record, pages and manifest anew, as somebody would who can write files; what is wrong by place."""
    record = verify(folder).record
    pack.put(folder / "verdict.json", dumps(record))
    for name, text in outputs(record).items():
        pack.put(folder / name, text)
    (folder / manifest.MANIFEST).unlink()
    pack.put(folder / manifest.MANIFEST, manifest.manifest(folder))
    return "\n".join(map(str, verify(folder).mismatches))


def edit(path, change):
    told = json.loads(path.read_text("utf-8"))
    change(told)
    pack.put(path, dumps(told))


def case(folder, test):
    (path,) = folder.glob(f"cases/*{test}*.json")
    return path


# -- what a session leaves -------------------------------------------------------------------------------


def test_spec_and_ledger_lie_in_the_pack_as_they_stand_beside_the_suite(ran, sealed_two):
    assert (ran / "spec.json").read_bytes() == (sealed_two.path / "procure-spec.json").read_bytes()
    assert (ran / "ledger.jsonl").read_bytes() == (sealed_two.path / "procure-ledger.jsonl").read_bytes()
    assert wrong(ran) == ""


@pytest.mark.parametrize(
    ("flags", "tests"),
    [
        pytest.param(RERUN, READS, id="a declared further run"),
        pytest.param(("--procure-screen",), READS, id="a screening"),
        pytest.param(("--procure-screen",), READS.replace("=0.9,", "=0.8,"), id="a screening of other bars"),
        pytest.param((), READS.replace("=0.9,", "=0.8,"), id="a moved bar"),
        pytest.param(("--procure-deviation", "conftest.py: a better offer; the board"), READS, id="declared"),
    ],
)
def test_whatever_a_sealed_session_was_its_pack_holds(sealed, flags, tests):
    """The fixture verifies it; here it is seen that there is one."""
    sealed.run("--procure-report")
    sealed.tests(tests)
    if "--procure-deviation" in flags:
        sealed.offers(good=0.99)
    ended = sealed.run("--procure-report", *flags)
    assert verify(ended.folder).holds
    assert ended.record["deviations"] == [] or ended.record["deviations"][0]["used"] is True


def test_the_ledger_holds_the_digest_of_each_file_of_rows(ran):
    for entry in [json.loads(line) for line in (ran / "ledger.jsonl").read_text().splitlines()]:
        if entry["event"] == "end":
            (told,) = entry["logs"].items()
            assert told == (told[0], manifest.entry_of(ran, told[0]).sha256)


def test_a_killed_sealed_session_is_recovered_with_the_ledger_of_now(suite, capsys):
    suite.conftest("""
        import os, signal
        def answer(inputs):
            if os.path.exists("reads"):
                os.kill(os.getpid(), signal.SIGKILL)
            return answers(1.0)(inputs)
        def pytest_procure_candidates():
            return [Candidate("good", backend=answer)]
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests(READS + "    open('reads', 'w').close()\n" + WRITES)
    seal(suite)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--procure-report"]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    subprocess.run(command, check=False, cwd=suite.path, env=environment, capture_output=True, timeout=60)
    folder = suite.path / "procure-report"
    moved = shutil.copytree(folder, suite.path.parent / "elsewhere" / "pack")
    assert main(["recover", str(moved)]) == 2
    assert "name it with `--ledger FILE`" in capsys.readouterr().err
    for each, more in ((folder, []), (moved, ["--ledger", str(suite.path / "procure-ledger.jsonl")])):
        assert main(["recover", str(each), *more]) == 0
        assert verify(each).holds, "\n".join(map(str, verify(each).mismatches))
        record = json.loads((each / "verdict.json").read_text("utf-8"))
        assert [run["state"] for run in record["ledger"]["runs"]] == ["complete", "aborted"]


def test_the_ledger_of_another_suite_recovers_nothing(ran, sealed_two, capsys):
    for name in manifest.MANIFEST, "verdict.json", "report.html", "summary.md", "findings.csv":
        (ran / name).unlink()
    (ran / "ro-crate-metadata.json").unlink()
    other = sealed_two.path / "other.jsonl"
    other.write_bytes((sealed_two.path / "procure-ledger.jsonl").read_bytes().splitlines(keepends=True)[0])
    assert main(["recover", str(ran), "--ledger", str(other)]) == 2
    assert "is not the ledger that the session began with" in capsys.readouterr().err


# -- what is found ---------------------------------------------------------------------------------------


def test_runs_deleted_from_the_packs_ledger_are_found(sealed):
    """Two of three, and the third told as the first."""
    for flags in ((), RERUN, RERUN):
        ended = sealed.run("--procure-report", *flags)
    path = ended.folder / "ledger.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join([lines[0], *lines[-3:]]), "utf-8")
    assert "does not follow from the line before" in wrong(ended.folder)


def test_two_of_three_runs_deleted_from_ledger_and_pack_lack_the_anchored_head(sealed):
    """Whoever writes the whole chain anew, with one run in it, has another chain."""
    heads = []
    for flags in ((), RERUN, RERUN):
        ended = sealed.run("--procure-report", *flags)
        heads.append(ended.record["ledger"]["head"])
    for head in heads:
        assert verify(ended.folder, anchor=head).holds
    path = ended.folder / "ledger.jsonl"
    path.write_text(path.read_text("utf-8").splitlines(keepends=True)[0], "utf-8")
    for head in heads:
        told = "\n".join(map(str, verify(ended.folder, anchor=head).mismatches))
        assert "neither the pack's root nor an entry of its ledger is the anchor" in told


def test_a_third_run_is_not_told_as_a_first(sealed):
    for flags in ((), RERUN, RERUN):
        ended = sealed.run("--procure-report", *flags)

    def as_the_first(told):
        told["held"]["series"] |= {"run": 1, "consumer_risk": 0.05}
        told["policy"] |= {"run": 1, "consumer_risk": 0.05}

    edit(case(ended.folder, "reads"), as_the_first)
    assert "$.held.series.run: is 1, and by the ledger it is run 3" in wrong(ended.folder)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda held, _: held.update(series=None), "$.held.series: is missing, and a run was made"),
        (lambda held, _: held["series"].update(ledger_id="0" * 32), "names no run of the ledger"),
        (lambda held, other: held["series"].update(ledger_id=other), "of another requirement or candidate"),
        (
            lambda held, _: held["series"].update(consumer_risk=0.01),
            "not the risk that the run was judged at",
        ),
    ],
)
def test_a_run_that_is_not_the_ledgers_is_found(ran, change, told):
    writes = json.loads(case(ran, "writes").read_text())["held"]["series"]["ledger_id"]
    edit(case(ran, "reads"), lambda file: change(file["held"], writes))
    assert told in wrong(ran)


def test_a_rule_that_is_not_the_sealed_one_is_found(ran):
    edit(case(ran, "reads"), lambda file: file["policy"].update(min_effective=1))
    assert "$.policy: is not the sealed rule's for run 1" in wrong(ran)


def test_thresholds_of_the_audit_that_are_not_the_sealed_ones_are_found(ran):
    def lax(file):
        file["results"][0]["run"]["launches"][0]["audit"]["limits"]["slower"] = 5.0

    assert "thresholds" not in wrong(ran)
    edit(case(ran, "reads"), lax)
    assert "$.results: were audited by other thresholds than the sealed ones" in wrong(ran)


def test_rows_of_another_run_are_not_those_whose_digests_the_ledger_holds(sealed):
    """The whole evidence of a run, put in place of another's, at the same ledger's head."""
    first = sealed.run("--procure-report").folder
    kept = shutil.copytree(first, sealed.path / "kept")
    second = sealed.run("--procure-report", *RERUN).folder
    (rows,) = second.glob("runs/*.npy")
    shutil.copy(kept / "runs" / rows.name, rows)
    log = {"log": f"runs/{rows.name}", "sha256": manifest.entry_of(kept, f"runs/{rows.name}").sha256}
    edit(case(second, "reads"), lambda file: file["results"][0]["run"].update(log))
    assert "are not the rows whose digests the ledger holds for this run" in wrong(second)


def test_no_changed_entry_of_the_ledger_passes_with_the_manifest_made_anew(ran):
    """Each entry dropped, told twice, put after the next one, and changed in one byte; the spec likewise."""
    entries = (ran / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    changed = []
    for place, line in enumerate(entries):
        before, after = entries[:place], entries[place + 1 :]
        middle = len(line) // 2
        flipped = line[:middle] + bytes([line[middle] ^ 1]) + line[middle + 1 :]
        changed += [[*before, *after], [*before, line, line, *after], [*before, flipped, *after]]
        if after:
            changed.append([*before, after[0], line, *after[1:]])
    found = [_remade(ran, "ledger.jsonl", b"".join(each)) for each in changed]
    spec = (ran / "spec.json").read_bytes()
    found += [_remade(ran, "spec.json", spec[:n] + bytes([spec[n] ^ 1]) + spec[n + 1 :]) for n in (40, 900)]
    assert len(found) == 4 * len(entries) + 1
    assert all(found)


def _remade(folder, name, data):
    """Put other bytes into a file, make the manifest anew, say what is wrong, and put all back."""
    kept = {path: (folder / path).read_bytes() for path in (name, manifest.MANIFEST)}
    (folder / name).write_bytes(data)
    (folder / manifest.MANIFEST).unlink()
    pack.put(folder / manifest.MANIFEST, manifest.manifest(folder))
    mismatches = [each for each in verify(folder).mismatches if each.file != manifest.MANIFEST]
    for path, before in kept.items():
        (folder / path).write_bytes(before)
    return mismatches


def test_entries_cut_off_the_ledger_are_missed(ran):
    lines = (ran / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    (ran / "ledger.jsonl").write_bytes(b"".join(lines[:-1]))
    assert "is not the head of the ledger that lies in the pack" in wrong(ran)


def test_an_entry_changed_inside_the_ledger_breaks_its_chain(ran):
    told = (ran / "ledger.jsonl").read_bytes()
    (ran / "ledger.jsonl").write_bytes(told.replace(b'"verdict":"accept"', b'"verdict":"reject"', 1))
    assert "does not follow from the line before" in wrong(ran)


def test_a_bar_moved_after_the_run_is_not_the_sealed_one(ran):
    """Whoever makes verdict and pages anew as well is still held to the spec."""
    edit(case(ran, "reads"), lambda told: told["asked"]["bars"][0]["limit"].update(number="0.5"))
    assert "$.asked.bars: are not the sealed ones, and no difference says so" in wrong(ran)


def test_a_requirement_taken_out_of_the_pack_is_sealed_and_left_out(ran):
    case(ran, "writes").unlink()

    def leave_out(data):
        data["gate"]["expected"] = [e for e in data["gate"]["expected"] if "writes" not in e["id"]]

    edit(ran / "session.json", leave_out)
    assert "is sealed for good, and is left out" in wrong(ran)


def test_another_spec_is_not_the_one_that_the_session_was_held_to(ran):
    edit(ran / "spec.json", lambda told: told.update(expires="2998-12-31"))
    assert "is not the spec that the session was held to" in wrong(ran)


@pytest.mark.parametrize("name", ["spec.json", "ledger.jsonl"])
def test_a_pack_without_its_spec_or_ledger_does_not_hold(ran, name):
    (ran / name).unlink()
    assert name in wrong(ran)


def test_a_pack_that_was_held_to_no_seal_holds_no_spec(suite):
    suite.offers(good=1.0)
    suite.tests("@pytest.mark.bar('accuracy', at_least=0.5)\ndef test_it(procure):\n    procure.run()\n")
    folder = suite.run("--procure-report").folder
    (folder / "spec.json").write_text("{}", "ascii")
    assert "lies in the pack of a session that was held to no seal" in wrong(folder)
