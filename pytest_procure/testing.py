"""For authors of backends: what every backend has to keep, as one check that any of them can run.

    from pytest_procure.testing import backend_contract

    def test_my_backend_keeps_the_contract(tmp_path):
        backend_contract(MyBackend("model.bin"), base=tmp_path, inputs=samples, expected=labels)

The promises, each a function here, are checked one after the other on a backend that is loaded for it, and
all that are broken are told together. A driver relies on every one of them.
"""

from __future__ import annotations

import copy
import json
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .backends.orphans import watched
from .backends.protocol import Answer, Backend, LoadedBackend
from .redaction import quoted

__all__ = ["backend_contract"]

#: Variables whose values nobody may disclose.
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
#: A shorter value is found in any text.
_SHORTEST_SECRET = 6
_THREADS = 4
_ROUNDS = 8
_PATIENCE_S = 120.0

Same = Callable[[Any, Any], bool]


@dataclass(frozen=True, slots=True)
class _Trial:
    """A backend under test, and what it is asked."""

    declared: Any
    base: Path
    inputs: Any
    expected: Sequence[Any] | None
    same: Same
    bad_input: Any
    secrets: tuple[str, ...]

    def load(self) -> LoadedBackend:
        loaded: LoadedBackend = self.declared.load(self.base)
        return loaded

    def batch(self, places: Sequence[int]) -> Any:
        """The inputs at these places, as a driver gives them: a read-only array, or a list."""
        if isinstance(self.inputs, np.ndarray):
            rows = self.inputs[np.asarray(places, dtype=np.intp)]
            rows.flags.writeable = False
            return rows
        return [self.inputs[place] for place in places]

    def ask(self, loaded: LoadedBackend, places: Sequence[int]) -> list[Any]:
        """The plain outputs for these places."""
        answers = loaded.predict(self.batch(places))
        assert not isinstance(answers, str | bytes | Mapping), (
            f"`predict` gave one {type(answers).__name__}; expected a sequence of outputs"
        )
        assert hasattr(answers, "__len__"), f"`predict` gave a {type(answers).__name__} without a length"
        assert len(answers) == len(places), f"`predict` gave {len(answers)} outputs for {len(places)} inputs"
        return [each.output if isinstance(each, Answer) else each for each in answers]

    def check(self, given: Sequence[Any], right: Sequence[Any], what: str) -> None:
        for place, (one, other) in enumerate(zip(given, right, strict=True)):
            assert self.same(one, other), f"{what}: output {place} is {_short(one)}, expected {_short(other)}"


def backend_contract(  # noqa: PLR0913 - keywords only, one for each thing that differs between backends
    declared: Backend,
    *,
    base: Path,
    inputs: Any,
    expected: Sequence[Any] | None = None,
    same: Same | None = None,
    bad_input: Any = None,
    secrets: Sequence[str] = (),
) -> None:
    """Check that a declared backend keeps the contract. Raises `AssertionError` that names what it breaks.

    `base` is the folder that its relative paths start from. `inputs`: 3 samples or more, different ones, an
    array `(n, ...)` or a list; `expected`: the right output of each, where it is known. `same(output, other)`
    compares two outputs: equal by default, arrays to 1e-4. `bad_input`: a whole batch that the backend has to
    refuse with an exception, if there is one. `secrets`: values that must not be disclosed, beside those of
    the environment.
    """
    assert len(inputs) >= 3, "the contract takes 3 samples or more"
    hidden = [value for name, value in os.environ.items() if _SECRET.search(name)]
    secret = tuple(value for value in [*secrets, *hidden] if len(value) >= _SHORTEST_SECRET)
    trial = _Trial(declared, base, inputs, expected, same or _same, bad_input, secret)
    broken = []
    for promise in _PROMISES:
        said = _kept(promise, trial)
        if said:
            broken.append(f"{(promise.__doc__ or '').splitlines()[0].rstrip('.')}: {said}")
    assert not broken, "\n".join(["the backend breaks its contract", *(f"  - {each}" for each in broken)])


def _kept(promise: Callable[[_Trial], None], trial: _Trial) -> str:
    """Give what is wrong, or nothing. A promise that is never answered is broken as well."""
    said: list[str] = []

    def look() -> None:
        try:
            with watched():
                promise(trial)
        except AssertionError as error:
            said.append(str(error))
        except BaseException as error:  # noqa: BLE001 - whatever a backend raises, it breaks the promise
            said.append(f"raised {type(error).__name__}: {quoted(str(error), 200)}")

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(_PATIENCE_S)
    if thread.is_alive():
        return f"a call did not return within {_PATIENCE_S:g} s"
    return said[0] if said else ""


# -- the promises -----------------------------------------------------------------------------------------


def _declared_is_cheap(trial: _Trial) -> None:
    """A declared backend is no loaded one, and can be declared without being loaded."""
    assert not isinstance(trial.declared, type), "a class was given; expected a backend made of it"
    assert isinstance(trial.declared, Backend), "it has no method `load(base)`"
    assert not isinstance(trial.declared, LoadedBackend), "`load` and `predict` belong on two objects"


def _loads(trial: _Trial) -> None:
    """What is loaded has predict, describe, close, device and releases_gil."""
    loaded = trial.load()
    try:
        assert isinstance(loaded, LoadedBackend), f"`load` gave a {type(loaded).__name__} that lacks some"
        assert isinstance(loaded.device, str), f"`device` is {loaded.device!r}; expected a text such as 'cpu'"
        assert loaded.device.strip(), "`device` is empty; expected a text such as 'cpu'"
        assert isinstance(loaded.releases_gil, bool), f"`releases_gil` is {loaded.releases_gil!r}"
    finally:
        loaded.close()


def _discloses(trial: _Trial) -> None:
    """What it discloses is plain JSON data without secrets and without folders of this machine."""
    loaded = trial.load()
    try:
        described = dict(loaded.describe())
        text = json.dumps(described, allow_nan=False)
        assert json.loads(text) == described, "it does not survive JSON: keys are texts, sequences are lists"
        for secret in trial.secrets:
            assert json.dumps(secret)[1:-1] not in text, "it holds the value of a secret"
        assert str(trial.base) not in text, f"it holds the folder {trial.base}"
        assert dict(loaded.describe()) == described, "it says something else when asked again"
    finally:
        loaded.close()


def _answers_in_order(trial: _Trial) -> None:
    """Outputs stand in the order of the inputs, whatever the batch."""
    loaded = trial.load()
    try:
        places = list(range(len(trial.inputs)))
        singly = [trial.ask(loaded, [place])[0] for place in places]
        if trial.expected is not None:
            trial.check(singly, trial.expected, "asked one by one")
        for size in (2, len(places)):
            parts = [places[first : first + size] for first in range(0, len(places), size)]
            together = [output for part in parts for output in trial.ask(loaded, part)]
            trial.check(together, singly, f"asked in batches of {size}")
        trial.check(trial.ask(loaded, places[::-1]), singly[::-1], "asked backwards")
        trial.check(trial.ask(loaded, [1, 1, 0]), [singly[1], singly[1], singly[0]], "asked twice in a batch")
    finally:
        loaded.close()


def _takes_nothing(trial: _Trial) -> None:
    """An empty batch gives no outputs, or an exception; what comes after it is answered."""
    loaded = trial.load()
    try:
        before = trial.ask(loaded, [0, 1])
        try:
            answers = loaded.predict(trial.batch([]))
        except Exception:  # noqa: BLE001, S110 - refusing an empty batch is one of the two ways
            pass
        else:
            assert hasattr(answers, "__len__"), f"`predict` gave a {type(answers).__name__}"
            assert len(answers) == 0, f"`predict` gave {len(answers)} outputs for an empty batch"
        trial.check(trial.ask(loaded, [0, 1]), before, "after an empty batch")
    finally:
        loaded.close()


def _leaves_outputs_alone(trial: _Trial) -> None:
    """Later calls leave outputs alone: the driver reads them when the run is over."""
    loaded = trial.load()
    try:
        places = list(range(len(trial.inputs)))
        first = trial.ask(loaded, places)
        kept = copy.deepcopy(first)
        for _ in range(2):
            trial.ask(loaded, places[::-1])
        trial.check(first, kept, "after two more calls")
    finally:
        loaded.close()
    trial.check(first, kept, "after `close()`")


def _leaves_inputs_alone(trial: _Trial) -> None:
    """Inputs are left as they are: the next candidate is asked the same."""
    loaded = trial.load()
    try:
        batch = trial.batch(range(len(trial.inputs)))
        before = copy.deepcopy(batch)
        loaded.predict(batch)
        same = np.array_equal(batch, before) if isinstance(batch, np.ndarray) else _same(batch, before)
        assert same, "`predict` changed its inputs"
    finally:
        loaded.close()


def _serves_threads(trial: _Trial) -> None:
    """It serves from other threads than it was loaded in; side by side where it releases Python's lock."""
    loaded = trial.load()
    try:
        places = list(range(len(trial.inputs)))
        right = trial.ask(loaded, places)
        workers = _THREADS if loaded.releases_gil else 1

        def ask(turn: int) -> tuple[list[int], list[Any]]:
            order = places[turn % len(places) :] + places[: turn % len(places)]
            return order, trial.ask(loaded, order)

        with ThreadPoolExecutor(workers) as pool:
            for order, given in pool.map(ask, range(_ROUNDS)):
                trial.check(given, [right[place] for place in order], f"from {workers} other thread(s)")
    finally:
        loaded.close()


def _survives_a_bad_input(trial: _Trial) -> None:
    """What cannot be answered raises an exception, and the next call is answered."""
    if trial.bad_input is None:
        return
    loaded = trial.load()
    try:
        before = trial.ask(loaded, [0, 1])
        try:
            answers = loaded.predict(trial.bad_input)
        except Exception:  # noqa: BLE001, S110 - any will do
            pass
        else:
            # The driver counts missing outputs, and outputs of None, as failures too.
            outputs = [each.output if isinstance(each, Answer) else each for each in answers]
            missing = len(outputs) != len(trial.bad_input) or all(each is None for each in outputs)
            assert missing, f"the bad input was answered with {_short(outputs)}"
        trial.check(trial.ask(loaded, [0, 1]), before, "after a bad input")
    finally:
        loaded.close()


def _comes_back(trial: _Trial) -> None:
    """After `close()` it can be loaded again, and answers the same."""
    loaded = trial.load()
    places = list(range(len(trial.inputs)))
    try:
        before = trial.ask(loaded, places)
    finally:
        loaded.close()
    again = trial.load()
    try:
        trial.check(trial.ask(again, places), before, "loaded again")
    finally:
        again.close()


def _leaves_nothing(trial: _Trial) -> None:
    """After `close()` no process that it started is left, whosever child it has become."""
    with watched() as left:
        loaded = trial.load()
        try:
            trial.ask(loaded, [0])
        finally:
            loaded.close()
        there = sorted(left())
    assert not there, f"{len(there)} process(es) are left: {', '.join(map(str, there))}"


_PROMISES: tuple[Callable[[_Trial], None], ...] = (
    _declared_is_cheap,
    _loads,
    _discloses,
    _answers_in_order,
    _takes_nothing,
    _leaves_outputs_alone,
    _leaves_inputs_alone,
    _serves_threads,
    _survives_a_bad_input,
    _comes_back,
    _leaves_nothing,
)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, np.ndarray | np.floating | float) and not isinstance(other, str):
        left, right = np.asarray(one), np.asarray(other)
        if left.shape != right.shape:
            return False
        if left.dtype.kind in "fc":
            return bool(np.allclose(left, right, rtol=1e-4, atol=1e-4, equal_nan=True))
        return bool(np.array_equal(left, right))
    return bool(one == other)


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
