"""Taking an answer over: it is copied when it is given, so that nothing that comes later is scored.

str, number, None, date, ...          as they are: nobody can change them
list or tuple of them                 copied in one go, after the clock was read
dict, array, list of lists, ...       copied; one that takes long was given when the copy is over: in `late`
anything that has to be read          made into one of these while the clock runs, and named in `late`
anything else                         no answer: `TypeError`

A list that is filled after it was returned, or one buffer for all answers, would otherwise be scored on what
it holds at the end of the run. An object of the candidate's own class, or an array of another library, may
compute when it is read, or be computed still: it is an answer when it has been read, and not before.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from time import perf_counter_ns
from typing import Any

import numpy as np

from pytest_procure.backends.protocol import Answer, Passing, StagePass

_DATES = (dt.date, dt.time, dt.datetime, dt.timedelta)
_TEXTS: tuple[type[Any], ...] = (str, bytes)
_NUMBERS: tuple[type[Any], ...] = (bool, int, float, complex, Decimal)
#: Exactly these classes: one that is derived may say of itself that it equals every reference.
_UNCHANGING = frozenset(
    {type(None), *_TEXTS, *_NUMBERS, *_DATES, Passing, *np.sctypeDict.values()} - {np.void, np.object_}
)
_DEEPEST = 100
#: A copy that takes longer has ended its request only when it is over: one part of an answer could be filled
#: while another is copied. Shorter ones cost the candidate nothing.
BRIEF_NS = 20_000
_Array = np.ndarray  # a name costs less than an attribute


@dataclass(frozen=True, slots=True)
class Unread:
    """What was returned is no sequence of outputs, and nobody reads it; `kind` is the name of its class."""

    kind: str


def taken(returned: Any, late: list[str]) -> Any:
    """Give what `predict` returned as data of our own.

    What had to be read, or took long to copy, is named in `late`: it was not there before. Raises `TypeError`
    for what holds no plain data, and whatever an object of the candidate's raises when it is read.
    """
    kind = type(returned)
    if kind is list or kind is tuple:
        returned = returned.copy() if kind is list else returned  # first: another thread may write on it
        if len(returned) == 1 and type(returned[0]) in _UNCHANGING:
            return returned
        if _UNCHANGING.issuperset(map(type, returned)):
            return returned
    begun = perf_counter_ns()
    own = copied(returned, late)
    if perf_counter_ns() - begun > BRIEF_NS:
        late.append(kind.__name__)
    return own


def copied(returned: Any, late: list[str]) -> Any:
    """Do the same, whatever time it takes: in `late` stands what had to be read."""
    kind = type(returned)
    if kind is list or kind is tuple:
        return [_own(each, late, 1) for each in returned]
    if kind is _Array and not returned.dtype.hasobject:
        return returned.copy()
    if kind in _KNOWN or kind in _UNCHANGING or _is_array(returned):
        return _own(returned, late, 0)
    late.append(kind.__name__)
    if isinstance(returned, (*_TEXTS, Mapping, set, frozenset)) or not hasattr(returned, "__len__"):
        return Unread(kind.__name__)
    return [_own(each, late, 1) for each in list(returned)]


def untouched(returned: Any, late: list[str]) -> Any:
    """Give what was returned as it is: it came over a channel, and nobody else holds it."""
    del late
    return returned


def _own(value: Any, late: list[str], depth: int) -> Any:
    kind = type(value)
    if kind in _UNCHANGING:
        return value
    if depth > _DEEPEST:
        raise TypeError(f"answered with data nested more than {_DEEPEST} deep")
    known = _KNOWN.get(kind)
    return _read(value, late, depth) if known is None else known(value, late, depth + 1)


def _read(value: Any, late: list[str], depth: int) -> Any:
    """Make known data of a value whose class is not known."""
    tensor = _tensor(value, late)
    if tensor is not None:
        return _array(tensor, late, depth)
    late.append(type(value).__name__)
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__"):
        plain = np.array(value)  # of numpy's own class
        return _own(plain[()] if isinstance(value, np.generic) else plain, late, depth)
    for base, made in _BASES.items():
        if isinstance(value, base):
            return _own(made(value), late, depth)
    raise TypeError(
        f"answered with a {type(value).__name__}, which may change after it was given; "
        "expected numbers, text, bytes, arrays, and lists or dicts of them"
    )


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or hasattr(value, "__array__")


def _tensor(value: Any, late: list[str]) -> Any:
    """Give a tensor as an array; None for what is none. One on a device is there when it has come here."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return None
    if type(value) is not torch.Tensor or value.device.type != "cpu":
        late.append(type(value).__name__)
    here = value.detach().cpu()
    if here.dtype not in _numpys(torch):
        here = here.float()
    return np.asarray(here.numpy())


def _numpys(torch: Any) -> set[Any]:
    """Give the types of numbers that numpy knows as well."""
    names = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128"
    return {getattr(torch, name) for name in names.split()}


def _array(value: Any, late: list[str], depth: int) -> Any:
    if not value.dtype.hasobject:
        return value.copy()
    if value.dtype.names is not None:
        raise TypeError("answered with an array whose fields hold objects; expected numbers or text in them")
    own = np.empty(value.shape, dtype=object)
    for place, each in np.ndenumerate(value):
        own[place] = _own(each, late, depth)
    return own


def _answer(value: Any, late: list[str], depth: int) -> Answer:
    output = _own(value.output, late, depth)
    stages = value.stages if type(value.stages) is tuple else ()
    return Answer(
        output,
        input_tokens=_own(value.input_tokens, late, depth),
        output_tokens=_own(value.output_tokens, late, depth),
        # A pipeline's output is what its last stage gave; what is no stage's is passed over.
        stages=tuple(
            StagePass(
                _own(each.name, late, depth),
                _own(each.passing, late, depth),
                ns=_own(each.ns, late, depth),
                output=output if each.output is value.output else _own(each.output, late, depth),
                input_tokens=_own(each.input_tokens, late, depth),
                output_tokens=_own(each.output_tokens, late, depth),
            )
            for each in stages
            if type(each) is StagePass
        ),
        error=_own(value.error, late, depth),
    )


#: How classes that can change are copied, without running anything of the candidate's.
_KNOWN: dict[type[Any], Callable[[Any, list[str], int], Any]] = {
    np.ndarray: _array,
    list: lambda value, late, depth: [_own(each, late, depth) for each in value.copy()],
    tuple: lambda value, late, depth: tuple(_own(each, late, depth) for each in value),
    dict: lambda value, late, depth: {
        _own(key, late, depth): _own(each, late, depth) for key, each in value.copy().items()
    },
    set: lambda value, late, depth: {_own(each, late, depth) for each in value.copy()},
    frozenset: lambda value, late, depth: frozenset(_own(each, late, depth) for each in value),
    bytearray: lambda value, *_: bytes(value),
    memoryview: lambda value, *_: bytes(value),
    Answer: _answer,
}
#: Of a class that is derived from one of these, its value is what counts; the order decides.
_BASES: dict[type[Any], Callable[[Any], Any]] = {
    Answer: lambda value: Answer(
        value.output, value.input_tokens, value.output_tokens, value.stages, value.error
    ),
    Mapping: lambda value: dict(value.items()),
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    str: str.__str__,
    bytes: lambda value: bytes(memoryview(value)),
    bytearray: lambda value: bytes(memoryview(value)),
    int: int.__int__,
    float: float.__float__,
}
