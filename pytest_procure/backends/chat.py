"""A sample as the messages of a chat: what an endpoint is sent, and what a session adds up turn by turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_procure.errors import DataError

Message = dict[str, Any]


def messages(sample: Any) -> list[Message]:
    """Read a text, or a list of messages. Raises `DataError` for anything else."""
    if isinstance(sample, str):
        return [{"role": "user", "content": str(sample)}]
    if isinstance(sample, Sequence) and sample and all(isinstance(each, Mapping) for each in sample):
        return [dict(each) for each in sample]
    raise DataError(
        f"a sample for chat is a {type(sample).__name__}; expected a text, or a list of messages, as in "
        '[{"role": "user", "content": "..."}]'
    )


def later_turn(sample: Any) -> list[Message]:
    """Read what a session asks when it has said something before.

    Raises `DataError` where the sample says itself what was answered before: it would stand there twice.
    """
    asked = messages(sample)
    if any(each.get("role") == "assistant" for each in asked):
        raise DataError(
            "a sample holds a message of role `assistant`, and with `history=True` a turn carries the "
            "answers that were given; leave out the recorded ones, or `history=True`"
        )
    return asked


def answer(text: Any) -> Message:
    """Give an answer as the message that a later turn carries."""
    return {"role": "assistant", "content": text}


def inner(said: Sequence[Any]) -> bytes:
    """Write a list of messages, or of texts, as JSON without its brackets.

    Raises `DataError` for what is no JSON data.
    """
    try:
        return json.dumps(list(said), ensure_ascii=False, allow_nan=False)[1:-1].encode()
    except (TypeError, ValueError) as error:
        raise DataError(f"a sample is no plain JSON data: {error}") from None
