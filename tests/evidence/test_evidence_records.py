import json
from typing import get_args, get_type_hints

import pytest

from pytest_procure.evidence.findings import finding_record
from pytest_procure.evidence.keeping import Keeper, file_name
from pytest_procure.evidence.record import FindingRecord, RunRecord, VerdictWord, dumps
from pytest_procure.evidence.runs import run_record
from pytest_procure.evidence.schema import fields
from pytest_procure.metrics.metric import Metric
from pytest_procure.verdict import Verdict

BARS = [
    ("accuracy", {"at_least": 0.9}),
    ("error_rate", {"at_most": 0.1}),
    ("latency.p95", {"at_most": "10 s"}),
    ("throughput", {"at_least": "1 1/s"}),
    ("cost_per_request", {"at_most": "1 USD"}),
    ("own.joy", {"at_least": 3}),
]


def refuse(constant):
    raise AssertionError(constant)


def plain(data):
    """What a reader of the JSON gets; refuses the numbers that JSON has not."""
    return json.loads(dumps(data), parse_constant=refuse)


def has_the_fields_of(typed, data):
    known = fields(typed)
    return {name for name, (_, optional) in known.items() if not optional} <= set(data) <= set(known)


@pytest.fixture
def findings(run_case):
    case = run_case(bars=BARS)
    _, judged = case.conclude()
    return [finding_record(each, case.policy) for each in judged]


def test_every_finding_has_the_fields_of_the_format_and_is_plain_json(findings):
    assert [each["metric"] for each in findings] == [name for name, _ in BARS]
    for each in findings:
        assert has_the_fields_of(FindingRecord, each)
        assert plain(each) == each


def test_what_cannot_be_measured_is_null_and_says_why(findings):
    own = findings[-1]
    assert (own["estimate"], own["low"], own["high"]) == (None, None, None)
    assert "not measurable, because the test gave no" in own["sentence"]


def test_a_number_stands_with_its_unit_and_as_people_read_it(findings):
    accuracy, *_ = findings
    assert accuracy["estimate"] == {"number": pytest.approx(58 / 60), "unit": "", "text": "96.7 %"}
    assert accuracy["bar"] == {"number": 0.9, "unit": "", "text": "90 %"}
    assert accuracy["low"]["number"] < accuracy["estimate"]["number"] < accuracy["high"]["number"]


def test_a_censored_percentile_says_at_least(run_case):
    def silent(inputs):
        return [None] * len(inputs)

    case = run_case(silent, bars=[("latency.p95", {"at_most": "10 s"})])
    _, (finding,) = case.conclude()
    assert finding_record(finding, case.policy)["estimate"]["text"].startswith("≥ ")


def test_a_run_has_the_fields_of_the_format_and_is_plain_json(execution, tmp_path):
    run = execution()
    record = run_record(run, declared=True, faults=("late",), kept=Keeper(tmp_path).run(run, "test_x"))
    assert has_the_fields_of(RunRecord, record)
    assert plain(record) == json.loads(json.dumps(record))
    assert (record["requests"], record["ok"], record["failures"]) == (60, 58, {"error": 1, "empty": 1})
    assert record["error_texts"][0] == "ValueError: thirteen"
    assert (tmp_path / record["log"]).is_file()


def test_without_a_folder_a_run_leaves_no_file(execution):
    record = run_record(execution(), declared=True, faults=(), kept=None)
    assert "log" not in record
    assert "log_sha256" not in record


def test_the_latency_curve_rises(execution):
    curve = run_record(execution(), declared=True, faults=(), kept=None)["curve"]
    shares, times = zip(*curve, strict=True)
    assert list(shares) == sorted(shares)
    assert list(times) == sorted(times)


def test_offline_has_no_latency_to_show(execution):
    record = run_record(execution(scenario="offline"), declared=True, faults=(), kept=None)
    assert (record["latency_ms"], record["curve"]) == ({}, [])


def test_each_stratum_has_its_own_share(execution):
    record = run_record(execution(), declared=True, faults=(), kept=None)
    assert record["strata"] == [
        {"stratum": "high", "n": 40, "share": 1.0},
        {"stratum": "low", "n": 20, "share": 0.9},
    ]


@pytest.mark.parametrize(
    "name", ["test_a.py::test_x[acme-int8].1", "../../etc/passwd", "größe \u202e", "x" * 500, ""]
)
def test_a_file_name_stays_in_its_folder_and_fits_every_system(name):
    made = file_name(name)
    assert "/" not in made
    assert made.isascii()
    assert 1 <= len(made) <= 200
    assert not made.startswith(("..", "-"))


def test_file_names_of_different_tests_differ():
    names = ["t[a b]", "t[a-b]", "t[a/b]", "t[ä]", "t[ö]", "x" * 500, "y" + "x" * 500]
    assert len({file_name(name) for name in names}) == len(names)


def test_the_same_record_gives_the_same_bytes(findings):
    assert dumps({"a": 1, "b": findings}) == dumps({"b": findings, "a": 1})


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_has_not_is_refused(number):
    with pytest.raises(ValueError, match="JSON"):
        dumps({"value": number})


def test_the_words_of_a_verdict_are_those_of_the_format():
    assert {each.value for each in Verdict} == set(get_args(VerdictWord))


def test_the_kinds_of_metrics_are_those_of_the_format():
    kinds = get_args(get_type_hints(FindingRecord)["kind"])
    assert set(get_args(get_type_hints(Metric)["kind"])) == set(kinds)
