"""Ways around a refusal: each of them ends at the same rules, without a number."""

import csv
import io
import json
import math
import operator
from dataclasses import replace
from fractions import Fraction

import pytest

from pytest_procure import PublishedScore
from pytest_procure.bars import declare_bar
from pytest_procure.errors import DeclarationError
from pytest_procure.mlperf import (
    MlperfError,
    PublishedScoreError,
    Score,
    cite,
    compare,
    derive,
    load_results,
    mlperf_context,
    scenario_spread,
)

V51 = "v5.1.summary_results.json.gz"
B200 = "5.1-0069/llama2-70b-99.9/Server"
H200 = "5.1-0075/llama2-70b-99.9/Server"
OPEN = "5.1-0377/llama2-70b-99.9/Server"


def ids(applied):
    return {one.rule for one in applied}


@pytest.fixture
def invalid(published):
    """A published row whose log says INVALID."""
    one = published.select(B200)
    return replace(one, run=replace(one.run, log=replace(one.run.log, validity="INVALID")))


@pytest.fixture
def ratio(published):
    return compare(published.select(B200), published.select(H200)).ratio


def test_a_spread_has_no_lead_over_an_open_result_of_another_model(published):
    made = scenario_spread(published.rows, "llama2-70b-99.9", ["5.1-0069", "5.1-0377"])
    (lead,) = made.leads
    assert lead.by_scenario == {}
    assert ids(lead.refused["Server"]) == {"division", "open_model"}
    assert made.systems[1].shown("Server") == "refused: division, open_model"
    assert made.systems[1].ratio("Server") is None


def test_a_spread_has_no_lead_over_a_power_submission(published):
    made = scenario_spread(published.rows, "whisper", ["5.1-0069", "5.1-0061"])
    assert ids(made.leads[0].refused["Offline"]) == {"power_vs_performance", "unit"}


def test_a_spread_shows_no_number_of_an_invalid_log(published, invalid):
    rows = [invalid, published.select("5.1-0069/llama2-70b-99.9/Offline")]
    (system,) = scenario_spread(rows, "llama2-70b-99.9", ["5.1-0069"]).systems
    assert system.shown("Server") == "refused: invalid_log"
    assert system.ratio("Server") is None


@pytest.mark.parametrize("form", ["", "--json", "--csv"])
def test_show_of_two_systems_prints_rules_in_place_of_a_refused_number(procure, data, form):
    systems = ("--system", "5.1-0069", "--system", "5.1-0377", "--benchmark", "llama2-70b-99.9")
    _, out, _ = procure("show", data / V51, *systems, *filter(None, [form]))
    assert "open_model" in out
    assert "62,624" not in out
    assert "62624" not in out


def test_a_spread_discloses_what_differs_between_the_systems(published):
    made = scenario_spread(published.rows, "llama2-70b-99.9", ["5.1-0069", "5.1-0075"])
    assert "precision" in ids(made.disclosures)


def test_a_score_as_text_is_no_bar(published):
    score = published.select("5.1-0036/resnet/MultiStream").score
    for text in (str(score), f"{score}", repr(score)):
        with pytest.raises(DeclarationError):
            declare_bar("latency.p95", at_most=text)
    assert str(score) == "37.768479 ms (published, MLPerf)"


@pytest.mark.parametrize(
    "use",
    [
        lambda s: s % 2,
        lambda s: 2 % s,
        lambda s: s**2,
        lambda s: 2**s,
        lambda s: divmod(s, 2),
        lambda s: divmod(2, s),
        math.trunc,
        math.floor,
        math.ceil,
        complex,
        float,
        operator.index,
        lambda s: f"{s:.2f}",
        lambda s: format(s, "g"),
        lambda s: sum([s]),
        lambda s: s.as_integer_ratio(),
        lambda s: +s,
        lambda s: -s,
    ],
)
def test_no_operator_or_conversion_takes_a_score_or_a_figure_made_of_scores(published, ratio, use):
    derived = derive(published.select(B200), "accelerator")
    for one in (published.select(B200).score, ratio, derived):
        with pytest.raises(PublishedScoreError, match="rule `transfer`"):
            use(one)


@pytest.mark.parametrize("compared", [operator.lt, operator.ge, operator.eq, operator.ne])
def test_ratio_change_and_derived_figures_decide_nothing(published, ratio, compared):
    moved = compare(
        published.select("5.1-0047/deepseek-r1/Server"), published.select("6.0-0040/deepseek-r1/Server")
    )
    for one in (ratio, moved.change, derive(published.select(B200), "accelerator")):
        with pytest.raises(PublishedScoreError, match="rule `verdict`"):
            compared(one, 1.0)


def test_a_fraction_of_a_score_is_refused_by_python_or_by_us(published):
    with pytest.raises(TypeError):
        Fraction(published.select(B200).score)


@pytest.mark.parametrize("compared", [operator.lt, operator.le, operator.gt, operator.ge])
def test_a_result_a_context_and_a_named_score_say_why_they_have_no_order(published, compared):
    named = PublishedScore("v5.1", "llama2-70b-99.9", "Server", "5.1-0069", "t.json")
    where = {"round": "v5.1", "benchmark": "llama2-70b-99.9", "scenario": "Server", "system": "5.1-0069"}
    for one in (published.select(B200), named, mlperf_context(published, **where)):
        with pytest.raises(PublishedScoreError, match=r"5\.1-0069/llama2-70b-99\.9/Server cannot decide"):
            compared(one, 80)
        with pytest.raises(PublishedScoreError, match="cannot decide"):
            compared(80, one)


def test_two_rounds_of_different_submitters_or_chips_are_no_movement(published):
    before = published.select("v4.1-0021/llama2-70b-99.9/Server")
    made = compare(before, published.select(B200))
    assert (made.kind, made.change, made.ratio) == ("across rounds", None, None)
    assert any("no movement, because of another submitter, chip" in one.reason for one in made.disclosures)
    same = compare(before, published.select("5.1-0026/llama2-70b-99.9/Server"))
    assert (same.kind, same.change is None) == ("movement", False)


def test_the_page_on_two_rounds_of_different_systems_prints_no_change(procure, data):
    pair = ("--a", "v4.1-0021/llama2-70b-99.9/Server", "--b", B200)
    _, out, _ = procure("compare", data / "v4.1.summary_results.json", data / V51, *pair)
    assert "across rounds, which is no movement" in out
    assert "later round" not in out
    assert "%" not in out.split("beside any quote")[0]
    assert "times as much" not in out


def test_results_of_no_known_round_or_division_are_refused(published):
    a, b = (replace(published.select(name), round="") for name in (B200, H200))
    assert "round" in ids(compare(a, b).refusals)
    for division in ("", "banana"):
        a, b = (replace(published.select(name), division=division) for name in (B200, H200))
        assert ids(compare(a, b).refusals) == {"division"}


def test_a_word_that_names_no_difference_lifts_no_refusal(published):
    opened = replace(published.select(H200), division="open")
    assert compare(published.select(B200), opened, named=["banana"]).status == "refused"
    network = replace(opened, division="network")
    assert compare(published.select(B200), network, named=["latency"]).status == "refused"
    assert compare(published.select(B200), network, named=["network"]).status != "refused"


def test_a_word_that_names_no_difference_is_the_users_mistake(procure, data):
    pair = ("--a", B200, "--b", OPEN, "--named", "banana")
    status, out, err = procure("compare", data / V51, *pair)
    assert (status, out) == (2, "")
    assert "model" in err


def test_an_invalid_log_has_no_derived_figure_and_no_quote(invalid):
    assert derive(invalid, "accelerator").rule == "invalid_log"
    with pytest.raises(MlperfError, match="invalid_log"):
        cite(invalid)


def test_an_invalid_log_is_no_context(published, invalid):
    where = {"round": "v5.1", "benchmark": "llama2-70b-99.9", "scenario": "Server", "system": "5.1-0069"}
    with pytest.raises(MlperfError, match="INVALID"):
        mlperf_context(replace(published, rows=(invalid,)), **where)


def test_numbers_too_far_apart_are_refused_and_divide_nothing(published):
    one = published.select("5.1-0047/deepseek-r1/Server")
    tiny = replace(one, round="v6.0", score=Score(5e-324, one.score.unit))
    for made in (compare(one, tiny), compare(tiny, one)):
        assert (made.status, made.change) == ("refused", None)


def test_the_text_of_a_refused_pair_has_no_number(published):
    made = compare(published.select(B200), published.select(OPEN))
    assert "99123" not in repr(made)
    assert "62624" not in repr(made)


def test_a_pair_of_two_submitters_or_chips_says_so(published):
    made = compare(published.select(B200), published.select(H200))
    (one,) = [one for one in made.disclosures if one.rule == "citation"]
    assert "NVIDIA, 8x NVIDIA B200-SXM-180GB, and Nebius, 8x NVIDIA H200-SXM-141GB" in one.reason


@pytest.mark.parametrize(
    "name",
    ["v5.0-unofficial.summary.csv", "v5.0-unofficial.summary.json", "v5.0-unofficial.summary_results.json"],
)
def test_an_unofficial_round_is_cited_as_unverified(data, tmp_path, name):
    renamed = tmp_path / name.removeprefix("v5.0-unofficial.")
    renamed.write_bytes((data / name).read_bytes())
    for path in (data / name, renamed):
        one = load_results(path).rows[0]
        assert "an unverified result" in cite(one).sentence
        assert "Result not verified by MLCommons Association." in cite(one).footnote


def test_a_citation_mentions_the_wrong_label_and_its_obligations(published):
    quote = cite(published.select("5.1-0047/whisper/Offline"), retrieved="2026-03-01")
    fault = "the label says Samples/s, the benchmark's metric is Tokens/s"
    assert fault in quote.sentence
    assert fault in quote.footnote
    assert "this copy was not checked against mlcommons.org" in quote.footnote
    assert "this one was retrieved 2026-03-01" in quote.footnote


def table(out):
    return list(csv.DictReader(io.StringIO(out)))


def test_compare_as_csv_has_status_scores_and_ratio_where_allowed(procure, data):
    _, out, _ = procure("compare", data / V51, "--a", B200, "--b", H200, "--csv")
    (row,) = table(out)
    assert (row["status"], row["a score"], row["b score"]) == (
        "allowed with disclosures",
        "99,123 tokens/s",
        "34,029.4 tokens/s",
    )
    assert float(row["ratio"]) == pytest.approx(2.9129, abs=1e-4)
    _, out, _ = procure("compare", data / V51, "--a", B200, "--b", OPEN, "--csv")
    (row,) = table(out)
    assert (row["status"], row["a score"], row["b score"], row["ratio"]) == ("refused", "", "", "")
    assert row["refused by"] == "division, open_model"


def test_show_as_csv_has_every_result_asked_for(procure, data):
    _, out, _ = procure("show", data / V51, "--result", B200, "--result", H200, "--csv")
    assert {row["result"] for row in table(out)} == {B200, H200}


def test_movement_as_csv_has_numbers_with_their_units(procure, data):
    paths = (data / V51, data / "v6.0.summary_results.json")
    _, out, _ = procure("movement", *paths, "--submitter", "Google", "--csv")
    rows = {(row["benchmark"], row["scenario"]): row for row in table(out)}
    row = rows["llama3.1-405b", "Server"]
    assert (row["before"], row["after"], row["unit"], row["change unit"]) == (
        "1246.79",
        "983.626",
        "tokens/s",
        "%",
    )
    assert float(row["change"]) == pytest.approx(-21.1, abs=0.05)


def test_shortlist_has_numbers_for_machines_in_both_forms(procure, data):
    asked = ("shortlist", data / V51, "--benchmark", "llama2-70b-99.9", "--scenario", "Server")
    _, out, _ = procure(*asked, "--csv")
    assert (table(out)[0]["score"], table(out)[0]["unit"]) == ("153076.0", "tokens/s")
    _, out, _ = procure(*asked, "--json")
    assert json.loads(out)["data"][0]["score"] == 153076


def test_a_csv_without_rows_has_its_header(procure, data):
    _, out, _ = procure("movement", data / V51, "--csv")
    assert out.startswith("submitter,platform,benchmark")
    asked = ("--benchmark", "llama2-70b-99.9", "--scenario", "Server", "--accelerator", "abacus")
    _, out, _ = procure("shortlist", data / V51, *asked, "--csv")
    assert out.startswith("band,ID,submitter")
