import json
from decimal import Decimal, localcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.backends import Function, OnnxRuntime
from pytest_procure.candidates import Candidate, HourlyPrice, RequestPrice, TokenPrice
from pytest_procure.errors import DeclarationError
from pytest_procure.units import ms

invariant = settings(derandomize=True, max_examples=60)


def answers(batch):
    return batch


def offer(**stated):
    return Candidate("acme-int8", backend=answers, **stated)


def test_a_candidate_states_its_offer_as_plain_data():
    price = HourlyPrice("2.95 USD", utilisation=0.55, source="price list", date="2026-11-30")
    stated = offer(vendor="Acme", precision="int8", price=price, max_batch=8, max_wait="5 ms").describe()
    assert json.loads(json.dumps(stated)) == stated
    assert (stated["name"], stated["vendor"], stated["max_batch"], stated["max_wait"]) == (
        "acme-int8",
        "Acme",
        8,
        "5 ms",
    )
    assert stated["price"] == {
        "model": "hourly",
        "currency": "USD",
        "amount": "2.95",
        "utilisation": "0.55",
        "source": "price list",
        "date": "2026-11-30",
        "label": "2.95 USD an hour at 55 % utilisation",
    }


def test_what_an_offer_leaves_out_stays_empty():
    assert offer().price is None
    assert offer().max_wait is None
    assert offer().describe()["vendor"] == ""


def test_a_callable_becomes_a_function_backend():
    assert offer().backend == Function(answers)


def test_a_declared_backend_is_kept():
    backend = OnnxRuntime("m.onnx")
    assert Candidate("a", backend=backend).backend is backend


def test_a_candidate_cannot_be_changed():
    with pytest.raises(AttributeError):
        offer().name = "other"


def test_a_wait_is_a_quantity():
    assert offer(max_wait=ms(5)).max_wait == offer(max_wait="5 ms").max_wait == ms(5)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", "empty name"),
        ("  ", "empty name"),
        ("a\nb", "control character"),
        ("invoice\u202etcejer", "control character"),
        ("x" * 81, "81 characters"),
        (None, "expected text"),
    ],
)
def test_a_name_that_a_report_cannot_print_is_refused(name, told):
    with pytest.raises(DeclarationError, match=told):
        Candidate(name, backend=answers)


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ({"vendor": "A\x1b[31m"}, "`vendor` of candidate `acme-int8`"),
        ({"price": "2.95 USD"}, "expected for example an HourlyPrice"),
        ({"max_batch": 0}, "`max_batch` of candidate `acme-int8`"),
        ({"max_batch": True}, "`max_batch` of candidate `acme-int8`"),
        ({"max_wait": 5}, "no unit of time"),
        ({"max_wait": "-1 ms"}, "expected 0 or longer"),
    ],
)
def test_what_cannot_be_meant_is_refused(stated, told):
    with pytest.raises(DeclarationError, match=told):
        offer(**stated)


@pytest.mark.parametrize(
    ("backend", "told"),
    [
        ("model.onnx", "expected a backend"),
        (OnnxRuntime, r"is the class OnnxRuntime; .*`OnnxRuntime\(\.\.\.\)`"),
    ],
)
def test_what_is_no_backend_is_refused(backend, told):
    with pytest.raises(DeclarationError, match=told):
        Candidate("a", backend=backend)


def test_an_hour_is_shared_by_what_the_hour_serves():
    price = HourlyPrice("3.60 USD", utilisation=0.5)
    assert price.per_request(40) == Decimal("0.00005")
    assert price.per_request(Decimal(40)) == price.per_request(40.0)
    assert (price.amount, price.utilisation, price.currency) == (Decimal("3.60"), Decimal("0.5"), "USD")


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf")])
def test_a_rate_of_nothing_has_no_cost(rate):
    with pytest.raises(DeclarationError):
        HourlyPrice("3.60 USD", utilisation=0.5).per_request(rate)


@pytest.mark.parametrize("utilisation", [0, -0.1, 1.01, "much", float("nan")])
def test_utilisation_is_a_share_above_nothing(utilisation):
    with pytest.raises(DeclarationError):
        HourlyPrice("3.60 USD", utilisation=utilisation)


def test_utilisation_has_to_be_stated():
    with pytest.raises(DeclarationError, match="it needs `utilisation`"):
        HourlyPrice("3.60 USD")


def test_a_request_costs_its_price():
    price = RequestPrice("0.0004 USD")
    assert price.per_request() == Decimal("0.0004")
    assert price.label == "0.0004 USD a request"


def test_tokens_cost_by_kind():
    price = TokenPrice(input="0.15 USD", output="0.60 USD")
    assert price.per_request(1000, 500) == Decimal("0.00045")
    assert price.label == (
        "0.15 USD for 1,000,000 input tokens and 0.60 USD for 1,000,000 output tokens, "
        "as the endpoint counts them"
    )


def test_cached_input_tokens_have_a_price_of_their_own():
    price = TokenPrice(input="2 USD", output="4 USD", cached_input="0.5 USD", per=1000)
    assert price.per_request(1000, 500, 400) == Decimal("3.4")
    assert price.label == (
        "2 USD for 1,000 input tokens, 0.5 USD where they are cached, and 4 USD for 1,000 output tokens, "
        "as the endpoint counts them"
    )
    with pytest.raises(DeclarationError, match="400 cached of 100 input tokens"):
        price.per_request(100, 0, 400)
    with pytest.raises(DeclarationError, match="one currency"):
        TokenPrice(input="2 USD", output="4 USD", cached_input="1 EUR")


def test_tokens_may_be_means_but_not_less_than_none():
    price = TokenPrice(input="2 EUR", output="4 EUR", per=1000)
    assert price.per_request(0.5, 0.25) == Decimal("0.002")
    with pytest.raises(DeclarationError):
        price.per_request(-1, 0)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: RequestPrice("0.0004"), "names no currency"),
        (lambda: RequestPrice("3 ms"), "names no currency"),
        (lambda: RequestPrice(ms(3)), "is no price"),
        (lambda: RequestPrice("-1 USD"), "0 or more"),
        (lambda: RequestPrice("1 USD", date="30.11.2026"), "expected year, month, day"),
        (lambda: RequestPrice("1 USD", date="2026-02-30"), "expected year, month, day"),
        (lambda: RequestPrice("1 USD", date="20261130"), "expected year, month, day"),
        (lambda: RequestPrice("1 USD", source="a\nb"), "control character"),
        (lambda: TokenPrice(input="1 USD", output="1 EUR"), "mixes USD and EUR"),
        (lambda: TokenPrice(input="1 USD", output="1 USD", per=0), "no number of tokens"),
    ],
)
def test_what_is_no_price_is_refused(make, told):
    with pytest.raises(DeclarationError, match=told):
        make()


@pytest.mark.parametrize(
    "price",
    [
        HourlyPrice("2.950 USD", utilisation="0.55"),
        RequestPrice("0.00000004 EUR", source="quote 17"),
        TokenPrice(input="0 USD", output="0.60 USD"),
    ],
)
def test_a_price_describes_itself_as_plain_data_in_the_authors_digits(price):
    described = price.describe()
    assert json.loads(json.dumps(described)) == described
    assert "E-" not in json.dumps(described)


@invariant
@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 100))
def test_a_cost_is_exact_and_does_not_depend_on_the_callers_precision(cents, rate, percent):
    price = HourlyPrice(f"{Decimal(cents) / 100} USD", utilisation=Decimal(percent) / 100)
    expected = price.per_request(rate)
    with localcontext() as context:
        context.prec = 3
        assert price.per_request(rate) == expected
    assert abs(expected * 3600 * rate * price.utilisation - price.amount) < Decimal("1e-18") * cents
