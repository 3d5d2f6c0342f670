"""Where our state lies on pytest's objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .gate import Gate
    from .requirements import Trial
    from .suite import Suite

#: What the conftests of this session declare; made when a test first asks for one of our fixtures.
suite_key = pytest.StashKey["Suite"]()
#: What is expected of this session and what has come in; on the controller only.
gate_key = pytest.StashKey["Gate"]()
#: The requirement that a test item stands for, on one candidate.
trial_key = pytest.StashKey["Trial"]()
