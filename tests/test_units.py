from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.errors import DeclarationError
from pytest_procure.units import (
    _UNITS,
    Quantity,
    dimension_of,
    duration,
    exactly,
    money,
    ms,
    per_second,
    percent,
    quantity,
    readable,
    seconds,
    us,
)

NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=9)
DURATIONS = [unit for unit, (dimension, _) in _UNITS.items() if dimension == "duration"]


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12))
def test_a_float_is_read_by_its_shortest_decimal_form(number):
    assert Quantity.of(number).number == Decimal(repr(number))


@given(NUMBERS, st.sampled_from(DURATIONS), st.sampled_from(DURATIONS))
def test_a_duration_is_the_same_in_every_unit(number, unit, other):
    read = Quantity(number, unit)
    # Dividing by 60 or 3600 rounds in the 28th digit; everything else is exact.
    assert abs(Quantity(read.to(other), other).base - read.base) <= abs(read.base) * Decimal("1e-26")


@given(st.integers(min_value=0, max_value=2**62))
def test_whole_nanoseconds_stay_whole(ns):
    assert Quantity.of(ns, "ns").ns == ns
    assert Quantity(Decimal(ns).scaleb(-6), "ms").ns == ns


@given(NUMBERS, st.sampled_from(sorted(_UNITS)))
def test_what_is_written_is_read_back_equal(number, unit):
    written = Quantity(number, unit)
    assert Quantity.parse(str(written)) == written


@given(NUMBERS, NUMBERS, st.sampled_from(DURATIONS), st.sampled_from(DURATIONS))
def test_quantities_of_one_dimension_are_ordered_as_their_base_numbers(a, b, unit, other):
    left, right = Quantity(a, unit), Quantity(b, other)
    assert (left < right) == (left.base < right.base)
    assert (left <= right) == (left.base <= right.base)
    assert (left > right) == (left.base > right.base)
    assert (left >= right) == (left.base >= right.base)
    assert (left == right) == (left.base == right.base)


def test_equal_quantities_in_different_units_are_one_key():
    assert {ms(1500): "a"}[seconds("1.5")] == "a"


def test_80_ms_is_80_000_000_ns_and_nothing_else():
    assert ms(80).ns == 80_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("80 ms", ms(80)),
        ("80ms", ms(80)),
        (" 80  ms ", ms(80)),
        ("80 µs", us(80)),
        ("80 μs", us(80)),
        ("1.5e3 ms", seconds("1.5")),
        (".5 s", ms(500)),
        ("99 %", percent(99)),
        ("0.92", Quantity(Decimal("0.92"))),
        ("40 qps", per_second(40)),
        ("-3 s", seconds(-3)),
        ("0.0002 USD", Quantity(Decimal("0.0002"), "USD")),
    ],
)
def test_text_is_read_as_people_write_it(text, expected):
    assert Quantity.parse(text) == expected


@pytest.mark.parametrize("text", ["", "ms", "80 80 ms", "1,000 ms", "0x10 ms", "80 m s", "NaN ms", "inf s"])
def test_text_that_is_no_quantity_is_refused(text):
    with pytest.raises(DeclarationError):
        Quantity.parse(text)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), Decimal("NaN"), "NaN", "inf"])
def test_numbers_that_are_none_are_refused(number):
    with pytest.raises(DeclarationError, match="expected a finite number"):
        Quantity.of(number, "ms")


@pytest.mark.parametrize("value", [True, False])
def test_yes_and_no_are_no_quantities(value):
    with pytest.raises(DeclarationError, match="is no quantity"):
        quantity(value)


def test_an_unknown_unit_comes_with_the_nearest():
    with pytest.raises(DeclarationError, match=r"unknown unit `mss`; did you mean `ms`\?"):
        Quantity.parse("80 mss")


@pytest.mark.parametrize("unit", ["usd", "US", "EURO", "$"])
def test_a_currency_is_three_capitals(unit):
    with pytest.raises(DeclarationError, match="unknown unit"):
        dimension_of(unit)


def test_currencies_are_dimensions_of_their_own():
    with pytest.raises(TypeError, match="cannot be compared"):
        assert money("1 USD") < money("1 EUR")


@pytest.mark.parametrize("other", [80, 0.9, "80 ms", percent(80), None])
def test_a_duration_is_compared_with_durations_only(other):
    with pytest.raises(TypeError):
        assert ms(80) <= other


def test_a_quantity_is_not_equal_to_a_bare_number():
    assert ms(80) != 80


def test_converting_to_another_dimension_is_a_type_error():
    with pytest.raises(TypeError, match="is a duration, not a number"):
        ms(80).to("%")


def test_an_amount_needs_its_currency():
    with pytest.raises(DeclarationError, match="names no currency"):
        money("0.0002")


def test_a_time_needs_its_unit():
    with pytest.raises(DeclarationError, match="`drain=3` has no unit of time"):
        duration(3, what="drain")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Quantity.of(412, "ns"), "412 ns"),
        (Quantity.of(41_234, "ns"), "41.2 us"),
        (ms("41.26"), "41.3 ms"),
        (ms(1500), "1.5 s"),
        (seconds(12345), "12,345 s"),
        (ms(0), "0 ns"),
        (money("0.00001424 USD"), "0.0000142 USD"),
        (per_second(1234), "1,234/s"),
        (Quantity.of(3), "3"),
    ],
)
def test_a_quantity_reads_as_people_write_it(value, text):
    assert readable(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        ("0.856", "85.6 %"),
        ("0.95", "95 %"),
        ("1", "100 %"),
        ("0", "0 %"),
        ("0.99961", "99.96 %"),
        ("0.0004", "0.04 %"),
    ],
)
def test_a_share_reads_as_a_percentage_and_keeps_the_digits_that_tell(share, text):
    assert readable(Quantity(Decimal(share)), share=True) == text


def shown(text):
    return Quantity.parse(text.replace(",", "").replace("/s", " 1/s"))


@given(
    st.decimals(min_value=0, max_value=1, places=9),
)
def test_a_share_is_rounded_outward_at_both_ends(share):
    value = Quantity(share)
    assert shown(readable(value, share=True, rounding=ROUND_FLOOR)) <= value
    assert shown(readable(value, share=True, rounding=ROUND_CEILING)) >= value


@given(st.integers(min_value=0, max_value=10**14))
def test_a_duration_is_rounded_outward_at_both_ends(ns):
    value = Quantity(Decimal(ns), "ns")
    assert shown(readable(value, rounding=ROUND_FLOOR)) <= value
    assert shown(readable(value, rounding=ROUND_CEILING)) >= value


@given(st.decimals(min_value=0, max_value=10**9, places=12))
def test_money_is_rounded_outward_at_both_ends(amount):
    value = Quantity(amount, "USD")
    assert shown(readable(value, rounding=ROUND_FLOOR)) <= value
    assert shown(readable(value, rounding=ROUND_CEILING)) >= value


@pytest.mark.parametrize(
    ("value", "share", "text"),
    [
        (Quantity.of("0.95049"), True, "95.049 %"),
        (Quantity.of("0.95"), True, "95 %"),
        (Quantity.of("0.9999999"), True, "99.99999 %"),
        (ms("1.23456"), False, "1.23456 ms"),
        (ms(1500), False, "1.5 s"),
        (money("0.000005 USD"), False, "0.000005 USD"),
        (money("12345.678 USD"), False, "12,345.678 USD"),
        (per_second("1234.5"), False, "1,234.5/s"),
        (Quantity.of(10), False, "10"),
    ],
)
def test_what_was_asked_is_written_digit_by_digit(value, share, text):
    assert exactly(value, share=share) == text


@pytest.mark.parametrize(
    ("number", "bar", "text"),
    [
        ("0.94996", "0.95", "94.996 %"),  # would read as 95 %, which was asked
        ("0.9496", "0.94951", "95 %"),  # above, and reads as above
        ("0.94949", "0.9499", "94.9 %"),
        ("0.94966", "0.9497", "94.966 %"),  # 95 % would read as beyond the bar
        ("0.95049", "0.95049", "95.049 %"),
        ("0.956", "0.95", "95.6 %"),
    ],
)
def test_what_is_measured_reads_as_standing_where_it_stands_beside_its_bar(number, bar, text):
    assert readable(Quantity.of(number), share=True, beside=Quantity.of(bar)) == text


@given(
    st.decimals(min_value=0, max_value=1, places=9),
    st.decimals(min_value=0, max_value=1, places=6),
    st.sampled_from([ROUND_FLOOR, ROUND_CEILING, ROUND_HALF_EVEN]),
)
def test_no_measured_share_reads_on_the_other_side_of_its_bar(share, bar, rounding):
    told = shown(readable(Quantity(share), share=True, rounding=rounding, beside=Quantity(bar)))
    assert (told > Quantity(bar), told < Quantity(bar)) == (share > bar, share < bar)


def test_a_duration_is_told_beside_a_bar_of_another_unit():
    assert readable(Quantity.of(80_000_400, "ns"), beside=ms(80)) == "80.0004 ms"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("50 millis", "ms"),
        ("8 sek", "s"),
        ("3 Sec", "s"),
        ("80 MS", "ms"),
        ("3 hours", "h"),
        ("95 percent", "%"),
        ("3 gb", "GB"),
        ("40 rps", "requests/s"),
        ("3 KWH", "kWh"),
        ("5 usd", "USD"),
        ("5 $", "USD"),
        ("5 Euro", "EUR"),
        ("80 mss", "ms"),
    ],
)
def test_a_unit_by_another_name_comes_with_the_one_that_is_meant(text, meant):
    with pytest.raises(DeclarationError) as raised:
        Quantity.parse(text)
    said, listed = str(raised.value).split(" Units of ")
    assert said == f"unknown unit `{text.split()[1]}`; did you mean `{meant}`?"
    assert meant in listed


def test_an_unknown_unit_comes_with_the_accepted_spellings_of_what_is_meant():
    with pytest.raises(DeclarationError, match=r"Units of time: ns, us, ms, s, min, h, µs, sec$"):
        Quantity.parse("50 millis")


def test_a_unit_that_is_near_to_none_comes_with_all():
    with pytest.raises(
        DeclarationError, match=r"unknown unit `furlongs`\. Units of time: .*; money: USD, EUR"
    ):
        Quantity.parse("3 furlongs")


@pytest.mark.parametrize("currency", ["GBP", "USD", "JPY", "XOF", "SEK"])
def test_a_code_of_iso_4217_is_a_currency(currency):
    assert dimension_of(currency) == f"money in {currency}"


@pytest.mark.parametrize("code", ["XBT", "XAU", "XXX", "DEM", "KWH", "ABC", "USDT"])
def test_three_capitals_that_nobody_pays_with_are_no_currency(code):
    with pytest.raises(DeclarationError, match=f"unknown unit `{code}`"):
        dimension_of(code)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("UDS", "USD"), ("USS", "USD"), ("EUO", "EUR"), ("ERU", "EUR"), ("GPB", "GBP"), ("chf", "CHF")],
)
def test_a_misspelt_currency_comes_with_the_one_that_is_meant(typed, meant):
    with pytest.raises(DeclarationError) as raised:
        Quantity.parse(f"5 {typed}")
    assert str(raised.value) == (
        f"unknown unit `{typed}`; did you mean `{meant}`? "
        "Units of money: USD, EUR, any other code of ISO 4217"
    )


@pytest.mark.parametrize("text", ["80,5 ms", "1,000 ms", "1_000 ms", "1'000 ms"])
def test_a_number_with_separators_is_told_as_such(text):
    with pytest.raises(DeclarationError, match="write the number with a point and without separators"):
        Quantity.parse(text)


def test_a_time_in_another_unit_says_what_it_is():
    with pytest.raises(DeclarationError, match=r"has no unit of time: that is money in USD; expected .*60 s"):
        duration("2 USD", what="timeout")
