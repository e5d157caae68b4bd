"""Turning values into text that is safe and honest to show: exact points, visible control characters, Markdown.

Escaping is not done here: templates escape everything that is not `Markup`.
"""

import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

SHOWN_CHARACTERS = 60_000
JOINERS = "\u200c\u200d"  # ordinary in Persian and Indic names and in emoji


def visible(text: str) -> str:
    """The text with every character that hides or reorders others replaced by its name in brackets."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def told(text: str) -> Markup:
    """A sentence of Rooflab's own with `names` between backticks, which are set as code; all of it escaped."""
    pieces = visible(text).split("`")
    if len(pieces) % 2 == 0:
        return escape(visible(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if position % 2 else escape(piece)
        for position, piece in enumerate(pieces)
    )


def shortened(text: str) -> tuple[str, int]:
    """At most `SHOWN_CHARACTERS` of a text, and how many characters were left out."""
    return text[:SHOWN_CHARACTERS], max(0, len(text) - SHOWN_CHARACTERS)


def points(value: Decimal | None) -> str:
    """An exact decimal without needless zeros: `5`, `2.5`; a dash where there is none."""
    if value is None:
        return "–"
    plain = format(value, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def size(count: int) -> str:
    """A number of bytes as file managers tell it: `812 bytes`, `3.4 kB`, `64 MB` (of 1024 each)."""
    if count < 1024:
        return f"{count} bytes"
    unit, factor = ("kB", 1024) if count < 1024**2 else ("MB", 1024**2)
    return f"{points((Decimal(count) / factor).quantize(Decimal('0.1')))} {unit}"


@lru_cache(maxsize=256)
def markdown(source: str, top: int = 3) -> Markup:
    """Markdown from a pack as HTML. Raw HTML stays text, the highest heading becomes level `top`."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(source)
    _lower_headings(tokens, top)
    _settle_tables(tokens)
    renderer = parser.renderer
    assert isinstance(renderer, RendererHTML)
    return Markup(renderer.render(tokens, parser.options, {}))


def _shown(character: str) -> str:
    if character in "\n\t":
        return character
    category = unicodedata.category(character)
    if category == "Cc":
        code = ord(character)
        return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
    if (category == "Cf" and character not in JOINERS) or category in ("Zl", "Zp", "Cs"):
        return f"⟨U+{ord(character):04X}⟩"
    return character


def _lower_headings(tokens: Sequence[Token], top: int) -> None:
    levels = [int(token.tag[1]) for token in tokens if token.type == "heading_open"]
    shift = top - min(levels, default=top)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + shift)}"


def _settle_tables(tokens: Sequence[Token]) -> None:
    """Head cells say what they head. Alignment comes as a style, which the security policy forbids: use a class."""
    for token in tokens:
        if token.type == "th_open":
            token.attrSet("scope", "col")
        style = token.attrs.pop("style", None)
        if style is not None:
            token.attrSet("class", str(style).replace("text-align:", "align-"))
