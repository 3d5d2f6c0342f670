"""Nothing that others wrote runs in the page, hides in it, or moves what stands beside it."""

import hostile
import outline
import pytest
import sample

from pytest_procure.report import html, markdown, terminal
from pytest_procure.report.visible import one_line, shorten, visible


@pytest.fixture(scope="module")
def source():
    return html.render(hostile.record(hostile.TEXT))


@pytest.fixture(scope="module")
def page(source):
    return outline.read(source)


def test_hostile_text_makes_no_element_and_no_attribute(page):
    plain = outline.read(html.render(hostile.record("plain")))
    assert shape(page) == shape(plain)


def test_hostile_text_is_shown_as_text(page):
    assert "<script>alert(1)</script><img src=x onerror=alert(1)>" in page.all("main")[0].text
    assert "{{ 7*7 }}" in page.all("main")[0].text


def test_a_page_of_hostile_text_can_be_written_to_a_file(source):
    assert source.encode("utf-8")


def test_no_control_character_reaches_the_page(source):
    assert not [c for c in source if ord(c) < 0x20 and c not in "\n\t"]
    assert not set(source) & set("\x7f\x85\u202e\u2066\u200f\u200b\ufeff")


def test_names_and_questions_of_others_are_isolated_from_the_direction_of_their_neighbours(page):
    arabic = sample.demo()
    arabic["candidates"][0]["name"] = "عرض"
    read = outline.read(html.render(arabic))
    holders = [e for e in everything_in(read.all("body")[0]) if "عرض" in e.text and not e.children]
    assert holders
    assert {e.tag for e in holders} <= {"bdi", "title", "desc", "text"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\x00b", "a␀b"),
        ("a\x1b[31mb", "a␛[31mb"),
        ("a\x7fb\x85", "a␡b⟨U+0085⟩"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a\u2028b\ud800", "a⟨U+2028⟩b⟨U+D800⟩"),
        ("two\nlines", "two\nlines"),
        ("👩\u200d🔬", "👩\u200d🔬"),
        ("e" + "\u0301" * 40, "e" + "\u0301" * 4),
        ("שלום", "שלום"),
    ],
)
def test_what_cannot_be_seen_becomes_a_sign(text, shown):
    assert visible(text) == shown


def test_a_name_stays_on_its_line_and_within_its_length():
    assert one_line("a\n\tb \x00") == "a b ␀"
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdefg", 6) == "abcde…"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_terminal_gets_no_control_character_and_no_line_too_long(width):
    told = terminal.lines(hostile.record(hostile.TEXT), width=width)
    assert all(len(line) <= width for line in told)
    assert all(character.isprintable() for line in told for character in line)


def test_markdown_makes_nothing_of_hostile_text():
    told = markdown.summary(hostile.record(hostile.TEXT + "[x](y) | ~~a~~ *b* _c_"))
    assert "<" not in told
    rows = [line for line in told.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {4}
    for special in "`*_[]~":
        assert f"{special}" not in told.replace(f"\\{special}", "")


def shape(element):
    """Tags and attribute names of a page, without the values."""
    return [(e.tag, sorted(e.attrs)) for e in everything_in(element) if "class" not in e.attrs]


def everything_in(element):
    return element.children + [e for child in element.children for e in everything_in(child)]
