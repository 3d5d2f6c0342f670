"""Text that others wrote, made safe to look at: all of it is seen, and none of it moves its neighbours.

Escaping is the template engine's work. This is about what escaping leaves: control characters, marks that
turn the direction of reading, piled-up accents, and length.
"""

from __future__ import annotations

import unicodedata

#: Joiners that emoji and several scripts need.
_WANTED = {"\u200c", "\u200d", "\n", "\t"}
#: More accents on one letter than any script writes paint over the lines above.
_MARKS = 4


def visible(text: str) -> str:
    """Replace what cannot be seen by a sign that can: NUL by its picture, U+202E by ⟨U+202E⟩."""
    # Nearly all text is plain; looking at each character is for the rest.
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        if marks > _MARKS:
            continue
        shown.append(_sign(character, category))
    return "".join(shown)


def _sign(character: str, category: str) -> str:
    if character in _WANTED:
        return character
    if category == "Cc":
        number = ord(character)
        if number < 0x20:
            return chr(0x2400 + number)
        return "\u2421" if number == 0x7F else f"⟨U+{number:04X}⟩"
    # Formats (direction, zero width), lone surrogates (no file can hold them), line and paragraph separators.
    if category in {"Cf", "Cs", "Zl", "Zp"}:
        return f"⟨U+{ord(character):04X}⟩"
    return character


def one_line(text: str) -> str:
    """Make text visible on one line."""
    return visible(" ".join(text.split()))


def shorten(text: str, limit: int) -> str:
    """Cut to `limit` characters, the last of them an ellipsis. The engineer's detail has the whole."""
    line = one_line(text)
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
