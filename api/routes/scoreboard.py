"""A lab's scoreboard, for staff: as JSON and as a sheet."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from api.auth import InLab, in_lab, settings_of
from api.problems import documented
from api.schemas import CellShown, FaultShown, RowShown, ScoreboardShown
from grading.export import scoreboard as export
from grading.shelf import outline_of
from grading.store import gradings
from grading.store.grades import scoreboard
from grading.store.session import reading
from grading.store.tables import Role
from grading.store.tokens import Scope
from grading.verdict import State

router = APIRouter(prefix="/labs/{lab}", tags=["staff"], responses=documented(401, 403, 404))
Staff = Annotated[InLab, Depends(in_lab(Role.TA, Scope.STAFF))]


@router.get("/scoreboard", operation_id="read_scoreboard")
def shown(request: Request, here: Staff) -> ScoreboardShown:
    """Every active student of the course with what counts, by name; and what stays ungraded by a fault of ours."""
    outline = outline_of(settings_of(request), here.lab.pack)
    with reading(settings_of(request).database) as session:
        rows, faults = scoreboard(session, here.lab.id), gradings.faults(session, here.lab.id)
    return ScoreboardShown(
        lab=here.lab.id,
        questions=[question.id for question in outline.questions],
        items=[
            RowShown(
                login=row.login,
                name=row.name,
                section=row.section,
                submission=row.submission_id,
                handed_in=row.handed_in,
                points=row.points,
                bonus=row.bonus,
                pending=row.pending,
                out_of=row.out_of,
                late=row.late,
                isolation=row.isolation,
                questions={
                    question: CellShown(state=State(state), points=points, needs_review=review)
                    for question, (state, points, review) in row.questions.items()
                },
            )
            for row in rows
        ],
        faults=[
            FaultShown(
                submission=fault.submission_id,
                number=fault.number,
                login=fault.login,
                name=fault.name,
                attempts=fault.attempts,
                cause=fault.cause,
            )
            for fault in faults
        ],
    )


@router.get(
    "/scoreboard.csv",
    operation_id="export_scoreboard",
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "the sheet"}},
)
def sheet(request: Request, here: Staff) -> Response:
    """The scoreboard as CSV: a row a student, a blank where nothing counts yet."""
    outline = outline_of(settings_of(request), here.lab.pack)
    with reading(settings_of(request).database) as session:
        text = export.scoreboard_sheet(
            [question.id for question in outline.questions], scoreboard(session, here.lab.id)
        )
    return csv_answer(text, f"{here.lab.id}-scoreboard.csv")


def csv_answer(text: str, filename: str) -> Response:
    """A sheet to be kept as a file."""
    headers = {"Content-Disposition": f'attachment; filename="{filename}"', "Cache-Control": "no-store"}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)
