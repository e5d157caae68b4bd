"""The look keeps its promises: enough contrast in both schemes, nothing inline, the vendored file unchanged."""

import base64
import hashlib
import re
from itertools import pairwise
from pathlib import Path

import pytest

import api

HERE = Path(api.__file__).parent
CSS = (HERE / "static" / "style.css").read_text()
TEMPLATES = sorted((HERE / "templates").glob("*.html"))
HTMX_SHA384 = "2OatzQy1H+Zd/IIrjr1TcuDGqLXeHhbooAyJY1KdQMKnr4LZ22k31GBLdYKHmVjg"

TEXT_ON_GROUND = [
    *[(ink, ground) for ink in ("ink", "muted", "accent", "failed") for ground in ("paper", "surface", "sunken")],
    *[(tone, f"{tone}-soft") for tone in ("passed", "partial", "failed", "absent", "ours", "review", "accent")],
    *[("ink", f"{tone}-soft") for tone in ("passed", "partial", "failed", "ours", "review")],
    *[("muted", f"{tone}-soft") for tone in ("partial", "failed", "ours", "accent")],
    *[(tone, "surface") for tone in ("passed", "partial", "absent", "ours", "review", "accent-hover")],
    ("on-accent", "accent"),
    ("on-accent", "accent-hover"),
    ("review", "review-soft"),
]


def schemes() -> dict[str, dict[str, str]]:
    light, dark = re.findall(r":root \{(.*?)\n\s*\}", CSS, re.S)[:2]
    colours = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in (light, dark)]
    return {"light": colours[0], "dark": {**colours[0], **colours[1]}}


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_of_at_least_4_5(scheme: str) -> None:
    colours = schemes()[scheme]
    weak = {
        (ink, ground): round(contrast(colours[ink], colours[ground]), 2)
        for ink, ground in TEXT_ON_GROUND
        if contrast(colours[ink], colours[ground]) < 4.5
    }
    assert not weak


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_edges_of_fields_have_contrast_of_at_least_3(scheme: str) -> None:
    colours = schemes()[scheme]
    assert contrast(colours["line-strong"], colours["surface"]) >= 3
    assert contrast(colours["accent"], colours["paper"]) >= 3


def test_both_schemes_give_every_colour() -> None:
    light, dark = re.findall(r":root \{(.*?)\n\s*\}", CSS, re.S)[:2]
    names = [set(re.findall(r"--([\w-]+): #", block)) for block in (light, dark)]
    assert names[0] == names[1]


def test_colours_stand_in_the_palette_alone() -> None:
    rules = CSS[CSS.index("/* Type and page */") :].replace("--paper: #fff", "")
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?=[;, )])", rules) == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_templates_hold_no_inline_script_style_or_handler(template: Path) -> None:
    text = template.read_text()
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", text)
    assert all(" src=" in tag for tag in re.findall(r"<script[^>]*>", text))
    assert "|safe" not in text


def test_every_template_extends_the_layout_or_is_a_part() -> None:
    for template in TEMPLATES:
        if not template.name.startswith("_") and template.name != "base.html":
            assert template.read_text().startswith('{% extends "base.html" %}'), template.name


def test_vendored_htmx_is_the_published_file() -> None:
    digest = hashlib.sha384((HERE / "static" / "htmx.min.js").read_bytes()).digest()
    assert base64.b64encode(digest).decode() == HTMX_SHA384


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_headings_never_skip_a_level_downwards(template: Path) -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])\b", template.read_text())]
    assert all(after <= before + 1 for before, after in pairwise(levels))
