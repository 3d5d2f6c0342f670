"""What `verify` finds, and how it says it: by file and field."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from pytest_procure.errors import EvidenceError
from pytest_procure.evidence import pack
from pytest_procure.evidence.logs import load, save
from pytest_procure.evidence.plain import dumps
from pytest_procure.report.html import render
from pytest_procure.verify import verify


def edit(folder, path, change):
    """Edit a JSON file, which stays in its canonical form."""
    data = json.loads((folder / path).read_text())
    change(data)
    pack.put(folder / path, dumps(data))


def rerow(folder, name, change):
    """Change the rows of the only run whose file begins with `name`, and what the case file says of them."""
    (path,) = folder.glob(f"runs/{name}*.npy")
    rows = np.array(load(path))
    change(rows)
    digest = save(path, rows)
    (case,) = folder.glob(f"cases/{name}*.json")
    edit(folder, case.relative_to(folder), lambda data: data["results"][0]["run"].update(sha256=digest))


def places(found):
    return {(each.file.partition(".")[0], each.field) for each in found.mismatches}


def said(found):
    return "\n".join(map(str, found.mismatches))


def test_every_kind_of_test_is_judged_again_to_the_same_record(signed):
    found = verify(signed)
    assert found.holds, said(found)
    assert dumps(found.record) == (signed / "verdict.json").read_text()


def test_the_same_rows_give_the_same_bytes_of_the_verdict_in_any_process(signed):
    """Not by the seed of hashes, the time zone, the language, the width of a terminal, or the clock."""
    code = (
        "import sys, time; from pathlib import Path; time.time = lambda: 0.0\n"
        "from pytest_procure.evidence.plain import dumps\n"
        "from pytest_procure.verify.recomputing import Pack\n"
        "sys.stdout.write(dumps(Pack(Path(sys.argv[1])).recompute().record))"
    )
    odd = {"PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu", "LC_ALL": "tr_TR.UTF-8", "COLUMNS": "40"}
    environment = os.environ | odd | {"PYTHONPATH": os.pathsep.join(sys.path)}
    made = subprocess.run(
        [sys.executable, "-c", code, str(signed)], env=environment, capture_output=True, check=True
    )
    assert made.stdout == (signed / "verdict.json").read_bytes()


def test_a_changed_number_of_the_verdict_is_named_with_what_the_rows_give(copied, resealed):
    def better(data):
        data["requirements"][0]["results"][0]["findings"][0]["estimate"]["number"] = 0.999

    edit(copied, "verdict.json", better)
    resealed(copied)
    found = verify(copied)
    assert ("verdict", "$.requirements[0].results[0].findings[0].estimate.number") in places(found)
    assert "0.999, and the rows give 0.9666666666666667" in said(found).replace(
        "0.966666666667", "0.9666666666666667"
    )


def test_a_changed_verdict_is_found_with_page_and_manifest_made_anew(copied, resealed):
    def accepted(data):
        data["outcome"] |= {"accepted": True, "exit_status": 0, "reasons": []}

    edit(copied, "verdict.json", accepted)
    pack.put(copied / "report.html", render(json.loads((copied / "verdict.json").read_text())))
    resealed(copied)
    assert ("verdict", "$.outcome.accepted") in places(verify(copied))


def test_a_digit_edited_in_the_page_is_found_by_its_line(copied, resealed):
    page = (copied / "report.html").read_text()
    pack.put(copied / "report.html", page.replace("96.7", "98.7", 1))
    resealed(copied)
    (mismatch,) = [each for each in verify(copied).mismatches if each.file == "report.html"]
    line = int(mismatch.field.removeprefix("line "))
    assert "96.7" in page.splitlines()[line - 1]


def test_a_moved_bar_no_longer_gives_the_verdict(copied, resealed):
    (case,) = copied.glob("cases/test_quality*.json")

    def lower(data):
        data["asked"]["bars"][0]["limit"]["number"] = "0.5"

    edit(copied, case.relative_to(copied), lower)
    resealed(copied)
    assert any(field.endswith("findings[0].bar.number") for _, field in places(verify(copied)))


def test_a_score_made_right_changes_what_the_rows_give(copied, resealed):
    rerow(copied, "test_quality", lambda rows: rows["accuracy"].fill(1.0))
    resealed(copied)
    found = verify(copied)
    assert any("runs[0].scores.accuracy" in field for _, field in places(found))


def test_a_dropped_row_does_not_fit_the_case(copied, resealed):
    (path,) = copied.glob("runs/test_quality*.npy")
    save(path, np.array(load(path))[:-1])
    resealed(copied)
    assert "59 rows, and the case file counts others" in said(verify(copied))


def test_an_item_exchanged_for_another_slice_is_found(copied, resealed):
    path = min(copied.glob("slices/*.npy"))
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(b"0" if last != b"0" else b"1")
    resealed(copied)
    assert "the digest of these items is not the slice's" in said(verify(copied))


def test_an_edited_answer_is_not_the_one_that_was_digested(copied, resealed):
    (path,) = copied.glob("outputs/test_words*.jsonl")
    path.write_text(path.read_text().replace("answer 11", "answer 12", 1))
    resealed(copied)
    assert "the text is not the one that was digested" in said(verify(copied))


def test_a_deleted_test_is_not_tested_and_does_not_give_the_verdict(copied, resealed):
    (case,) = copied.glob("cases/test_words*.json")
    case.unlink()
    resealed(copied)
    found = verify(copied)
    assert not found.holds
    assert any("not tested" in each.said for each in found.mismatches)


def test_an_unknown_file_is_a_mismatch(copied):
    (copied / "runs" / "notes.txt").write_text("x")
    assert "runs/notes.txt: the file is unknown: no manifest names it" in said(verify(copied))


def test_a_missing_file_is_named(copied):
    (copied / "environment.json").unlink()
    assert "environment.json: the file is missing" in said(verify(copied))


# -- hostile packs ------------------------------------------------------------------------------------------


def test_a_link_is_not_followed(copied, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("hush")
    (copied / "environment.json").unlink()
    (copied / "environment.json").symlink_to(secret)
    text = said(verify(copied))
    assert "environment.json: a link, which a pack may not hold" in text
    assert "hush" not in text


def test_a_folder_behind_a_link_is_not_entered(copied, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x").write_text("hush")
    (copied / "more").symlink_to(tmp_path / "elsewhere")
    assert "more: a link, which a pack may not hold" in said(verify(copied))


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "runs/../verdict.json", "C:\\x", ""])
def test_a_path_out_of_the_pack_is_not_opened(copied, resealed, path):
    (case,) = copied.glob("cases/test_quality*.json")
    edit(copied, case.relative_to(copied), lambda data: data["results"][0]["run"].update(log=path))
    resealed(copied)
    assert not verify(copied).holds


def test_a_pipe_does_not_hang_the_verifier(copied):
    os.mkfifo(copied / "runs" / "pipe")
    assert "runs/pipe: neither a file nor a folder" in said(verify(copied))


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a": NaN}', "\ufeff{}", '{"a": 1, "a": 2}', "1e999999", '{"format": "x"}', ""],
    ids=["deep", "nan", "mark", "twice", "huge", "foreign", "empty"],
)
@pytest.mark.parametrize("path", ["session.json", "manifest.json", "verdict.json"])
def test_json_that_is_none_of_ours_is_a_mismatch(copied, path, text):
    (copied / path).write_text(text)
    assert not verify(copied).holds


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("queries", 10**12),
        ("samples", 10**12),
        ("samples_per_query", 10**12),
        ("queries", -1),
        ("window_ns", "x"),
    ],
)
def test_counts_that_would_fill_the_memory_are_refused(copied, resealed, field, value):
    (case,) = copied.glob("cases/test_quality*.json")

    def blow_up(data):
        data["results"][0]["run"]["launches"][0][field] = value

    edit(copied, case.relative_to(copied), blow_up)
    resealed(copied)
    assert not verify(copied).holds


@pytest.mark.parametrize("number", ["1e999999999", "NaN", "Infinity", "1" * 100])
def test_a_number_that_would_fill_the_memory_is_refused(copied, resealed, number):
    (case,) = copied.glob("cases/test_quality*.json")

    def blow_up(data):
        data["asked"]["bars"][0]["limit"]["number"] = number

    edit(copied, case.relative_to(copied), blow_up)
    resealed(copied)
    assert "expected an exact number as text" in said(verify(copied))


def test_a_slice_of_a_billion_items_is_refused(copied, resealed):
    (case,) = copied.glob("cases/test_quality*.json")
    edit(
        copied, case.relative_to(copied), lambda data: data["results"][0]["run"]["slice"].update(items=10**9)
    )
    resealed(copied)
    assert "items are more than a run can have asked" in said(verify(copied))


def test_a_folder_that_is_no_pack_is_told_in_a_sentence(tmp_path):
    with pytest.raises(EvidenceError, match=r"holds no manifest.json.*procure recover"):
        verify(tmp_path)
    with pytest.raises(EvidenceError, match="is no folder"):
        verify(tmp_path / "missing")
