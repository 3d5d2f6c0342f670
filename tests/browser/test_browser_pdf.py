"""The report as `--procure-pdf` writes it: WeasyPrint's paper, read by another program."""

import subprocess

import hostile
import pytest
import sample

from pytest_procure.cli import main
from pytest_procure.evidence.record import dumps
from pytest_procure.report import pdf

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    """The pack of everything, printed: its folder."""
    folder = tmp_path_factory.mktemp("pack")
    (folder / "verdict.json").write_text(dumps(sample.everything()), encoding="utf-8")
    assert main(["report", str(folder), "--pdf"]) == 0
    return folder


def small():
    """The demo with one candidate and one requirement: laying out paper takes seconds a page."""
    record = sample.demo()
    record["requirements"], record["candidates"] = record["requirements"][1:], record["candidates"][:1]
    record["requirements"][0]["results"] = record["requirements"][0]["results"][:1]
    return record


def told(command, folder):
    return subprocess.run(
        [*command, folder / "report.pdf", "-"][: len(command) + 1 + (command[0] == "pdftotext")],
        capture_output=True,
        check=True,
    ).stdout.decode()


def test_the_paper_is_tagged_titled_and_of_a_size_that_prints(paper):
    info = told(["pdfinfo"], paper)
    assert "Tagged:          yes" in info
    assert "Page size:       595.276 x 841.89 pts (A4)" in info
    assert "acceptance report" in info
    assert "JavaScript:      no" in info


def test_every_page_is_numbered_and_names_the_report(paper):
    text = told(["pdftotext", "-layout"], paper)
    pages = text.split("\f")[:-1]
    assert len(pages) > 5
    for number, page in enumerate(pages, start=1):
        assert f"Page {number} of {len(pages)}" in page
        assert "Report " in page


def test_what_is_folded_on_a_screen_stands_on_the_paper(paper):
    text = " ".join(told(["pdftotext"], paper).split())
    for folded in ("RuntimeError: worker restarted", "AVX-512", "Sample 12", "first fifth".capitalize()):
        assert folded in text, folded


def test_each_drawing_holds_its_own_colours_and_symbols():
    page = pdf.self_contained(pdf.render(sample.everything()))
    drawings = page.split("<svg ")[1:]
    assert drawings
    for drawing in drawings:
        own = drawing.partition("</svg>")[0]
        assert "<use" not in own
        assert "var(--" not in own


def test_the_same_record_gives_the_same_paper():
    assert pdf.pdf(small()) == pdf.pdf(small())


def test_hostile_text_is_printed_and_fetches_nothing(tmp_path):
    (tmp_path / "report.pdf").write_bytes(pdf.pdf(hostile.record(hostile.TEXT, small)))
    assert "alert(1)" in told(["pdftotext"], tmp_path)
