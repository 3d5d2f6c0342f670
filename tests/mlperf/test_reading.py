import gzip
import json
from collections import Counter

import pytest

from pytest_procure.mlperf import Applied, MlperfError, Score, derive, load_results
from pytest_procure.mlperf.files import MOST_FINDINGS, PARSED_LIMIT
from pytest_procure.mlperf.reading import MOST_ROWS

ROW = {
    "ID": "5.1-0001",
    "Submitter": "AMD",
    "Availability": "available",
    "Category": "closed",
    "Suite": "datacenter",
    "System": "a system",
    "Platform": "p",
    "UsedModel": "llama2-70b-99.9",
    "Model": "llama2-70b-99.9",
    "Scenario": "Server",
    "Accuracy": "ROUGE1: 44.5  ROUGE2: 22.1",
    "Nodes": 1,
    "Accelerator": "NVIDIA B200-SXM-180GB",
    "a#": 8,
    "Location": "closed/AMD/results/p/llama2-70b-99.9/Server",
    "Software": "vLLM",
    "Notes": "",
    "version": "v5.1",
    "inferred": 0,
    "has_power": False,
    "weight_data_types": "fp8",
    "Performance_Result": 100.0,
    "Performance_Units": "Tokens/s",
}


@pytest.fixture
def load(tmp_path):
    """Load a table of rows; keyword arguments change the only row."""

    def run(*rows, **changes):
        path = tmp_path / "summary_results.json"
        path.write_text(json.dumps(list(rows) or [ROW | changes]), "utf-8")
        return load_results(path)

    return run


def codes(results, *, faults=True):
    return Counter(one.code for one in results.findings if one.fault or not faults)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("v4.1.summary_results.json", 14),
        ("v5.1.summary_results.json.gz", 140),
        ("v6.0.summary_results.json", 28),
        ("v6.1.summary.json", 5),
        ("v5.0-unofficial.summary.json", 6),
        ("v5.0-unofficial.summary.csv", 6),
        ("v5.0-unofficial.summary_results.json", 4),
        ("v4.1.cm-derived.json", 5),
    ],
)
def test_every_row_of_every_layout_becomes_a_typed_record(data, name, rows):
    results = load_results(data / name)
    assert len(results.rows) == rows
    assert all(one.submitter and one.platform and one.benchmark and one.scenario for one in results.rows)


def test_the_three_layouts_of_one_table_say_the_same(data):
    as_csv = load_results(data / "v5.0-unofficial.summary.csv").rows
    as_json = load_results(data / "v5.0-unofficial.summary.json").rows
    fields = (
        "round",
        "submitter",
        "division",
        "suites",
        "benchmark",
        "model",
        "scenario",
        "score",
        "accuracy",
        "count",
    )
    assert [[getattr(one, name) for name in fields] for one in as_csv] == [
        [getattr(one, name) for name in fields] for one in as_json
    ]


def test_every_label_fault_of_the_real_rounds_is_found(published):
    wrong = Counter(
        (one.round, one.benchmark, one.scenario, one.label) for one in published.rows if one.label_fault
    )
    assert wrong == {
        ("v5.1", "whisper", "Offline", "Samples/s"): 37,
        ("v5.1", "llama3.1-8b", "Interactive", "Queries/s"): 8,
        ("v6.0", "whisper", "Offline", "Samples/s"): 7,
        ("v4.1", "llama2-70b-99.9", "Offline", "Samples/s"): 3,
        ("v4.1", "llama2-70b-99.9", "Server", "Queries/s"): 2,
    }
    assert codes(published)["unit-label"] == 57


def test_a_mislabelled_rate_is_read_in_the_unit_of_its_metric(load):
    one = load(Model="whisper", UsedModel="whisper", Scenario="Offline", Performance_Units="Samples/s").rows[
        0
    ]
    assert one.score == Score(100.0, "tokens/s")
    assert "the label says Samples/s, the benchmark's metric is Tokens/s" in one.label_fault


def test_a_latency_whose_label_contradicts_the_metric_is_no_score(load):
    results = load(
        Model="resnet",
        UsedModel="resnet",
        Suite="edge",
        Scenario="SingleStream",
        Performance_Units="Latency (s)",
    )
    assert results.rows[0].score is None
    assert codes(results) == {"unit-label": 1, "no-score": 1}


def test_bom_gzip_and_utf16_are_read_like_plain_text(tmp_path):
    text = json.dumps([ROW])
    for name, content in {
        "bom.json": text.encode("utf-8-sig"),
        "packed.json.gz": gzip.compress(text.encode()),
        "packed.json": gzip.compress(text.encode("utf-8-sig")),
        "wide.json": text.encode("utf-16"),
    }.items():
        (tmp_path / name).write_bytes(content)
        assert len(load_results(tmp_path / name).rows) == 1, name


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (gzip.compress(b"[]" * 999, mtime=0)[:-9], "unreadable"),
        (b'[{"ID": "5.1-', "broken"),
        (b"\xff\xfe\x00", "encoding"),
        (b"caf\xe9", "encoding"),
        (b'"a text"', "layout"),
        (b"[1, null]", "wrong-type"),
        (b"[" * 100_000, "broken"),
        (b"", "broken"),
        (b"\x1f\x8bno gzip", "unreadable"),
    ],
    ids=["gzip cut", "json cut", "utf-16 cut", "latin-1", "text", "no rows", "nested", "empty", "no gzip"],
)
def test_a_broken_file_becomes_a_finding_that_names_it(tmp_path, content, code):
    (tmp_path / "table.json").write_bytes(content)
    results = load_results(tmp_path / "table.json")
    assert results.rows == ()
    assert codes(results)[code]
    assert {one.file for one in results.findings} == {"table.json"}


@pytest.mark.parametrize(
    "value", [None, "fast", float("nan"), float("inf"), -1, 0, True, [1], {"a": 1}, "1e999", 10**400]
)
def test_what_is_no_number_is_no_score(load, value):
    results = load(Performance_Result=value)
    assert results.rows[0].score is None
    assert codes(results)["no-score"] == 1


def test_a_row_that_cannot_be_told_apart_is_left_out_with_its_keys(load):
    results = load(Submitter=None, Scenario="Streaming")
    assert results.rows == ()
    (finding,) = results.findings
    assert (finding.code, finding.where, finding.key) == ("unusable-row", "row 0", "Submitter, Scenario")


def test_a_repeated_row_counts_once_and_a_contradicting_one_takes_the_number_away(load):
    twice = load(ROW, ROW)
    assert (len(twice.rows), codes(twice)) == (1, {"duplicate": 1})
    torn = load(ROW, ROW | {"Performance_Result": 101.0})
    assert (len(torn.rows), torn.rows[0].score, codes(torn)) == (1, None, {"contradiction": 1})


def test_a_third_row_does_not_heal_a_contradiction(load):
    torn = load(ROW, ROW | {"Performance_Result": 101.0}, ROW)
    assert [one.score for one in torn.rows] == [None]


def test_one_id_of_two_submitters_and_a_key_given_twice_are_contradictions(load, tmp_path):
    assert codes(load(ROW, ROW | {"Submitter": "Other", "Platform": "q"})) == {"contradiction": 1}
    text = json.dumps([ROW]).replace('"Nodes": 1', '"Nodes": 1, "Nodes": 2')
    (tmp_path / "t.json").write_text(text, "utf-8")
    results = load_results(tmp_path / "t.json")
    assert [(one.code, one.key) for one in results.findings] == [("contradiction", "Nodes")]
    assert results.rows[0].nodes is None


def test_an_id_of_another_round_is_reported(load):
    assert codes(load(version="v6.0")) == {"round-contradicted": 1}


def test_a_power_row_of_a_csv_joins_the_row_it_was_measured_with(tmp_path, data):
    head, first = (data / "v5.0-unofficial.summary.csv").read_text("utf-8").splitlines()[:2]
    power = first.replace("0.821368", "512.5").replace("Samples/s", "Watts")
    (tmp_path / "summary.csv").write_text(f"{head}\n{first}\n{power}", "utf-8")
    (one,) = load_results(tmp_path / "summary.csv").rows
    assert one.power is not None
    assert (one.score, one.power.number, one.power.unit) == (Score(0.821368, "samples/s"), 512.5, "Watts")


def test_a_csv_row_of_the_wrong_width_is_left_out(tmp_path, data):
    head, first = (data / "v5.0-unofficial.summary.csv").read_text("utf-8").splitlines()[:2]
    (tmp_path / "summary.csv").write_text("\n".join([head, first, "a,b", first + ",more"]), "utf-8")
    results = load_results(tmp_path / "summary.csv")
    assert (len(results.rows), codes(results)) == (1, {"broken": 2})


def test_a_lone_power_figure_carries_no_score(data):
    results = load_results(data / "v4.1.cm-derived.json")
    assert codes(results)["lone-power"] == 2
    assert {one.origin for one in results.rows} == {"copy"}


def test_a_bare_accuracy_counts_only_where_it_can_be_named_and_scaled(load):
    whisper = {"Model": "whisper", "UsedModel": "whisper", "Scenario": "Offline"}
    assert load(**whisper, Accuracy="97.8").rows[0].accuracy == {"ACCURACY": 97.8}
    assert codes(load(**whisper, Accuracy="0.978"))["accuracy-scale"] == 1
    assert codes(load(Accuracy="44.5"), faults=False)["accuracy-unnamed"] == 1


@pytest.mark.parametrize(
    ("declared", "kinds"),
    [
        ("INT8", ("int8",)),
        ("fp8,fp16,int8", ("fp8", "fp16", "int8")),
        ("{'clip1': 'fp32', 'unet': 'fp8'}", ("fp32", "fp8")),
        ("clip1:fp32,unet:fp8", ("fp32", "fp8")),
        ("F8_E4M3", ("fp8",)),
        ("UNSET", ()),
        ("TODO", ()),
        ("", ()),
    ],
)
def test_declared_precision_is_normalised_and_never_inferred(load, declared, kinds):
    assert load(weight_data_types=declared).rows[0].precision.kinds == kinds


def test_the_fp16_of_v41_tensorrt_language_models_is_not_believed(published):
    one = published.select("v4.1-0021/llama2-70b-99.9/Server")
    assert one.precision.kinds == ("fp16",)
    assert "FP8 or FP4" in one.precision.doubt


@pytest.mark.parametrize(
    ("changes", "best", "conflict"),
    [
        ({}, 8, ""),
        (
            {"Accelerator": "AMD Instinct MI355X (x87)", "Nodes": 11},
            87,
            "is 88, the accelerator name says 87",
        ),
        ({"Accelerator": "A (x32), B (x16)", "Nodes": 6}, 48, ""),
        ({"System": "Lab (4x B200-SXM)"}, 8, "is 8, the system name says 4"),
        ({"System": "Lab (3x8x B200)", "Nodes": 3}, 24, ""),
        ({"Platform": "xd670_b200_x24_vllm", "Nodes": 3}, 24, ""),
        ({"Total Accelerators": 12}, 12, "the total column says 12"),
        ({"a#": "", "Accelerator": ""}, None, ""),
        ({"a#": 2.5}, None, ""),
    ],
)
def test_accelerators_are_counted_and_conflicts_told(load, changes, best, conflict):
    count = load(**changes).rows[0].count
    assert count.best == best
    assert conflict in count.conflict
    assert bool(conflict) == bool(count.conflict)


def test_odd_spaces_become_plain_ones(load):
    assert load(Notes="B200 TGP 1000\u202fW ").rows[0].notes == "B200 TGP 1000 W"


def test_of_one_folders_layouts_only_the_best_is_read(tmp_path, data):
    for name in ("summary.csv", "summary.json", "summary_results.json"):
        (tmp_path / name).write_bytes((data / f"v5.0-unofficial.{name}").read_bytes())
    results = load_results(tmp_path)
    assert results.files == ("summary_results.json",)
    assert {one.file for one in results.findings if one.code == "layout"} == {"summary.csv", "summary.json"}


def test_a_path_without_results_is_the_users_mistake(tmp_path):
    with pytest.raises(MlperfError, match="no such file or folder"):
        load_results(tmp_path / "nothing")
    with pytest.raises(MlperfError, match="neither a summary file nor a folder closed/"):
        load_results(tmp_path)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("5.1-0069/llama2-70b-99.9", "is no selector"),
        ("5.1-0070x/llama2-70b-99.9/Server", "did you mean"),
        ("5.1-0069/llama2-70b-99.8/Server", "did you mean `llama2-70b-99.9`"),
        ("5.1-0069/deepseek-r1/SingleStream", "5.1-0069 has deepseek-r1 in Offline, Server"),
        ("B200-SXM-180GBx8_TRT/llama2-70b-99.9/Server", "names 3 results"),
    ],
)
def test_a_selector_that_names_no_single_result_says_what_would(published, selector, message):
    with pytest.raises(MlperfError, match=message):
        published.select(selector)


def test_a_selector_finds_a_result_by_platform_submitter_and_round(published):
    by_id = published.select("5.1-0047/whisper/offline")
    assert published.select("v5.1@Google:B200-SXM-180GBx8_TRT/whisper/Offline") is by_id
    assert published.select("5.1@5.1-0047/whisper/Offline/whisper") is by_id


def test_a_file_loaded_twice_counts_once_and_says_so(data):
    once = load_results(data / "v5.1.summary_results.json.gz")
    twice = load_results(data / "v5.1.summary_results.json.gz", data / "v5.1.summary_results.json.gz")
    assert len(twice.rows) == len(once.rows)
    assert codes(twice)["duplicate"] == len(once.rows)


def test_two_files_that_contradict_take_the_number_away_and_name_both(tmp_path):
    for name, number in (("a.json", 100.0), ("b.json", 101.0)):
        (tmp_path / name).write_text(json.dumps([ROW | {"Performance_Result": number}]), "utf-8")
    results = load_results(tmp_path / "a.json", tmp_path / "b.json")
    assert [one.score for one in results.rows] == [None]
    (found,) = results.findings
    assert (found.code, found.file) == ("contradiction", "b.json")
    assert "a.json row 0" in found.message


def test_a_column_that_stands_twice_in_a_csv_is_not_read(tmp_path, data):
    head, first = (data / "v5.0-unofficial.summary.csv").read_text("utf-8").splitlines()[:2]
    (tmp_path / "summary.csv").write_text(f"{head},Result\n{first},999", "utf-8")
    results = load_results(tmp_path / "summary.csv")
    assert [one.score for one in results.rows] == [None]
    assert codes(results)["repeated-column"] == 1


@pytest.mark.parametrize("changes", [{"Nodes": 1e308}, {"a#": 1e300, "Nodes": 1e300}, {"Nodes": 10**400}])
def test_a_count_beyond_all_systems_is_a_finding(load, changes):
    results = load(**changes)
    assert codes(results)["bad-number"]
    assert isinstance(derive(results.rows[0], "node"), Applied)
    assert str(derive(results.rows[0], "accelerator"))


@pytest.mark.parametrize("value", [5e-324, 1e300])
def test_a_score_beyond_all_systems_is_no_score(load, value):
    results = load(Performance_Result=value)
    assert results.rows[0].score is None
    assert codes(results) == {"no-score": 1}


@pytest.mark.parametrize("key", ["Accuracy", "Accelerator", "Notes", "weight_data_types", "Submitter"])
def test_a_cell_longer_than_any_real_one_is_not_read(load, key):
    results = load(**{key: "a" * 200_000})
    assert [one.key for one in results.findings if one.code == "too-long"] == [key]


def test_a_list_of_a_million_zeros_is_a_few_findings_and_a_sum(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(gzip.compress(b"[" + b"0," * 1_000_000 + b"0]"))
    results = load_results(path)
    assert len(results.findings) == MOST_FINDINGS + 2
    assert [one.message for one in results.findings[-2:]] == [
        f"only {MOST_ROWS:,} rows are read",
        f"{MOST_ROWS + 1 - MOST_FINDINGS:,} more findings are not listed",
    ]


def test_a_table_larger_than_any_real_one_is_refused_whole(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(gzip.compress(b"[" + b"0," * (PARSED_LIMIT // 2) + b"0]"))
    assert codes(load_results(path)) == {"too-large": 1}
