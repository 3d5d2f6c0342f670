from dataclasses import replace

import pytest

from pytest_procure.mlperf import Filters, MlperfError, Score, scenario_spread, shortlist
from pytest_procure.mlperf.shortlist import ENOUGH_GROUPS, measured_noise

B200 = "5.1-0069/llama2-70b-99.9/Server"


def systems(one, *numbers):
    return [
        replace(
            one,
            id=f"5.1-{number}",
            platform=f"p{number}",
            run=None,
            score=Score(float(number), one.score.unit),
        )
        for number in numbers
    ]


def test_results_within_the_noise_of_a_bands_first_are_one_band(published):
    rows = systems(published.select(B200), 1000, 960, 945, 940, 800, 790)
    made = shortlist(rows, Filters("llama2-70b-99.9", "Server"))
    assert [[one.result.score.number for one in band.entries] for band in made.bands] == [
        [1000, 960, 945],
        [940],
        [800, 790],
    ]
    assert made.bands[0].spread == pytest.approx(1000 / 945 - 1)


def test_neighbours_across_an_edge_within_the_noise_are_not_told_apart(published):
    rows = systems(published.select(B200), 1000, 945, 940, 800, 790)
    made = shortlist(rows, Filters("llama2-70b-99.9", "Server"))
    assert [band.edge for band in made.bands] == [pytest.approx(945 / 940 - 1), None, None]


def test_latencies_band_from_the_shortest(published):
    one = published.select("5.1-0036/resnet/MultiStream")
    made = shortlist(systems(one, 30, 10, 20), Filters("resnet", "MultiStream"))
    assert [band.entries[0].result.score.number for band in made.bands] == [10, 20, 30]


def test_one_run_filed_under_two_variants_is_one_entry_that_names_its_twin(published):
    made = shortlist(published.rows, Filters("llama2-70b-99.9", "Server", round="v5.1"))
    entry = next(one for one in made.entries if one.result.id == "5.1-0069")
    assert [twin.benchmark for twin in entry.twins] == ["llama2-70b-99"]


def test_noise_is_measured_where_the_round_is_whole_and_known_where_it_is_not(published):
    one = published.select(B200)
    rows = [
        replace(copy, submitter=f"s{at}", benchmark=f"b{group}")
        for group in range(ENOUGH_GROUPS)
        for at, copy in enumerate(systems(one, 110, 105, 100))
    ]
    assert measured_noise(rows, "v5.1").share == pytest.approx(0.1)
    assert measured_noise(rows[:-3], "v5.1").share == 0.06
    assert "published summaries" in measured_noise([], "v5.1").basis


def test_filters_narrow_without_dropping(published):
    base = Filters("llama2-70b-99.9", "Server", round="v5.1")
    rows = published.rows
    assert len(shortlist(rows, replace(base, nodes=1, accelerator="b200", accelerators=8)).entries) == 11
    assert {one.result.submitter for one in shortlist(rows, replace(base, submitter="nvidia")).entries} == {
        "NVIDIA"
    }
    assert len(shortlist(rows, replace(base, precision="fp4")).entries) == 14


def test_preview_comes_back_only_when_asked_for(published):
    rows = [replace(one, availability="preview") for one in systems(published.select(B200), 5, 9)]
    base = Filters("llama2-70b-99.9", "Server")
    assert shortlist(rows, base).entries == ()
    assert len(shortlist(rows, replace(base, availability="")).entries) == 2


def test_an_entry_discloses_what_makes_it_less_than_it_seems(published):
    made = shortlist(published.rows, Filters("llama2-70b-99.9", "Server", round="v5.1"))
    disclosed = {one.result.id: {rule.rule for rule in one.disclosures} for one in made.entries}
    assert disclosed["5.1-0065"] == {"count_source"}
    assert disclosed["5.1-0061"] == {"power_vs_performance"}
    assert disclosed["5.1-0029"] == {"power_cap"}
    assert disclosed["5.1-0069"] == set()


def test_the_story_of_a_lead_follows_its_change_from_loose_to_tight_limits(published):
    made = scenario_spread(published.rows, "llama2-70b-99.9", ["5.1-0069", "5.1-0075", "5.1-0001"])
    assert "throughput story" in made.leads[0].story
    assert "latency story" in made.leads[1].story
    same = scenario_spread(published.rows, "llama2-70b-99.9", ["5.1-0069", "NVIDIA:B200-SXM-180GBx8_TRT"])
    assert "neither" in same.leads[0].story


def test_server_above_offline_is_flagged_and_not_corrected(published):
    one = published.select(B200)
    rows = [replace(one, scenario="Offline", score=Score(90_000.0, "tokens/s")), one]
    made = scenario_spread(rows, "llama2-70b-99.9", ["5.1-0069"])
    assert any("Server above Offline" in rule.reason for rule in made.disclosures)


def test_a_spread_over_two_rounds_or_of_nothing_is_refused(published):
    with pytest.raises(MlperfError, match="several rounds"):
        scenario_spread(published.rows, "deepseek-r1", ["5.1-0047", "6.0-0040"])
    with pytest.raises(MlperfError, match="no result of whisper"):
        scenario_spread(published.rows, "whisper", ["nobody"])
