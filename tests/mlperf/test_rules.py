"""Every rule refuses or discloses: one case a rule, asked through the public functions."""

from dataclasses import replace

import pytest

from pytest_procure.mlperf import (
    Filters,
    ForeignResult,
    MlperfError,
    PublishedScoreError,
    Task,
    check_wording,
    cite,
    compare,
    derive,
    distance,
    rules,
    scenario_spread,
    shortlist,
)
from pytest_procure.mlperf.records import Count, Precision

B200 = "5.1-0069/llama2-70b-99.9/Server"
H200 = "5.1-0075/llama2-70b-99.9/Server"


def pair(published, a=B200, b=H200, /, **changes):
    """Compare two results, the second one changed."""
    return compare(published.select(a), replace(published.select(b), **changes), among=published.rows)


def case_scenario(p):
    return pair(p, "5.1-0069/llama2-70b-99.9/Offline", "5.1-0001/llama2-70b-99.9/Server").refusals


def case_round(p):
    return pair(p, B200, H200, round="v6.1").refusals


def case_benchmark(p):
    return pair(p, "5.1-0020/dlrm-v2-99.9/Server", "6.0-0040/dlrm-v3/Server").refusals


def case_quality_target(p):
    return pair(p, "5.1-0069/llama2-70b-99/Server", H200).refusals


def case_division(p):
    return pair(p, B200, "5.1-0377/llama2-70b-99.9/Server").refusals


def case_open_model(p):
    ours = compare(p.select(B200), p.select("5.1-0377/llama2-70b-99.9/Server"), named=["model"])
    return ours.refusals


def case_network_division(p):
    return pair(p, B200, H200, division="network").refusals


def case_suite(p):
    return pair(p, B200, H200, suites=("edge",)).refusals


def case_power_vs_performance(p):
    return pair(p, B200, "5.1-0061/llama2-70b-99.9/Server").refusals


def case_power_proxy(p):
    return [derive(p.select(B200), "watt", proxy="TGP 1000 W"), derive(p.select(B200), "watt")]


def case_multistream_era(p):
    return pair(p, "5.1-0036/resnet/MultiStream", "5.1-0034/resnet/MultiStream", round="v1.1").refusals


def case_foreign_result(p):
    return compare(p.select(B200), ForeignResult("our load test")).refusals


def case_endpoints(p):
    return compare(ForeignResult("a curve", "endpoints"), p.select(B200)).refusals


def case_unit(p):
    return pair(p, "5.1-0047/whisper/Offline", "5.1-0069/whisper/Offline").refusals


def case_not_in_published_table(p):
    return pair(p, B200, H200, origin="log").refusals


def case_invalid_log(p):
    run = p.select(B200).run
    invalid = replace(run, log=replace(run.log, validity="INVALID"))
    return pair(p, B200, H200, run=invalid).refusals


def case_availability(p):
    return pair(p, B200, H200, availability="preview").disclosures


def case_count(p):
    return pair(p, B200, "5.1-0065/llama2-70b-99.9/Server").disclosures


def case_count_source(p):
    return pair(p, B200, H200, count=Count(88, 87, "accelerator name", preferred=True)).disclosures


def case_derived_metric(p):
    return [derive(p.select(B200), "accelerator").rule]


def case_precision(p):
    return pair(p, B200, H200, precision=Precision("UNSET")).disclosures


def case_software(p):
    return pair(p, B200, H200, software="vLLM 0.9").disclosures


def case_inferred(p):
    return pair(p, "5.1-0034/resnet/MultiStream", "5.1-0036/resnet/MultiStream").disclosures


def case_speculative_decoding(p):
    offline, server = (p.select(f"6.0-0040/deepseek-r1/{name}") for name in ("Offline", "Server"))
    rows = [offline, server, replace(server, scenario="Interactive")]
    return scenario_spread(rows, "deepseek-r1", ["6.0-0040"]).disclosures


def case_power_cap(p):
    return pair(p, H200, "5.1-0029/llama2-70b-99.9/Server").disclosures


def case_verified(p):
    return pair(p).obligations


def case_citation(p):
    return pair(p).obligations


def case_naming(p):
    return cite(p.select("5.1-0377/llama2-70b-99.9/Server")).obligations


def case_snapshot_date(p):
    return pair(p).obligations


def case_noise(p):
    return pair(p, B200, "5.1-0073/llama2-70b-99.9/Server").disclosures


def case_transfer(p):
    with pytest.raises(PublishedScoreError, match="rule `transfer`"):
        _ = p.select(B200).score * 0.5
    return [distance(p.select(B200), Task()).refused]


def case_verdict(p):
    with pytest.raises(PublishedScoreError, match="rule `verdict`") as caught:
        assert p.select(B200).score >= 50_000
    return [caught.value]


CASES = {name.removeprefix("case_"): case for name, case in globals().items() if name.startswith("case_")}


def test_the_rules_are_32_and_each_has_its_case():
    assert len(rules()) == 32
    assert set(CASES) == set(rules())


@pytest.mark.parametrize("rule", [name for name in rules() if name != "verdict"])
def test_a_rule_refuses_or_discloses_as_its_text_says(published, rule):
    applied = [one for one in CASES[rule](published) if one.rule == rule]
    assert applied
    assert {one.action for one in applied} == {rules()[rule].action}
    assert all(one.reason for one in applied)


def test_a_verdict_on_a_published_score_is_refused(published):
    assert case_verdict(published)


@pytest.mark.parametrize("rule", sorted(rules()))
def test_a_rule_says_when_and_on_which_source(rule):
    assert rules()[rule].when
    assert rules()[rule].source


@pytest.mark.parametrize(
    "case",
    [
        name
        for name, rule in rules().items()
        if rule.action == "refuse" and name not in {"verdict", "transfer", "power_proxy"}
    ],
)
def test_a_refusal_prints_no_number_of_its_results(published, case):
    known = {str(one.score) for one in published.rows if one.score is not None}
    known |= {
        str(one.score).split()[0]
        for one in published.rows
        if one.score is not None and one.score.number > 100
    }
    text = " ".join(one.reason for one in CASES[case](published))
    assert not [number for number in known if number in text]


def test_what_is_kept_off_a_shortlist_is_kept_off_by_rule(published):
    one = published.select(B200)
    run = replace(one.run, log=replace(one.run.log, mode="AccuracyOnly"))
    odd = {
        "not_in_published_table": replace(one, origin="log"),
        "verified": replace(one, origin="copy"),
        "invalid_log": replace(one, run=run),
        "division": replace(one, division="open"),
        "availability": replace(one, availability="rdi"),
        "quality_target": replace(one, accuracy={"ROUGE1": 40.0}),
    }
    made = shortlist([one, *odd.values()], Filters("llama2-70b-99.9", "Server"))
    assert [entry.result for entry in made.entries] == [one]
    assert {drop.rule.rule: drop.result for drop in made.dropped} == odd


def test_an_unofficial_round_is_kept_off_a_shortlist(published):
    one = replace(published.select(B200), origin="unofficial")
    made = shortlist([one], Filters("llama2-70b-99.9", "Server"))
    assert made.entries == ()
    assert [drop.rule.rule for drop in made.dropped] == ["verified"]


def test_open_results_of_other_models_are_not_ranked_with_the_benchmarks_own(published):
    made = shortlist(published.rows, Filters("llama2-70b-99.9", "Server", round="v5.1", division="open"))
    assert made.entries == ()
    assert {drop.rule.rule for drop in made.dropped} == {"division", "open_model"}


@pytest.mark.parametrize(
    ("text", "misuse"),
    [
        ("MLPerf v5.1 says", "registered sign"),
        ("MLPerf®'s numbers", "possessive"),
        ("three MLPerf®s", "plural"),
        ("we MLPerf®ed it", "verb"),
        ("our MLPerf® is good", "full name"),
    ],
)
def test_misuse_of_the_name_is_found_in_a_text(text, misuse):
    assert any(misuse in one.message for one in check_wording(text))


def test_a_citation_has_every_part_that_the_guidelines_ask_for(published):
    quote = cite(
        published.select(B200),
        retrieved="2026-03-01",
        source="https://mlcommons.org/benchmarks/inference-datacenter",
    )
    for part in ("NVIDIA", "99,123 tokens/s", "MLPerf® Inference v5.1 llama2-70b-99.9 Server", "DGX B200"):
        assert part in quote.sentence
    for part in (
        "v5.1 Closed datacenter",
        "Retrieved from https://mlcommons.org",
        "2026-03-01",
        "entry 5.1-0069",
        "registered",
    ):
        assert part in quote.footnote
    assert check_wording(quote.sentence + quote.footnote) == ()


def test_what_is_not_published_is_cited_as_unverified(published):
    quote = cite(replace(published.select(B200), origin="copy"))
    assert "an unverified result" in quote.sentence
    assert "Result not verified by MLCommons Association." in quote.footnote


def test_an_unknown_filter_or_two_rounds_at_once_are_the_users_mistake(published):
    with pytest.raises(MlperfError, match=r"stands in several rounds; choose: v4\.1, v5\.1"):
        shortlist(published.rows, Filters("llama2-70b-99.9", "Server"))
    with pytest.raises(MlperfError, match="no result of bert-99 Server"):
        shortlist(published.rows, Filters("bert-99", "Server"))
