"""Reads a page without a browser: its elements, where they stand, and its text."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}

#: Elements that end where their parent does, and those that end where one of these begins.
_OPTIONAL = {"li", "dt", "dd", "tr", "td", "th"}
_CELLS = ("td", "th")
_ENDED_BY = {
    "li": ("li",),
    "dt": ("dt", "dd"),
    "dd": ("dt", "dd"),
    "td": _CELLS,
    "th": _CELLS,
    "tr": (*_CELLS, "tr"),
    "tbody": (*_CELLS, "tr"),
}

_INLINE = {"b", "bdi", "code", "em", "s", "span", "strong"}


@dataclass
class Element:
    tag: str
    attrs: dict[str, str]
    parents: tuple[str, ...]
    children: list["Element"] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join("".join(self.pieces).split())

    def all(self, *tags: str) -> list["Element"]:
        found = []
        for child in self.children:
            if child.tag in tags:
                found.append(child)
            found += child.all(*tags)
        return found


class Outline(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {}, ())
        self._open = [self.root]
        self.unclosed: list[str] = []
        self.feed(page)
        self.close()
        self.unclosed += [element.tag for element in self._open[1:]]

    def handle_starttag(self, tag, attrs):
        while self._open[-1].tag in _ENDED_BY.get(tag, ()):
            self._open.pop()
        if tag not in _INLINE:
            self.handle_data(" ")
        element = Element(tag, {k: v or "" for k, v in attrs}, tuple(e.tag for e in self._open[1:]))
        self._open[-1].children.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attrs):
        element = Element(tag, {k: v or "" for k, v in attrs}, tuple(e.tag for e in self._open[1:]))
        self._open[-1].children.append(element)

    def handle_endtag(self, tag):
        while self._open[-1].tag != tag and self._open[-1].tag in _OPTIONAL:
            self._open.pop()
        if self._open[-1].tag != tag:
            self.unclosed.append(f"{self._open[-1].tag} closed by {tag}")
            return
        self._open.pop()

    def handle_data(self, data):
        for element in self._open:
            element.pieces.append(data)


def read(page: str) -> Element:
    """Read a page; raise AssertionError if an element is not closed where it should be."""
    outline = Outline(page)
    assert outline.unclosed == []
    return outline.root
