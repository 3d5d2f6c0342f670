"""Where a verdict on cost would turn."""

import pytest
import sample

from pytest_procure.report.costs import costs


@pytest.fixture
def cost(demo):
    """Vendor A's cost in the demo, after the finding and the candidate were changed."""

    def told(finding=None, **candidate):
        demo["candidates"][0] |= candidate
        demo["requirements"][1]["results"][0]["findings"][2] |= finding or {}
        return costs(demo)[sample.PEAK][0]

    return told


def dollars(number):
    return {"number": number, "unit": "USD", "text": f"{number} USD"}


def test_a_cost_is_also_told_for_a_million_requests(cost):
    assert cost().million == "13.5 USD"


def test_a_met_bar_says_down_to_which_utilisation_it_holds(cost):
    assert cost().turns == "holds down to 37.2 % utilisation; declared: 55 %"


def test_a_missed_bar_says_from_which_utilisation_it_would_hold(cost):
    found = cost({"estimate": dollars(0.00003)})
    assert found.turns == "would hold from 82.5 % utilisation on; declared: 55 %"


def test_a_bar_that_no_utilisation_meets_says_so(cost):
    assert cost({"estimate": dollars(0.0002)}).turns == "would miss this bar even at 100 % utilisation"


def test_the_turning_point_is_that_of_the_upper_end_of_the_range(cost):
    found = cost({"high": dollars(0.000016)})
    assert found.turns == "holds down to 44 % utilisation; declared: 55 %"


@pytest.mark.parametrize(
    "price", [{}, {"model": "request", "label": "0.1 USD a request"}], ids=["none", "other"]
)
def test_without_an_hourly_price_no_turning_point_is_told(cost, price):
    assert cost(price=price).turns == ""


def test_without_a_measurement_nothing_is_told(cost):
    found = cost({"estimate": None})
    assert (found.million, found.turns) == ("", "")


def test_a_bar_in_another_currency_is_not_compared(cost):
    euros = {"number": 0.00002, "unit": "EUR", "text": "0.00002 EUR"}
    assert cost({"bar": euros}).turns == ""


def test_a_requirement_without_a_cost_bar_is_not_listed(demo):
    assert list(costs(demo)) == [sample.PEAK]
