"""Grades that leave for an LMS, and their sheet."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from datetime import datetime
from decimal import Decimal

from grading.export.sheets import sheet


@dataclass(frozen=True, slots=True)
class PulledGrade:
    """One student's grade in one released lab. The fields are the sheet's columns."""

    lab: str
    title: str
    login: str
    name: str
    email: str
    section: str
    active: bool
    points: Decimal
    bonus: Decimal
    out_of: Decimal
    pending: Decimal
    late: bool
    revision: int
    changed_at: datetime


def grades_sheet(grades: Iterable[PulledGrade]) -> str:
    """Grades as CSV, in the order in which they changed."""
    return sheet([field.name for field in fields(PulledGrade)], (astuple(grade) for grade in grades))
