"""A record whose every text tries to run, to hide, or to move its neighbours."""

from typing import Any

import sample

TEXT = (
    '<script>alert(1)</script><img src=x onerror=alert(1)>" onload="alert(1) \' `${1}` {{ 7*7 }} {% raw %} '
    "\x00\x1b[31m\x7f\x85\u202egnp.exe\u2066\u200f\u200b\ufeff]]> --> &lt; \ud800 é🧪"
)
LONG = TEXT + "W" * 10_000

#: Keys that choose a branch of the program; a judge writes them, never a vendor.
_CHOSEN = {
    "award", "by", "candidate", "format", "id", "image", "kind", "metric", "n_unit", "order", "picked",
    "role", "sense", "source", "unit", "verdict", "model", "utilisation",
}  # fmt: skip


def record(text: str, of: Any = sample.everything) -> Any:
    """A sample, each of its texts replaced; names keep their own beginning, so that they stay apart."""
    return _with(of(), text)


def _with(value: Any, text: str, key: str = "") -> Any:
    if isinstance(value, dict):
        told = {k: v if k in _CHOSEN and isinstance(v, str) else _with(v, text, k) for k, v in value.items()}
        return {k: f"{v} {text}" if k == "candidate" else v for k, v in told.items()}
    if isinstance(value, list):
        return [_with(item, text, key) for item in value]
    if not isinstance(value, str):
        return value
    return f"{value} {text}" if key == "name" else text
