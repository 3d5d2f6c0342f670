"""What is kept of a run to be drawn: its course, its failures, its pairs, and the rule's curve."""

import base64
import json
import re
import struct
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure import stats
from pytest_procure.datasets import Dataset
from pytest_procure.decision.comparisons import _difference_at
from pytest_procure.driver.log import RequestLog, Status
from pytest_procure.errors import DeclarationError
from pytest_procure.evidence import gallery as galleries
from pytest_procure.evidence.characteristic import _allowed_failures
from pytest_procure.evidence.findings import finding_record
from pytest_procure.evidence.gallery import gallery
from pytest_procure.evidence.pairs import answered_right, paired
from pytest_procure.evidence.thumbnails import thumbnail
from pytest_procure.evidence.timeline import timeline
from pytest_procure.metrics.measurement import Contrast
from pytest_procure.redaction import keep_secret

MS = 1_000_000


def log(scheduled, completed, status=None, window=None):
    scheduled, completed = np.array(scheduled) * MS, np.array(completed) * MS
    n = len(scheduled)
    return RequestLog(
        scheduled=scheduled,
        started=scheduled,
        completed=completed,
        status=np.array([Status.OK] * n if status is None else status, dtype=np.uint8),
        batch=np.arange(n, dtype=np.int32),
        samples=np.arange(n),
        answers=[None] * n,
        window_ns=(window or int(completed.max() // MS)) * MS,
    )


def steady(n=200, gap=10, wait=5):
    due = np.arange(n) * gap
    return log(due, due + wait)


# -- over time


def test_every_request_is_counted_once():
    told = timeline([steady()], latency=True)
    assert sum(told["due"]) == sum(told["answered"]) == 200
    assert len(told["due"]) == len(told["half_ms"]) == 40
    assert told["step"] * 40 == pytest.approx(1.995)


def test_a_step_tells_how_long_its_requests_waited():
    told = timeline([steady(wait=5)], latency=True)
    assert set(told["half_ms"]) == set(told["slow_ms"]) == {5.0}


def test_failures_wait_for_ever_and_are_counted_when_they_were_due():
    due = np.arange(200) * 10
    status = [Status.TIMEOUT if i >= 190 else Status.OK for i in range(200)]
    told = timeline([log(due, due + 5, status)], latency=True)
    assert told["failed"][-2:] == [5, 5]
    assert told["half_ms"][-2:] == [None, None]


def test_a_stall_is_the_time_in_which_something_was_due_and_nothing_came():
    due = np.arange(200) * 10
    done = due + 5
    late = (due >= 500) & (due < 900)
    done[late] = 905 + np.arange(late.sum())
    told = timeline([log(due, done)], latency=True)
    ((start, took),) = told["stalls"]
    assert (start, took) == (0.5, pytest.approx(0.405, abs=0.002))


def test_a_pause_in_which_nothing_was_due_is_no_stall():
    due = np.concatenate([np.arange(100) * 10, 5000 + np.arange(100) * 10])
    assert timeline([log(due, due + 5)], latency=True)["stalls"] == []


def test_launches_follow_each_other():
    told = timeline([steady(), steady()], latency=True)
    assert told["launches"] == [0.0, 1.995]
    assert sum(told["due"]) == 400


def test_a_handful_of_requests_makes_few_steps():
    assert len(timeline([log([0, 1], [1, 2])], latency=True)["due"]) == 1


def test_where_all_are_due_at_once_there_is_no_waiting_to_tell():
    told = timeline([log([0] * 100, np.arange(1, 101))], latency=False)
    assert told["half_ms"] == told["slow_ms"] == []
    assert sum(told["answered"]) == 100


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=300), st.integers(0, 500))
def test_a_timeline_never_loses_a_request(due, wait):
    due = np.sort(due)
    told = timeline([log(due, due + wait, window=int(due[-1] + wait + 1))], latency=True)
    assert sum(told["due"]) == sum(told["answered"]) == len(due)
    assert json.loads(json.dumps(told, allow_nan=False)) == told


# -- thumbnails


def decoded(picture):
    """Read a PNG: width, height, and its samples in rows."""
    data = base64.b64decode(picture)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + size
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), dtype=np.uint8).reshape(height, -1)[:, 1:]
    if (depth, colour) == (4, 0):
        rows = np.stack([rows >> 4, rows & 15], axis=2).reshape(height, -1)[:, :width]
    return width, height, rows


def test_grey_pixels_come_out_in_sixteen_shades():
    grey = np.linspace(0, 1, 35, dtype=np.float32).reshape(1, 5, 7)
    width, height, rows = decoded(thumbnail(grey))
    assert (width, height) == (7, 5)
    assert np.abs(rows / 15 - grey[0]).max() < 0.04


@pytest.mark.parametrize("first", [True, False], ids=["channels first", "channels last"])
def test_colours_come_out_as_they_were(first):
    pixels = np.random.default_rng(0).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    sample = np.moveaxis(pixels, 2, 0) if first else pixels
    assert np.array_equal(decoded(thumbnail(sample))[2], pixels.reshape(6, -1))


def test_a_large_picture_is_thinned_out():
    assert decoded(thumbnail(np.zeros((1, 224, 100), dtype=np.float32)))[:2] == (15, 32)


@pytest.mark.parametrize(
    "sample",
    [
        "text",
        7,
        np.zeros(16),
        np.zeros((3, 2, 2), dtype=np.uint8),
        np.full((1, 8, 8), np.nan),
        np.full((1, 8, 8), -1.0),
        np.zeros((8, 8), dtype=np.float32),
        np.zeros((5, 8, 8), dtype=np.float32),
        np.zeros((1, 8, 8), dtype=np.uint16),
    ],
    ids=str,
)
def test_what_is_no_picture_gives_none(sample):
    assert thumbnail(sample) == ""


# -- failures


def test_the_worst_of_each_group_is_shown_and_one_at_random(execution):
    found = gallery(execution(answer=lambda inputs: [int(i) % 9 for i in inputs]))
    assert found["failures"] > 4
    by_group = {}
    for failure in found["shown"]:
        by_group.setdefault(failure["stratum"], []).append(failure["picked"])
    assert by_group == {"high": ["worst", "random"], "low": ["worst", "random"]}


def test_a_failure_tells_what_was_asked_expected_and_answered(execution):
    found = gallery(execution(answer=lambda inputs: [int(i) % 10 if i != 23 else 8 for i in inputs]))
    assert found["shown"] == [
        {
            "item": 23,
            "stratum": "high",
            "picked": "worst",
            "score": 0.0,
            "asked": 1,
            "answered": "8",
            "expected": "3",
        }
    ]


def test_a_request_that_failed_says_how(execution):
    told = {failure["item"]: failure["answered"] for failure in gallery(execution())["shown"]}
    assert told[13] == "no answer (error: ValueError: thirteen)"
    assert told[17].startswith("no answer (empty")


def test_the_same_run_gives_the_same_gallery(execution):
    run = execution(answer=lambda inputs: [0 for _ in inputs])
    assert gallery(run) == gallery(run)


def test_without_failures_there_is_no_gallery(execution):
    assert gallery(execution(answer=lambda inputs: [int(i) % 10 for i in inputs])) is None


def withholding(execution, **more):
    run = execution()
    object.__setattr__(run.slice.dataset, "show_samples", False)
    try:
        return gallery(run, **more)
    finally:
        object.__setattr__(run.slice.dataset, "show_samples", True)


def test_a_dataset_that_withholds_its_samples_shows_numbers_alone(execution):
    found = withholding(execution)
    assert found["withheld"]
    assert {key for failure in found["shown"] for key in failure} == {
        "item", "stratum", "picked", "score", "asked",
    }  # fmt: skip


def test_a_session_that_keeps_no_texts_shows_none(execution):
    assert gallery(execution(), texts=False)["withheld"]


def test_what_is_to_be_redacted_is_blacked_out(execution):
    told = gallery(execution(), redact=re.compile("thirteen"))["shown"]
    assert "no answer (error: ValueError: █)" in [failure["answered"] for failure in told]


@pytest.mark.parametrize("value", [1, None, "no"])
def test_a_dataset_says_plainly_whether_its_samples_may_be_shown(value):
    with pytest.raises(DeclarationError, match="expected True or False"):
        Dataset.from_arrays("numbers", inputs=[1], references=[1], show_samples=value)


class Talkative:
    def __repr__(self):
        raise AssertionError("the candidate's own code ran")

    __str__ = __repr__


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (np.int64(3), "3"),
        (np.float32(0.5), "0.5"),
        ("a\ud800b", "a\\ud800b"),
        ("x" * 300, "x" * 239 + "…"),
        ([1, "a"], "1, a"),
        ({"role": "user"}, "role: user"),
        (np.zeros((3, 4)), "array of 3 x 4 float64"),
        (Talkative(), "a Talkative"),
    ],
)
def test_answers_are_written_without_running_their_code(value, told):
    assert galleries._text(value) == told


# -- pairs


def scored(execution, wrong):
    return answered_right(
        execution(answer=lambda inputs: [-1 if int(i) in wrong else int(i) % 10 for i in inputs])
    )


def requirement(*names):
    return {
        "id": "r",
        "question": "",
        "scenario": "",
        "results": [{"candidate": n, "test": n} for n in names],
    }


def test_two_candidates_are_paired_item_by_item(execution):
    right = {"a": scored(execution, {1, 2}), "b": scored(execution, {2, 3, 4})}
    (pair,) = paired([requirement("a", "b")], right, confidence=0.95)
    assert (pair["only_candidate"], pair["only_other"], pair["n"]) == (2, 1, 60)
    bounds = stats.round_outward(stats.paired_share_bounds(56, 2, 1, 1, confidence=0.95))
    assert (pair["low"], pair["high"]) == (bounds.low, bounds.high)
    assert pair["difference"] == pytest.approx(1 / 60, abs=1e-6)


class Slice:
    digest = "d"

    def __init__(self, clusters=None):
        self.groupings = () if clusters is None else (clusters,)

    def __len__(self):
        return 60


def graded(low, clusters=None):
    """How 60 items were answered: scores of 0.9, of some 0.5."""
    scores = np.where(np.isin(np.arange(60), list(low)), 0.5, 0.9)
    return answered_right(
        SimpleNamespace(scores={"rouge": scores}, items=np.arange(60), slice=Slice(clusters))
    ), scores


def test_graded_scores_are_paired_by_what_decides_a_bar_on_them():
    (ours, a), (theirs, b) = graded(range(5)), graded(range(3, 40))
    (pair,) = paired([requirement("a", "b")], {"a": ours, "b": theirs}, confidence=0.95)
    decided = _difference_at(Contrast(a, b, None, as_ratio=False), 0.95)
    assert pair["difference"] == pytest.approx(float((a - b).mean()), abs=1e-6)
    assert pair["low"] * 100 == pytest.approx(decided.low, abs=1e-3)
    assert pair["high"] * 100 == pytest.approx(decided.high, abs=1e-3)
    assert (pair["only_candidate"], pair["only_other"], pair["n"]) == (35, 3, 60)


def test_items_in_clusters_are_paired_by_cluster():
    clusters = np.repeat(np.arange(30), 2)
    (ours, a), (theirs, b) = graded(range(5), clusters), graded(range(3, 40), clusters)
    (pair,) = paired([requirement("a", "b")], {"a": ours, "b": theirs}, confidence=0.95)
    decided = _difference_at(Contrast(a, b, clusters, as_ratio=False), 0.95)
    assert pair["low"] * 100 == pytest.approx(decided.low, abs=1e-3)
    assert pair["high"] * 100 == pytest.approx(decided.high, abs=1e-3)


def test_too_few_clusters_give_no_range_and_so_no_pair():
    clusters = np.repeat(np.arange(6), 10)
    (ours, _), (theirs, _) = graded(range(5), clusters), graded(range(9), clusters)
    assert paired([requirement("a", "b")], {"a": ours, "b": theirs}, confidence=0.95) == []


def test_one_who_is_always_right_is_paired_with_one_who_is_graded():
    (ours, _), (theirs, _) = graded([]), graded(range(9))
    ours = {k: v for k, v in ours.items() if k != "scores"} | {"right": ours["asked"]}
    (pair,) = paired([requirement("a", "b")], {"a": ours, "b": theirs}, confidence=0.95)
    assert pair["only_candidate"] == 60


def test_graded_scores_travel_as_plain_data():
    told, _ = graded(range(5), np.repeat(np.arange(30), 2))
    assert json.loads(json.dumps(told)) == told


def test_other_items_are_not_paired(execution):
    right = {"a": scored(execution, {1}), "b": scored(execution, {2}) | {"slice": "another"}}
    assert paired([requirement("a", "b")], right, confidence=0.95) == []


def test_a_candidate_without_a_result_is_left_out(execution):
    assert paired([requirement("a", "b")], {"a": scored(execution, {1})}, confidence=0.95) == []


def test_of_many_candidates_each_is_paired_with_the_first(execution):
    right = {name: scored(execution, {1}) for name in "abcdefgh"}
    found = paired([requirement(*"abcdefgh")], right, confidence=0.95)
    assert [pair["candidate"] for pair in found] == ["a"] * 7


def test_what_travels_is_plain_data(execution):
    told = scored(execution, {1})
    assert json.loads(json.dumps(told)) == told


# -- the rule's curve


def test_a_share_has_its_curve_and_it_starts_near_the_consumers_risk(run_case):
    case = run_case(answer=lambda i: [int(k) % 10 for k in i], bars=[("accuracy", {"at_least": 0.9})])
    _, (finding,) = case.conclude()
    curve = finding_record(finding, case.policy)["characteristic"]
    at_bar = np.interp(0.9, *zip(*curve, strict=True))
    assert at_bar <= case.policy.consumer_risk + 0.02
    chances = [chance for _, chance in curve]
    assert chances == sorted(chances)


def test_the_curve_of_an_at_most_bar_falls(run_case):
    case = run_case(bars=[("error_rate", {"at_most": 0.2})])
    _, (finding,) = case.conclude()
    curve = finding_record(finding, case.policy)["characteristic"]
    assert [x for x, _ in curve] == sorted(x for x, _ in curve)
    assert curve[0][1] > curve[-1][1]


@pytest.mark.parametrize("bar", [("cost_per_request", {"at_most": "1 USD"}), ("own.joy", {"at_least": 3})])
def test_what_is_no_share_has_none(run_case, bar):
    case = run_case(bars=[bar])
    _, (finding,) = case.conclude()
    assert "characteristic" not in finding_record(finding, case.policy)


@given(st.integers(1, 400), st.floats(0.5, 0.99))
def test_the_allowed_failures_are_the_most_that_the_bound_allows(n, bar):
    allowed = _allowed_failures(n, bar, 0.05)

    def accepts(failures):
        return stats.share_bounds(n - failures, n, confidence=0.95).low >= bar

    if allowed is None:
        assert not accepts(0)
    else:
        assert accepts(allowed)
        assert allowed == n or not accepts(allowed + 1)


def test_a_key_in_an_answer_is_not_cut_in_two():
    keep_secret("GALLERY_KEY", "K3y" + "0123456789" * 4)
    assert "K3y" not in galleries._text("." * 220 + "K3y" + "0123456789" * 4)
