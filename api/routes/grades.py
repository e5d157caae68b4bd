"""The grades of a course, pulled by its LMS: JSON or CSV, in the order of their changes, so that none is missed."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from starlette.responses import JSONResponse

from api.auth import enter_grades, settings_of
from api.problems import ProblemError, documented
from api.routes.paging import beside
from api.routes.scoreboard import csv_answer
from api.schemas import Grades, Pulled
from grading.export.pulled import PulledGrade, grades_sheet
from grading.store import courses, grades, people
from grading.store.session import reading

OVERLAP = timedelta(minutes=5)  # a change is stamped a moment before others can see it, and clocks differ
router = APIRouter(prefix="/courses/{course}", tags=["grades"])
USUAL, MOST, WHOLE = 100, 1000, 200_000


@router.get(
    "/grades",
    operation_id="pull_grades",
    response_model=Grades,
    responses=documented(401, 403, 404)
    | {
        200: {
            "description": "a page of grades; a Link header names the next one",
            "content": {"text/csv": {"schema": {"type": "string"}}},
            "headers": {"Link": {"schema": {"type": "string"}, "description": 'rel="next", while there is more'}},
        }
    },
)
def pull(
    request: Request,
    course: Annotated[str, Depends(enter_grades)],
    limit: Annotated[int | None, Query(ge=1, le=MOST, description=f"rows a page; {USUAL}, or all of a CSV")] = None,
    since: Annotated[
        str,
        Query(
            max_length=40,
            description="only what changed after this revision, or at this time (ISO 8601 with offset) or later; "
            "with a time, what changed in the five minutes before comes again",
            examples=["17", "2026-03-01T00:00:00Z"],
        ),
    ] = "",
    cursor: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="as the next page's address gives it")] = None,
    format: Annotated[Literal["json", "csv"] | None, Query(description="as Accept does")] = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Every grade of the course's released labs, by revision.

    A grade that changes during a walk comes again, under its new revision. Who has no grade is absent; "0" is a grade.
    Points are out of `out_of`, bonus points come on top; `pending` of them wait for a person.
    """
    as_csv = format == "csv" or (format is None and "text/csv" in accept.lower())
    size = limit or (WHOLE if as_csv else USUAL)
    moment = _moment(since)
    with reading(settings_of(request).database) as session:
        start = cursor
        if start is None:
            start = courses.revision_before(session, course, moment - OVERLAP) if moment else _number(since)
        found = grades.since(session, course, start, size + 1)
        page = found[:size]
        titles = {lab.id: lab.title for lab in courses.labs_of(session, course)}
        places = {
            place.user_id: place for place in people.places(session, course, sorted({user.id for _, user in page}))
        }
    rows = [
        PulledGrade(
            lab=grade.lab_id,
            title=titles[grade.lab_id],
            login=user.login,
            name=user.name,
            email=user.email,
            section=places[user.id].section if user.id in places else "",
            active=user.id in places and places[user.id].active,
            points=grade.points,
            bonus=grade.bonus,
            out_of=grade.out_of,
            pending=grade.pending,
            late=grade.late,
            revision=grade.revision,
            changed_at=grade.changed_at,
        )
        for grade, user in page
    ]
    last = rows[-1].revision if rows else start
    more = beside(request, cursor=last) if len(found) > size else None
    answer: Response
    if as_csv:
        answer = csv_answer(grades_sheet(rows), f"{course}-grades.csv")
    else:
        body = Grades(items=[Pulled(**asdict(row)) for row in rows], revision=last, next=more)
        answer = JSONResponse(body.model_dump(mode="json"), headers={"Cache-Control": "no-store"})
    answer.headers["Vary"] = "Accept, Authorization"
    if more:
        answer.headers["Link"] = f'<{more}>; rel="next"'
    return answer


def _number(since: str) -> int:
    return int(since) if since else 0


def _moment(since: str) -> datetime | None:
    if since == "" or (since.isascii() and since.isdigit() and len(since) <= 9):
        return None
    try:
        moment = datetime.fromisoformat(since)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    detail = "since is a revision, or a time with offset such as 2026-03-01T00:00:00Z."
    raise ProblemError(422, "since", detail)
