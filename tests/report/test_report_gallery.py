"""What went wrong, sample by sample."""

import drawn
import outline
import pytest
import sample

from pytest_procure.report import html
from pytest_procure.report.galleries import gallery


def run_of(record, requirement=0, result=0):
    return record["requirements"][requirement]["results"][result]["runs"][0]


def test_a_sample_that_several_candidates_failed_is_shown_once(demo):
    found = gallery(demo["requirements"][0])
    assert [failure.number for failure in found.failures] == [40, 12]  # by group, then by number
    assert [answer.candidate for answer in found.failures[0].answers] == [sample.A, sample.B, sample.R]


def test_samples_of_another_slice_are_other_samples(demo):
    run_of(demo)["slice"] = {**sample.data(), "digest": "other"}
    assert len(gallery(demo["requirements"][0]).failures) == 4


def test_what_was_answered_stands_beside_what_was_expected(demo):
    told = outline.read(html.render(demo)).all("ul")
    (shown,) = [e.text for e in told if e.attrs.get("class") == "gallery" and "Sample 12" in e.text][:1]
    assert f"Sample 12, 8; expected 8 {sample.A}, {sample.B}, {sample.R}: 3 (worst)" in shown
    assert "1 (scored 0.5)" in shown


def test_the_number_of_failures_is_told_with_what_it_counts(demo):
    assert gallery(demo["requirements"][0]).counted[0] == (sample.A, "6 of 797 samples failed by accuracy")


def test_a_scorer_is_named_as_the_suite_names_it(demo):
    run_of(demo)["gallery"]["scorer"] = "quality.well_formed"
    assert gallery(demo["requirements"][0]).counted[0] == (
        sample.A,
        "6 of 797 samples failed by well formed",
    )


def test_a_withheld_sample_shows_its_number_and_group_alone(everything, text_of):
    told = text_of(everything)
    assert "The dataset withholds its samples: only their numbers and groups are shown." in told
    assert "Sample 5 vendor-e (worst)" in told


def test_text_of_a_sample_is_quoted(everything):
    quoted = outline.read(html.render(everything)).all("q")
    assert [q.text for q in quoted] == ["What is on the form?"]


@pytest.mark.parametrize("image", ['"><script>alert(1)</script>', "javascript:alert(1)", "", "data", " A"])
def test_a_picture_that_is_no_base64_is_left_out(demo, image):
    for result in demo["requirements"][0]["results"]:
        result["runs"][0]["gallery"] = drawn.gallery(drawn.failure(1, "worst", "3", "8", image=image))
    pictures = gallery(demo["requirements"][0]).failures
    assert [failure.image for failure in pictures] == [image if image == "data" else ""]


def test_pictures_say_nothing_to_who_hears_the_page(demo):
    # What they show stands beside them.
    pictures = outline.read(html.render(demo)).all("img")
    assert pictures
    assert {picture.attrs["alt"] for picture in pictures} == {""}


def test_without_failures_the_page_says_so(demo, text_of):
    for requirement in demo["requirements"]:
        for result in requirement["results"]:
            del result["runs"][0]["gallery"]
    assert "No sample of a scored run was answered wrongly, or nothing was scored." in text_of(demo)
