"""One thing that is not as declared, as the model that answers where another was asked for.

A page tells of it without what an offer is made of, so nothing of that is needed here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: What a server adds to the name of a model that it was asked for: a date, a version, a form of file.
_VERSION = re.compile(r"(?:[-@:._ ]+(?:v?\d+|latest|main|gguf))*")
#: How a file of llama.cpp's tells its precision, which an offer declares by itself.
_QUANTISED = re.compile(r"[-._](?:i?q\d\w*|b?f16|f32)(?=\.gguf$)")


@dataclass(frozen=True, slots=True)
class Deviation:
    """One thing that is not as declared; with `invalidates` the run says nothing of the offer."""

    what: str
    declared: str
    observed: str
    invalidates: bool

    @property
    def sentence(self) -> str:
        """The deviation in words."""
        return f"{self.what}: declared `{self.declared}`, observed {self.observed}"


def answered_by(conditions: Mapping[str, Any]) -> Deviation | None:
    """Compare the model that an endpoint was asked for with those that its answers name, in one run.

    A name that begins with the one asked for, and goes on with a date or version, is no other model.
    """
    asked = str(conditions.get("model_asked") or "")
    named = [str(name) for name in _said(conditions).get("model", ())]
    if not asked or all(_is_of(name, asked) for name in named):
        return None
    listed = " and ".join(f"`{name.rpartition('/')[2] if name.startswith('/') else name}`" for name in named)
    return Deviation("model", asked, f"answers of {listed}", invalidates=False)


def _is_of(named: str, asked: str) -> bool:
    """Whether a model that an answer names is the one that was asked for."""
    named, asked = named.lower(), asked.lower()
    if ("/" in named) != ("/" in asked):  # one of them names its owner or folder
        named, asked = named.rpartition("/")[2], asked.rpartition("/")[2]
    asked, named = asked.removesuffix("latest").rstrip("-:@"), _QUANTISED.sub("", named)
    return named.startswith(asked) and _VERSION.fullmatch(named[len(asked) :]) is not None


def _said(conditions: Mapping[str, Any]) -> Mapping[str, Any]:
    told = conditions.get("answers_say")
    return told if isinstance(told, Mapping) else {}
