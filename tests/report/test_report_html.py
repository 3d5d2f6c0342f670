"""One file that anybody can open: structure, order, and that all of the record is in it."""

import copy
import itertools
import re
import subprocess
import sys
from typing import Any

import jinja2
import outline
import pytest
import sample

from pytest_procure.report import html, words


def test_a_page_has_a_language_a_title_and_one_first_heading(page):
    assert page.all("html")[0].attrs["lang"] == "en"
    assert page.all("title")[0].text
    assert len(page.all("h1")) == 1


def test_headings_never_skip_a_level(page):
    levels = [int(heading.tag[1]) for heading in page.all("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_the_page_has_landmarks(page):
    assert [e.tag for e in page.all("header", "main", "footer")] == ["header", "main", "footer"]


def test_every_section_is_named_by_its_heading(page):
    ids = {e.attrs["id"] for e in page.all("h2", "h3") if "id" in e.attrs}
    assert {s.attrs["aria-labelledby"] for s in page.all("section")} <= ids


def test_ids_are_unique(page):
    ids = [e.attrs["id"] for e in everything_in(page) if "id" in e.attrs]
    assert len(ids) == len(set(ids))


def test_every_table_has_a_caption_and_every_header_cell_a_scope(page):
    for table in page.all("table"):
        assert table.children[0].tag == "caption"
        assert table.children[0].text
        assert all(cell.attrs.get("scope") in {"col", "row", "rowgroup"} for cell in table.all("th"))


def test_every_row_of_a_table_is_as_wide_as_its_head(page):
    for table in page.all("table"):
        widths = {sum(int(c.attrs.get("colspan", 1)) for c in row.all("th", "td")) for row in table.all("tr")}
        assert len(widths) == 1, table.children[0].text


def test_every_drawing_has_a_title_and_a_description_or_is_hidden_beside_its_word(page):
    drawings = page.all("svg")
    charts = [svg for svg in drawings if svg.attrs.get("role") == "img"]
    assert len(charts) >= 3
    for svg in charts:
        title, desc = svg.children[0], svg.children[1]
        assert (title.tag, desc.tag) == ("title", "desc")
        assert svg.attrs["aria-labelledby"] == f"{title.attrs['id']} {desc.attrs['id']}"
        assert any(character.isdigit() for character in desc.text)
    assert all(svg.attrs.get("aria-hidden") == "true" for svg in drawings if svg not in charts)


def test_every_chart_is_followed_by_its_numbers_as_a_table(page):
    for section in page.all("section"):
        for position, child in enumerate(section.children):
            if child.tag == "figure":
                following = section.children[position + 1]
                assert following.tag == "table" or following.all("table")


def test_nothing_in_the_page_runs_or_is_fetched(page):
    assert page.all("script", "link", "iframe", "object", "embed", "form", "base", "a", "image") == []
    for picture in page.all("img"):
        assert picture.attrs.pop("src").startswith("data:image/png;base64,")
    for element in everything_in(page):
        assert not [name for name in element.attrs if name.startswith("on")]
        for name in ("src", "srcset", "action", "poster", "data", "xlink:href", "style"):
            assert name not in element.attrs
        assert element.attrs.get("href", "#").startswith("#")
    style = page.all("style")[0].text
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_forbids_what_the_page_does_not_do(page):
    policy = next(m.attrs["content"] for m in page.all("meta") if "http-equiv" in m.attrs)
    assert policy == (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_every_reference_within_the_page_leads_somewhere(page):
    ids = {e.attrs["id"] for e in everything_in(page) if "id" in e.attrs}
    assert {e.attrs["href"][1:] for e in everything_in(page) if "href" in e.attrs} <= ids


def test_the_same_record_gives_the_same_bytes(demo, render):
    again = copy.deepcopy(demo)
    assert render(demo) == render(again)


def test_the_bytes_do_not_hang_on_the_process(demo, render):
    code = "import sample; from pytest_procure.report import html; print(html.render(sample.demo()), end='')"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "PYTHONUTF8": "1"},
        capture_output=True,
        check=True,
        text=True,
    )
    assert ran.stdout == render(demo)


def test_rendering_loads_no_numerical_library():
    code = (
        "import sample, sys; from pytest_procure.report import html, terminal, markdown; "
        "demo = sample.demo(); html.render(demo); terminal.lines(demo, width=80); markdown.summary(demo); "
        "print([m for m in sys.modules if m.split('.')[0] in {'numpy', 'scipy', 'pytest', 'matplotlib'}])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert ran.stdout.strip() == "[]"


def test_a_page_of_three_candidates_weighs_at_most_150_kib(demo, render):
    assert len(render(demo).encode()) <= 150 * 1024


def test_the_sections_stand_in_the_order_in_which_a_committee_asks(page):
    assert [heading.text for heading in page.all("h2")] == [
        "Verdict",
        "What was asked, and what was measured",
        "The candidates side by side",
        "Cost",
        "The measurements, drawn",
        "What went wrong, sample by sample",
        "How it was measured",
        "What was not tested, and what this does not say",
        "Public benchmarks as context",
        "Things to know",
        "Detail for engineers",
        "Integrity",
        "Glossary",
    ]


def test_the_first_screen_tells_each_verdict_with_the_numbers_that_decided(demo, render):
    first = outline.read(render(demo)).all("header")[0].text
    for told in (
        "A reader for handwritten digits on our forms",
        "Which offer, if any, may the forms desk buy for the coming year?",
        "Two of three offers are accepted.",
        "Accepted vendor-a-fp32",
        "Not accepted vendor-b-int8",
        "85.6 % answers right",
        "Likely range 83.4 % to 87.6 %",
        "Counted 797 samples",
        "Asked at least 95 %",
        "the forms desk's own engineers",
        "30 November 2026",
    ):
        assert told in first


def test_the_first_screen_says_in_a_sentence_why_an_offer_is_not_accepted(demo, render):
    first = outline.read(render(demo)).all("header")[0].text
    assert "Why not vendor-b-int8: answers right 85.6 %, asked at least 95 %." in first


def test_the_reason_of_what_is_not_decided_is_its_likely_range(everything, render):
    first = outline.read(render(everything)).all("header")[0].text
    assert "vendor-c-edge: answers right 95.6 %, likely 94.2 % to 96.8 %, asked at least 95 %." in first


def test_a_reason_that_is_cut_short_ends_in_one_mark(demo, render):
    (candidate,) = [each for each in demo["candidates"] if each["name"] == "vendor-b-int8"]
    candidate["verdict"] = "invalid"
    for requirement in demo["requirements"]:
        for result in requirement["results"]:
            if result["candidate"] == "vendor-b-int8":
                result |= {"verdict": "invalid", "sentence": "the machine was shared " * 20}
    first = outline.read(render(demo)).all("header")[0].text
    assert "Why not vendor-b-int8: the machine was shared" in first
    assert "…" in first
    assert "…." not in first


def test_where_every_offer_is_accepted_nobody_asks_why_not(demo, render):
    for candidate in demo["candidates"]:
        candidate["verdict"] = "accept"
    assert "Why not" not in outline.read(render(demo)).all("header")[0].text


def test_an_invalid_measurement_shows_no_number_as_if_it_were_the_candidates(everything, render):
    cards = outline.read(render(everything)).all("article")
    card = next(c for c in cards if "vendor-e" in c.text)
    assert "Requests were sent up to 40 ms late" in card.text
    assert "2.9 ms" not in card.text


def test_what_the_suite_does_not_state_is_shown_as_missing(everything, render):
    first = outline.read(render(everything)).all("header")[0].text
    for told in (
        "Decision: not stated",
        "Measured by not stated",
        "Measured for not stated",
        "Title not stated",
    ):
        assert told in first


def test_a_report_without_a_title_names_what_is_offered(everything, render):
    title = outline.read(render(everything)).all("h1")[0].text
    assert title == "7 offers: Vendor A, Vendor B, Vendor C, vendor-d, Vendor E and Vendor F"


def test_speed_and_cost_of_an_offer_that_answers_wrongly_are_struck_through(demo, render):
    page = outline.read(render(demo))
    struck = {e.text for e in page.all("s")}
    assert struck == {"355 us", "0.0000088 USD", "8.8 USD"}
    rows = [r for r in page.all("tr") if r.attrs.get("class") == "struck"]
    assert rows
    assert all("Set aside" in row.text for row in rows)


def test_the_report_is_named_by_its_record(demo, text_of):
    first = text_of(demo)
    demo["notes"].append("one more")
    name = first.rpartition(" ")[2]
    assert len(name) == 12
    assert text_of(demo).rpartition(" ")[2] != name


def test_request_logs_are_counted_and_their_digests_told(everything, text_of):
    told = text_of(everything)
    assert "Request logs 1 file; the digest of each stands under Detail for engineers" in told
    assert f"Request log: logs/vendor-c.csv, SHA-256 {'ab' * 32}" in told


def test_the_report_says_what_it_is_not(page):
    text = page.all("main")[0].text
    assert "not an MLPerf result" in text
    assert "The results hold for this task, these samples, this traffic, this precision" in text
    assert "a published score" in text.lower()


def test_the_report_names_what_its_results_do_not_reach_beyond(demo, text_of):
    told = text_of(demo)
    assert "they say nothing: only scans-brighter (797 samples) was asked." in told
    assert "Of other traffic, nothing: only Server: 40 requests/s on average" in told
    assert "Of another precision, another runtime or another pipeline around the model, nothing" in told


def test_the_report_promises_no_command_that_does_not_exist(page):
    assert "procure verify" not in page.text


def test_plain_words_stand_before_percentiles(page):
    for cell in page.all("th", "dt"):
        assert not cell.text.startswith("p9"), cell.text


def test_undecided_bars_say_what_would_decide(everything, text_of):
    told = "vendor-c-edge; answers right, at least 95 %: A new run of 9,120 samples"
    assert told in text_of(everything)


@pytest.mark.parametrize(
    ("change", "verdict"), [({"observed_only": True}, "inconclusive"), ({"struck": True}, "reject")]
)
def test_nothing_is_said_to_decide_a_bar_that_decides_nothing(everything, text_of, change, verdict):
    (result,) = [
        result
        for requirement in everything["requirements"]
        for result in requirement["results"]
        if any(finding["hint"] for finding in result["findings"])
    ]
    result["verdict"] = verdict
    for finding in result["findings"]:
        finding.update(change)
    assert "would decide" not in text_of(everything)


def test_everything_that_happened_is_told(everything, text_of):
    text = text_of(everything)
    for told in (
        "12 tests were deselected by -k.",
        "Of 2,400 requests, 27 failed and count as failures: 3 error, 21 timeout, 1 lost and 2 empty",
        "The harness: late sending: 40 ms at worst",
        "The candidate: the backlog grew for 4 s",
        "The run ended early: wall limit reached",
        "Waived: waived until 2027-01-31 by the head of forms: pilot only",
        "A preview build.",
    ):
        assert told in text


def test_what_happens_again_and_again_is_told_once_and_folded(demo, render):
    demo["notes"] = [f"note {i // 2}" for i in range(20)]
    notes = next(s for s in outline.read(render(demo)).all("section") if "Things to know" in s.text)
    assert [item.text for item in notes.all("li")][:10] == [f"note {i}" for i in range(10)]
    assert notes.all("summary")[0].text == "6 more"


def test_a_caveat_of_several_datasets_is_told_once(demo, text_of):
    demo["datasets"].append({**sample.data(), "name": "scans-clean"})
    told = text_of(demo)
    assert told.count("The scans are simulated") == 1
    assert "scans-brighter, scans-clean: The scans are simulated" in told


def test_conditions_are_told_once_and_what_differs_by_its_candidate(demo, text_of):
    runs = [result["runs"][0] for result in demo["requirements"][1]["results"]]
    runs[1]["conditions"]["max_batch"] = 32
    told = text_of(demo)
    differed = "Conditions that differed between candidates Largest batch 8 (vendor-a-fp32)"
    assert f"{differed} Largest batch 32 (vendor-b-int8)" in told
    assert told.count("Deadline of a request 10 s") == 2  # once a requirement


def test_asserts_that_were_not_reached_are_told(everything, text_of):
    assert "Not reached: result.latency.p50 <= ms(1) at test_form_digits.py:40" in text_of(everything)


def test_what_the_suite_did_not_write_stands_last(demo, render):
    found = demo["requirements"][1]["results"][0]["findings"]
    found.insert(
        0, sample.finding("error_rate", sample.share(0.001), None, None, "accept", source="condition")
    )
    table = outline.read(render(demo)).all("table")[1]
    assert [row.text for row in table.all("tr") if row.attrs.get("class") == "bar"] == [
        "Answers right; asked: at least 95 %",
        "Slowest 5 in 100 requests (p95); asked: at most 2 ms",
        "Cost per request; asked: at most 0.00002 USD",
        "Requests failed; asked: at most 1 %",
    ]


def test_a_reason_that_repeats_the_numbers_above_it_is_left_out(demo, render):
    demo["candidates"][1]["sentence"] = demo["requirements"][0]["results"][1]["findings"][0]["sentence"]
    card = outline.read(render(demo)).all("article")[1]
    assert card.text.count("85.6 %") == 1


def test_every_text_of_the_record_is_in_the_page(everything, text_of):
    text = text_of(everything)
    missing = [told for told in set(texts(everything)) if " ".join(told.split()) not in text]
    assert missing == []


def test_a_name_that_a_template_lacks_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        html._environment().from_string("{{ nothing }}").render()


@pytest.mark.parametrize("value", [0.1, None, True, ["a"]], ids=str)
def test_only_worded_values_reach_the_page(value):
    with pytest.raises(TypeError, match="the report cannot show"):
        html._environment().from_string("{{ value }}").render(value=value)


def test_a_record_without_candidates_and_requirements_is_still_a_page(demo, render):
    demo |= {
        "candidates": [],
        "requirements": [],
        "datasets": [],
        "notes": [],
        "environment": {},
        "title": "",
    }
    page = outline.read(render(demo))
    assert page.all("h1")[0].text == "No offer"
    assert "No samples were used." in page.text


def test_more_candidates_than_fit_side_by_side_get_a_second_table(everything, render):
    tables = [t for t in outline.read(render(everything)).all("table") if "sides" in t.attrs["class"]]
    assert [len(t.all("thead")[0].all("th")) for t in tables] == [5, 2]


def everything_in(element: outline.Element) -> list[outline.Element]:
    return element.children + [e for child in element.children for e in everything_in(child)]


#: Keys for programs; people get these worded, or see them in another key's words.
_FOR_PROGRAMS = {
    "award", "by", "confidence", "format", "image", "kind", "label", "metric", "model", "n_unit", "order",
    "picked", "role", "scenario", "scorer", "sense", "source", "started", "unit", "verdict", "finished",
    "stratum", "valid_until",
}  # fmt: skip


def texts(value: Any, key: str = "") -> list[str]:
    """Every text of a record that is there for people."""
    if isinstance(value, dict):
        return [t for k, v in value.items() if k not in _FOR_PROGRAMS for t in texts(v, k)]
    if isinstance(value, list):
        return [t for item in value for t in texts(item, key)]
    return [value] if isinstance(value, str) and key != "id" else []


def test_the_sample_says_all_that_a_record_can():
    verdicts = {r["verdict"] for q in sample.everything()["requirements"] for r in q["results"]}
    assert verdicts == set(words.VERDICTS)


def full(record, findings=60):
    """A record like the demo's on a bad day: every offer full of findings, faults, notes and errors."""
    for requirement in record["requirements"]:
        for result in requirement["results"]:
            first = {k: v for k, v in result["findings"][0].items() if k != "characteristic"}
            result["findings"] += [
                {
                    **first,
                    "metric": f"own.m{i}",
                    "title": f"measure number {i}",
                    "verdict": "accept",
                    "hint": HINT,
                }
                for i in range(findings)
            ]
            for run in result["runs"]:
                run["faults"] = [
                    f"the threads waited {i}% of the time; end other programs" for i in range(40)
                ]
                run["notes"] = [f"note {chr(65 + i)}: the backlog grew for a while" for i in range(26)]
                run["error_texts"] = [f"Error {i}: " + "x" * 20_000 for i in range(5)]
                run["gallery"]["shown"] *= 6
                for place, shown in enumerate(run["gallery"]["shown"]):
                    shown |= {"item": place, "image": "iVBO" * 500}
            result["sentence"] += " because of much" * 200
    return record


HINT = "A new run of 9,120 samples in all would decide 9 times in 10."


def test_a_page_stays_light_where_every_offer_is_full_of_findings(demo, render):
    assert len(render(full(demo)).encode()) <= 150 * 1024


def test_traffic_that_was_the_same_is_drawn_once(demo, text_of):
    told = text_of(demo)
    assert told.count("Requests due a second, in steps of") == 1
    assert "Requests were due as drawn under 1." in told


def test_what_is_left_out_of_the_tables_is_counted_and_what_missed_is_kept(demo, text_of):
    full(demo)
    for result in demo["requirements"][0]["results"]:
        result["findings"][-1] |= {"title": "the last measure", "verdict": "reject"}
    told = text_of(demo)
    assert "The last measure" in told
    assert "more bars, all of them met: see findings.csv." in told
    assert re.search(r"And \d+ more findings, all of them met: see findings.csv.", told)


def test_misses_that_do_not_fit_are_counted_as_misses(demo, text_of):
    full(demo)
    for finding in demo["requirements"][0]["results"][0]["findings"]:
        finding["verdict"] = "reject"
    assert re.search(r"And 51 more bars, 51 of them not met or not decided: see findings.csv.", text_of(demo))
