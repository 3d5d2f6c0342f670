"""docs/threats.md promises tests: they are there, under the names that it gives."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NAMED = sorted(
    set(re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", (ROOT / "docs/threats.md").read_text("utf-8")))
)


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_a_test_that_the_threats_name_is_there(file, test):
    found = list((ROOT / "tests").rglob(file))
    assert len(found) == 1
    assert not test or f"def {test}(" in found[0].read_text("utf-8")
