"""A language model as judge: whether an answer is right in its opinion, and how often people agree with it.

first use ──► asked about the answers that people have labelled ──► agreement, with the numbers of a bound
each answer ──► prompt ──► endpoint ──► what it said, kept ──► read as right or wrong
"""

from __future__ import annotations

import hashlib
import string
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_procure.backends.function import Function, qualified_name
from pytest_procure.backends.protocol import Answer, Backend, LoadedBackend
from pytest_procure.calling import declaring
from pytest_procure.errors import DataError, DeclarationError
from pytest_procure.redaction import redacted, redacted_data

from .digests import canonical
from .places import base

#: A judge that cannot be reached is asked so often in all; what it says is never asked for twice.
ATTEMPTS = 3
_FIELDS = frozenset({"output", "reference"})

#: (output, reference) -> the sample that the judge's endpoint is asked.
Prompt = str | Callable[[Any, Any], Any]
#: An output, its reference, and whether a person calls it right.
Label = tuple[Any, Any, bool]


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the judge said of an answer; `right` is None where that could not be read, or nothing was said."""

    said: str
    right: bool | None


def yes_or_no(said: str) -> bool | None:
    """Read an opinion by its first word, "yes" or "no" in any case; None for anything else."""
    words = said.split(maxsplit=1)
    first = words[0].strip(string.punctuation).casefold() if words else ""
    return {"yes": True, "no": False}.get(first)


@declaring
def llm_judge(
    endpoint: Any,
    prompt: Prompt,
    *,
    labels: Sequence[Label] = (),
    agreement: float = 0.8,
    read: Callable[[str], bool | None] = yes_or_no,
) -> Judge:
    """A scorer: whether a language model calls an answer right.

    `endpoint` is a backend, or a function of a batch. `prompt` is a text with `{output}` and `{reference}` in
    it, or a function of both. `read` makes right or wrong of what the judge says; what it cannot read counts
    as wrong, and so does an answer that the endpoint refuses while it judges others. `labels` are answers
    that people have judged: (output, reference, right); one that is given again counts once. The judge is
    asked about them first, and nothing rests on it unless it is shown to agree with people on at least
    `agreement` of those that they call right, and of those that they call wrong (exact binomial bounds,
    one-sided 95 %: 14 labels of each kind, all agreed on, show 0.8). Without labels nothing does. Its metric
    is `quality.judge`, or `quality.NAME` in a mapping. Raises `DeclarationError`.
    """
    if not isinstance(endpoint, Backend) and not callable(endpoint):
        raise DeclarationError(f"the judge is {endpoint!r}; expected a backend, as in OpenAIEndpoint(...)")
    _check_prompt(prompt)
    if not callable(read):
        raise DeclarationError(f"`read={read!r}` of a judge; expected a function of what it says")
    if isinstance(agreement, bool) or not isinstance(agreement, int | float) or not 0 < agreement < 1:
        raise DeclarationError(f"`agreement={agreement!r}` of a judge; expected a share between 0 and 1")
    known = tuple(labels)
    for place, label in enumerate(known):
        if not isinstance(label, tuple | list) or len(label) != 3 or not isinstance(label[2], bool):
            raise DeclarationError(
                f"label {place} of a judge is {_short(label)}; expected (output, reference, True or False)"
            )
    return Judge(endpoint, prompt, known, float(agreement), read)


class Judge:
    """Scores answers by the opinion of a language model; made by `llm_judge`.

    It holds every opinion, so that the same answer is judged once a session.
    """

    __name__ = "judge"

    def __init__(
        self,
        endpoint: Any,
        prompt: Prompt,
        labels: tuple[Label, ...],
        agreement: float,
        read: Callable[[str], bool | None],
    ) -> None:
        self._declared: Backend = endpoint if isinstance(endpoint, Backend) else Function(endpoint)
        self._named = _name(endpoint)
        self._prompt = prompt
        self._labels = labels
        self._agreement = agreement
        self._read = read
        self._base = base()
        self._loaded: LoadedBackend | None = None
        self._opinions: dict[str, Opinion] = {}
        self._last: tuple[Any] | None = None  # the sample that it has answered last
        self._agreed: dict[str, list[int]] | None = None

    def __call__(self, output: Any, reference: Any) -> bool:
        """Whether the judge calls it right. Raises `DataError` for a judge that cannot be asked."""
        self.hold_against_people()
        return bool(self.opinion(output, reference).right)

    def hold_against_people(self) -> None:
        """Ask about the answers that people have labelled, each once a session."""
        if self._agreed is None:
            agreed = {"right": [0, 0], "wrong": [0, 0]}
            # A label that stands there ten times is one.
            different = {canonical(list(label)): label for label in self._labels}
            for output, reference, right in different.values():
                count = agreed["right" if right else "wrong"]
                count[0] += self._opinion(output, reference, label=True).right is right
                count[1] += 1
            self._agreed = agreed

    def opinion(self, output: Any, reference: Any) -> Opinion:
        """What the judge says of an answer; asked for once a session.

        An answer that its endpoint refuses, too long or held back by a filter, while it answers to another is
        one without an opinion: whoever gives the answers chooses them, and must not end the test with one.
        Raises `DataError` where it answers to no other either.
        """
        return self._opinion(output, reference, label=False)

    def describe(self) -> dict[str, Any]:
        """Disclose who judges and how, as plain JSON data: the same before a run as after it."""
        return {
            "judge": self._named,
            "prompt": self._prompt if isinstance(self._prompt, str) else qualified_name(self._prompt),
            "read": qualified_name(self._read),
            "agreement": self._agreement,
            "labels": len(self._labels),
            "labels_sha256": hashlib.sha256(canonical([list(each) for each in self._labels])).hexdigest(),
        }

    def found(self) -> dict[str, Any] | None:
        """How often it agreed with people, and what it said that could not be read; None if never asked."""
        if self._agreed is None or self._loaded is None:
            return None
        unread = sum(opinion.right is None for opinion in self._opinions.values())
        return {
            **self._agreed,  # what people call right, and wrong: [agreed on, labels]
            "opinions": len(self._opinions),
            "unread": unread,
            "disclosed": redacted_data(dict(self._loaded.describe())),
        }

    def _sample(self, output: Any, reference: Any) -> Any:
        if callable(self._prompt):
            return self._prompt(output, reference)
        return self._prompt.format(output=output, reference=reference)

    def _opinion(self, output: Any, reference: Any, *, label: bool) -> Opinion:
        try:
            key = hashlib.sha256(canonical([output, reference])).hexdigest()
            sample = None if key in self._opinions else self._sample(output, reference)
        except Exception as error:  # the prompt is the buyer's, and reads what a candidate said
            if label or not (self._labels or self._takes(reference)):
                raise
            key = hashlib.sha256(_unreadable(output)).hexdigest()
            return self._opinions.setdefault(key, Opinion(f"(no opinion: {type(error).__name__})", None))
        if key not in self._opinions:
            said, problem = self._ask(sample, ATTEMPTS)
            if said is None and not label and self._answers_to_others(reference):
                said, problem = self._ask(sample, 1)  # it may have been away for a moment
                if said is None:
                    self._opinions[key] = Opinion(f"(no opinion: {problem})", None)
                    return self._opinions[key]
            if said is None:
                raise DataError(f"the judge {self._named} gave no opinion in {ATTEMPTS} attempts: {problem}")
            self._last = (sample,)
            self._opinions[key] = Opinion(said, self._right(said, label=label))
        return self._opinions[key]

    def _right(self, said: str, *, label: bool) -> bool | None:
        """Read what it said. It may have said it because of the answer: that must not end the test."""
        try:
            return self._read(said)
        except Exception:
            if label:
                raise
            return None

    def _takes(self, reference: Any) -> bool:
        """Whether a prompt can be made of what the buyer calls right."""
        try:
            canonical([reference, reference])
            self._sample(reference, reference)
        except Exception:  # noqa: BLE001 - the buyer's code may raise anything
            return False
        return True

    def _answers_to_others(self, reference: Any) -> bool:
        """Ask what it has answered to before, or else of what the buyer calls right; whether it answers."""
        try:
            (sample,) = self._last or (self._sample(reference, reference),)
        except Exception:  # noqa: BLE001 - a prompt that takes outputs alone: then nobody knows
            return False
        return self._ask(sample, ATTEMPTS)[0] is not None

    def _ask(self, sample: Any, attempts: int) -> tuple[str | None, str]:
        """Give what it says; None, and why, where it says nothing."""
        problem = ""
        for _ in range(attempts):
            try:
                (answer,) = self._backend().predict([sample])
            except Exception as error:  # noqa: BLE001 - whatever it raises, it has given no opinion
                problem = redacted(" ".join(f"{type(error).__name__}: {error}".split()))
                continue
            answer = answer if isinstance(answer, Answer) else Answer(answer)
            if isinstance(answer.output, str):
                return answer.output, ""
            problem = answer.error or f"it answered with {type(answer.output).__name__}, expected a text"
        return None, problem

    def _backend(self) -> LoadedBackend:
        if self._loaded is None:
            self._loaded = self._declared.load(self._base)
            weakref.finalize(self, self._loaded.close)  # a served judge is a process of ours
        return self._loaded


def _check_prompt(prompt: object) -> None:
    if callable(prompt):
        return
    if not isinstance(prompt, str):
        raise DeclarationError(f"`prompt={prompt!r}` of a judge; expected a text, or a function")
    try:
        fields = {name for _, name, _, _ in string.Formatter().parse(prompt) if name is not None}
    except ValueError as error:
        raise DeclarationError(f"the prompt of a judge cannot be filled: {error}") from None
    if "output" not in fields or not fields <= _FIELDS:
        raise DeclarationError(
            f"the prompt of a judge asks for {', '.join(sorted(fields)) or 'nothing'}; expected "
            "`{output}`, and `{reference}` where it is to see what is right"
        )


def _name(endpoint: Any) -> str:
    """Name the endpoint without what it holds: the same in every session."""
    if not isinstance(endpoint, Backend):
        return qualified_name(endpoint)
    told = [getattr(endpoint, name, None) for name in ("model", "url")]
    return " ".join([type(endpoint).__name__, *(redacted(each) for each in told if isinstance(each, str))])


def _unreadable(output: Any) -> bytes:
    """Tell apart answers of which no prompt can be made, as far as that goes."""
    try:
        return b"unreadable\0" + repr(output).encode("utf-8", "replace")
    except Exception:  # noqa: BLE001 - nested too deeply, for example
        return b"unreadable\0" + type(output).__name__.encode()


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
