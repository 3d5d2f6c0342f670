"""Candidates against each other, on the same samples."""

import sample

from pytest_procure.report.against import pairs


def test_a_difference_is_told_in_points_of_a_hundred(demo):
    ((question, (first, second)),) = pairs(demo)
    assert question == sample.PEAK
    assert (first.difference, first.range) == ("+13.4 points", "+11.4 to +15.5")
    assert (second.difference, second.range) == ("0 points", "−2.0 to +2.0")  # noqa: RUF001 - a minus


def test_the_ends_of_a_range_are_rounded_outward(demo):
    demo["paired"][0] |= {"low": 0.11999, "high": 0.12001}
    ((_, (first, _)),) = pairs(demo)
    assert first.range == "+11.9 to +12.1"


def test_a_record_without_pairs_has_no_table(demo, text_of):
    del demo["paired"]
    assert "Against each other" not in text_of(demo)


def test_the_table_says_that_it_decides_nothing(demo, text_of):
    assert "This decides nothing unless a requirement asks for it." in text_of(demo)
