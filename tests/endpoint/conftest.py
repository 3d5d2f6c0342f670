import pytest
from mock_process import Mock


@pytest.fixture(scope="module")
def _mock():
    mock = Mock()
    yield mock
    mock.end()


@pytest.fixture
def mock(_mock):
    """The mock, well-behaved again."""
    _mock.behave()
    return _mock
