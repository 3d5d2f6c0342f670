import shutil

import pytest

from pytest_procure.mlperf import Score, load_results
from pytest_procure.mlperf.benchmarks import facts
from pytest_procure.mlperf.logs import accuracy_of, parse_accuracy, parse_detail, parse_log
from pytest_procure.mlperf.reconciling import head_room, log_number, misses, reconcile

RUN = "checkout/v5.1/closed/NVIDIA/results/B200-SXM-180GBx8_TRT/whisper/Offline/performance/run_1"


@pytest.fixture
def checkout(tmp_path, data):
    """A checkout to break, with its whisper log and the table beside it."""
    shutil.copytree(data / "checkout" / "v5.1", tmp_path / "v5.1")
    log = tmp_path / RUN.removeprefix("checkout/") / "mlperf_log_summary.txt"
    return tmp_path, log, data / "v5.1.summary_results.json.gz"


def findings(results, name="5.1-0069/whisper/Offline"):
    return {one.code: one for one in reconcile(results.select(name))}


def test_every_published_number_is_found_in_its_log(published):
    logged = [one for one in published.rows if one.run is not None and one.score is not None]
    assert len(logged) == 12
    for one in logged:
        found = log_number(one.run, facts().find(one.round, one.benchmark), one.scenario)
        assert found is not None, one.name
        assert found.number == pytest.approx(one.score.number, rel=2e-5), one.name


@pytest.mark.parametrize(
    ("selector", "how"),
    [
        ("5.1-0069/whisper/Offline", "tokens per second"),
        ("5.1-0069/llama2-70b-99.9/Interactive", "completed tokens per second"),
        ("5.1-0034/resnet/SingleStream", "early-stopping estimate of the 90th percentile"),
        ("5.1-0036/resnet/MultiStream", "early-stopping estimate of the 99th percentile"),
        ("5.1-0034/retinanet/MultiStream", "8 x 491.752864 ms"),
        ("6.0-0103/wan-2.2-t2v-a14b/SingleStream", "early_stopping_latency_ss of the detail log"),
    ],
)
def test_the_log_field_of_record_is_named(published, selector, how):
    one = published.select(selector)
    found = log_number(one.run, facts().find(one.round, one.benchmark), one.scenario)
    assert found is not None
    assert how in found.how


def test_a_run_carries_system_precision_accuracy_and_settings(published):
    run = published.select("5.1-0069/whisper/Offline").run
    assert run.measurements["weight_data_types"] == "fp16"
    assert run.user_conf["*.Offline.target_qps"] == "650"
    assert run.accuracy["accuracy"] == pytest.approx(97.832, abs=1e-3)
    systems = {(one.round, one.platform): one for one in published.systems}
    assert systems["v5.1", "B200-SXM-180GBx8_TRT"].fields["accelerators_per_node"] == "8"


def test_head_room_is_the_share_of_the_limit_that_the_percentile_leaves(published):
    room = head_room(published.select("5.1-0069/llama2-70b-99.9/Server"))
    assert room == pytest.approx({"ttft": 1 - 436.315697 / 2000, "tpot": 1 - 132.366416 / 200})
    assert head_room(published.select("5.1-0069/whisper/Offline")) == {}
    assert head_room(published.select("5.1-0047/llama2-70b-99.9/Server")) == {}


def test_a_log_without_a_row_is_a_result_that_nothing_accepts(data):
    results = load_results(data / "checkout")
    assert {one.origin for one in results.rows} == {"log"}
    whisper = results.select("NVIDIA:B200-SXM-180GBx8_TRT/whisper/Offline")
    assert (whisper.score, whisper.accelerator, whisper.count.best) == (
        Score(45333.4, "tokens/s"),
        "NVIDIA B200-SXM-180GB",
        8,
    )


def test_a_wrong_label_is_proved_by_the_log(published):
    found = findings(published)["unit-proved"]
    assert found.key == "Performance_Units"
    assert "714.378 samples/s" in found.message


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (("Result is : VALID", "Result is : INVALID"), "invalid-log", "INVALID"),
        (("PerformanceOnly", "AccuracyOnly"), "invalid-log", "AccuracyOnly"),
        (("Tokens per second: 45333.4", "Tokens per second: 45334.9"), "log-differs", "45,334.9"),
        (("Tokens per second: 45333.4", ""), "unmatched", "no number"),
        (("Scenario : Offline", "Scenario : Server"), "inferred", "inferred from a Server run"),
    ],
)
def test_a_log_that_contradicts_its_row_is_a_finding_with_file_and_key(checkout, change, code, message):
    root, log, table = checkout
    log.write_text(log.read_text("utf-8").replace(*change), "utf-8")
    found = findings(load_results(table, root))[code]
    assert message in found.message
    assert found.file == table.name
    assert found.key


def test_a_truncated_log_and_a_stub_are_no_results(checkout):
    root, log, table = checkout
    log.write_bytes(log.read_bytes()[:60])
    assert "no result block" in findings(load_results(table, root))["invalid-log"].message
    log.write_bytes(b"\xff\xfe\x00")
    results = load_results(table, root)
    assert "encoding" in {one.code for one in results.findings}
    assert list(findings(results)) == ["no-log"]


def test_a_closed_run_with_a_looser_limit_or_over_its_limit_is_reported(checkout):
    root, log, table = checkout
    server = log.parents[3] / ".." / "llama2-70b-99.9" / "Server" / "performance" / "run_1" / log.name
    text = server.read_text("utf-8").replace("ttft_latency (ns): 2000000000", "ttft_latency (ns): 3000000000")
    server.write_text(
        text.replace(
            "99.00 percentile first token latency (ns)   : 436315697",
            "99.00 percentile first token latency (ns)   : 2436315697",
        ),
        "utf-8",
    )
    found = findings(load_results(table, root), "5.1-0069/llama2-70b-99.9/Server")
    assert "3,000 ms, the limit is 2000 ms" in found["limit"].message
    assert "21.8% above the limit" in found["over-limit"].message


def test_accuracy_and_precision_files_that_disagree_with_the_row_are_reported(checkout):
    root, log, table = checkout
    (log.parents[2] / "accuracy" / "accuracy.txt").write_text("accuracy=90.1%\nhash=00", "utf-8")
    (side,) = root.glob("v5.1/closed/NVIDIA/measurements/*/whisper/Offline/*.json")
    side.write_text('{"weight_data_types": "fp4"}', "utf-8")
    found = findings(load_results(table, root))
    assert "accuracy.txt says 90.1" in found["accuracy"].message
    assert "declares 'fp4'" in found["precision"].message


def test_links_that_lead_out_of_a_checkout_are_not_followed(checkout, tmp_path_factory):
    root, log, table = checkout
    outside = tmp_path_factory.mktemp("outside")
    shutil.move(log.parents[2], outside / "Offline")
    log.parents[2].symlink_to(outside / "Offline")
    assert load_results(table, root).select("5.1-0069/whisper/Offline").run is None


def test_the_inferred_flag_of_v60_is_contradicted_by_a_log_of_its_own_scenario(published):
    assert "inferred-flag" not in findings(published, "6.0-0067/resnet/MultiStream")
    assert (
        "inferred from a SingleStream run"
        in findings(published, "6.0-0067/resnet/MultiStream")["inferred"].message
    )


def test_a_figure_given_twice_with_two_values_is_a_contradiction():
    found = []
    log = parse_log("Tokens per second: 1\nTokens per second : 2\nResult is : VALID\n", "log", found.append)
    assert log.values["tokens per second"] == 1
    assert [(one.code, one.where, one.key) for one in found] == [
        ("contradiction", "line 2", "tokens per second")
    ]


def test_detail_records_survive_nan_and_broken_lines():
    found = []
    text = (
        ':::MLLOG {"key": "result_mean_latency_ns", "value": 5}\n'
        ':::MLLOG {"key": "result_max_latency_ns", "value": NaN}\n'
        ':::MLLOG {"key": "result_validity", "value": "VALID"}\n'
        ":::MLLOG [1]\n:::MLLOG {\nnoise\n"
    )
    assert parse_detail(text, "detail", found.append) == {
        "result_mean_latency_ns": 5.0,
        "result_validity": "VALID",
    }
    assert [(one.code, one.where) for one in found] == [("broken", "line 5")]


@pytest.mark.parametrize(
    ("text", "metric", "value"),
    [
        ("accuracy=76.456%, good=38228, total=50000\nhash=1", "acc", 76.456),
        ("mAP=37.572%\nfound 24781 results", "mAP", 37.572),
        ('{"exact_match": 83.9, "f1": 90.97}', "F1", 90.97),
        ("AUC=80.2378%", "AUC", 80.2378),
        ("{'rouge1': '38.7564', 'rouge2': '15.7913'}", "ROUGE1", 38.7564),
        ("{'rouge1': np.float64(38.7)}", "ROUGE1", 38.7),
        ("Word Error Rate: 2.1%, accuracy=97.8%", "ACCURACY", 97.8),
        ("Accuracy: mean = 0.86114, kidney = 0.9347", "DICE", 0.86114),
        ("{'Car': [56.2], 'Total': 54.25}", "mAP", 54.25),
        ("0.0\n" * 5000 + "{'exact_match': 81.3}", "exact_match", 81.3),
    ],
)
def test_accuracy_scripts_print_in_many_ways_and_all_are_read(text, metric, value):
    assert accuracy_of(parse_accuracy(text), metric) == value


def test_no_closed_result_of_the_real_rounds_misses_its_reference_bar(published):
    assert [one.name for one in published.rows if one.division == "closed" and misses(one)] == []
