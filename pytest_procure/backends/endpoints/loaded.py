"""An endpoint that is ready to be asked: what all backends behind HTTP share once they are loaded."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pytest_procure.backends.protocol import Answer, Sending
from pytest_procure.errors import DeclarationError

from . import readers, sse
from .admission import admit
from .exchange import exchange
from .failure import Failure
from .openai_answers import said
from .reach import reach
from .reading import Reading
from .target import MOST_BODY, Target

#: For one call: connecting, asking, and the whole answer.
_TIMEOUT_S = 60.0


class LoadedHttp:
    """Asks one URL. The endpoint driver sends by itself; `predict` asks one sample after the other."""

    #: Waiting for the network is done outside of Python's lock.
    releases_gil = True

    def __init__(
        self,
        target: Target,
        sending: Sending,
        body: Callable[[Any], bytes],
        disclosed: Mapping[str, Any],
        around: tuple[bytes, bytes] | None = None,
    ) -> None:
        self.target = target
        self.sending = sending
        self._body = body
        self._disclosed = disclosed
        self.around = around

    @property
    def device(self) -> str:
        """The endpoint: runs against one address do not overlap."""
        return f"endpoint {self.target.authority}"

    def body(self, item: Any) -> bytes:
        """Write the request's body for one sample."""
        return self._body(item.item() if isinstance(item, np.generic) else item)

    def output(self, data: bytes) -> Any:
        """Make an output of what the reader has kept of an answer."""
        return readers.output(self.target.reader, data)

    def reach(self) -> None:
        """See that a server is there. Raises `ProvisionError` with what was found instead."""
        reach(self.target)

    def admit(self, samples: Iterable[Any]) -> None:
        """See that one of these samples may be asked. Raises `ProvisionError` where each is turned away."""
        admit(self.target, map(self.body, samples))

    def predict(self, inputs: Any) -> Sequence[Any]:
        """Ask one sample after the other, each once and for 60 s at most.

        Raises `RuntimeError` with what was wrong with an answer.
        """
        return [self._ask(self.body(item)) for item in inputs]

    def describe(self) -> dict[str, Any]:
        """Disclose where and how it is asked; of secrets the name of the variable alone."""
        target, sending = self.target, self.sending
        return {
            **self._disclosed,
            "url": target.url,
            "streamed": target.stream,
            "key_from": target.key or None,
            "header_fields": [name for name, _ in target.headers],
            "connections_at_most": sending.connections,
            "retries_at_most": sending.retries,
            "load_processes": sending.load_processes,
            "tokens_counted_by": getattr(sending.count_tokens, "__qualname__", None),
        }

    def close(self) -> None:
        """Nothing is held between runs."""

    def _ask(self, body: bytes) -> Any:
        target = self.target
        try:
            answer = exchange(target, target.path, body, limit=_TIMEOUT_S, most=MOST_BODY)
        except TimeoutError:
            raise RuntimeError(f"no answer within {_TIMEOUT_S:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise RuntimeError(f"no answer: {type(error).__name__}") from None
        data = answer.data
        media = answer.headers.get_content_type()
        if answer.status != 200:
            raise RuntimeError(f"HTTP {answer.status}: {said(data)}")
        if len(data) > MOST_BODY or answer.headers.get("Content-Encoding"):
            raise RuntimeError(f"answered with {len(data):,} bytes of {media}; expected an answer")
        reading = self._streamed(data) if media == "text/event-stream" else self._whole(data, media)
        if reading.failure is not Failure.NONE:
            raise RuntimeError(reading.text)
        output = self.output(reading.output)
        if reading.input_tokens < 0 or reading.output_tokens < 0:
            return output
        return Answer(
            output, reading.input_tokens, reading.output_tokens, cached_tokens=reading.cached_tokens
        )

    def _whole(self, data: bytes, media: str) -> Reading:
        if not readers.is_readable(self.target.reader, media):
            raise RuntimeError(f"answered with {media}; expected application/json")
        return readers.whole(self.target.reader, data, self.target.select)

    def _streamed(self, data: bytes) -> Reading:
        reader = readers.stream(self.target.reader)
        reader.add(sse.events(data)[0])
        return reader.end(cut=False)


def checked_sending(
    *,
    connections: int,
    retries: int,
    load_processes: int,
    count_tokens: Callable[[str], int] | None,
    what: str,
) -> Sending:
    """Check what an author declares. Raises `DeclarationError`."""
    limits = {
        "connections": (connections, 1, 10_000),
        "retries": (retries, 0, 10),
        "load_processes": (load_processes, 1, 64),
    }
    for name, (value, least, most) in limits.items():
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise DeclarationError(
                f"`{name}={value!r}` of {what}; expected a whole number from {least} to {most:,}"
            )
    if count_tokens is not None and not callable(count_tokens):
        raise DeclarationError(f"`count_tokens={count_tokens!r}` of {what}; expected a function of a text")
    return Sending(connections, retries, load_processes, count_tokens)
