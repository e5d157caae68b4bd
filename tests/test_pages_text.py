"""Values become text that hides nothing: exact points, named zones, visible control characters, tame Markdown."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

import grading
from api.pages.text import SHOWN_CHARACTERS, markdown, points, shortened, size, told, visible
from api.pages.times import relative, when
from api.pages.views import cases
from api.schemas import CheckShown

PROMPTS = sorted(Path(grading.__file__).parent.glob("packs/*/prompts/*.md"))
NOW = datetime(2026, 10, 5, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain text", "plain text"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("nul \x00, delete \x7f, next line \x85", "nul ␀, delete ␡, next line ⟨U+0085⟩"),
        ("access\u202e\u2066 level", "access⟨U+202E⟩⟨U+2066⟩ level"),
        ("zero\u200bwidth\ufeff", "zero⟨U+200B⟩width⟨U+FEFF⟩"),
        ("lone \ud800 surrogate", "lone ⟨U+D800⟩ surrogate"),
        ("carriage\rreturn", "carriage␍return"),
        ("Zoë, 李雷, نیم\u200cفاصله", "Zoë, 李雷, نیم\u200cفاصله"),
    ],
)
def test_hidden_characters_are_shown_by_name(given: str, shown: str) -> None:
    assert visible(given) == shown


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.stem)
def test_a_prompt_holds_no_formula_that_the_page_would_show_as_source(prompt: Path) -> None:
    shown = re.sub(r"<code.*?</code>", "", markdown(prompt.read_text("utf-8")), flags=re.DOTALL)
    assert not re.search(r"\$[^$]+\$|\\[a-zA-Z(\[]", shown)


def test_what_is_shown_can_always_be_encoded() -> None:
    visible("".join(map(chr, range(0x0, 0x11000)))).encode("utf-8")


@pytest.mark.parametrize(
    ("value", "shown"), [("5", "5"), ("5.00", "5"), ("2.50", "2.5"), ("0", "0"), ("10", "10"), ("1E+1", "10")]
)
def test_points_are_exact_and_short(value: str, shown: str) -> None:
    assert points(Decimal(value)) == shown


def test_absent_points_are_a_dash_and_not_a_zero() -> None:
    assert points(None) == "–"


@pytest.mark.parametrize(
    ("count", "shown"), [(0, "0 bytes"), (812, "812 bytes"), (3482, "3.4 kB"), (64 * 1024**2, "64 MB")]
)
def test_sizes_are_told_for_people(count: int, shown: str) -> None:
    assert size(count) == shown


def test_a_long_source_is_cut_and_says_by_how_much() -> None:
    assert shortened("x" * (SHOWN_CHARACTERS + 7)) == ("x" * SHOWN_CHARACTERS, 7)


def test_a_due_time_is_told_in_the_courses_zone_with_its_name() -> None:
    due = when(datetime(2026, 10, 9, 6, 59, tzinfo=UTC), "America/Los_Angeles", NOW)
    assert (due.text, due.zone, due.relative) == ("Thu 8 Oct 2026, 23:59", "America/Los_Angeles, PDT", "in 4 days")


def test_a_misspelt_zone_falls_back_to_utc_and_says_so() -> None:
    assert when(NOW, "Mars/Olympus", NOW).zone == "UTC"
    assert when(NOW, "../../etc/passwd", NOW).zone == "UTC"


@pytest.mark.parametrize(
    ("distance", "words"),
    [
        (timedelta(seconds=10), "in a moment"),
        (timedelta(seconds=-10), "just now"),
        (timedelta(minutes=1), "in 1 minute"),
        (timedelta(minutes=-89), "89 minutes ago"),
        (timedelta(hours=-2), "2 hours ago"),
        (timedelta(days=3), "in 3 days"),
    ],
)
def test_distances_in_time_are_told_in_one_unit(distance: timedelta, words: str) -> None:
    assert relative(distance) == words


def test_markdown_of_a_prompt_runs_nothing() -> None:
    shown = markdown(
        "<script>alert(1)</script> <img src=x onerror=alert(1)> [a](javascript:alert(1)) [b](data:text/html,x)"
    )
    assert "<script" not in shown
    assert "<img" not in shown
    assert 'href="javascript' not in shown
    assert 'href="data' not in shown


def test_markdown_tables_align_by_class_since_styles_are_forbidden() -> None:
    shown = markdown("| a | b |\n|---|--:|\n| 1 | 2 |")
    assert 'class="align-right"' in shown
    assert "style=" not in shown


def test_markdown_headings_take_their_place_below_the_pages_own() -> None:
    shown = markdown("# One\n\n### Three\n\n###### Six", top=4)
    assert ["<h4>" in shown, "<h6>" in shown, "<h1>" in shown] == [True, True, False]


def check(public: bool, passed: bool) -> CheckShown:
    return CheckShown(label="a case", public=public, passed=passed, text="")


def test_public_and_drawn_cases_are_counted_apart() -> None:
    assert cases([check(True, True)] * 3, [check(False, True), check(False, False)]) == (
        "All 3 public cases pass. 1 of 2 drawn cases passes."
    )


def test_passing_the_public_cases_is_never_worded_as_passing_all() -> None:
    assert cases([check(True, True)] * 2, []) == "Both public cases pass."
    assert cases([], [check(False, True)]) == "The drawn case passes."
    assert cases([check(True, False)] * 3, []) == "None of the 3 public cases passes."


def test_names_between_backticks_are_set_as_code_and_escaped() -> None:
    assert told("no function `<gemm>` was found & more") == "no function <code>&lt;gemm&gt;</code> was found &amp; more"
    assert told("an odd ` stays <as it is>") == "an odd ` stays &lt;as it is&gt;"
