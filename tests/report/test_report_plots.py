"""The drawings that are made of numbers and text: where their lines and shapes stand."""

import itertools

import drawn
import pytest
import sample
from drawn import points

from pytest_procure.report import operating, plots
from pytest_procure.report.stages import stages
from pytest_procure.report.sweeps import sweeps
from pytest_procure.report.timelines import arrivals, over_time
from pytest_procure.report.tornado import swings, tornado
from pytest_procure.report.tradeoff import tradeoff

SERIES = {sample.A: 1, sample.B: 2, sample.R: 3}


def strokes(plot, style):
    return [stroke.path for stroke in plot.strokes if style in stroke.style.split()]


def labels(plot):
    return [label.text for label in plot.labels]


def with_runs(record, requirement, **more):
    """A requirement of the demo, each run of it changed."""
    found = record["requirements"][requirement]
    for result in found["results"]:
        for run in result["runs"]:
            run.update(more)
    return found


def test_a_polyline_keeps_its_places_and_its_gaps():
    told = [(10.2, 20.4), (12, 18), (15, 18), None, (40, 5), (39.6, 7)]
    assert points(plots.polyline(told)) == [(10, 20), (12, 18), (15, 18), (40, 5), (40, 7)]
    assert plots.polyline(told).count("M") == 2


def test_a_line_of_nothing_is_empty():
    assert plots.polyline([]) == plots.polyline([None, None]) == ""


# -- over time


def test_time_runs_to_the_right_and_waiting_upwards(demo):
    plot = over_time(demo["requirements"][1], SERIES)
    line = points(strokes(plot, "s1")[0])
    assert [x for x, _ in line] == sorted(x for x, _ in line)
    slow = demo["requirements"][1]["results"][0]["runs"][0]["timeline"]["slow_ms"]
    assert line.index(min(line, key=lambda p: p[1])) == slow.index(max(slow))


def test_the_warm_up_is_shaded_before_the_first_request(demo):
    plot = over_time(demo["requirements"][1], SERIES)
    (shade,) = [area for area in plot.areas if area.style == "warm"]
    first = points(strokes(plot, "s1")[0])[0][0]
    assert float(shade.x) + float(shade.width) <= first
    assert "shaded: warm-up, 250 ms, not counted" in labels(plot)


def test_a_warm_up_that_nobody_timed_is_not_shaded(demo):
    plot = over_time(with_runs(demo, 1, timeline={**drawn.timeline(300), "warmup": 0.0}), SERIES)
    assert [area for area in plot.areas if area.style == "warm"] == []


def test_a_stall_is_marked_where_it_was_and_told(demo):
    runs = with_runs(demo, 1, timeline=drawn.timeline(300, stalls=[(15.0, 6.0)]))
    plot = over_time(runs, SERIES)
    band = next(area for area in plot.areas if "stall" in area.style)
    whole = plots.RIGHT - plots.LEFT
    assert float(band.x) - plots.LEFT == pytest.approx(15 / 60 * whole, abs=0.03 * whole)
    assert float(band.width) == pytest.approx(6 / 60 * whole, abs=0.03 * whole)
    assert "nothing was answered for 6 s from 15 s on" in plot.table.caption


def test_a_step_without_a_time_breaks_the_line(demo):
    told = drawn.timeline(300)
    told["slow_ms"][10] = None
    plot = over_time(with_runs(demo, 1, timeline=told), SERIES)
    assert strokes(plot, "s1")[0].count("M") == 2


def test_where_all_requests_are_due_at_once_only_the_rate_is_drawn(demo):
    plot = over_time(with_runs(demo, 1, timeline=drawn.timeline(300, latency=False)), SERIES)
    assert "good answers a second" in labels(plot)
    assert not any("p95" in text for text in labels(plot))


def test_runs_without_a_timeline_are_not_drawn(demo):
    for result in demo["requirements"][1]["results"]:
        del result["runs"][0]["timeline"]
    assert over_time(demo["requirements"][1], SERIES) is None
    assert arrivals(demo["requirements"][1]) is None


def test_the_table_tells_the_same_in_fifths(demo):
    plot = over_time(demo["requirements"][1], SERIES)
    told = demo["requirements"][1]["results"][0]["runs"][0]["timeline"]
    rates = {row[0]: row[1:] for row in plot.table.rows}
    first = sum(told["answered"][:8]) / (8 * told["step"])
    assert rates[f"{sample.A}: good answers a second"][0] == f"{first:.1f}".removesuffix(".0")


def test_failures_get_their_row_only_where_there_are_some(demo):
    told = drawn.timeline(300)
    assert not any(
        "failed" in row[0] for row in over_time(with_runs(demo, 1, timeline=told), SERIES).table.rows
    )
    told["failed"][3] = 7
    rows = over_time(with_runs(demo, 1, timeline=told), SERIES).table.rows
    assert [f"{sample.A}: failed", "7", "0", "0", "0", "0"] in rows


def test_arrivals_are_drawn_where_requests_come_at_times_of_their_own(demo):
    plot = arrivals(demo["requirements"][1])
    assert strokes(plot, "bar-fill")[0].count("M") == 40
    assert with_runs(demo, 1, conditions={"closed_loop": True})
    assert arrivals(demo["requirements"][1]) is None


# -- sweep and stages


def test_a_sweep_is_drawn_by_rising_load(everything):
    plot = sweeps(everything["requirements"][2], SERIES)
    line = points(strokes(plot, "curve")[0])
    assert [x for x, _ in line] == sorted(x for x, _ in line)
    assert len(line) == 4  # the fifth never was answered that often
    assert [mark.symbol for mark in plot.marks] == ["m-1", "m-1", "m-1", "m-5", "m-5"]
    assert float(plot.marks[-1].y) < min(y for _, y in line)


def test_the_load_that_was_confirmed_is_an_upright_line(everything):
    plot = sweeps(everything["requirements"][2], SERIES)
    upright = strokes(plot, "thin")[0]
    assert upright.startswith(f"M{plots.LEFT + 40 / (160 * 1.05) * (plots.RIGHT - plots.LEFT):.1f} ")


def test_every_point_of_a_sweep_is_in_its_table(everything):
    rows = sweeps(everything["requirements"][2], SERIES).table.rows
    assert [row[0] for row in rows] == [f"{sample.A}: {load}/s" for load in (10, 20, 40, 80, 160)]
    assert rows[-1][2:] == ["never: failed", "never: failed", "never: failed", "120 of 400", "missed"]


def test_a_point_that_the_harness_spoilt_says_so(everything):
    run = everything["requirements"][2]["results"][0]["runs"][0]
    run["sweep"]["points"][0] |= {"late": True}
    assert sweeps(everything["requirements"][2], SERIES).table.rows[-1][-1] == "the harness was late"


def test_nobody_was_swept_nothing_is_drawn(demo):
    assert sweeps(demo["requirements"][0], SERIES) is None
    assert stages(demo["requirements"][0]) is None


def test_stages_stand_on_each_others_ends(everything):
    plot = stages(everything["requirements"][2])
    areas = [area for area in plot.areas if "stage" in area.style]
    assert len(areas) == 3
    for one, after in itertools.pairwise(areas):
        assert float(one.x) + float(one.width) == pytest.approx(float(after.x), abs=0.11)
    assert float(areas[1].width) / float(areas[0].width) == pytest.approx(2.5, rel=0.01)


def test_stages_are_told_with_their_tail(everything):
    row = stages(everything["requirements"][2]).table.rows[0]
    assert row[1:] == ["80 us; p95 100 us", "200 us; p95 500 us", "30 us; p95 40 us"]


def test_stages_are_told_with_their_scores_and_costs_where_they_have_them(everything):
    requirement = everything["requirements"][2]
    (run,) = [r for result in requirement["results"] for r in result["runs"] if "stages" in r]
    run["stages"][1] |= {"score": 0.75, "cost": "0.00002 USD"}
    row = stages(requirement).table.rows[0]
    assert row[1:3] == ["80 us; p95 100 us", "200 us; p95 500 us; score 75 %; 0.00002 USD"]


# -- cost


def test_an_offer_that_meets_both_stands_in_the_shaded_region(demo):
    plot = tradeoff(demo["requirements"][1])
    (region,) = [area for area in plot.areas if area.style == "meets"]
    inside = [
        float(region.x) < float(mark.x) + 7 < float(region.x) + float(region.width)
        and float(region.y) < float(mark.y) + 7 < float(region.y) + float(region.height)
        for mark in plot.marks
    ]
    assert inside == [True, False, True]
    assert [mark.symbol for mark in plot.marks] == ["v-accept", "v-reject", "v-accept"]


def test_names_of_offers_that_lie_together_do_not_cover_each_other(demo):
    plot = tradeoff(demo["requirements"][1])
    boxes = [(float(m.x), float(m.y)) for m in plot.labels if m.text in SERIES]
    assert len(boxes) == len(set(boxes)) == 3


def test_a_requirement_without_a_cost_is_no_trade(demo):
    assert tradeoff(demo["requirements"][0]) is None


def test_a_fifth_more_utilisation_makes_a_request_a_sixth_cheaper(demo):
    offer, finding = demo["candidates"][0], demo["requirements"][1]["results"][0]["findings"][2]
    by_name = {swing.what: swing for swing in swings(offer, finding)}
    assert list(by_name) == ["utilisation", "requests a second", "price"]
    assert float(by_name["utilisation"].high) == pytest.approx(0.0000135 / 1.2)
    assert float(by_name["price"].high) == pytest.approx(0.0000135 * 1.2)


def test_utilisation_ends_at_all_of_the_time(demo):
    offer, finding = demo["candidates"][0], demo["requirements"][1]["results"][0]["findings"][2]
    offer["price"]["utilisation"] = "0.9"
    by_name = {swing.what: swing for swing in swings(offer, finding)}
    assert float(by_name["utilisation"].high) == pytest.approx(0.0000135 * 0.9)


def test_a_price_by_the_request_moves_by_its_price_alone(demo):
    offer, finding = demo["candidates"][0], demo["requirements"][1]["results"][0]["findings"][2]
    offer["price"] = {"model": "request", "amount": "1", "currency": "USD"}
    assert [swing.what for swing in swings(offer, finding)] == ["price"]


def test_what_moves_the_cost_is_labelled_an_estimate(demo):
    offer, finding = demo["candidates"][0], demo["requirements"][1]["results"][0]["findings"][2]
    plot = tornado([(offer, finding)], "Is it cheap?")
    assert "an estimate, no measurement" in plot.caption
    assert len(strokes(plot, "swing")) == 3
    assert tornado([], "Is it cheap?") is None


# -- the rule


def test_the_operating_characteristic_is_drawn_once_a_bar(demo):
    drawings = operating.curves(demo)
    assert [plot.title for plot in drawings] == [
        "How often an offer would be accepted, answers right at least 95 %",
        "How often an offer would be accepted, slowest 5 in 100 requests (p95) at most 2 ms",
    ]


def test_the_chance_to_accept_rises_with_the_true_share(demo):
    plot = operating.curves(demo)[0]
    line = points(strokes(plot, "curve")[0])
    assert [y for _, y in line] == sorted((y for _, y in line), reverse=True)


def test_the_share_at_which_half_would_be_accepted_is_read_between_points(demo):
    rows = dict(map(tuple, operating.curves(demo)[0].table.rows))
    assert rows["50 %"] == "96.5 %"


def test_a_bar_that_no_run_of_this_size_can_accept_says_so(demo):
    for result in demo["requirements"][0]["results"]:
        result["findings"][0]["characteristic"] = [[0.9, 0.0], [1.0, 0.0]]
    rows = dict(map(tuple, operating.curves(demo)[0].table.rows))
    assert rows["50 %"] == "never, at this number of requests"


def test_a_pause_within_an_answer_is_a_low_band_and_a_sentence(everything):
    plot = over_time(everything["requirements"][0], {"vendor-c-edge": 4})
    assert "an answer under way stood still for 2.5 s from 31 s on" in plot.desc
    assert "A low band is a pause" in plot.caption
    heights = {float(area.height) for area in plot.areas if "stall" in area.style}
    assert len(heights) == 2
