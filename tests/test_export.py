"""What leaves as CSV reads back the same, holds no formula, and tells 0 from nothing."""

import csv
import io
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grading.export.sheets import FORMULA, cell, sheet


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1+1", " =1+1", "\r\n=cmd|' /C calc'!A0", "＝1+1", "\u00a0=1"]
)
def test_text_that_a_spreadsheet_would_run_is_marked_as_text(text: str) -> None:
    assert cell(text).startswith("'")


@given(st.text())
def test_no_text_cell_begins_as_a_formula_or_holds_a_line_break(text: str) -> None:
    written = cell(text)
    assert not written.startswith((*FORMULA, "\t", "\r", "\n", " "))
    assert not set(written) & set("\r\n\t\0")


@given(st.lists(st.lists(st.text(st.characters(categories=("L", "N", "P"))), min_size=2, max_size=2), max_size=5))
def test_every_row_reads_back_as_written(rows: list[list[str]]) -> None:
    text = sheet(["a", "b"], rows)
    assert list(csv.reader(io.StringIO(text, newline=""), strict=True))[1:] == [
        [cell(one) for one in row] for row in rows
    ]


def test_points_are_exact_and_zero_is_not_nothing() -> None:
    assert [cell(value) for value in (Decimal("1E+2"), Decimal("0.10"), Decimal(0), None)] == ["100", "0.10", "0", ""]


def test_times_are_utc_and_truth_is_a_word() -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert cell(noon.astimezone(timezone(timedelta(hours=9)))) == "2026-03-01T12:00:00.000Z"
    assert (cell(True), cell(False)) == ("true", "false")


def test_the_sheet_has_no_byte_order_mark_and_ends_its_lines_as_rfc_4180_says() -> None:
    assert sheet(["a"], [["x,y"], ['"']]).encode() == b'a\r\n"x,y"\r\n""""\r\n'
