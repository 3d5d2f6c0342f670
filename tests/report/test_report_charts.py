"""Where things stand on a chart."""

import itertools
import re

import pytest
import sample
from drawn import points
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.report.axes import Axis, time_axis, value_axis
from pytest_procure.report.charts import charts
from pytest_procure.report.deciding import declared_run

SERIES = {sample.A: 1, sample.B: 2, sample.R: 3}
finite = st.floats(min_value=1e-6, max_value=1e9)


def drawn(record, requirement, kind):
    return next(c for c in charts(record["requirements"][requirement], SERIES) if c.kind == kind)


def test_ticks_are_round_numbers_within_the_axis():
    assert Axis(0, 2.12, 0, 100).ticks() == [0, 0.5, 1, 1.5, 2]
    assert Axis(0.82, 1, 0, 100).ticks() == [0.85, 0.9, 0.95, 1]
    assert Axis(0.05, 30, 0, 100, log=True).ticks() == [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20]
    assert Axis(0.001, 3000, 0, 100, log=True).ticks() == [0.001, 0.01, 0.1, 1, 10, 100, 1000]


@given(finite, st.floats(min_value=1e-6, max_value=1e6), st.booleans())
def test_an_axis_keeps_order_and_stays_on_the_paper(low, width, log):
    high = low * (1 + width)
    axis = Axis(low, high, 10, 90, log=log)
    ticks = axis.ticks()
    assert ticks == sorted(set(ticks))
    for tick in [*ticks, low, high, low / 2, high * 2]:
        assert 10 - 1e-6 <= axis.at(tick) <= 90 + 1e-6


def test_times_far_apart_are_drawn_on_a_logarithmic_scale():
    assert not time_axis(1, 40, 0, 1).log
    assert time_axis(1, 41, 0, 1).log


def test_an_axis_of_shares_ends_at_nothing_and_all():
    axis = value_axis([0.01, 0.999], 0, 1, share=True)
    assert (axis.low, axis.high) == (0, 1)


def test_equal_values_still_make_an_axis():
    axis = value_axis([5.0, 5.0], 0, 100, share=False)
    assert axis.low < 5 < axis.high


def test_a_curve_rises_to_the_right(demo):
    for line in drawn(demo, 1, "curves").lines:
        way = points(line.path)
        assert len(way) > 50
        for (x, y), (later_x, later_y) in itertools.pairwise(way):
            assert later_x >= x
            assert later_y <= y


def test_a_curve_passes_where_its_percentiles_are(demo):
    chart = drawn(demo, 1, "curves")
    corner = chart.corners[0]
    half = next(y for y, label in chart.up if label == "50 %")
    line = chart.lines[0]
    x, _ = min(points(line.path), key=lambda p: abs(p[1] - float(half)))
    per_ms = (float(corner.x) - chart.left) / 2  # the bar is at 2 ms
    assert (x - chart.left) / per_ms == pytest.approx(0.312, rel=0.03)


def test_the_bar_is_a_corner_at_its_time_and_share(demo):
    chart = drawn(demo, 1, "curves")
    assert [c.label for c in chart.corners] == ["asked: 95 % of requests within 2 ms"]
    two = next(tick.place for tick in chart.across if tick.label == "2 ms")
    assert chart.corners[0].x == two


def test_labels_of_several_bars_stand_on_lines_of_their_own(demo):
    found = demo["requirements"][1]["results"][0]["findings"]
    found.append({**found[1], "metric": "latency.p50", "bar": sample.amount(1.9, "1.9 ms", "ms")})
    corners = drawn(demo, 1, "curves").corners
    assert [(c.label, c.line) for c in corners] == [
        ("asked: 95 % of requests within 2 ms", 0),
        ("asked: 50 % of requests within 1.9 ms", 1),
    ]


def test_curves_of_candidates_differ_in_line_and_marker(demo):
    chart = drawn(demo, 1, "curves")
    assert [line.series for line in chart.lines] == [1, 2, 3]
    assert all(line.marks for line in chart.lines)


def test_a_curve_is_cut_at_the_edge_of_the_paper(demo):
    run = demo["requirements"][1]["results"][0]["runs"][0]
    run["curve"].append([1.0, 5_000.0])
    chart = drawn(demo, 1, "curves")
    assert max(x for x, _ in points(chart.lines[0].path)) <= chart.right


def test_a_dot_stands_within_its_range_and_on_its_side_of_the_bar(demo):
    chart = drawn(demo, 0, "dots")
    for dot in chart.dots:
        assert float(dot.low) <= float(dot.x) <= float(dot.high)
    right, wrong, again = chart.dots
    assert float(right.low) > float(chart.bar) > float(wrong.high)
    assert again.x == right.x


def test_the_shaded_side_meets_the_bar(demo):
    chart = drawn(demo, 0, "dots")
    assert chart.meets[0] == chart.bar
    for result in demo["requirements"][0]["results"]:
        result["findings"][0] |= {"sense": "at most"}
    assert drawn(demo, 0, "dots").meets[0] == str(chart.left)


def test_descriptions_carry_the_numbers(demo):
    told = drawn(demo, 1, "curves").desc
    assert "vendor-a-fp32: slowest 5 in 100 requests (p95) 622 us (likely range 608 us to 641 us)" in told
    assert "vendor-b-int8: 85.6 % (likely range 83.4 % to 87.6 %)" in drawn(demo, 0, "dots").desc


def test_a_requirement_without_quality_and_latency_is_drawn_by_its_first_bar(everything):
    (chart,) = charts(everything["requirements"][2], SERIES)
    assert chart.title.startswith("Samples a second")


def test_a_requirement_without_measurements_is_not_drawn(everything):
    requirement = everything["requirements"][0]
    requirement["results"] = [r for r in requirement["results"] if r["candidate"] == "vendor-d"]
    assert charts(requirement, SERIES) == []


def test_the_run_of_the_marked_scenario_is_the_one_that_is_drawn(everything):
    runs = everything["requirements"][2]["results"][0]["runs"]
    assert declared_run(runs[::-1]) is runs[0]
    assert declared_run(runs[1:]) is runs[1]
    assert declared_run([]) is None


def tokens(record):
    """The drawings of token times of the endpoint among the offers, by their kind."""
    drawings = charts(record["requirements"][0], {"vendor-c-edge": 4})
    return {c.family.key: c for c in drawings if c.kind == "curves"}


def test_each_token_time_with_a_bar_is_drawn_with_it(everything):
    drawn = tokens(everything)
    assert list(drawn) == ["ttft", "itl"]
    assert [c.label for c in drawn["ttft"].corners] == ["asked: 95 % of first tokens within 400 ms"]
    assert [c.label for c in drawn["itl"].corners] == ["asked: 95 % of gaps between tokens within 50 ms"]
    assert [line.candidate for line in drawn["itl"].lines] == ["vendor-c-edge"]


def test_a_curve_of_token_times_stands_on_the_side_of_the_bar_that_its_percentile_does(everything):
    for family, meets in (("ttft", True), ("itl", False)):
        chart = tokens(everything)[family]
        corner, line = chart.corners[0], chart.lines[0]
        at_share = next(x for x, y in points(line.path) if y <= float(corner.y))
        assert (at_share <= float(corner.x)) is meets


def test_the_twin_of_a_token_chart_has_the_numbers_of_the_curve(everything):
    table = tokens(everything)["ttft"].table
    assert table.head[0] == "Candidate"
    assert table.rows == [["vendor-c-edge", "181 ms", "280 ms", "321 ms", "never: failed"]]


def test_a_time_per_token_says_so_at_its_bar(everything):
    result = everything["requirements"][0]["results"][3]
    result["findings"][2]["metric"] = "tpot.p95"
    result["runs"][0]["stream"]["curves"]["tpot"] = sample.curve(20_000, 0.3)
    assert tokens(everything)["tpot"].corners[0].label == "asked: 95 % of requests within 400 ms a token"


def test_a_value_is_written_clear_of_the_line_of_its_bar_and_of_the_name(demo):
    chart = drawn(demo, 0, "dots")
    for dot in chart.dots:
        wide = 8.5 * len(dot.label)
        begins = {"start": 0, "middle": wide / 2, "end": wide}[dot.anchor]
        left = float(dot.label_x) - begins
        assert not left < float(chart.bar) < left + wide


def test_the_line_of_a_bar_makes_way_for_a_name(demo):
    for result in demo["requirements"][0]["results"]:
        result["findings"][0]["bar"] = sample.share(0.5)
    chart = drawn(demo, 0, "dots")
    gaps = re.findall(r"V(\d+)M[\d.]+ (\d+)", chart.bar_path)
    assert len(gaps) == len(chart.dots)
    for dot, (ends, begins) in zip(chart.dots, gaps, strict=True):
        assert int(ends) < dot.y - 12 < int(begins)
