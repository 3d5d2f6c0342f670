from dataclasses import replace

import pytest

from pytest_procure.mlperf import MlperfError, PublishedScoreError, Task, distance, facts, mlperf_context
from pytest_procure.scenarios import Scenario

NAMED = {"round": "v5.1", "benchmark": "llama2-70b-99.9", "scenario": "Server", "system": "5.1-0069"}


def verdicts(far):
    return {row.aspect: row.verdict for row in far.rows}


def test_an_unstated_task_is_unknown_in_every_row(published):
    far = distance(published.select("5.1-0069/llama2-70b-99.9/Server"), Task())
    assert set(verdicts(far).values()) == {"unknown"}
    assert "nothing is known about dataset" in far.sentence


def test_distance_tells_same_from_different_row_by_row(published):
    task = Task(
        dataset="our tickets",
        scenario="server",
        precision="FP4",
        pipeline="retrieval, then model",
        latency="p95 <= 80 ms",
    )
    far = distance(published.select("5.1-0069/llama2-70b-99.9/Server"), task)
    assert verdicts(far) == {
        "dataset": "differs",
        "quality": "unknown",
        "scenario": "same",
        "traffic": "unknown",
        "precision": "same",
        "stack": "unknown",
        "batch": "unknown",
        "pipeline": "differs",
        "latency": "differs",
    }
    published_latency = next(row.published for row in far.rows if row.aspect == "latency")
    assert published_latency == "p99 first token <= 2000 ms, p99 each further token <= 200 ms"
    assert far.sentence.endswith("the figures have to be measured on your task.")
    assert far.refused.rule == "transfer"


@pytest.mark.parametrize(
    ("selector", "ours"),
    [
        ("5.1-0034/resnet/SingleStream", "single_stream"),
        ("5.1-0036/resnet/MultiStream", "multi_stream"),
        ("5.1-0036/resnet/MultiStream", "MultiStream"),
        ("5.1-0069/llama2-70b-99.9/Server", "server"),
    ],
)
def test_a_scenario_is_the_same_in_our_spelling_and_in_theirs(published, selector, ours):
    assert verdicts(distance(published.select(selector), Task(scenario=ours)))["scenario"] == "same"


@pytest.mark.parametrize(
    ("selector", "kind"),
    [
        ("5.1-0034/resnet/SingleStream", "closed"),
        ("5.1-0036/resnet/MultiStream", "closed"),
        ("5.1-0069/llama2-70b-99.9/Server", "open"),
        ("5.1-0069/llama2-70b-99.9/Interactive", "open"),
        ("5.1-0069/llama2-70b-99.9/Offline", "at once"),
    ],
)
def test_traffic_is_compared_by_kind_and_not_by_sentence(published, selector, kind):
    ours = {
        "closed": [Scenario.declare("single_stream"), Scenario.declare("multi_stream")],
        "open": [Scenario.declare("server", qps=40, duration="60 s")],
        "at once": [Scenario.declare("offline")],
    }
    for name, scenarios in ours.items():
        for one in scenarios:
            far = distance(published.select(selector), Task(traffic=one.label))
            assert verdicts(far)["traffic"] == ("same" if name == kind else "differs"), one.label
    assert verdicts(distance(published.select(selector), Task(traffic="as it comes")))["traffic"] == "unknown"


def test_a_task_in_the_same_words_still_transfers_no_figure(published):
    one = replace(published.select("5.1-0047/whisper/Offline"), run=None)
    theirs = {row.aspect: row.published or "x" for row in distance(one, Task()).rows}
    far = distance(one, Task(**theirs))
    assert set(verdicts(far).values()) <= {"same", "unknown"}
    assert "measured on your task" in far.sentence


def test_a_context_carries_citation_distance_and_a_score_that_decides_nothing(published):
    made = mlperf_context(published, **NAMED, task=Task(dataset="our tickets"), retrieved="2026-03-01")
    assert made.evidence_class == "public reference"
    assert "entry 5.1-0069" in made.citation.footnote
    assert verdicts(made.distance)["dataset"] == "differs"
    assert made.can
    assert any("a pass or a fail" in one for one in made.cannot)
    with pytest.raises(PublishedScoreError):
        assert made.score >= 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"round": "v5.2"}, "unknown round `v5.2`; did you mean"),
        ({"benchmark": "llama2-70b"}, "did you mean `llama2-70b-99"),
        ({"system": "5.1-0096x"}, "unknown system"),
        ({"scenario": "MultiStream"}, "has llama2-70b-99.9 in"),
        ({"benchmark": "resnet50", "scenario": "Servr"}, "is no selector"),
    ],
)
def test_a_context_that_names_nothing_says_the_nearest_name(published, change, message):
    with pytest.raises(MlperfError, match=message):
        mlperf_context(published, **NAMED | change)


def test_facts_name_their_sources_and_the_nearest_benchmark():
    record = facts().benchmark("v5.1", "resnet50")
    assert (record.model, record.dataset) == ("resnet", "ImageNet 2012 validation (224x224)")
    assert all("mlcommons" in source for source in record.sources)
    with pytest.raises(MlperfError, match="did you mean `whisper`"):
        facts().benchmark("v5.1", "whispr")
    with pytest.raises(MlperfError, match="unknown round"):
        facts().benchmark("v9.9", "whisper")


def test_a_quality_bar_whose_direction_is_disputed_is_not_judged():
    names = [target.metric for target in facts().benchmark("v6.0", "dlrm-v3").targets("Server")]
    assert names == ["DLRM_ACC", "DLRM_AUC"]


def test_quality_bars_may_differ_by_scenario():
    record = facts().benchmark("v6.1", "qwen3-vl-235b-a22b")
    assert record.targets("Interactive")[0].low < record.targets("Server")[0].low


def test_there_are_96_records_with_a_unit_for_every_scenario():
    records = facts().records
    assert len(records) == 96
    for record in records.values():
        for scenarios in record.suites.values():
            assert all(record.unit(scenario) for scenario in scenarios), record.model
