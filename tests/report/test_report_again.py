"""`procure report DIR`: the same files from the record alone."""

import json

import pytest

from pytest_procure.cli import main
from pytest_procure.evidence.record import dumps
from pytest_procure.report.outputs import NAMES, outputs


@pytest.fixture
def pack(tmp_path, demo):
    (tmp_path / "verdict.json").write_text(dumps(demo), encoding="utf-8")
    return tmp_path


def test_a_pack_is_rendered_to_the_bytes_that_its_record_gives(pack, demo, capsys):
    assert main(["report", str(pack)]) == 0
    assert capsys.readouterr().out.splitlines() == [str(pack / name) for name in NAMES]
    for name, text in outputs(demo).items():
        assert (pack / name).read_bytes() == text.encode()


def test_another_folder_is_written_where_it_is_named(pack, tmp_path):
    assert main(["report", str(pack), "--out", str(tmp_path / "new")]) == 0
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == sorted(NAMES)
    assert [file.name for file in pack.glob("*.html")] == []


def test_a_finished_pack_is_not_changed(pack, tmp_path, capsys):
    assert main(["report", str(pack)]) == 0
    (pack / "manifest.json").write_text("{}", "ascii")
    assert main(["report", str(pack)]) == 0  # the same bytes change nothing
    (pack / "summary.md").write_text("another version's", "utf-8")
    capsys.readouterr()
    assert main(["report", str(pack)]) == 2
    assert "a changed pack does not verify; write to another folder with `--out`" in capsys.readouterr().err
    assert (pack / "summary.md").read_text("utf-8") == "another version's"


def refused(capsys, folder):
    assert main(["report", str(folder)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def test_a_folder_without_a_record_says_what_was_expected(tmp_path, capsys):
    assert "expected a folder that `pytest --procure-report` wrote" in refused(capsys, tmp_path)


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "\xff"], ids=["cut", "deep", "not UTF-8"])
def test_a_file_that_is_no_json_is_one_line(tmp_path, capsys, text):
    (tmp_path / "verdict.json").write_bytes(text.encode("latin-1"))
    assert "is no JSON" in refused(capsys, tmp_path)


@pytest.mark.parametrize("data", [[], {}, {"format": "other/format"}, "text"])
def test_json_of_another_kind_is_no_record(tmp_path, capsys, data):
    (tmp_path / "verdict.json").write_text(json.dumps(data))
    assert "is no record of ours" in refused(capsys, tmp_path)


def test_a_later_format_names_the_version_that_wrote_it(pack, capsys):
    data = json.loads((pack / "verdict.json").read_text())
    (pack / "verdict.json").write_text(json.dumps(data | {"version": 99, "plugin_version": "7.0"}))
    told = refused(capsys, pack)
    assert "has format version 99" in told
    assert "use the one that wrote it, 7.0" in told


def test_an_incomplete_record_says_where(pack, capsys):
    data = json.loads((pack / "verdict.json").read_text())
    del data["requirements"][0]["results"][0]["findings"][0]["bar"]
    (pack / "verdict.json").write_text(json.dumps(data))
    assert "$.requirements[0].results[0].findings[0]: `bar` is missing" in refused(capsys, pack)


def test_a_number_that_is_none_is_refused(pack, capsys):
    text = (pack / "verdict.json").read_text().replace('"consumer_risk": 0.05', '"consumer_risk": NaN')
    (pack / "verdict.json").write_text(text)
    assert "$.consumer_risk: expected number, got NaN" in refused(capsys, pack)
