"""A page without what HTML lets be left out, so that it stays light enough for mail on the worst day.

Everything that a reader sees, hears or selects stays as it was.
"""

from __future__ import annotations

import re

#: Where one of these ends is told by what follows it.
_ENDS = re.compile(r"</(?:li|dt|dd|tr|td|th)>\n?")
#: Before the beginning of a block nothing is shown of a line's end.
_GAP = re.compile(
    r">\n+(?=<(?:article|details|dd|div|dl|dt|fig|h\d|li|ol|p|section|summary|t|ul|/t|/d|/u|/fig)[^>]*>)"
)
#: Quotes need hiding in attributes alone; in text there is no `<` or `>` that is not markup.
_TEXT = re.compile(r">[^<]*<")
#: A drawing keeps its attributes as they are: the PDF reads them.
_OUTSIDE = re.compile(r"<svg.*?</svg>|<[a-z][^<>]*>", re.DOTALL)
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
_QUOTED = re.compile(r'="([\w-]+)"')


def lean(page: str) -> str:
    """Shorten a page whose text is escaped, and whose every element is closed."""
    shorter = _TEXT.sub(lambda text: text[0].replace("&#34;", '"').replace("&#39;", "'"), page)
    shorter = _GAP.sub(">", _ENDS.sub("", shorter))
    shorter = _STYLE.sub(lambda style: style[0].replace("}\n", "}"), shorter)
    return _OUTSIDE.sub(lambda tag: tag[0] if tag[0].startswith("<svg") else _unquoted(tag[0]), shorter)


def _unquoted(tag: str) -> str:
    return _QUOTED.sub(r"=\1", tag)
