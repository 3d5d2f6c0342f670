"""Samples of records, and what a rendered page says."""

import outline
import pytest
import sample

from pytest_procure.report import html


@pytest.fixture
def demo():
    return sample.demo()


@pytest.fixture
def everything():
    return sample.everything()


@pytest.fixture(scope="session", params=["demo", "everything"])
def page(request):
    """Each sample, rendered and read."""
    return outline.read(html.render(getattr(sample, request.param)()))


@pytest.fixture
def render():
    return html.render


@pytest.fixture
def text_of():
    """The text of a rendered record, without its styles."""

    def told(record):
        return outline.read(html.render(record)).all("body")[0].text

    return told
