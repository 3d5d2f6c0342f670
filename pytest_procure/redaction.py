"""Secrets and names are taken out of texts before anything is recorded, and so before anything is hashed.

Best effort, and no more: a secret that looks like an ordinary word stays. What never enters a record in the
first place (inputs, variables that are not known to change inference) needs no redaction.
"""

from __future__ import annotations

import base64
import functools
import getpass
import json
import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

HIDDEN = "[redacted]"
_VALUES = re.compile(
    r"""(?ix)
    \b(?:sk|pk|rk)-[\w-]{16,}                   # model providers
    | \b(?:gh[pousr]|glpat|hf|xox[abprs])[_-][\w-]{16,}   # code hosts, hubs, chats
    | \bAKIA[0-9A-Z]{16}\b                      # cloud keys
    | \beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*         # JSON web tokens
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*    # keys
    """
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
_NAMED = re.compile(
    r"""(?ix)
    ( (?: [\w.-]* (?: api[_-]?key | token | secret | passw(?:or)?d | passphrase | credential ) [\w.-]*
        | (?<![\w.-]) (?: [\w.-]*[_.-] )? pwd?
      ) ["']? \s* [=:] \s* ["']?
    ) ( [^\s"',;&)}]+ )
    """
)
#: An option of a command line that takes a secret; `--max-tokens`, `--tokenizer` and `--key-file` take none.
_OPTION = re.compile(
    r"""(?isx)
    (?P<name> --?
        (?: [\w.-]* (?: api[_-]?key | secret | passw(?:or)?d | passphrase | credential | bearer ) [\w.-]*
          | (?: [\w.-]*[_.-] )? (?: key | token | pass | auth | authorization )
        )
    )
    (?: = (?P<value> .* ) )?
    """
)
#: `-phunter2x`, as database clients take it; `-p8080`, `-p 127.0.0.1:80`, `-parallel` and `-pool=4` are none.
_GLUED = re.compile(r"(?P<name>-[pP])(?=[^=]*[A-Za-z])(?=[^=]*[^A-Za-z=_-])[^=/-][^/]*")
_USERINFO = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^/\s@]+@", re.IGNORECASE)
_HOMES = re.compile(r"(/home|/Users|[A-Za-z]:\\Users)([/\\])[^/\\\s\"':]+")


#: Keys that this session was given for what it tests; a shorter one would be found in ordinary words.
_GIVEN: set[str] = set()
#: Keys that endpoints are asked with, however short: what a server says is quoted without them.
_SENT: set[str] = set()
#: Those of `_GIVEN` as they stand in what is written in base64, as HTTP Basic does it.
_ENCODED: set[str] = set()
_SHORTEST = 8
_SHORT = 4
#: Names of variables that hold keys.
_KEYS = re.compile(r"(?i)key|token|secret|passw|credential")
_URL_SAFE = str.maketrans("+/", "-_")
#: Signs of a text that are looked at where a line of it is quoted; a key that begins there is found whole.
_LOOKED_AT = 16 << 10
#: What stands for another sign, or breaks a line: JSON's escapes (also within another's), and a URL's.
_WRITTEN = re.compile(r"(?s)\\{1,8}(?:u[0-9A-Fa-f]{4}|.)|%[0-9A-Fa-f]{2}|[\x00-\x20\x7f]+")
#: Signs that one sign of a key takes at most: an escape of an escape of an escape.
_WIDEST = 13


def keep_secret(name: str, value: str, *, surely: bool = False) -> None:
    """Let the value of a variable stand in no text that is written; `surely`, or where its name says so."""
    if surely and value:
        _SENT.add(value)
    if len(value) >= _SHORTEST and (surely or _KEYS.search(name)):
        _GIVEN.update({value, json.dumps(value)[1:-1]})
        _ENCODED.update(_in_base64(value) if len(value) >= _SHORTEST else ())


def _in_base64(value: str) -> Iterator[str]:
    """Give what of a text is the same in base64 whatever stands around it: at each of three places.

    In both alphabets; the signs at its ends that hold bits of its neighbours are left out.
    """
    plain = value.encode("utf-8", "surrogateescape")
    for before in range(3):
        bits = 8 * (before + len(plain))
        whole = base64.b64encode(bytes(before) + plain).decode("ascii")
        core = whole[-(-8 * before // 6) : bits // 6]
        yield core
        yield core.translate(_URL_SAFE)


def secrets_kept() -> int:
    """Count them; the number grows with each that is new."""
    return len(_GIVEN) + len(_SENT)


def kept_secrets() -> list[str]:
    """Give what `keep_secret` was given, for a process that quotes servers on this one's behalf."""
    return sorted(_GIVEN | _SENT)


def without_keys(text: str) -> str:
    """Take the keys out of a text that this session was given, and nothing else: for what was answered."""
    for key in sorted(_GIVEN | _ENCODED, key=len, reverse=True):
        text = text.replace(key, HIDDEN)
    return text


def quoted(text: str, most: int, *, also: Sequence[str] = (), shown: str = HIDDEN) -> str:
    """Quote a text as one printable line of at most `most` signs.

    Keys, and those in `also`, are taken out before it is cut: half a key is found by nobody. They are found
    too where they are written with escapes (JSON's, a URL's) or are broken over lines.
    """
    secrets = _GIVEN | _ENCODED | _SENT | {*also}
    seen = text[: _LOOKED_AT + _WIDEST * max(map(len, secrets), default=0)]
    plain = without(seen, secrets, shown, until=_LOOKED_AT)[: 8 * most]
    if not plain.isprintable():
        plain = "".join(sign if sign.isprintable() else " " for sign in plain)
    return " ".join(plain.split())[:most]


def later_part(text: str, *, also: Sequence[str] = (), shown: str = HIDDEN) -> str:
    """Give a text whose beginning is lost without keys, and without what may be the end of one."""
    secrets = _GIVEN | _ENCODED | _SENT | {*also}
    return without(text, secrets, shown)[max(map(len, secrets), default=0) :]


def without(text: str, secrets: AbstractSet[str], shown: str, *, until: int | None = None) -> str:
    """Put something else where secrets are, and leave out what begins at `until` or later."""
    pieces, at = [], 0
    for first, end in _places(text, secrets):
        if until is not None and first >= until:
            break
        if first >= at:
            pieces += [text[at:first], shown]
        at = max(at, end)
    return "".join([*pieces, text[at:until]])


def _places(text: str, secrets: AbstractSet[str]) -> list[tuple[int, int]]:
    """Find secrets, as they are and as they may be written: first sign and end of each, in order."""
    found = [
        (first, first + len(secret)) for secret in secrets for first in _occurrences(text, secret) if secret
    ]
    long = {_plainly(secret) for secret in secrets if len(secret) >= _SHORTEST}
    plain = _WRITTEN.sub(_meant, text) if long else text
    written = [secret for secret in long if len(secret) >= _SHORTEST and secret in plain]
    if written and plain != text:
        begin, ends = _origins(text)
        for secret in written:
            found += [(begin[first], ends[first + len(secret) - 1]) for first in _occurrences(plain, secret)]
    return sorted(found, key=lambda place: (place[0], -place[1]))


def _occurrences(text: str, sought: str) -> Iterator[int]:
    first = text.find(sought)
    while first >= 0 and sought:
        yield first
        first = text.find(sought, first + len(sought))


@functools.lru_cache(maxsize=256)
def _plainly(secret: str) -> str:
    return _WRITTEN.sub(_meant, secret)


def _meant(written: re.Match[str]) -> str:
    """Give the sign that something stands for; nothing for a line's end, or an escape of one."""
    text = written[0]
    if text[0] == "%":
        return chr(int(text[1:], 16))
    if text[0] != "\\":
        return ""
    if len(text) > 5 and text[-5] == "u":
        return chr(int(text[-4:], 16))
    return "" if text[-1] in "nrt" else text[-1]


def _origins(text: str) -> tuple[list[int], list[int]]:
    """Tell of each sign that is meant where it is written: from where, and to where."""
    begin: list[int] = []
    ends: list[int] = []
    at = 0
    for written in _WRITTEN.finditer(text):
        begin += range(at, written.start())
        ends += range(at + 1, written.start() + 1)
        at = written.end()
        if _meant(written):
            begin.append(written.start())
            ends.append(at)
    begin += range(at, len(text))
    ends += range(at + 1, len(text) + 1)
    return begin, ends


def redacted(text: str) -> str:
    """Take secrets, the user's name in paths, and this host's name out of a text."""
    text = without(text, _GIVEN | _ENCODED, HIDDEN)
    for value, shown in _own():
        text = text.replace(value, shown)
    text = _HOMES.sub("~", text)
    text = _USERINFO.sub(rf"\1{HIDDEN}@", text)
    text = _BEARER.sub(rf"\1 {HIDDEN}", text)
    text = _NAMED.sub(rf"\1{HIDDEN}", text)
    return _VALUES.sub(HIDDEN, text)


def redacted_data(data: Any) -> Any:
    """Do the same to every text in plain data, and hide values whose names say that they are secret."""
    if isinstance(data, str):
        return redacted(data)
    if isinstance(data, Mapping):
        return {
            key: HIDDEN if isinstance(each, str) and is_named_secret(str(key)) else redacted_data(each)
            for key, each in data.items()
        }
    if isinstance(data, list | tuple):
        return [redacted_data(each) for each in without_secret_options(data)]
    return data


def without_secret_options(arguments: Sequence[Any]) -> list[Any]:
    """Hide values of options that are named like secrets: `--api-key VALUE`, `--api-key=VALUE`, `-pV4`."""
    shown: list[Any] = []
    value_is_secret = False
    for each in arguments:
        found = _OPTION.fullmatch(each) if isinstance(each, str) else None
        glued = _GLUED.fullmatch(each) if isinstance(each, str) else None
        if glued is not None:
            shown.append(f"{glued['name']}{HIDDEN}")
        elif value_is_secret and isinstance(each, str) and not each.startswith("--"):
            shown.append(HIDDEN)
        else:
            shown.append(each if found is None or found["value"] is None else f"{found['name']}={HIDDEN}")
        value_is_secret = found is not None and found["value"] is None
    return shown


def without_environment(arguments: Sequence[str]) -> list[str]:
    """Hide what of arguments came from the environment, where suites are told to keep their secrets.

    A short value, or a path that is there, is hidden only where its variable is named like a secret.
    """
    values = [
        value
        for name, value in sorted(os.environ.items(), key=lambda each: -len(each[1]))
        if len(value) >= _SHORT
        and (_KEYS.search(name) or (len(value) >= _SHORTEST and not os.path.exists(value)))  # noqa: PTH110 - a value may be too long for a path
    ]
    shown = []
    for each in arguments:
        text = each
        for value in values:
            text = text.replace(value, HIDDEN)
        shown.append(text)
    return shown


def is_named_secret(name: str) -> bool:
    """Whether a field is named like a secret; a count or a digest of tokens is none."""
    return bool(re.search(r"(?i)(api_?key|secret|passw(or)?d|credential|access_?token|auth_?token)", name))


@functools.cache
def _own() -> list[tuple[str, str]]:
    """Give what names this machine and its user: (text, what is shown instead)."""
    told = [(str(Path.home()), "~")] if len(str(Path.home())) > 1 else []
    host = socket.gethostname()
    if len(host) > 5 and host != "localhost":
        told.append((host, "(host)"))
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        return told
    return [*told, (f"/{user}/", "/~/")] if len(user) > 2 and user != "root" else told
