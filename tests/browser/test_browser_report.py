"""The report as a committee sees it: on a screen, in the dark, on a telephone, on paper."""

import hostile
import pytest
import sample

pytestmark = pytest.mark.browser

SIZES = [1280, 320]
SAMPLES = {
    "demo": sample.demo,
    "everything": sample.everything,
    "hostile": lambda: hostile.record(hostile.TEXT),
    "long": lambda: hostile.record(hostile.LONG, sample.demo),
}


def three_requirements():
    """The demo with a third requirement and a long decision, as large as a first screen has to hold."""
    record = sample.demo()
    third = {**record["requirements"][1], "id": "third", "question": sample.BURST}
    record["requirements"].append(third)
    record["outcome"]["sentence"] += " It met neither of the two requirements that rest on the answers."
    return record


def test_the_first_screen_holds_the_verdict_of_three_candidates(open_report):
    page = open_report(three_requirements()).page
    for told in (
        "A reader for handwritten digits on our forms",
        "Which offer, if any, may the forms desk buy",
        "Two of three offers are accepted.",
        "vendor-b-int8-recalibrated",
        "Not accepted",
        "85.6 %",
        "83.4 % to 87.6 %",
        "the purchasing committee",
        "30 November 2026",
    ):
        box = page.locator("header").get_by_text(told).first.bounding_box()
        assert box["y"] + box["height"] <= 800, told
    assert page.locator("header").bounding_box()["height"] <= 800


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_runs_and_nothing_is_fetched(open_report, name):
    seen = open_report(SAMPLES[name]())
    assert seen.requests == [seen.file.as_uri()]
    assert seen.messages == []


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("name", SAMPLES)
def test_no_text_makes_the_page_scroll_sideways(open_report, name, width):
    seen = open_report(SAMPLES[name](), width=width)
    assert not seen.scrolls_sideways()
    seen.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert not seen.scrolls_sideways()


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 320), ("light", 1280), ("dark", 320), ("dark", 1280)]
)
def test_no_barrier_to_access_is_found(open_report, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = open_report(sample.everything(), width=width, scheme=scheme).page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_the_keyboard_goes_through_the_page_from_top_to_bottom(open_report):
    page = open_report(sample.everything()).page
    folds = page.locator("summary").count()
    assert folds > 20
    reached = []
    for _ in range(folds):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("[...document.querySelectorAll('summary')].indexOf(document.activeElement)")
        )
    assert reached == list(range(folds))


def test_who_goes_by_keyboard_sees_where_they_are_and_opens_a_fold(open_report):
    page = open_report(sample.demo()).page
    page.keyboard.press("Tab")
    outlined = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outlined) == "solid"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.open") is True


def test_all_text_is_there_without_script(open_report):
    with_script = open_report(sample.everything()).page.locator("body").inner_text()
    without = open_report(sample.everything(), script=False).page.locator("body").inner_text()
    assert without == with_script
    assert len(without) > 10_000


def test_pictures_of_samples_are_drawn_and_not_fetched(open_report):
    seen = open_report(sample.demo())
    seen.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    drawn = "[...document.images].map(i => [i.complete, i.naturalWidth])"
    assert seen.page.evaluate(drawn)
    assert {tuple(each) for each in seen.page.evaluate(drawn)} == {(True, 4)}
    assert seen.requests == [seen.file.as_uri()]


def test_the_dark_scheme_is_dark_on_a_screen_and_light_on_paper(open_report):
    page = open_report(sample.demo(), scheme="dark").page
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(21, 21, 20)"
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"


def test_paper_holds_what_is_folded_on_a_screen(open_report, paper):
    page = open_report(sample.everything()).page
    folded = [
        "test_form_digits.py::test_monday_peak[vendor-a-fp32]",
        "RuntimeError: worker restarted",
        "AVX-512",
    ]
    assert not page.get_by_text(folded[1]).is_visible()
    told = paper(page)
    assert [text for text in folded if text not in told] == []
    assert "Page 1 of" in told
