"""What every backend keeps, whatever runs below it."""

import json

import pytest

from pytest_procure.backends import Backend, LoadedBackend
from pytest_procure.errors import ProvisionError


def keeps_the_contract(declared, base, batches):
    """Load, ask, describe and close a backend; `batches` are pairs of inputs and the outputs expected."""
    assert isinstance(declared, Backend)
    loaded = declared.load(base)
    assert isinstance(loaded, LoadedBackend)
    for inputs, expected in batches:
        outputs = loaded.predict(inputs)
        assert len(outputs) == len(inputs)
        assert list(outputs) == list(expected)
    assert loaded.device
    assert isinstance(loaded.releases_gil, bool)
    described = loaded.describe()
    assert json.loads(json.dumps(described, allow_nan=False)) == described
    assert str(base) not in json.dumps(described)
    loaded.close()


def refuses(declared, base, *words):
    """Loading fails with one sentence that holds `words` and no folder of this machine."""
    with pytest.raises(ProvisionError) as refusal:
        declared.load(base)
    text = str(refusal.value)
    assert "\n" not in text
    assert str(base) not in text
    for word in words:
        assert word in text
    return text
