"""Where a verdict on cost would turn."""

import pytest
import sample

from pytest_procure.report.breakeven import undercuts
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
    assert cost().turns[0] == "holds down to 37.2 % utilisation; declared: 55 %"


def test_a_missed_bar_says_from_which_utilisation_it_would_hold(cost):
    found = cost({"estimate": dollars(0.00003)})
    assert found.turns[0] == "would hold from 82.5 % utilisation on; declared: 55 %"


def test_a_bar_that_no_utilisation_meets_says_so(cost):
    assert cost({"estimate": dollars(0.0002)}).turns[0] == "would miss this bar even at 100 % utilisation"


def test_the_turning_point_is_that_of_the_upper_end_of_the_range(cost):
    found = cost({"high": dollars(0.000016)})
    assert found.turns[0] == "holds down to 44 % utilisation; declared: 55 %"


def test_a_price_by_the_hour_turns_at_a_utilisation_a_price_and_a_volume(cost):
    assert cost().turns == [
        "holds down to 37.2 % utilisation; declared: 55 %",
        "holds up to a price of 1.6 USD an hour; declared: 1.08 USD",
        "holds down to 1,296,000 requests a day and machine; as declared: 1,920,000",
    ]


def test_at_its_turning_price_an_offer_costs_what_was_asked(cost):
    price, declared = 1.6, 1.08
    assert 0.0000135 * price / declared == pytest.approx(0.00002)
    assert "1.6 USD" in cost().turns[1]


def test_a_price_by_the_request_turns_at_a_price_alone(cost):
    price = {"model": "request", "amount": "0.0000135", "currency": "USD", "label": "0.0000135 USD a request"}
    assert cost(price=price).turns == [
        "holds up to a price of 0.00002 USD a request; declared: 0.0000135 USD"
    ]


def test_without_a_price_no_turning_point_is_told(cost):
    assert cost(price={}).turns == []


def test_a_machine_by_the_hour_undercuts_an_offer_by_the_request_from_a_volume_on(demo):
    demo["candidates"][1]["price"] = {"model": "request", "amount": "0.00001", "currency": "USD"}
    assert undercuts(demo["candidates"])[0] == (
        "vendor-a-fp32 by the hour costs less than vendor-b-int8 by the request from 108,000 requests "
        "an hour on, if one machine serves that many"
    )


def test_offers_in_different_currencies_undercut_nobody(demo):
    demo["candidates"][1]["price"] = {"model": "request", "amount": "0.00001", "currency": "EUR"}
    assert undercuts(demo["candidates"]) == []


def test_without_a_measurement_nothing_is_told(cost):
    found = cost({"estimate": None})
    assert (found.million, found.turns) == ("", [])


def test_a_bar_in_another_currency_is_not_compared(cost):
    euros = {"number": 0.00002, "unit": "EUR", "text": "0.00002 EUR"}
    assert cost({"bar": euros}).turns == []


def test_a_requirement_without_a_cost_bar_is_not_listed(demo):
    assert list(costs(demo)) == [sample.PEAK]
