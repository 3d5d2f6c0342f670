"""The report's colours, light and dark: Okabe and Ito's hues, darkened or lightened until they can be read.

Curves begin with the hues that no verdict has: a green line is no accepted offer.

Every colour of text has a contrast of 4.5:1 or more to both grounds, every mark of a chart 3:1 (WCAG 2.2 AA).
"""

from __future__ import annotations

#: What text and marks stand on.
GROUNDS = ("ground", "panel")
#: Thin lines that carry no meaning; everything else is text, or a mark that must be seen.
DECORATION = ("line",)

LIGHT = {
    "ground": "#ffffff",
    "panel": "#f5f5f2",
    "line": "#d4d4cf",
    "text": "#1c1c1a",
    "muted": "#5a5a55",
    "link": "#00558c",
    "accept": "#00664d",
    "reject": "#a63c00",
    "inconclusive": "#0b5a94",
    "not-tested": "#5a5a55",
    "waived": "#7d3566",
    "invalid": "#6b5200",
    "axis": "#70706b",
    "series-1": "#0072b2",
    "series-2": "#9a4a80",
    "series-3": "#3d3d3a",
    "series-4": "#8a6a00",
    "series-5": "#b35900",
    "series-6": "#00785a",
}

DARK = {
    "ground": "#151514",
    "panel": "#201f1e",
    "line": "#3d3c39",
    "text": "#ecebe6",
    "muted": "#b3b2ab",
    "link": "#7cc0f0",
    "accept": "#5fd3b0",
    "reject": "#ff9f6b",
    "inconclusive": "#7cc0f0",
    "not-tested": "#b3b2ab",
    "waived": "#e2a3cf",
    "invalid": "#e0c060",
    "axis": "#8f8e88",
    "series-1": "#6cb8ee",
    "series-2": "#e2a3cf",
    "series-3": "#d8d7d1",
    "series-4": "#e0c060",
    "series-5": "#f0a860",
    "series-6": "#5fd3b0",
}


def contrast(one: str, other: str) -> float:
    """Compute the contrast ratio of two colours `#rrggbb`, 1 to 21 (WCAG 2.2, "contrast ratio")."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[i : i + 2], 16) / 255) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
