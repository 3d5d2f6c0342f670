"""Colours that everybody can read, in light and in dark."""

import colorsys
import itertools
import re

import pytest

from pytest_procure.report import html, palette, words

SCHEMES = {"light": palette.LIGHT, "dark": palette.DARK}
DRAWN = {"axis", *(f"series-{i}" for i in range(1, 7))}
TEXTS = set(palette.LIGHT) - set(palette.GROUNDS) - set(palette.DECORATION) - DRAWN


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ground", palette.GROUNDS)
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_text_stands_out_from_its_ground(scheme, ground, name):
    colours = SCHEMES[scheme]
    assert palette.contrast(colours[name], colours[ground]) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ground", palette.GROUNDS)
@pytest.mark.parametrize("name", sorted(DRAWN))
def test_what_is_drawn_stands_out_from_its_ground(scheme, ground, name):
    colours = SCHEMES[scheme]
    assert palette.contrast(colours[name], colours[ground]) >= 3


def test_contrast_is_that_of_the_guideline():
    assert palette.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert palette.contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_both_schemes_name_the_same_colours():
    assert palette.LIGHT.keys() == palette.DARK.keys()


def test_the_page_uses_no_colour_that_is_not_checked(demo):
    page = html.render(demo)
    style = page[page.index("<style>") : page.index("</style>")]
    known = {*palette.LIGHT.values(), *palette.DARK.values(), "#555"}  # the last: print margins, on white
    assert set(re.findall(r"#[0-9a-f]{3,6}\b", style)) == known
    assert palette.contrast("#555555", "#ffffff") >= 4.5
    assert set(re.findall(r"var\(--([\w-]+)\)", page)) <= {*palette.LIGHT, "mark", "serif", "sans", "mono"}


def test_no_two_verdicts_share_a_shape_a_word_or_a_colour(demo):
    page = html.render(demo)
    told = list(words.VERDICTS.values())
    for one, other in itertools.combinations(told, 2):
        assert one.glyph != other.glyph
        assert one.result != other.result
        assert one.candidate != other.candidate
    icons = [re.search(rf'<symbol id="v-{v.style}".*?</symbol>', page)[0].partition(">")[2] for v in told]
    assert len(set(icons)) == len(told)


@pytest.mark.parametrize("scheme", [palette.LIGHT, palette.DARK], ids=["light", "dark"])
def test_numbers_on_the_bars_of_a_pipeline_can_be_read(scheme):
    for number in range(1, 7):
        assert palette.contrast(scheme["ground"], scheme[f"series-{number}"]) >= 4.5, number


@pytest.mark.parametrize("scheme", [palette.LIGHT, palette.DARK], ids=["light", "dark"])
def test_the_first_curves_are_not_taken_for_verdicts(scheme):
    def hue(name):
        code = scheme[name]
        return colorsys.rgb_to_hsv(*(int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)))[:2]

    for number in range(1, 4):
        angle, saturation = hue(f"series-{number}")
        for verdict in ("accept", "reject"):
            apart = abs(angle - hue(verdict)[0])
            assert saturation < 0.1 or min(apart, 1 - apart) > 1 / 12, (number, verdict)
