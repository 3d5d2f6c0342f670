"""Where a run is not what was sealed.

    loosened            a bar moved in the lax direction, a bigger risk, fewer requests, a longer deadline
    missing             sealed, and not in the run: a bar, an assert, an item
    changed             other than sealed, in no direction that is known to be lax
    added               more than was sealed: an item, a file
    not pre-registered  a requirement, bar, assert or candidate that the seal does not know

A declared deviation lets pass what is `declarable`. What makes a requirement easier, or the thing tested
another one (its model, its items, how they are scored), takes a new seal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pytest_procure.errors import ProcureError
from pytest_procure.units import Quantity

from . import laxity
from .laxity import is_more
from .record import DifferenceRecord
from .series import MODEL
from .spec import SealedBar, SealedRequirement, SealedSlice, Spec

Kind = Literal["changed", "added", "missing", "loosened", "not pre-registered"]
SUITE = "suite"


def difference(  # noqa: PLR0913 - what a difference says
    kind: Kind,
    subject: str,
    what: str,
    sealed: object,
    ran: object,
    *,
    declarable: bool,
    candidate: str = "",
    sentence: str = "",
) -> DifferenceRecord:
    """Write down a difference; its sentence follows from its kind where none is given."""
    before, now = _shown(sealed), _shown(ran)
    told = sentence or _SENTENCES[kind].format(what=what, sealed=before or "nothing", ran=now or "nothing")
    return {
        "kind": kind,
        "id": subject,
        "what": what,
        "sealed": before,
        "ran": now,
        "sentence": f"{subject}: {told}",
        "declarable": declarable,
        "declared": False,
        "candidate": candidate,
    }


_SENTENCES: dict[Kind, str] = {
    "changed": "{what} was sealed as {sealed} and is {ran}",
    "added": "{what} was added after the seal: {ran}",
    "missing": "{what} was sealed ({sealed}) and is missing",
    "loosened": "{what} is loosened, from {sealed} as sealed to {ran}",
    "not pre-registered": "{what} is not pre-registered: {ran}",
}


def suite_differences(sealed: Spec, ran: Spec) -> Iterator[DifferenceRecord]:
    """Compare what concerns the suite as a whole: rule, task, files, expiry, plugin."""
    yield from _rule(sealed["rule"], ran["rule"])
    for key in sorted({*sealed["task"], *ran["task"]}):
        before, now = sealed["task"].get(key, ""), ran["task"].get(key, "")
        if before != now:
            yield difference("changed", SUITE, key.replace("_", " "), before, now, declarable=True)
    if sealed["expires"] != ran["expires"]:
        later = not ran["expires"] or (sealed["expires"] and ran["expires"] > sealed["expires"])
        kind: Kind = "loosened" if later else "changed"
        yield difference(
            kind, SUITE, "the expiry", sealed["expires"], ran["expires"], declarable=kind == "changed"
        )
    if sealed["retest"] != ran["retest"]:
        yield difference(
            "changed", SUITE, "what asks for a new run", sealed["retest"], ran["retest"], declarable=True
        )
    if sealed["plugin"] != ran["plugin"]:
        yield difference("changed", SUITE, "pytest-procure", sealed["plugin"], ran["plugin"], declarable=True)
    # Of a part of the suite nobody can say what the rest no longer draws on.
    whole = sealed["requirements"].keys() <= ran["requirements"].keys()
    for file in sorted({*(sealed["files"] if whole else ()), *ran["files"]}):
        before, now = sealed["files"].get(file, ""), ran["files"].get(file, "")
        if before != now:
            yield _file(file, before, now)


def candidate_differences(sealed: Spec, name: str, stated: Mapping[str, Any]) -> Iterator[DifferenceRecord]:
    """Compare what an offer states with what it stated when it was sealed."""
    known = sealed["candidates"].get(name)
    if known is None:
        yield difference(
            "not pre-registered", name, "the candidate", "", name, declarable=True, candidate=name
        )
        return
    for what, before, now in _leaves(known["stated"], stated):
        yield difference("changed", name, f"`{what}`", before, now, declarable=True, candidate=name)


def disclosed_differences(
    sealed: Spec, name: str, disclosed: Mapping[str, Any]
) -> Iterator[DifferenceRecord]:
    """Compare what a loaded backend discloses: another model is another offer, another driver is told."""
    known = sealed["candidates"].get(name)
    if known is None:
        return  # the candidate itself is not pre-registered
    for what, before, now in _leaves(known["disclosed"], disclosed):
        model = any(part in MODEL for part in what.split(" / "))
        told = f"the model is not the sealed one: `{what}` was {_shown(before)} and is {_shown(now)}"
        yield difference(
            "changed",
            name,
            f"`{what}`",
            before,
            now,
            declarable=not model,
            candidate=name,
            sentence=told if model else "",
        )


def requirement_differences(sealed: Spec, subject: str, ran: SealedRequirement) -> Iterator[DifferenceRecord]:
    """Compare a requirement as its test declares it with the sealed one; the lax come first."""
    known = sealed["requirements"].get(subject)
    if known is None:
        yield difference(
            "not pre-registered", subject, "the requirement", "", ran["question"], declarable=True
        )
        return
    found = [
        *_bars(subject, known["bars"], ran["bars"]),
        *_asserts(subject, known["asserts"], ran["asserts"]),
        *_scenario(subject, known["scenario"], ran["scenario"]),
    ]
    told: tuple[tuple[str, object, object], ...] = (
        ("its question", known["question"], ran["question"]),
        ("its owner", known["owner"], ran["owner"]),
        ("its risk", known["risk"], ran["risk"]),
        ("its waivers", known["waivers"], ran["waivers"]),
    )
    found += [
        difference("changed", subject, what, before, now, declarable=True)
        for what, before, now in told
        if before != now
    ]
    if known["source"] != ran["source"]:
        said = "the source of its test was changed after the seal"
        found.append(
            difference(
                "changed", subject, "source", known["source"], ran["source"], declarable=True, sentence=said
            )
        )
    yield from sorted(found, key=lambda each: each["declarable"])


def slice_differences(
    subject: str, candidate: str, name: str, sealed: SealedSlice, ran: SealedSlice
) -> Iterator[DifferenceRecord]:
    """Compare the samples that a test was given with the sealed ones, item by item."""
    before, now = Counter(sealed["items"]), Counter(ran["items"])
    gone, new = (before - now).total(), (now - before).total()
    total = len(sealed["items"])

    def told(kind: Kind, sentence: str, *, declarable: bool) -> DifferenceRecord:
        return difference(
            kind,
            subject,
            f"items of {name}",
            total,
            len(ran["items"]),
            declarable=declarable,
            candidate=candidate,
            sentence=sentence,
        )

    if gone:
        are = "is" if gone == 1 else "are"
        yield told(
            "missing",
            f"{gone:,} of the {total:,} sealed items of `{name}` {are} missing from the run",
            declarable=False,
        )
    if new:
        yield told("added", f"{new:,} items of `{name}` were not sealed", declarable=True)
    if not (gone or new) and sealed["root"] != ran["root"]:
        yield told("changed", f"the items of `{name}` stand in another order than sealed", declarable=True)
    if sealed["groups"] != ran["groups"] and not (gone or new):
        yield told(
            "changed", f"strata or clusters of `{name}` are not as sealed", declarable=False
        )  # they make the sample size
    for what, old, given in _leaves(sealed["scorers"], ran["scorers"]):
        yield difference(
            "changed", subject, f"scorer `{what}`", old, given, declarable=False, candidate=candidate
        )
    for what, old, given in _leaves(sealed["about"], ran["about"]):
        if what.startswith("stage_labels"):
            labels = f"the labels of stage `{what.rpartition(' / ')[2]}` of `{name}`"
            yield told("changed", f"{labels} are not the sealed ones", declarable=False)
        if what.split(" / ")[0] in {"name", "version", "licence", "source", "rule", "caveats"}:
            yield difference(
                "changed", subject, f"data: `{what}`", old, given, declarable=True, candidate=candidate
            )


def _rule(sealed: Mapping[str, Any], ran: Mapping[str, Any]) -> Iterator[DifferenceRecord]:
    yield from _audit(sealed.get("audit"), ran.get("audit"))
    for key in sorted({*sealed, *ran} - {"audit"}):
        before, now = sealed.get(key), ran.get(key)
        if before == now:
            continue
        strict = {
            "award": now == "all",
            "min_clusters": is_more(now, before),
            "candidates": is_more(now, before),
        }.get(key, is_more(before, now))
        lax = not strict
        kind: Kind = "loosened" if lax else "changed"
        yield difference(kind, SUITE, f"`{key}`", before, now, declarable=not lax)


def _audit(sealed: Any, ran: Any) -> Iterator[DifferenceRecord]:
    """Compare the thresholds of a run's audit, of which most are about the harness and ease nothing."""
    for key, before, now in _leaves(sealed or {}, ran or {}):
        lax = laxity.is_lax_threshold(key, before, now)
        kind: Kind = "loosened" if lax else "changed"
        yield difference(kind, SUITE, f"`procure_{key}`", before, now, declarable=not lax)


def _file(file: str, before: str, now: str) -> DifferenceRecord:
    if not before:
        said = "the tests draw on it, and it was not sealed"
        return difference("added", file, "the file", before, now, declarable=True, sentence=said)
    if not now:
        said = "the file was sealed and the tests no longer draw on it"
        return difference("missing", file, "the file", before, now, declarable=True, sentence=said)
    said = "the file was changed after the seal"
    return difference("changed", file, "the file", before, now, declarable=True, sentence=said)


def _bars(subject: str, sealed: list[SealedBar], ran: list[SealedBar]) -> Iterator[DifferenceRecord]:
    before, now = ({(b["metric"], b["sense"]): b for b in bars} for bars in (sealed, ran))
    for key in dict.fromkeys([*before, *now]):
        name = f"bar `{key[0]}`"
        old, new = before.get(key), now.get(key)
        if new is None:
            yield difference("missing", subject, name, _asked(old), "", declarable=False)
        elif old is None:
            yield difference("not pre-registered", subject, name, "", _asked(new), declarable=True)
        else:
            yield from _bar(subject, name, old, new)


def _bar(subject: str, name: str, old: SealedBar, new: SealedBar) -> Iterator[DifferenceRecord]:
    if (old["value"], old["unit"]) != (new["value"], new["unit"]):
        better = _better(old, new)
        kind: Kind = "changed" if better else "loosened"
        yield difference(kind, subject, name, _asked(old), _asked(new), declarable=better)
    if old["consumer_risk"] != new["consumer_risk"]:
        smaller = is_more(old["consumer_risk"], new["consumer_risk"])
        yield difference(
            "changed" if smaller else "loosened",
            subject,
            f"the consumer's risk of {name}",
            old["consumer_risk"] or "the suite's",
            new["consumer_risk"] or "the suite's",
            declarable=smaller,
        )
    if old["latency"] != new["latency"] or old["correct"] != new["correct"]:
        asked = [" and ".join(part for part in (b["latency"], b["correct"]) if part) for b in (old, new)]
        yield difference("changed", subject, f"what {name} asks of a request", *asked, declarable=False)
    if old["design"] != new["design"]:
        yield difference(
            "changed", subject, f"the design value of {name}", old["design"], new["design"], declarable=True
        )


def _asserts(subject: str, sealed: list[str], ran: list[str]) -> Iterator[DifferenceRecord]:
    before, now = Counter(sealed), Counter(ran)
    for text in (before - now).elements():
        yield difference("missing", subject, f"`{text}`", text, "", declarable=False)
    for text in (now - before).elements():
        yield difference("not pre-registered", subject, f"`{text}`", "", text, declarable=True)


def _scenario(subject: str, sealed: Mapping[str, Any], ran: Mapping[str, Any]) -> Iterator[DifferenceRecord]:
    found = list(_leaves(sealed, ran))
    own = [each for each in found if each[0] not in laxity.DERIVED]
    for what, before, now in own or found:
        condition = what.partition(" / ")[0]
        lax = laxity.is_lax(condition, before, now)
        kind: Kind = "loosened" if lax else "changed"
        yield difference(
            kind,
            subject,
            f"`{what}`",
            before,
            now,
            declarable=not lax and condition not in laxity.IDENTITY,
        )


def _better(old: SealedBar, new: SealedBar) -> bool:
    """Whether the new bar asks for more. Values that cannot be compared are taken for lax."""
    try:
        before, now = (Quantity.of(bar["value"], bar["unit"]) for bar in (old, new))
        return now > before if new["sense"] == "at least" else now < before
    except (ProcureError, TypeError):
        return False


def _leaves(sealed: Any, ran: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Give (where, sealed, ran) for every leaf of plain data in which two of them differ."""
    if isinstance(sealed, Mapping) and isinstance(ran, Mapping):
        for key in sorted({*sealed, *ran}):
            yield from _leaves(sealed.get(key), ran.get(key), f"{path} / {key}" if path else str(key))
    elif isinstance(sealed, list) and isinstance(ran, list) and len(sealed) == len(ran):
        for place, (before, now) in enumerate(zip(sealed, ran, strict=True), start=1):
            yield from _leaves(before, now, f"{path} / {place}" if path else str(place))
    elif sealed != ran:
        yield path, sealed, ran


def _asked(bar: SealedBar | None) -> str:
    return "" if bar is None else f"{bar['sense']} {bar['value']} {bar['unit']}".strip()


def _shown(value: object) -> str:
    if value is None:
        return ""
    text = str(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
