"""The two things a suite declares: what is on offer, and the buyer's data.

Write them in a `conftest.py` and mark them `@pytest.hookimpl(optionalhook=True)`, so that `-p no:procure`
does not trip over them. Relative paths inside resolve against that conftest's folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # a session that does not use the plugin must not pay for numpy
    from .candidates import Candidate
    from .datasets import Dataset


@pytest.hookspec
def pytest_procure_candidates(config: pytest.Config) -> Sequence[Candidate] | None:
    """Return the candidates on offer, each with a name of its own.

    The nearest conftest that gives any decides for the tests below it; candidates of others stay apart.
    """


@pytest.hookspec
def pytest_procure_datasets(
    config: pytest.Config,
) -> Mapping[str, Dataset | Callable[[], Dataset]] | None:
    """Return the buyer's datasets by name, or callables that make them when first used.

    Those of all conftests above a test are known to it; of one name, the nearest counts.
    """
