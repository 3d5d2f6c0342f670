"""Amounts, counts and verdicts in words."""

import pytest
import sample

from pytest_procure.report import words


@pytest.mark.parametrize(
    ("share", "told"),
    [(0.8557, "85.6 %"), (0.95, "95 %"), (0.9999, "99.99 %"), (0.0003, "0.03 %"), (0, "0 %"), (1, "100 %")],
)
def test_a_share_has_a_decimal_and_a_part_is_never_told_as_all_or_nothing(share, told):
    assert words.percent(share) == told


@pytest.mark.parametrize(
    ("ms", "told"), [(0.0264, "26.4 us"), (80, "80 ms"), (131.26, "131 ms"), (12_345, "12.3 s"), (0, "0 ns")]
)
def test_a_time_has_three_digits_in_the_unit_that_suits_it(ms, told):
    assert words.milliseconds(ms) == told


@pytest.mark.parametrize(
    ("n", "plural", "told"),
    [
        (1, "requests", "1 request"),
        (2, "requests", "2 requests"),
        (0, "samples", "0 samples"),
        (1, "launches", "1 launch"),
        (1, "queries", "1 query"),
        (12_000, "requests", "12,000 requests"),
    ],
)
def test_things_are_counted_in_words(n, plural, told):
    assert words.count(n, plural) == told


def test_a_finding_is_told_by_value_range_and_bar():
    found = sample.finding(
        "accuracy", sample.share(0.856), sample.share(0.834), sample.share(0.876), "reject"
    )
    assert words.numbers(found) == "85.6 % (likely range 83.4 % to 87.6 %); asked: at least 95 %"


def test_what_has_no_range_is_told_without_one():
    cost = sample.finding(
        "cost_per_request", sample.amount(0.00001, "0.00001 USD", "USD"), None, None, "accept"
    )
    assert words.numbers(cost) == "0.00001 USD; asked: at most 0.00002 USD"
    assert words.evidence(cost) == "declared price"


def test_what_was_not_measured_is_never_told_as_zero():
    lost = sample.finding("accuracy", None, None, None, "inconclusive", n=0)
    assert words.numbers(lost) == "not measurable; asked: at least 95 %"


def test_a_range_may_lack_an_end():
    assert words.likely_range(sample.share(0.9), None) == "90 % or more"
    assert words.likely_range(None, sample.share(0.9)) == "90 % or less"
    assert words.likely_range(None, None) == "none"


def test_a_day_is_told_without_a_locale():
    assert words.day("2026-11-30T09:12:04Z") == "30 November 2026"
    assert words.day("some day") == "some day"


def test_a_list_reads_as_a_sentence_does():
    assert [words.listing(list(items)) for items in ("", "a", "ab", "abc")] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
