"""Any endpoint that takes JSON and gives JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pytest_procure.calling import declared, of_kind
from pytest_procure.errors import DataError, DeclarationError

from .endpoints.loaded import LoadedHttp, checked_sending
from .endpoints.target import (
    SAMPLE,
    check_key,
    check_url,
    checked_headers,
    parse_url,
    refuse_literal_keys,
    refuse_proxy,
    secret,
    target_at,
)
from .openai import certificates, need_extra


@declared
@dataclass(frozen=True, slots=True)
class HttpJson:
    """Declares an endpoint that a POST to `url` asks, with JSON in both directions.

    `template` is the request's JSON; wherever it holds the text "$sample" the sample stands. `output` is the
    way to the output in the answer: names and places, as in `("predictions", 0, "label")`; without it the
    output is the whole answer. Key, header fields, connections and retries are those of an OpenAIEndpoint.
    """

    url: str
    _: KW_ONLY
    template: Any = field(default_factory=lambda: {"input": SAMPLE})
    output: tuple[str | int, ...] = ()
    key_env: str = ""
    key_header: str = "Authorization"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca_file: str | Path = ""
    connections: int = 256
    retries: int = 0
    load_processes: int = 1

    remote: ClassVar[bool] = True  # what answers runs elsewhere: nothing is there to be hosted

    def __post_init__(self) -> None:
        what = "an HttpJson"
        check_url(self.url, what=what)
        try:
            json.dumps(self.template, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise DeclarationError(f"`template` of {what} is no plain JSON data: {error}") from None
        if not _holds(self.template):
            raise DeclarationError(
                f"`template` of {what} has no {SAMPLE!r}, so all requests would be the same"
            )
        of_kind(self.output, (tuple, list), "output", of=what, expected="names and places, as in ['text', 0]")
        of_kind(self.headers, Mapping, "headers", of=what, expected="a mapping of fields to their values")
        if not all(isinstance(step, (str, int)) and not isinstance(step, bool) for step in self.output):
            raise DeclarationError(f"`output={self.output!r}` of {what}; expected names and places")
        refuse_literal_keys(self.template, what=f"`template` of {what}")
        check_key(self.key_env, self.key_header, what=what)
        checked_headers(dict(self.headers), what=what)
        self._sending()

    def _sending(self) -> Any:
        return checked_sending(
            connections=self.connections,
            retries=self.retries,
            load_processes=self.load_processes,
            count_tokens=None,
            what="an HttpJson",
        )

    def load(self, base: Path) -> LoadedHttp:
        """Check what can be checked without asking. Raises `ProvisionError` for what is missing here."""
        need_extra("HttpJson")
        if self.key_env:
            secret(self.key_env)
        split = parse_url(self.url, what="an HttpJson")
        target = target_at(
            split,
            split.path or "/",
            reader="json",
            key=self.key_env,
            key_field=self.key_header,
            headers=tuple(self.headers.items()),
            ca=certificates(base, self.ca_file),
            select=tuple(self.output),
        )
        refuse_proxy(target)
        disclosed = {"runtime": "JSON endpoint", "template": self.template, "output": list(self.output)}
        return LoadedHttp(target, self._sending(), self._body, disclosed)

    def _body(self, item: Any) -> bytes:
        plain = item.tolist() if isinstance(item, np.ndarray) else item
        try:
            return json.dumps(_filled(self.template, plain), ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise DataError(f"a sample is no plain JSON data: {error}") from None


def _holds(template: Any) -> bool:
    if isinstance(template, Mapping):
        return any(map(_holds, template.values()))
    if isinstance(template, (list, tuple)):
        return any(map(_holds, template))
    return bool(template == SAMPLE)


def _filled(template: Any, sample: Any) -> Any:
    if isinstance(template, Mapping):
        return {name: _filled(value, sample) for name, value in template.items()}
    if isinstance(template, (list, tuple)):
        return [_filled(value, sample) for value in template]
    return sample if template == SAMPLE and isinstance(template, str) else template
