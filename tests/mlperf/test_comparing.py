from dataclasses import replace

import pytest

from pytest_procure.mlperf import ForeignResult, Score, compare, derive, facts, movement
from pytest_procure.mlperf.deriving import per_count
from pytest_procure.mlperf.records import Count, Power

B200 = "5.1-0069/llama2-70b-99.9/Server"
H200 = "5.1-0075/llama2-70b-99.9/Server"


def ids(applied):
    return {one.rule for one in applied}


def test_an_allowed_pair_has_a_ratio_and_its_differences(published):
    made = compare(published.select(B200), published.select(H200))
    assert (made.status, made.kind) == ("allowed with disclosures", "comparison")
    assert made.ratio.number == pytest.approx(99123 / 34029.4)
    assert ids(made.disclosures) == {"precision", "citation"}
    assert ids(made.obligations) == {"verified", "citation", "naming", "snapshot_date"}


def test_two_equal_filings_need_no_disclosure_but_that_they_are_tied(published):
    one = published.select(B200)
    made = compare(one, replace(one, submitter="Other"))
    assert ids(made.disclosures) == {"noise", "citation"}


@pytest.mark.parametrize("foreign", [ForeignResult("ours"), ForeignResult("a slide", "vendor claim")])
def test_a_number_made_elsewhere_is_refused_on_either_side(published, foreign):
    for made in (compare(published.select(B200), foreign), compare(foreign, published.select(B200))):
        assert (made.status, made.ratio, made.derived) == ("refused", None, ())
        assert foreign.name in made.sentence


def test_open_beside_closed_is_refused_until_every_visible_way_is_named(published):
    closed = published.select(B200)
    opened = replace(published.select(H200), division="open", accuracy={"ROUGE1": 40.0})
    assert ids(compare(closed, opened).refusals) == {"division"}
    assert ids(compare(closed, opened, named=["latency"]).refusals) == {"division"}
    named = compare(closed, opened, named=["accuracy"])
    assert (named.status, ids(named.disclosures)) == (
        "allowed with disclosures",
        {"division", "precision", "citation"},
    )


def test_open_beside_closed_without_a_visible_difference_still_needs_a_name(published):
    closed = published.select(B200)
    opened = replace(published.select(H200), division="open")
    assert compare(closed, opened).status == "refused"
    assert compare(closed, opened, named=["latency"]).status != "refused"


def test_different_counts_get_figures_per_accelerator_labelled_derived(published):
    made = compare(published.select("v4.1-0074/llama2-70b-99.9/Server"), published.select(B200))
    assert [round(one.number, 1) for one in made.derived] == [10755.6, 12390.4]
    assert all("derived, not an official or verified result" in str(one) for one in made.derived)
    assert made.change is None


def test_the_low_latency_llama_of_v50_is_the_interactive_scenario_of_v51(published):
    now = published.select("5.1-0069/llama2-70b-99.9/Interactive")
    then = replace(
        now,
        round="v5.0",
        benchmark="llama2-70b-interactive-99.9",
        model="llama2-70b-interactive-99.9",
        scenario="Server",
    )
    made = compare(then, now)
    assert (made.status, made.kind) == ("allowed with disclosures", "movement")


@pytest.mark.parametrize(
    ("suite", "model", "a", "b", "same"),
    [
        ("datacenter", "llama2-70b-99.9", "v4.0", "v6.0", True),
        ("datacenter", "llama2-70b-99.9", "v6.0", "v6.1", False),
        ("datacenter", "resnet", "v5.0", "v5.1", False),
        ("edge", "resnet", "v5.0", "v6.0", True),
        ("datacenter", "dlrm-v3", "v5.1", "v6.0", False),
        ("datacenter", "nobody", "v5.1", "v5.1", False),
    ],
)
def test_compatibility_groups_are_looked_up_by_suite_and_benchmark(suite, model, a, b, same):
    assert facts().same_group(suite, model, a, b) is same


def test_movement_needs_the_same_platform_chip_and_count(published):
    before = published.select("5.1-0047/deepseek-r1/Offline")
    after = published.select("6.0-0040/deepseek-r1/Offline")
    assert len(movement([before, after]).pairs) == 1
    assert movement([before, replace(after, count=Count(4))]).pairs == ()
    assert movement([before, replace(after, submitter="Other")]).pairs == ()
    assert len(movement([before, replace(after, platform="renamed")]).only) == 2


def test_a_system_that_stands_twice_in_a_round_has_no_movement(published):
    before = published.select("5.1-0047/deepseek-r1/Offline")
    after = published.select("6.0-0040/deepseek-r1/Offline")
    made = movement([before, replace(before, id="5.1-0048"), after])
    assert (made.pairs, len(made.only)) == ((), 3)


def test_movement_outside_a_compatibility_group_has_no_number(published):
    before = published.select("5.1-0047/deepseek-r1/Offline")
    (one,) = movement([before, replace(published.select("6.0-0040/deepseek-r1/Offline"), round="v6.1")]).pairs
    assert (one.change, one.better, ids(one.refusals)) == (None, None, {"round"})
    assert one.sentence.startswith("refused")


def test_movement_with_one_wrong_label_is_refused_and_with_two_alike_disclosed(published):
    before, after = published.select("5.1-0047/whisper/Offline"), published.select("6.0-0040/whisper/Offline")
    (alike,) = movement([before, after]).pairs
    assert alike.change.number == pytest.approx(15.37, abs=0.01)
    assert "unit" in ids(alike.disclosures)
    (torn,) = movement([before, replace(after, label="Tokens/s", label_fault="")]).pairs
    assert (torn.change, ids(torn.refusals)) == (None, {"unit"})


def test_a_shorter_latency_is_the_better_one(published):
    one = published.select("5.1-0036/resnet/MultiStream")
    later = replace(one, round="v6.0", score=Score(one.score.number / 2, "ms"))
    (moved,) = movement([one, later]).pairs
    assert (moved.change, moved.better) == (Score(-50.0, "%"), True)


def test_per_watt_takes_measured_system_power_only(published):
    powered = published.select("v4.1-0049/llama2-70b-99.9/Offline")
    assert derive(powered, "watt").number == pytest.approx(25262.1 / 6152.9844351733)
    assert derive(powered, "watt", proxy="TDP").rule == "power_proxy"
    assert derive(replace(powered, power=Power(5.0, "millijoules")), "watt").rule == "power_proxy"


def test_latencies_and_uncounted_systems_do_not_divide(published):
    assert derive(published.select("5.1-0036/resnet/MultiStream"), "accelerator").action == "refuse"
    assert derive(replace(published.select(B200), count=Count(None)), "accelerator").rule == "count_source"
    assert derive(replace(published.select(B200), nodes=2), "node").number == pytest.approx(99123 / 2)


def test_a_conflict_of_counts_gives_both_figures_the_stated_first(published):
    figures = per_count(published.select("6.0-0001/llama2-70b-99.9/Server"))
    assert [round(one.number, 1) for one in figures] == [11682.5, 11549.8]
