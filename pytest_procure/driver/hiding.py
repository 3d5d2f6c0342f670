"""What a run quotes of its candidate, without secrets: it is recorded, shown, and sent to people."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from pytest_procure.redaction import redacted

from .pull import Run


def hide_secrets(run: Run) -> Run:
    """Take secrets out of every text of a run: errors, why it was stopped, how it ended, what was audited."""
    run.log.errors = {query: redacted(text) for query, text in run.log.errors.items()}
    run.log.stopped = redacted(run.log.stopped)
    endings = tuple(replace(ending, sentence=redacted(ending.sentence)) for ending in run.endings)
    told = {field.name: getattr(run.audit, field.name) for field in fields(run.audit)}
    texts = {name: _hidden(value) for name, value in told.items() if _is_text(value)}
    return replace(run, endings=endings, audit=replace(run.audit, **texts))


def _is_text(value: object) -> bool:
    return isinstance(value, str) or (
        isinstance(value, tuple) and bool(value) and all(isinstance(each, str) for each in value)
    )


def _hidden(value: Any) -> Any:
    return redacted(value) if isinstance(value, str) else tuple(redacted(each) for each in value)
