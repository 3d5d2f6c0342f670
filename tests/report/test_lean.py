"""A page is written shorter without a change of what it shows."""

import html as escaped

import outline
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from pytest_procure.report.lean import lean


def shape(element):
    return [(each.tag, each.attrs, each.text) for each in everything_in(element)]


def everything_in(element):
    return element.children + [each for child in element.children for each in everything_in(child)]


@given(st.text())
def test_no_text_makes_an_element_or_is_lost(text):
    page = (
        f'<p class="a b" id="c" title="{escape(text)}">{escape(text)}</p>\n\n<pre>{escape(text)}</pre>\n'
        f"<ul>\n<li>{escape(text)}</li>\n<li>x</li>\n</ul>\n"
    )
    assert shape(outline.read(lean(page))) == shape(outline.read(page))


@pytest.mark.parametrize("text", ['{\n  "a": 1\n}\n\nb', "x\n\n\ny", '<b class="c">'])
def test_error_texts_keep_their_lines(text):
    assert f"<pre>{text}</pre>" in escaped.unescape(lean(f"<p>x</p>\n<pre>{escape(text)}</pre>"))


def test_ends_that_follow_are_left_out_and_drawings_are_not_touched():
    drawing = '<svg class="icon" aria-hidden="true"><use href="#a"/></svg>'
    row = f'<table>\n<tr class="bar"><td data-label="Likely range">1</td><td>{drawing} b</td></tr>\n</table>'
    shorter = f'<table><tr class=bar><td data-label="Likely range">1<td>{drawing} b</table>'
    assert lean(row) == shorter
