"""Secrets and names are taken out of texts before anything is recorded, and so before anything is hashed.

Best effort, and no more: a secret that looks like an ordinary word stays. What never enters a record in the
first place (inputs, variables that are not known to change inference) needs no redaction.
"""

from __future__ import annotations

import functools
import getpass
import json
import re
import socket
from collections.abc import Mapping, Sequence
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
    r"(?i)([\w.-]*(?:api[_-]?key|token|secret|passw(?:or)?d|credential)[\w.-]*[\"']?\s*[=:]\s*[\"']?)([^\s\"',;&)}]+)"
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
_USERINFO = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^/\s@]+@", re.IGNORECASE)
_HOMES = re.compile(r"(/home|/Users|[A-Za-z]:\\Users)([/\\])[^/\\\s\"':]+")


#: Keys that this session was given for what it tests; a shorter one would be found in ordinary words.
_GIVEN: set[str] = set()
_SHORTEST = 8
#: Names of variables that hold keys.
_KEYS = re.compile(r"(?i)key|token|secret|passw|credential")


def keep_secret(name: str, value: str, *, surely: bool = False) -> None:
    """Let the value of a variable stand in no text that is written; `surely`, or where its name says so."""
    if len(value) >= _SHORTEST and (surely or _KEYS.search(name)):
        _GIVEN.update({value, json.dumps(value)[1:-1]})


def without_keys(text: str) -> str:
    """Take the keys out of a text that this session was given, and nothing else: for what was answered."""
    for key in sorted(_GIVEN, key=len, reverse=True):
        text = text.replace(key, HIDDEN)
    return text


def redacted(text: str) -> str:
    """Take secrets, the user's name in paths, and this host's name out of a text."""
    text = without_keys(text)
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
    """Hide the values of options that are named like secrets: `--api-key VALUE`, and `--api-key=VALUE`."""
    shown: list[Any] = []
    value_is_secret = False
    for each in arguments:
        found = _OPTION.fullmatch(each) if isinstance(each, str) else None
        if value_is_secret and isinstance(each, str) and not each.startswith("--"):
            shown.append(HIDDEN)
        else:
            shown.append(each if found is None or found["value"] is None else f"{found['name']}={HIDDEN}")
        value_is_secret = found is not None and found["value"] is None
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
