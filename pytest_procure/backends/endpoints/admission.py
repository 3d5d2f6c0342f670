"""Whether an endpoint lets questions in, or turns each away: a wrong key, path or name of a model.

Such an answer says nothing of what is offered, but of how it was asked.
"""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterable

from pytest_procure.errors import ProvisionError

from .exchange import exchange
from .failure import line
from .openai_answers import said
from .target import Target

#: Statuses by which a server says that it is not asked rightly: no key or none that counts, nothing there to
#: be asked, or something elsewhere, where nobody follows.
_KEY, _PLACE, _ELSEWHERE = (401, 402, 403, 407), (404, 405, 410), (301, 302, 303, 307, 308)
REFUSING = frozenset({*_KEY, *_PLACE, *_ELSEWHERE})
#: A refusal comes at once. Whoever thinks for longer was let in.
PATIENCE_S = 10.0
_MOST = 64 << 10
_TWICE = re.compile(r"(/[^/]+)\1(?=/|$)")


def admit(target: Target, bodies: Iterable[bytes]) -> None:
    """Ask until a question is let in; of an answer that is none of a refusal, nothing is read.

    Raises `ProvisionError` where each of them is turned away.
    """
    refusal = ""
    for body in bodies:
        try:
            answer = exchange(
                target, target.path, body, limit=PATIENCE_S, most=_MOST, only=REFUSING.__contains__
            )
        except (OSError, http.client.HTTPException):
            return  # whatever that is, the run measures it
        if answer.status not in REFUSING:
            return
        told = said(answer.data)
        if answer.status in _ELSEWHERE:
            told = f"it is at {line(answer.headers.get('Location', 'nowhere'))}"
        refusal = refusal or turned_away(target, answer.status, f"HTTP {answer.status}: {told}")
    if refusal:
        raise ProvisionError(refusal)


def turned_away(target: Target, status: int, told: str) -> str:
    """Say that every question was turned away, in the server's words, and what mends it."""
    return f"{target.url}: every question is turned away with {told.rstrip(' .:')}; {_mend(target, status)}"


def _mend(target: Target, status: int) -> str:
    if status in _KEY:
        if not target.key:
            return "name the variable that holds the endpoint's key by `key_env=`, and run again"
        return f"mend the key in the variable `{target.key}`, and run again"
    if status in _ELSEWHERE:
        return "redirects are not followed: mend the candidate's URL"
    if twice := _TWICE.search(target.path):
        return f"the path says `{twice[1]}` twice: mend the candidate's URL"
    return "mend the path of the candidate's URL, or the name of its model"
