"""The report on paper, without a browser: tagged PDF with page numbers, by WeasyPrint (extra `[pdf]`).

WeasyPrint draws each inline SVG as a picture of its own: it sees neither the page's styles nor the symbols in
another SVG. So both are written into each drawing before it is laid out.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

from pytest_procure.errors import EvidenceError
from pytest_procure.evidence.record import Record

from . import palette
from .html import render
from .page import report_id

MISSING = "the PDF needs WeasyPrint; install it with `pip install 'pytest-procure[pdf]'`"
_SYMBOL = re.compile(r'<symbol id="([\w-]+)" viewBox="([\d. -]+)">(.*?)</symbol>', re.DOTALL)
_USE = re.compile(r"<use ([^>]*)/>")
_SVG = re.compile(r"<svg ([^>]*)>(.*?)</svg>", re.DOTALL)
_MOVED = re.compile(r"translate\((-?[\d.]+) (-?[\d.]+)\)")
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_VARIABLE = re.compile(r"var\(--([\w-]+)\)")
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")


def weasyprint() -> Any:
    """Load WeasyPrint. Raises `EvidenceError` when it, or Pango under it, is not installed."""
    try:
        return importlib.import_module("weasyprint")
    except ImportError:
        raise EvidenceError(MISSING) from None
    except OSError as error:
        raise EvidenceError(f"WeasyPrint cannot be loaded: {str(error).partition('. ')[0]}") from None


def pdf(record: Record) -> bytes:
    """Render a record as PDF/UA. Nothing is fetched but what the page itself holds.

    Raises as `weasyprint` does.
    """
    printer = weasyprint()
    fetcher = printer.urls.URLFetcher(allowed_protocols=["data"])
    document = printer.HTML(string=self_contained(render(record)), url_fetcher=fetcher)
    written: Any = document.write_pdf(pdf_variant="pdf/ua-1", pdf_identifier=report_id(record).encode())
    return bytes(written)


def self_contained(page: str) -> str:
    """Write styles and symbols into each drawing of a rendered page, in the colours of paper."""
    # As styles: what a drawing's own rules say of its paths would win over attributes.
    symbols = {
        name: (box, drawn.replace('fill="currentColor"', 'style="fill:currentColor"'))
        for name, box, drawn in _SYMBOL.findall(page)
    }
    style = _STYLE.search(page)
    rules = _drawing_rules(style[1] if style else "")

    def drawing(match: re.Match[str]) -> str:
        attributes, drawn = match[1], match[2]
        known = dict(_ATTRIBUTE.findall(attributes))
        kind = known.get("class", "")
        if kind == "symbols":
            return ""
        if kind == "icon":
            return _icon(drawn, symbols)
        inner = _USE.sub(lambda use: _placed(use[1], symbols), drawn)
        return f"<svg {attributes}><style>{rules}</style>{inner}</svg>"

    return _SVG.sub(drawing, page)


def _drawing_rules(style: str) -> str:
    """Pick the rules for drawings out of the page's style, without variables.

    A class that sets `--mark` sets the colour instead, and what is painted with it takes the current colour.
    Halos behind text are left out: WeasyPrint paints a text's outline over it.
    """
    kept = [f"text{{font-family:sans-serif;font-size:13px;fill:{palette.LIGHT['muted']}}}"]
    screen = style.partition("@media (max-width")[0]
    for selector, body in _RULE.findall(screen):
        name = selector.strip().replace(".chart ", "")
        if body == "color:var(--mark)":
            continue
        if not re.match(
            r"\.chart |\.(key|cut|rim|s\d|accept|reject|inconclusive|not-tested|waived|invalid)\b",
            selector.strip(),
        ):
            continue
        told = body.replace("var(--mark)", "currentColor").replace("--mark:", "color:")
        told = _VARIABLE.sub(lambda match: palette.LIGHT.get(match[1], "sans-serif"), told)
        if "paint-order" in told:
            told = "fill:" + palette.LIGHT["text"]
        kept.append(f"{name}{{{told}}}")
    return "".join(dict.fromkeys(kept))


def _icon(drawn: str, symbols: dict[str, tuple[str, str]]) -> str:
    name = dict(_ATTRIBUTE.findall(drawn)).get("href", "")[1:]
    box, shape = symbols.get(name, ("0 0 20 20", ""))
    colour = palette.LIGHT.get(name.removeprefix("v-"), palette.LIGHT["text"])
    return f'<svg class="icon" viewBox="{box}" color="{colour}"><style>{_SHAPES}</style>{shape}</svg>'


def _placed(use: str, symbols: dict[str, tuple[str, str]]) -> str:
    """Draw a symbol where a reference to it stood."""
    told = dict(_ATTRIBUTE.findall(use))
    box, shape = symbols.get(told.get("href", "")[1:], ("0 0 1 1", ""))
    left, top, width, _ = map(float, box.split())
    scale = float(told.get("width", 0)) / width
    moved = _MOVED.fullmatch(told.get("transform", "translate(0 0)"))
    dx, dy = (float(moved[1]), float(moved[2])) if moved else (0.0, 0.0)
    x, y = float(told.get("x", 0)) + dx - left * scale, float(told.get("y", 0)) + dy - top * scale
    kind = f' class="{told["class"]}"' if "class" in told else ""
    return f'<g{kind} transform="translate({x:.2f} {y:.2f}) scale({scale:.4f})">{shape}</g>'


_SHAPES = (
    f".cut{{fill:none;stroke:{palette.LIGHT['ground']};stroke-width:2.4}}"
    ".rim{fill:none;stroke:currentColor;stroke-width:2}"
)
