"""Things to know: what is told of a noisy machine, and how briefly."""

import pytest

from pytest_procure.report.events import events, merged


def told(record, where):
    """What stands outright and folded under a heading."""
    return next(each for each in events(record) if each.where == where)


def with_audit(record, **audit):
    for requirement in record["requirements"]:
        for result in requirement["results"]:
            for run in result["runs"]:
                run["audit"] |= audit
    return record


def test_sentences_that_differ_in_numbers_alone_are_one_with_the_range_that_was_seen():
    waited = [f"waited {share}% of the time (allowed: 5%)" for share in (46, 25, 32)]
    assert merged([*waited, "stopped"]) == ["waited 25 to 46% of the time (allowed: 5%) (3 times)", "stopped"]


def test_large_numbers_are_told_by_their_value():
    assert merged(["lost 9,000 rows", "lost 12,000 rows"]) == ["lost 9,000 to 12,000 rows (2 times)"]


def test_faults_of_many_launches_are_told_as_one(demo):
    run = demo["requirements"][0]["results"][0]["runs"][0]
    run["faults"] = [f"the worker threads waited {share}% of the time" for share in range(10, 40)]
    place = next(each for each in events(demo) if each.where.startswith("vendor-a-fp32, "))
    assert "The harness: the worker threads waited 10 to 39% of the time (30 times)" in place.told


def test_what_does_not_fit_is_counted(demo):
    demo["notes"] = [f"note {chr(65 + i % 26)}{chr(65 + i // 26)}" for i in range(40)]
    place = told(demo, "All tests")
    assert len(place.told) == 4
    assert len(place.more) == 7
    assert place.more[-1] == "And 30 more, in verdict.json."


@pytest.mark.parametrize(
    ("gpus", "said"),
    [
        (None, "Throttling was not looked at: no run named a GPU whose driver tells of it"),
        ([{"slowed": {}}], "Throttling: no look at a GPU found its clocks held down"),
        (
            [{"slowed": {"heat": 0.2, "cap": 0.5}}, {"slowed": {"heat": 0.4}}],
            (
                "Throttling: the clocks of a GPU were held down by heat in up to 40 % of looks and "
                "cap in up to 50 % of looks"
            ),
        ),
    ],
    ids=["nobody looked", "nothing seen", "held down"],
)
def test_throttling_is_told_as_far_as_it_was_looked_for(demo, gpus, said):
    assert (
        said
        in told(with_audit(demo, **({} if gpus is None else {"gpus": gpus})), "The measuring machine").told
    )


def test_noise_and_the_harness_audit_are_told_over_all_runs(demo):
    demo["requirements"][0]["results"][0]["runs"][0]["faults"] = ["late sending"]
    place = told(with_audit(demo, foreign_cpu_share=0.42), "The measuring machine")
    assert place.told[0] == "The harness audited itself in 6 runs; in 1 of them it found a fault of its own"
    assert place.told[1] == "Noise: other programs used up to 42 % of the processors in a run"
