"""The table at the end of a pytest run."""

import sample
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.report import terminal

TABLE = """\
1. Can it read the scans that our own scanner makes?
   ● met          vendor-a-fp32: answers right 99.1 % (likely range 98.3 % to 99.6 %); asked: at
       least 95 %
   ■ not met      vendor-b-int8: answers right 85.6 % (likely range 83.4 % to 87.6 %); asked: at
       least 95 %
   ● met          vendor-b-int8-recalibrated: answers right 99.1 % (likely range 98.3 % to 99.6 %);
       asked: at least 95 %
2. Does it keep up with Monday's peak, at a price we can pay?
   ● met          vendor-a-fp32: answers right 99.1 % (likely range 98.3 % to 99.6 %); asked: at
       least 95 % · slowest 5 in 100 requests (p95) 622 us (likely range 608 us to 641 us); asked:
       at most 2 ms · cost per request 0.0000135 USD; asked: at most 0.00002 USD
   ■ not met      vendor-b-int8: answers right 85.6 % (likely range 83.4 % to 87.6 %); asked: at
       least 95 %
   ● met          vendor-b-int8-recalibrated: answers right 99.1 % (likely range 98.3 % to 99.6 %);
       asked: at least 95 % · slowest 5 in 100 requests (p95) 359 us (likely range 345 us to
       378 us); asked: at most 2 ms · cost per request 0.0000088 USD; asked: at most 0.00002 USD

Two of three offers are accepted. Vendor B's first offer is not: it misread one in seven of the
buyer's scans.
exit status 1 because vendor-b-int8 does not meet 2 of 2 requirements"""


def test_each_candidate_has_its_verdict_and_the_numbers_that_decided(demo):
    assert "\n".join(terminal.lines(demo, width=100)) == TABLE


def test_what_was_not_measured_says_why(everything):
    told = "\n".join(terminal.lines(everything, width=160))
    assert "○ not tested   vendor-d: the model file names an operator that this runtime does not have" in told
    assert "▲ invalid      vendor-e: requests were sent up to 40 ms late while a worker was free" in told
    assert "◇ waived       vendor-f: waived until 2027-01-31 by the head of forms: pilot only" in told


def test_an_invalid_or_undecided_bar_says_why_beside_its_numbers(demo):
    result = demo["requirements"][0]["results"][0]
    for verdict in ("invalid", "inconclusive"):
        result["verdict"] = verdict
        result["findings"][0] |= {"verdict": verdict, "sentence": "the machine was shared: 99.1 %"}
        assert "vendor-a-fp32: the machine was shared: 99.1 %" in terminal.lines(demo, width=160)[1]


def test_an_undecided_bar_says_what_would_decide(everything):
    told = "\n".join(terminal.lines(everything, width=200))
    assert "asked: at least 95 %. A new run of 9,120 samples in all would decide 9 times in 10." in told


def test_how_each_offer_stands_is_not_said_again_as_a_reason(demo):
    demo["outcome"] |= {
        "sentence": "vendor-a is accepted; vendor-b is not accepted.",
        "reasons": ["vendor-b: not accepted", "1 failed otherwise than by a bar: t.py::test_x"],
    }
    assert terminal.lines(demo, width=160)[-1] == (
        "exit status 1 because not every offer is accepted; 1 failed otherwise than by a bar: t.py::test_x"
    )
    for candidate in demo["candidates"]:
        candidate["verdict"] = "reject"
    assert "because no offer is accepted; 1 failed" in terminal.lines(demo, width=160)[-1]
    demo["mode"] = "screen"
    assert "because an offer was turned down; 1 failed" in terminal.lines(demo, width=160)[-1]


def test_an_award_that_goes_through_beside_a_failed_test_says_why(demo):
    demo["outcome"] |= {"exit_status": 0, "reasons": [], "award": "any", "accepted": True}
    assert terminal.lines(demo, width=160)[-1] == (
        "exit status 0 because one offer that meets everything is enough (`--procure-award any`)"
    )


def test_an_exit_status_without_reasons_stands_alone(demo):
    demo["outcome"] |= {"exit_status": 0, "reasons": []}
    assert terminal.lines(demo, width=80)[-1] == "exit status 0"


@given(st.integers(min_value=1, max_value=240))
def test_no_line_is_wider_than_the_terminal(width):
    told = terminal.lines(sample.everything(), width=width)
    assert max(len(line) for line in told) <= max(width, 40)


@given(st.text(), st.integers(min_value=4, max_value=60))
def test_wrapping_keeps_every_character_but_spaces(text, width):
    told = terminal.wrapped(text, width)
    assert "".join("".join(told).split()) == "".join(text.split())
    assert all(sum(map(terminal._width, line)) <= width for line in told)


def test_wide_characters_count_as_two_columns():
    assert terminal.wrapped("測" * 6, 8) == ["測" * 4, "測" * 2]


def test_lines_are_coloured_by_their_verdict(everything):
    told = {line.split()[0]: terminal.markup(line) for line in terminal.lines(everything, width=160) if line}
    assert told["●"] == {"green": True}
    assert told["■"] == {"red": True}
    assert told["◐"] == told["▲"] == {"yellow": True}
    assert told["○"] == told["1."] == told["exit"] == {}
