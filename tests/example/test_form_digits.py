"""The example is decided, not lucky, and its files are those that were measured."""

import runpy
from pathlib import Path

import pytest

from pytest_procure import stats

FOLDER = Path(__file__).parents[2] / "example_suite" / "form_digits"
BAR, SCANS = 0.95, 797
A_WRONG, B_WRONG = 14, 130  # as read, of the brighter scans


@pytest.fixture(scope="module")
def made():
    return runpy.run_path(str(FOLDER / "make_models.py"), run_name="made")


def test_the_committed_files_are_those_whose_digests_are_recorded(made):
    assert made["check"]() == []


def test_the_models_read_what_the_readme_says(made):
    counts = made["count_right"]()
    assert counts["vendor-a-fp32"]["brighter"] == SCANS - A_WRONG
    assert counts["vendor-b-int8"]["brighter"] == SCANS - B_WRONG
    assert counts["vendor-b-int8"]["clean"] == counts["vendor-a-fp32"]["clean"]


def allowed_errors():
    bounds = (stats.share_bounds(SCANS - wrong, SCANS, confidence=0.95) for wrong in range(SCANS))
    return sum(each.low >= BAR for each in bounds) - 1


def test_an_offer_like_vendor_a_is_accepted_99_times_in_100():
    plan = stats.SharePlan(SCANS, allowed_errors())
    assert stats.operating_characteristic(plan, [1 - A_WRONG / SCANS])[0] >= 0.99


def test_an_offer_exactly_at_the_bar_is_accepted_at_most_5_times_in_100():
    plan = stats.SharePlan(SCANS, allowed_errors())
    assert stats.operating_characteristic(plan, [BAR])[0] <= 0.05


def test_an_offer_like_vendor_b_is_rejected_99_times_in_100_by_holm_over_its_bars():
    bars = 2  # of those that carry a sampling risk, after the quality gate: accuracy and failures
    fewest = next(
        wrong
        for wrong in range(SCANS)
        if stats.share_p_value(SCANS - wrong, SCANS, BAR, alternative="less") * bars <= 0.05
    )
    plan = stats.SharePlan(SCANS, fewest - 1)
    assert 1 - stats.operating_characteristic(plan, [1 - B_WRONG / SCANS])[0] >= 0.99
