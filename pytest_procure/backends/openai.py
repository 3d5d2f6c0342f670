"""Endpoints that speak OpenAI's protocol: chat, completions, embeddings; hosted, or a server of one's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from pytest_procure.calling import declared, of_kind
from pytest_procure.errors import DataError, DeclarationError, ProvisionError, unknown

from . import chat
from .endpoints.loaded import LoadedHttp, checked_sending
from .endpoints.target import (
    check_key,
    check_url,
    checked_headers,
    parse_url,
    refuse_literal_keys,
    refuse_proxy,
    secret,
    target_at,
)

Kind = Literal["chat", "completions", "embeddings"]

_PATHS = {"chat": "/chat/completions", "completions": "/completions", "embeddings": "/embeddings"}
_SET_BY_US = ("model", "messages", "prompt", "input", "stream", "stream_options")


@declared
@dataclass(frozen=True, slots=True)
class OpenAIEndpoint:
    """Declares an endpoint at `url` (`https://host/v1`) that serves `model`.

    `kind` is "chat", "completions" or "embeddings". A sample is a text, or for chat a list of messages. With
    `stream` the answer comes token by token, and TTFT and ITL can be measured. `options` go into every
    request as they are (`{"max_tokens": 64, "temperature": 0}`).

    The key is read from the environment variable `key_env`, and stands nowhere else; `key_header` is the
    field it is sent in. `headers` are further fields, whose values are not disclosed. `ca_file` names
    certificates to trust, relative to the conftest.

    `connections`: most at once. `retries`: further attempts after HTTP 408, 409, 429, 5xx or a broken
    connection, at the time that Retry-After names; they are counted, and latency runs on. `count_tokens`
    counts the tokens of an output, beside what the endpoint reports.
    """

    url: str
    _: KW_ONLY
    model: str
    kind: Kind = "chat"
    stream: bool = True
    key_env: str = ""
    key_header: str = "Authorization"
    options: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca_file: str | Path = ""
    connections: int = 256
    retries: int = 0
    load_processes: int = 1
    count_tokens: Callable[[str], int] | None = None

    remote: ClassVar[bool] = True  # what answers runs elsewhere: nothing is there to be hosted

    def __post_init__(self) -> None:
        what = "an OpenAIEndpoint"
        check_url(self.url, what=what)
        if self.kind not in _PATHS:
            raise DeclarationError(unknown("kind of OpenAIEndpoint", str(self.kind), _PATHS))
        if not isinstance(self.model, str) or not self.model:
            raise DeclarationError(f"`model={self.model!r}` of {what}; expected the model's name")
        of_kind(self.stream, bool, "stream", of=what, expected="True or False")
        of_kind(self.options, Mapping, "options", of=what, expected="a mapping, as in {'temperature': 0}")
        of_kind(self.headers, Mapping, "headers", of=what, expected="a mapping of fields to their values")
        of_kind(self.ca_file, (str, Path), "ca_file", of=what, expected="the path of a file")
        for name in _SET_BY_US:
            if name in self.options:
                raise DeclarationError(
                    f"`options` of {what} hold `{name}`, which is set by the request itself"
                )
        try:
            json.dumps(dict(self.options), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise DeclarationError(f"`options` of {what} are no plain JSON data: {error}") from None
        refuse_literal_keys(self.options, what=f"`options` of {what}")
        check_key(self.key_env, self.key_header, what=what)
        checked_headers(dict(self.headers), what=what)
        self._sending()

    def _sending(self) -> Any:
        return checked_sending(
            connections=self.connections,
            retries=self.retries,
            load_processes=self.load_processes,
            count_tokens=self.count_tokens,
            what="an OpenAIEndpoint",
        )

    def load(self, base: Path) -> LoadedHttp:
        """Check what can be checked without asking. Raises `ProvisionError` for what is missing here."""
        need_extra("OpenAIEndpoint")
        if self.key_env:
            secret(self.key_env)
        split = parse_url(self.url, what="an OpenAIEndpoint")
        target = target_at(
            split,
            split.path.rstrip("/") + _PATHS[self.kind],
            reader=self.kind,
            stream=self.stream and self.kind != "embeddings",
            key=self.key_env,
            key_field=self.key_header,
            headers=tuple(self.headers.items()),
            ca=certificates(base, self.ca_file),
        )
        refuse_proxy(target)
        disclosed = {
            "runtime": "OpenAI-compatible endpoint",
            "model": self.model,
            "kind": self.kind,
            "options": dict(self.options),
        }
        around = self._around() if self.kind == "chat" else None
        return LoadedHttp(target, self._sending(), self._body, disclosed, around)

    def _body(self, item: Any) -> bytes:
        """Write a request's body."""
        before, behind = self._around()
        if self.kind == "chat":
            return before + chat.inner(chat.messages(item)) + behind
        if not isinstance(item, str):
            raise DataError(f"a sample for {self.kind} is a {type(item).__name__}; expected a text")
        return before + chat.inner([item]) + behind

    def _around(self) -> tuple[bytes, bytes]:
        """Write what stands before and behind the messages of a request, or the text."""
        name = {"chat": "messages", "completions": "prompt", "embeddings": "input"}[self.kind]
        asked: dict[str, Any] = {"model": self.model, **self.options}
        if self.stream and self.kind != "embeddings":
            asked |= {"stream": True, "stream_options": {"include_usage": True}}
        opens, closes = ("[", "]") if self.kind == "chat" else ("", "")
        rest = json.dumps(asked, ensure_ascii=False, allow_nan=False)
        return f'{{"{name}": {opens}'.encode(), f"{closes}, {rest[1:]}".encode()


def certificates(base: Path, file: str | Path) -> str:
    """Find a file of certificates; "" for none. Raises `ProvisionError` where it is not there."""
    if not file:
        return ""
    found = base / file
    if not found.is_file():
        raise ProvisionError(
            f"there is no file `{file}` with certificates; paths start at the conftest's folder"
        )
    return str(found)


def need_extra(name: str) -> None:
    """Raise `ProvisionError` where the extra that drives endpoints is not installed."""
    try:
        import httptools  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise ProvisionError(
            f"`{name}` needs {error.name}, which is not installed; "
            "run `pip install 'pytest-procure[endpoint]'`"
        ) from None
