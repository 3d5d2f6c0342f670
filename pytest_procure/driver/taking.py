"""Taking an answer over: it is copied before the clock is read, so that nothing that comes later is scored.

str, number, None, date, ...          as they are: nobody can change them
list, dict, array, lists in a list    copied
anything else that can be read        made into one of these
what may change unseen                no answer: `TypeError`

A list that is filled after it was returned, or one buffer for all answers, would otherwise be scored on what
it holds at the end of the run. Were the clock read first, an answer could still be filled between the two:
another thread may run there. So an answer is given when the buyer holds it; a label takes 0.2 us of that.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from pytest_procure.backends.protocol import Answer, Passing, StagePass

_DATES = (dt.date, dt.timedelta)
_TEXTS: tuple[type[Any], ...] = (str, bytes)
_NUMBERS: tuple[type[Any], ...] = (bool, int, float, complex, Decimal)
#: Exactly these classes: one that is derived may say of itself that it equals every reference.
_UNCHANGING = frozenset(
    {type(None), *_TEXTS, *_NUMBERS, *_DATES, Passing, *np.sctypeDict.values()} - {np.void, np.object_}
)
_DEEPEST = 100
_Array = np.ndarray  # a name costs less than an attribute


@dataclass(frozen=True, slots=True)
class Unread:
    """What was returned is no sequence of outputs, and nobody reads it; `kind` is the name of its class."""

    kind: str


def taken(returned: Any) -> Any:
    """Give what `predict` returned as data of our own.

    Raises `TypeError` for what holds no plain data, and whatever an object of the candidate's raises when it
    is read.
    """
    kind = type(returned)
    if kind is list:
        returned = returned.copy()  # first: another thread may write on it
    elif kind is not tuple:
        if kind is _Array and not returned.dtype.hasobject:
            return returned.copy()
        return _else(returned, kind)
    if len(returned) == 1 and type(returned[0]) in _UNCHANGING:
        return returned
    return returned if _UNCHANGING.issuperset(map(type, returned)) else [_own(each, 1) for each in returned]


def _else(returned: Any, kind: type[Any]) -> Any:
    """Give what is no list, no tuple and no plain array."""
    if kind in _KNOWN or kind in _UNCHANGING or _is_array(returned):
        return _own(returned, 0)
    if isinstance(returned, (*_TEXTS, Mapping, set, frozenset)) or not hasattr(returned, "__len__"):
        return Unread(kind.__name__)
    return [_own(each, 1) for each in list(returned)]


def untouched(returned: Any) -> Any:
    """Give what was returned as it is: it came over a channel, and nobody else holds it."""
    return returned


def _own(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind in _UNCHANGING:
        return value
    if depth > _DEEPEST:
        raise TypeError(f"answered with data nested more than {_DEEPEST} deep")
    known = _KNOWN.get(kind)
    return _read(value, depth) if known is None else known(value, depth + 1)


def _read(value: Any, depth: int) -> Any:
    """Make known data of a value whose class is not known."""
    tensor = _tensor(value)
    if tensor is not None:
        return _array(tensor, depth)
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__"):
        plain = np.array(value)  # of numpy's own class
        return _own(plain[()] if isinstance(value, np.generic) else plain, depth)
    for base, made in _BASES.items():
        if isinstance(value, base):
            return _own(made(value), depth)
    raise TypeError(
        f"answered with a {type(value).__name__}, which may change after it was given; "
        "expected numbers, text, bytes, arrays, and lists or dicts of them"
    )


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or hasattr(value, "__array__")


def _tensor(value: Any) -> Any:
    """Give a tensor as an array; None for what is none. One on a device is there when it has come here."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return None
    here = value.detach().cpu()
    if here.dtype not in _numpys(torch):
        here = here.float()
    return np.asarray(here.numpy())


def _moment(value: Any, depth: int) -> Any:
    """Give a time as it is, if its zone runs no code of the candidate's."""
    del depth
    zone = type(value.tzinfo)
    if zone in {type(None), dt.timezone} or zone is getattr(sys.modules.get("zoneinfo"), "ZoneInfo", None):
        return value
    raise TypeError(
        f"answered with a {type(value).__name__} in a zone of class {zone.__name__}, which may change after "
        "it was given; expected a `datetime.timezone` or a `zoneinfo.ZoneInfo`"
    )


def _numpys(torch: Any) -> set[Any]:
    """Give the types of numbers that numpy knows as well."""
    names = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128"
    return {getattr(torch, name) for name in names.split()}


def _array(value: Any, depth: int) -> Any:
    if not value.dtype.hasobject:
        return value.copy()
    if value.dtype.names is not None:
        raise TypeError("answered with an array whose fields hold objects; expected numbers or text in them")
    own = np.empty(value.shape, dtype=object)
    for place, each in np.ndenumerate(value):
        own[place] = _own(each, depth)
    return own


def _answer(value: Any, depth: int) -> Answer:
    output = _own(value.output, depth)
    stages = value.stages if type(value.stages) is tuple else ()
    return Answer(
        output,
        input_tokens=_own(value.input_tokens, depth),
        output_tokens=_own(value.output_tokens, depth),
        # A pipeline's output is what its last stage gave; what is no stage's is passed over.
        stages=tuple(
            StagePass(
                _own(each.name, depth),
                _own(each.passing, depth),
                ns=_own(each.ns, depth),
                output=output if each.output is value.output else _own(each.output, depth),
                input_tokens=_own(each.input_tokens, depth),
                output_tokens=_own(each.output_tokens, depth),
                cached_tokens=_own(each.cached_tokens, depth),
            )
            for each in stages
            if type(each) is StagePass
        ),
        error=_own(value.error, depth),
        cached_tokens=_own(value.cached_tokens, depth),
    )


#: How classes that can change are copied, without running anything of the candidate's.
_KNOWN: dict[type[Any], Callable[[Any, int], Any]] = {
    np.ndarray: _array,
    list: lambda value, depth: [_own(each, depth) for each in value.copy()],
    tuple: lambda value, depth: tuple(_own(each, depth) for each in value),
    dict: lambda value, depth: {_own(key, depth): _own(each, depth) for key, each in value.copy().items()},
    set: lambda value, depth: {_own(each, depth) for each in value.copy()},
    frozenset: lambda value, depth: frozenset(_own(each, depth) for each in value),
    bytearray: lambda value, *_: bytes(value),
    memoryview: lambda value, *_: bytes(value),
    Answer: _answer,
    dt.datetime: _moment,
    dt.time: _moment,
}
#: Of a class that is derived from one of these, its value is what counts; the order decides.
_BASES: dict[type[Any], Callable[[Any], Any]] = {
    Answer: lambda value: Answer(
        value.output,
        value.input_tokens,
        value.output_tokens,
        value.stages,
        value.error,
        value.cached_tokens,
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
