"""A published score is shown as context: cited, held against our task, and never as evidence."""

from sample import demo, everything, published

from pytest_procure.report.html import render


def test_a_report_without_a_published_score_says_that_none_was_used():
    assert "None was used." in render(demo())


def test_a_published_score_stands_with_citation_class_and_footnote():
    html = render(everything())
    assert "None was used." not in html
    for said in (published()["citation"], published()["footnote"], "public reference", "decides nothing"):
        assert said in html


def test_the_distance_is_a_table_row_by_row_with_what_is_not_stated_shown():
    html = render(everything())
    table = html[html.index("How far that task is from ours") :].partition("</table>")[0]
    for said in ("dataset", "ImageNet", "our-scans", "differs", "batch", "not stated", "unknown"):
        assert said in table


def test_what_can_and_what_cannot_be_read_from_it_is_said():
    html = render(everything())
    assert published()["can"][0] in html
    assert published()["cannot"][0] in html


def test_a_hostile_citation_is_text():
    record = everything()
    record["published"][0]["citation"] = "<script>alert(1)</script>"
    assert "<script>" not in render(record)
