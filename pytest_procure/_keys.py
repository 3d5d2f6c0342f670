"""Where our state lies on pytest's objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .session import Session
    from .trials import Trial

#: The state of this session, where somebody uses us.
session_key: pytest.StashKey[Session] = pytest.StashKey()
#: The requirement that a test item stands for, on one candidate.
trial_key: pytest.StashKey[Trial] = pytest.StashKey()


def session_of(config: pytest.Config) -> Session:
    """Give the state of this session; it is made when somebody first uses us, so that others pay nothing."""
    if session_key not in config.stash:
        from .session import Session  # noqa: PLC0415 - this is what others do not pay for

        config.stash[session_key] = Session(config)
    return config.stash[session_key]
