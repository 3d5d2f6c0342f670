"""The example suite's own report, as it is measured here and now, opened by a committee."""

import json

import pytest

from pytest_procure.cli import main

pytestmark = pytest.mark.browser

HEAVIEST = 150 * 1024


@pytest.fixture
def report(demo_pack):
    return demo_pack / "report.html"


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")


def test_the_first_screen_says_who_offered_what_whether_it_is_accepted_and_why(open_file, demo_pack, report):
    page = open_file(report).page
    record = json.loads((demo_pack / "verdict.json").read_text())
    (why,) = (
        f
        for requirement in record["requirements"]
        for result in requirement["results"]
        for f in result["findings"]
        if f["verdict"] == "reject" and f["metric"] == "accuracy"
    )
    header = page.locator("header")
    for told in (
        record["title"],
        record["decision"],
        "Not accepted",
        "Why not",
        why["estimate"]["text"],
        why["bar"]["text"],
        record["measured_by"],
        record["measured_for"],
        *(candidate["name"] for candidate in record["candidates"]),
    ):
        box = header.get_by_text(told).first.bounding_box()
        assert box["y"] + box["height"] <= 800, told
    assert header.bounding_box()["height"] <= 800


def test_the_page_is_light_enough_for_mail(report):
    assert report.stat().st_size <= HEAVIEST


def test_nothing_runs_and_nothing_is_fetched(open_file, report):
    seen = open_file(report)
    unfold(seen.page)
    assert seen.requests == [report.as_uri()]
    assert seen.messages == []


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 320), ("dark", 320)]
)
def test_no_barrier_to_access_is_found(open_file, report, scheme, width):
    from axe_playwright_python.sync_playwright import Axe

    page = open_file(report, scheme=scheme, width=width).page
    unfold(page)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_the_page_does_not_scroll_sideways_on_a_telephone(open_file, report):
    seen = open_file(report, width=320)
    assert not seen.scrolls_sideways()
    unfold(seen.page)
    assert not seen.scrolls_sideways()


def test_the_keyboard_goes_through_the_page_from_top_to_bottom(open_file, report):
    page = open_file(report).page
    folds = page.locator("summary").count()
    reached = []
    for _ in range(folds):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("[...document.querySelectorAll('summary')].indexOf(document.activeElement)")
        )
    assert reached == list(range(folds))


def test_all_text_is_there_without_script(open_file, report):
    without = open_file(report, script=False).page.locator("body").inner_text()
    assert without == open_file(report).page.locator("body").inner_text()


def test_what_a_browser_prints_holds_every_fold_and_no_page_that_is_half_empty(
    open_file, report, paper, tmp_path, lowest_words
):
    told = " ".join(paper(open_file(report).page).split())
    for folded in ("Rules that were applied", "What the harness saw of itself", "Quality and cost of each"):
        assert folded in told
    reached = lowest_words(tmp_path / "report.pdf")
    assert min(reached[:-1]) > 0.6, reached


def test_the_pdf_has_no_page_that_is_half_empty(demo_pack, tmp_path, lowest_words):
    assert main(["report", str(demo_pack), "--out", str(tmp_path), "--pdf"]) == 0
    reached = lowest_words(tmp_path / "report.pdf")
    assert min(reached[:-1]) > 0.6, reached
