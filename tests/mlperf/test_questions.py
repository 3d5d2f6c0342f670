"""Five questions an analyst asks of real rounds, answered by the command."""

import csv
import io
import json

import pytest

V41, V51, V60 = "v4.1.summary_results.json", "v5.1.summary_results.json.gz", "v6.0.summary_results.json"


def rows(page, title=""):
    return next(table["rows"] for table in page["tables"] if table["title"] == title)


def test_q1_who_leads_llama2_70b_server_in_v51(procure, data):
    asked = ("shortlist", data / V51, "--benchmark", "llama2-70b-99.9", "--scenario", "Server")
    status, out, _ = procure(*asked, "--json")
    page = json.loads(out)
    listed = rows(page)
    assert (status, len(listed)) == (0, 45)
    assert (listed[0]["ID"], listed[0]["submitter"], listed[0]["score"]) == (
        "5.1-0065",
        "MangoBoost",
        "153,076 tokens/s",
    )
    assert listed[0]["chips"].startswith("48x AMD Instinct MI300X 192GB HBM3 (x32), AMD Instinct MI325X")
    notes = "\n".join(page["notes"])
    assert (
        "first single node: 5.1-0073, Nebius, 8x NVIDIA B200-SXM-180GB, 1 node, 101,611 tokens/s, "
        "declared fp4" in notes
    )
    assert "11 results within 2.57%; without the first, 10 within 0.15%: treat them as tied" in notes
    assert "declared precision, checked by nobody: 30 fp8, 14 fp4, 1 uint4" in notes
    off = rows(page, "Not on the list")
    assert (len(off), {one["submitter"] for one in off}, {one["rule"] for one in off}) == (
        9,
        {"Krai"},
        {"division"},
    )
    assert all("ran llama3_1-70b-fp8" in one["why"] for one in off)
    b200 = [one for one in listed if "B200-SXM" in one["chips"] and one["nodes"] == 1]
    assert (len(b200), {one["band"] for one in b200}) == (11, {b200[0]["band"]})


def test_a_shortlist_says_that_neighbouring_bands_may_be_tied(procure, data):
    asked = ("shortlist", data / V51, "--benchmark", "llama2-70b-99.9", "--scenario", "Server")
    _, out, _ = procure(*asked)
    assert "Neighbouring bands may be tied at their edge as well." in out
    assert "are not told apart at their edge" in out


@pytest.mark.parametrize(
    ("selector", "figure"),
    [("5.1-0065/llama2-70b-99.9/Server", "3,189.08"), ("5.1-0073/llama2-70b-99.9/Server", "12,701.4")],
)
def test_q1_per_accelerator_is_derived_and_says_so(procure, data, selector, figure):
    _, out, _ = procure("show", data / V51, "--result", selector)
    assert f"{figure} tokens/s per accelerator (derived, not an official or verified result" in out


def test_q2_clips_and_queries_per_second_come_from_the_log(procure, data):
    asked = ("--result", "5.1-0069/whisper/Offline", "--result", "5.1-0069/llama3.1-8b/Interactive")
    _, out, _ = procure("show", data / V51, data / "checkout", *asked)
    whisper, llama = out.split("\n5.1-0069/llama3.1-8b/Interactive\n")
    assert "714.378 samples/s, one sample is one audio clip" in whisper
    assert "the label says Samples/s, the benchmark's metric is Tokens/s" in whisper
    assert "797.76 queries/s" in llama
    assert "the log proves the number to be tokens/s" in llama


def test_q2_without_the_log_nothing_is_converted(procure, data):
    _, out, _ = procure("show", data / V51, "--result", "5.1-0069/whisper/Offline")
    assert "the log was not supplied: do not convert" in out
    assert "714" not in out


@pytest.mark.parametrize(
    ("pair", "answer"),
    [
        (
            ("5.1-0069/llama2-70b-99.9/Offline", "5.1-0001/llama2-70b-99.9/Server"),
            ("refused", {"scenario"}, ""),
        ),
        (
            ("5.1-0069/llama2-70b-99.9/Server", "5.1-0377/llama2-70b-99.9/Server"),
            ("refused", {"division", "open_model"}, "llama3_1-70b-fp8_trtllm"),
        ),
        (
            ("5.1-0069/llama2-70b-99.9/Server", "5.1-0075/llama2-70b-99.9/Server"),
            ("allowed", {"precision"}, "declared fp4 and fp8"),
        ),
        (
            ("5.1-0069/llama2-70b-99/Server", "5.1-0075/llama2-70b-99.9/Server"),
            ("refused", {"quality_target"}, "filed one run under both"),
        ),
        (
            ("v4.1-0021/llama2-70b-99.9/Server", "5.1-0026/llama2-70b-99.9/Server"),
            ("movement", {"precision", "round", "software"}, "+11.8%"),
        ),
        (
            ("5.1-0020/dlrm-v2-99.9/Server", "6.0-0040/dlrm-v3/Server"),
            ("refused", {"benchmark"}, "different benchmarks"),
        ),
        (
            ("v4.1-0074/llama2-70b-99.9/Server", "5.1-0069/llama2-70b-99.9/Server"),
            (
                "movement",
                {"availability", "count", "derived_metric", "round"},
                "12,390.4 tokens/s per accelerator (derived",
            ),
        ),
        (
            ("5.1-0034/resnet/MultiStream", "5.1-0036/resnet/MultiStream"),
            (
                "allowed",
                {"inferred"},
                "62.695344 ms, inferred: 8 x 7.836918 ms, the 99th percentile early-stopping estimate",
            ),
        ),
        (
            ("5.1-0061/whisper/Offline", "5.1-0069/whisper/Offline"),
            ("refused", {"power_vs_performance", "unit"}, ""),
        ),
    ],
    ids=list("abcdefghi"),
)
def test_q3_which_pairs_may_be_compared(procure, data, pair, answer):
    (a, b), (status, rules, says) = pair, answer
    code, out, _ = procure(
        "compare", data / V41, data / V51, data / V60, data / "checkout", "--a", a, "--b", b, "--json"
    )
    page = json.loads(out)
    refused = status == "refused"
    assert code == (1 if refused else 0)
    assert status in page["headline"]
    applied = {one["rule"] for one in rows_of(page, "refuse" if refused else "disclose")}
    assert applied == rules if refused else applied >= rules
    assert says in out.encode().decode("unicode_escape")


def rows_of(page, action):
    return [one for one in rows(page) if one["action"] == action]


def test_a_pair_across_scenarios_prints_the_rule_and_no_ratio(procure, data):
    pair = ("--a", "5.1-0069/llama2-70b-99.9/Offline", "--b", "5.1-0001/llama2-70b-99.9/Server")
    status, out, _ = procure("compare", data / V51, *pair)
    assert status == 1
    assert "refuse    scenario   Offline and Server measure different things under different traffic" in out
    for number in ("101,527", "101527", "24,593", "24593", "4.12", "0.24", "tokens/s"):
        assert number not in out


def test_q4_the_lead_is_a_throughput_story_over_one_and_a_latency_story_over_the_other(procure, data):
    systems = ("--system", "5.1-0069", "--system", "5.1-0075", "--system", "5.1-0001")
    _, out, _ = procure("show", data / V51, *systems, "--benchmark", "llama2-70b-99.9", "--json")
    page = json.loads(out)
    table = rows(page, "llama2-70b-99.9 v5.1")
    assert [(one["Server/Offline"], one["Interactive/Offline"]) for one in table] == [
        ("0.9763", "0.5865"),
        ("0.9775", "0.6630"),
        ("0.8845", "0.3180"),
    ]
    notes = "\n".join(page["notes"])
    assert "2.92x Offline, 2.91x Server, 2.58x Interactive: the lead shrinks" in notes
    assert "3.65x Offline, 4.03x Server, 6.74x Interactive: the lead grows" in notes
    assert "Server held ttft 2000 ms, tpot 200 ms at the 99th percentile" in notes
    assert "Interactive held ttft 450 ms, tpot 40 ms" in notes
    assert "derived, not official" in notes


def test_q4_the_spread_belongs_to_the_model_as_much_as_to_the_machine(procure, data):
    _, out, _ = procure("show", data / V51, "--system", "5.1-0069", "--benchmark", "deepseek-r1")
    assert "0.557" in out


def test_q5_how_googles_system_moved_and_what_may_be_concluded(procure, data):
    _, out, _ = procure("movement", data / V51, data / V60, "--submitter", "Google", "--json")
    page = json.loads(out)
    moved = {(one["benchmark"], one["scenario"]): one["change"] for one in rows(page)}
    assert moved == {
        ("deepseek-r1", "Offline"): "+78.9%",
        ("deepseek-r1", "Server"): "+180.4%",
        ("llama3.1-405b", "Offline"): "-18.4%",
        ("llama3.1-405b", "Server"): "-21.1%",
        ("whisper", "Offline"): "+15.4%",
    }
    assert all(
        "TensorRT 10.11, CUDA 12.9 and TensorRT 10.14, CUDA 13.1" in one["disclose"] for one in rows(page)
    )
    notes = "\n".join(page["notes"])
    assert "only in v6.0, no movement: dlrm-v3" in notes
    assert "Not that the chip got faster or slower" in notes


def test_q5_a_count_that_contradicts_the_name_gives_both_figures(procure, data):
    _, out, _ = procure("show", data / V60, "--result", "6.0-0001/llama2-70b-99.9/Server")
    assert "is 88, the accelerator name says 87" in out
    assert out.index("11,682.5 tokens/s per accelerator") < out.index("11,549.8 tokens/s per accelerator")


def test_check_reconciles_rows_with_logs_and_fails_on_faults(procure, data):
    status, out, _ = procure("check", data / V51, data / "checkout" / "v5.1", "--json")
    page = json.loads(out)
    assert status == 1
    assert {(one["benchmark"], one["rows"]) for one in rows(page, "Labels that contradict the metric")} == {
        ("whisper", 37),
        ("llama3.1-8b", 8),
    }
    assert {one["log field"] for one in rows(page, "Where the published numbers come from")} >= {
        "tokens per second",
        "completed tokens per second",
        "inferred from SingleStream",
    }
    assert all(one["file"] and one["where"] for one in rows(page, "Findings"))


def test_check_of_faultless_rows_exits_0(procure, data):
    assert procure("check", data / "v6.1.summary.json")[0] == 0


def test_a_stated_task_is_laid_beside_the_published_one(procure, data, tmp_path):
    task = tmp_path / "task.toml"
    task.write_text('dataset = "our tickets"\nlatency = "p95 <= 80 ms"\n', "utf-8")
    _, out, _ = procure("show", data / V51, "--result", "5.1-0069/whisper/Offline", "--task", task)
    assert "yours differs in dataset and latency" in out
    assert "refuse [transfer]" in out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('datset = "x"', "did you mean `dataset`"),
        ("dataset = 3", "write it in quotes"),
        ("dataset =", "no readable TOML"),
    ],
)
def test_a_task_that_cannot_be_read_is_the_users_mistake(procure, data, tmp_path, text, message):
    task = tmp_path / "task.toml"
    task.write_text(text, "utf-8")
    status, out, err = procure("show", data / V51, "--result", "5.1-0069/whisper/Offline", "--task", task)
    assert (status, out) == (2, "")
    assert message in err


def test_csv_prints_the_first_table_whole(procure, data):
    _, out, _ = procure(
        "shortlist", data / V51, "--benchmark", "resnet", "--scenario", "multistream", "--csv"
    )
    table = list(csv.DictReader(io.StringIO(out)))
    assert {one["ID"] for one in table} == {"5.1-0034", "5.1-0036"}


def test_a_buyers_own_run_is_refused_in_every_comparison(procure, data):
    status, out, _ = procure("compare", data / V51, "--a", "5.1-0069/whisper/Offline", "--b", "own:our run")
    assert status == 1
    assert "foreign_result" in out
    assert "45,333" not in out


@pytest.mark.parametrize("question", [["show", "--json"], ["show"], ["check"], ["check", "--csv"]])
def test_hostile_names_cannot_reach_the_terminal(procure, data, tmp_path, question):
    row = json.loads((data / V41).read_text("utf-8"))[0]
    row |= {
        "Submitter": "\x1b[2J\x9bACME\u202e\r\nX",
        "Model": "=cmd|'/c x'!A1",
        "Suite": "edge\x07",
        "Performance_Units": "\x1b[31m",
    }
    (tmp_path / "t.json").write_text(json.dumps([row]), "utf-8")
    _, out, err = procure(question[0], tmp_path / "t.json", *question[1:])
    assert out
    assert not [letter for letter in out + err if letter != "\n" and not letter.isprintable()]
    assert not [cell for line in csv.reader(io.StringIO(out)) for cell in line if cell.startswith("=")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "QUESTION"),
        (("rank",), "invalid choice: 'rank'"),
        (("show",), "PATH"),
        (("show", "nowhere"), "nowhere: no such file or folder"),
        (
            ("shortlist", V51, "--benchmark", "lama2-70b-99.9", "--scenario", "Server"),
            "did you mean `llama2-70b-99.9`",
        ),
        (("shortlist", V51, "--benchmark", "whisper", "--scenario", "Servr"), "did you mean `Server`"),
        (("compare", V51, "--a", "x", "--b", "y"), "is no selector"),
        (("movement", V51, "--submitter", "Gogle"), "did you mean `Google`"),
        (("show", V51, "--system", "5.1-0069", "--system", "5.1-0034"), "share no benchmark"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_2(procure, data, monkeypatch, arguments, message):
    monkeypatch.chdir(data)
    status, out, err = procure(*arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
