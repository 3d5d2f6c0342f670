"""The failure gallery: which samples were answered badly, the worst and some at random from each group."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.driver.log import Status
from pytest_procure.metrics import Execution
from pytest_procure.redaction import without_keys

from .shown import FailureRecord, GalleryRecord
from .thumbnails import thumbnail

#: Of each group: the worst one, and one at random. At most this many in all, the worst groups first.
_A_GROUP, _IN_ALL = 2, 12
_LONGEST = 240
#: Thumbnails of one run, in characters of base64: a report has to stay small enough for mail.
_PICTURES = 16_000
_PLAIN = (str, bool, int, float, type(None))


def gallery(
    run: Execution, *, texts: bool = True, redact: re.Pattern[str] | None = None
) -> GalleryRecord | None:
    """Pick failures by the first scorer; None where nothing is scored or nothing failed.

    An item has failed when the mean of its scores is below 1; where scores are graded, below the mean of all.
    The worst have the lowest mean; what is equal, and what is picked at random, goes by numbers of a fixed
    generator (PCG64, seed 0): the same log gives the same gallery. Where the dataset withholds its samples,
    their text, picture, reference and answer stay out; the same without `texts`. What matches `redact` is
    blacked out.
    """
    if not run.scores:
        return None
    scorer, scores = next(iter(run.scores.items()))
    items, place, asked = _counted(run.items)
    means = np.bincount(place, weights=scores) / asked
    graded = not np.isin(scores, (0.0, 1.0)).all()
    bad = np.flatnonzero(means < (means.mean() if graded else 1.0))
    if not len(bad):
        return None
    shown = texts and run.slice.dataset.show_samples
    groups = _strata(run, items)
    picked = _picked(bad, means, groups)
    records: list[FailureRecord] = []
    pictures = 0
    for index, why in picked:
        record: FailureRecord = {
            "item": int(items[index]),
            "stratum": groups[index],
            "picked": "worst" if why == 0 else "random",
            "score": round(float(means[index]), 6),
            "asked": int(asked[index]),
        }
        if shown:
            told = _contents(run, int(items[index]), _first_answer(place, scores, index), redact)
            pictures += len(told.get("image", ""))
            if pictures > _PICTURES:
                told.pop("image", None)
            record.update(told)
        records.append(record)
    return {
        "scorer": scorer,
        "failures": len(bad),
        "of": len(items),
        "withheld": not shown,
        "shown": records,
    }


def _strata(run: Execution, items: NDArray[np.int64]) -> list[str]:
    """List the group of each item; "" where none are declared."""
    if run.slice.strata is None:
        return [""] * len(items)
    groups: list[str] = run.slice.strata[items].tolist()
    return groups


def _picked(bad: NDArray[np.intp], means: NDArray[np.float64], groups: list[str]) -> list[tuple[int, int]]:
    """Pick (place among the items, 0: worst or 1: random), group by group, the most failures first."""
    keys = np.random.PCG64(0).random_raw(len(means))
    by_group: dict[str, list[int]] = {}
    for index in sorted(bad.tolist(), key=lambda i: (means[i], keys[i])):
        by_group.setdefault(groups[index], []).append(index)
    found: list[tuple[int, int]] = []
    for group in sorted(by_group, key=lambda name: (-len(by_group[name]), name)):
        worst, *others = by_group[group]
        found.append((worst, 0))
        # Keys again, turned round: the order above has used them for ties.
        found += [(index, 1) for index in sorted(others, key=lambda i: ~keys[i])[: _A_GROUP - 1]]
    return found[:_IN_ALL]


def _counted(items: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Give the items asked, the place of each sample's among them, and how often each was asked."""
    counts = np.bincount(items)  # np.unique sorts, which takes ten times as long
    there = np.flatnonzero(counts)
    places = np.zeros(len(counts), np.intp)
    places[there] = np.arange(len(there))
    return there, places[items], counts[there]


def _first_answer(place: NDArray[np.intp], scores: NDArray[np.float64], index: int) -> int:
    """Tell which sample shows an item best: the first of its answers with the lowest score."""
    samples = np.flatnonzero(place == index)
    return int(samples[np.argmin(scores[samples])])


def _contents(run: Execution, item: int, sample: int, redact: re.Pattern[str] | None) -> Any:
    """Show what was asked, expected and answered, as far as it is plain data."""
    data = run.slice
    told: dict[str, str] = {"answered": _answered(run, sample)}
    if data.references is not None:
        told["expected"] = _text(data.references[item])
    image = thumbnail(data.inputs[item])
    if image:
        told["image"] = image
    elif isinstance(data.inputs[item], (*_PLAIN, dict, list)):
        told["text"] = _text(data.inputs[item])
    if redact is not None:
        told |= {key: redact.sub("█", value) for key, value in told.items() if key != "image"}
    return told


def _answered(run: Execution, sample: int) -> str:
    for log in run.logs:
        if sample < len(log.samples):
            query = sample // log.samples_per_query
            status = Status(log.status[query])
            if status is Status.OK:
                return _text(log.answers[sample])
            why = log.errors.get(query, "")
            return _cut(f"no answer ({status.name.lower()}{': ' if why else ''}{why})")
        sample -= len(log.samples)
    raise IndexError(sample)


def _text(value: Any) -> str:
    """Write plain data; of anything else only what it is, because its text is its own code."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if type(value) is float:
        return f"{value:.6g}"
    if type(value) in _PLAIN:
        return _cut(str(value))
    if type(value) in {list, tuple}:
        return _cut(", ".join(_text(each) for each in value[:20]))
    if type(value) is dict:
        return _cut("; ".join(f"{_text(key)}: {_text(each)}" for key, each in list(value.items())[:20]))
    if isinstance(value, np.ndarray):
        return f"array of {' x '.join(map(str, value.shape))} {value.dtype}"
    return f"a {type(value).__name__}"


def _cut(text: str) -> str:
    # A lone surrogate is in no file, and JSON's escape of it is refused by strict readers.
    plain = without_keys(text)[: _LONGEST + 1].encode("utf-8", "backslashreplace").decode("utf-8")
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"
