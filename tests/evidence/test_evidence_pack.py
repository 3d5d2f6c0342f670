import json
import os

import pytest

from pytest_procure.decision import Policy
from pytest_procure.errors import EvidenceError
from pytest_procure.evidence.pack import check, prepare, write
from pytest_procure.evidence.record import FORMAT
from pytest_procure.evidence.sealed import UNSEALED
from pytest_procure.evidence.session_file import GatePart, SessionFile, record_of
from pytest_procure.gate import Gate

REPORT = {"report.html": "<html>", "verdict.json": json.dumps({"format": FORMAT})}


def fill(folder, **files):
    """Write files, and the folders above them."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def found(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_new_folder_is_made_with_those_above_it(tmp_path):
    prepare(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_checking_makes_nothing_and_removes_nothing(tmp_path):
    check(tmp_path / "new")
    fill(tmp_path / "old", **REPORT)
    check(tmp_path / "old")
    assert found(tmp_path) == ["old", "old/report.html", "old/verdict.json"]


def test_an_earlier_report_is_cleared_away(tmp_path):
    fill(tmp_path, **REPORT, **{"runs/test_x.1.0123abcd.npy": "log"})
    prepare(tmp_path)
    assert found(tmp_path) in ([], ["runs"])


def test_logs_that_a_killed_session_left_are_cleared_away(tmp_path):
    fill(tmp_path, **{"runs/test_x.1.0123abcd.npy": "log"})
    prepare(tmp_path)
    assert found(tmp_path) in ([], ["runs"])


@pytest.mark.parametrize(
    "files",
    [
        {"thesis.txt": "x"},
        {**REPORT, "thesis.txt": "x"},
        {**REPORT, "runs/thesis.txt": "x"},
        {**REPORT, "runs/deep/test_x.npy": "x"},
        {"runs/train/weights.pt": "x"},
        {"runs/events.out": "x"},
        {"report.html": "somebody else's"},
        {"verdict.json": "{}"},
        {"verdict.json": '{"format": "somebody else\'s"}'},
        {"verdict.json": "[]"},
        {"session.json": "{}"},
        {"environment.json": "{}", "session.json": "[1]"},
        {"verdict.json": "no json"},
        {".hidden": "x"},
    ],
)
def test_a_folder_with_anything_else_is_refused_and_left_as_it_is(tmp_path, files):
    fill(tmp_path, **files)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for act in (check, prepare):
        with pytest.raises(EvidenceError, match="holds something that is no earlier report"):
            act(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_signed_pack_is_not_overwritten(tmp_path):
    fill(tmp_path, **REPORT, **{"attestations/verdict.dsse.json": "{}"})
    with pytest.raises(EvidenceError, match="holds a signed pack, which is not overwritten"):
        prepare(tmp_path)
    assert (tmp_path / "verdict.json").is_file()


def test_logs_behind_a_link_are_left_where_they_are(tmp_path):
    fill(tmp_path, **{"elsewhere/test_x.npy": "x"})
    fill(tmp_path / "out", **REPORT)
    (tmp_path / "out" / "runs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EvidenceError, match="holds something that is no earlier report"):
        prepare(tmp_path / "out")
    assert (tmp_path / "elsewhere" / "test_x.npy").is_file()


def test_a_file_is_refused_as_a_folder(tmp_path):
    fill(tmp_path, notes="buy milk")
    with pytest.raises(EvidenceError, match="is a file; expected a folder"):
        prepare(tmp_path / "notes")
    assert (tmp_path / "notes").read_text() == "buy milk"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_made_is_told_in_a_sentence(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(EvidenceError, match="new cannot be written: Permission denied"):
        prepare(tmp_path / "new")


def test_a_folder_below_a_file_is_told_in_a_sentence(tmp_path):
    fill(tmp_path, notes="buy milk")
    with pytest.raises(EvidenceError, match=r"the report folder .* cannot be"):
        prepare(tmp_path / "notes" / "new")


@pytest.fixture
def session():
    """What a session knew in which nothing was asked of anybody."""
    stated = ("title", "decision", "measured_by", "measured_for", "valid_until", "plugin_version")
    words = dict.fromkeys(stated, "größe")
    times = dict.fromkeys(("started", "finished"), "2026-11-30T12:00:00Z")
    return SessionFile(
        format="pytest-procure/session",
        version=1,
        **words,
        **times,
        command="pytest",
        policy=Policy(),
        status=0,
        gate=GatePart.of(Gate()),
        sealed=UNSEALED,
        notes=(),
    )


def test_what_is_written_can_be_replaced_and_is_plain_json(tmp_path, session):
    record = record_of(session, [], {}, right={})
    write(tmp_path / "out", session, record, {"report.html": "<html>ß</html>".encode()})
    assert json.loads((tmp_path / "out" / "verdict.json").read_text("ascii"))["title"] == "größe"
    check(tmp_path / "out")


def test_the_manifest_names_every_other_file(tmp_path, session):
    write(tmp_path, session, record_of(session, [], {}, right={}), {"report.html": b"<html>"})
    listed = json.loads((tmp_path / "manifest.json").read_text("ascii"))["files"]
    assert [each["path"] for each in listed] == [path for path in found(tmp_path) if path != "manifest.json"]


def test_a_report_that_cannot_be_written_is_told_in_a_sentence(tmp_path, session):
    fill(tmp_path, out="a file")
    with pytest.raises(EvidenceError, match=r"the report cannot be written: File exists, in"):
        write(tmp_path / "out", session, record_of(session, [], {}, right={}), {"report.html": b"<html>"})
