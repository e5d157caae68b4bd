"""My labs, one lab with its questions and its two ways of handing in, and the history of what was handed in."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from sqlalchemy.orm import Session

from api.auth import InLab, LabId, Person, current_person, enter_lab, settings_of
from api.pages.rendering import page
from api.pages.text import points
from api.pages.times import When, when
from api.pages.views import asked
from api.pages.words import counted
from grading.policy import Late, Policy
from grading.shelf import outline_of
from grading.store import courses, grades, submissions
from grading.store.session import reading
from grading.store.tables import Grade, Grading, GradingState, Lab, Role, Submission
from grading.store.tokens import Scope

router = APIRouter()
Who = Annotated[Person, Depends(current_person)]
STATUS = {
    GradingState.QUEUED: "waiting to be graded",
    GradingState.RUNNING: "being graded",
    GradingState.FAILED: "not graded, by a fault of ours; it costs nothing",
}


@dataclass(frozen=True, slots=True)
class LabView:
    """A lab as one student stands in it. `closed` says why nothing more is taken, or is empty."""

    id: str
    title: str
    due: When | None
    attempts: str
    counts: str
    late: str
    used: int
    grade: Grade | None
    latest_id: str
    latest_number: int
    closed: str


@dataclass(frozen=True, slots=True)
class CourseView:
    id: str
    title: str
    staff: bool
    admin: bool
    labs: tuple[LabView, ...]


@dataclass(frozen=True, slots=True)
class HistoryRow:
    id: str
    number: int
    filename: str
    received: When
    late: bool
    counts: bool
    status: str  # empty once graded
    points: Decimal | None
    out_of: Decimal | None
    bonus: Decimal | None
    pending: Decimal | None


@router.get("/")
def mine(request: Request, person: Who) -> Response:
    """The labs of every course that I have a place in."""
    now = datetime.now(UTC)
    labs: dict[str, list[LabView]] = {}
    with reading(settings_of(request).database) as session:
        places = courses.courses_for(session, person.user_id)
        for lab, _ in courses.labs_for(session, person.user_id):
            labs.setdefault(lab.course_id, []).append(lab_view(session, lab, person.user_id, now))
    order = [*labs, *(course.id for course, _ in places if course.id not in labs)]  # what is due next comes first
    shown = [
        CourseView(
            id=course.id,
            title=course.title,
            staff=role is not Role.STUDENT and Scope.STAFF in person.scopes,
            admin=role is Role.ADMIN and Scope.ADMIN in person.scopes,
            labs=tuple(labs.get(course.id, ())),
        )
        for course, role in sorted(places, key=lambda place: order.index(place[0].id))
    ]
    return page(request, "labs.html", courses=shown)


@router.get("/labs/{lab}")
def lab(request: Request, lab: LabId, person: Who) -> Response:
    """A lab's questions, and how to hand in."""
    return lab_page(request, enter_lab(request, person, lab, Role.STUDENT, Scope.READ))


@router.get("/labs/{lab}/history")
def history(request: Request, lab: LabId, person: Who) -> Response:
    """What I handed in, which one counts, and why."""
    entered = enter_lab(request, person, lab, Role.STUDENT, Scope.READ)
    with reading(settings_of(request).database) as session:
        shown = handed_in(session, entered.lab, person.user_id, mine=True)
    return page(request, "history.html", **shown)


def lab_page(
    request: Request,
    entered: InLab,
    code: int = 200,
    *,
    file_problem: str = "",
    paste_problem: str = "",
    pasted: Mapping[str, str] | None = None,
    paste_problems: Mapping[str, str] | None = None,
) -> Response:
    """A lab's page, with what was refused in its place and what was pasted kept."""
    settings = settings_of(request)
    outline = outline_of(settings, entered.lab.pack)
    with reading(settings.database) as session:
        view = lab_view(session, entered.lab, entered.person.user_id, datetime.now(UTC))
    return page(
        request,
        "lab.html",
        code,
        lab=view,
        questions=asked(outline),
        out_of=outline.out_of,
        bonus_out_of=outline.bonus_out_of,
        max_bytes=settings.max_upload_bytes,
        file_problem=file_problem,
        paste_problem=paste_problem,
        pasted=pasted or {},
        paste_problems=paste_problems or {},
    )


def handed_in(session: Session, lab: Lab, user_id: int, mine: bool) -> dict[str, Any]:
    """What a history shows of somebody: the lab as they stand in it, their submissions, and which one counts, why."""
    now, zone = datetime.now(UTC), _zone(session, lab)
    grade = grades.of_student(session, lab.id, user_id)
    listed = submissions.of_student(session, lab.id, user_id)
    rows = [_row(submission, grading, grade, zone, now) for submission, grading in listed]
    why = _why(rows, Policy.model_validate(lab.policy), mine)
    return {"lab": lab_view(session, lab, user_id, now), "rows": rows, "why": why}


def lab_view(session: Session, lab: Lab, user_id: int, now: datetime) -> LabView:
    """How somebody stands in a lab."""
    policy = Policy.model_validate(lab.policy)
    listed = submissions.of_student(session, lab.id, user_id)
    used = submissions.attempts(session, lab.id, user_id)
    latest = listed[0][0] if listed else None
    limit = policy.attempts
    closed = ""
    if policy.closed(now, lab.due_at):
        closed = "This lab is closed: its due time has passed, and nothing more is taken."
    elif limit is not None and used >= limit:
        closed = f"You have used all {limit} of your submissions."
    return LabView(
        id=lab.id,
        title=lab.title,
        due=when(lab.due_at, _zone(session, lab), now) if lab.due_at else None,
        attempts=f"{used} of {limit} used" if limit else f"{counted(used, 'submission', 'submissions')}, no limit",
        counts=f"your {policy.counts} submission",
        late=_late(policy),
        used=len(listed),
        grade=grades.of_student(session, lab.id, user_id),
        latest_id=latest.id if latest else "",
        latest_number=latest.number if latest else 0,
        closed=closed,
    )


def _row(submission: Submission, grading: Grading, grade: Grade | None, zone: str, now: datetime) -> HistoryRow:
    return HistoryRow(
        id=submission.id,
        number=submission.number,
        filename=submission.filename,
        received=when(submission.received_at, zone, now),
        late=submission.late,
        counts=grade is not None and grade.grading_id == grading.id,
        status=STATUS.get(GradingState(grading.state), ""),
        points=grading.points,
        out_of=grading.out_of,
        bonus=grading.bonus,
        pending=grading.pending,
    )


def _why(rows: list[HistoryRow], policy: Policy, mine: bool) -> str:
    rule = f"In this lab {'your' if mine else 'the'} {policy.counts} submission counts"
    counting = next((row for row in rows if row.counts), None)
    if counting is None:
        return f"{rule}. None is graded yet."
    if policy.counts == "latest":
        return f"{rule}: number {counting.number} is the latest that is graded."
    late = ", lateness reckoned in" if policy.late is Late.PENALTY else ""
    again = " Handing in again cannot lower your grade." if mine else ""
    return f"{rule}: number {counting.number} has the most points, bonus included{late}.{again}"


def _late(policy: Policy) -> str:
    match policy.late:
        case Late.CLOSED:
            return "nothing is taken"
        case Late.PENALTY:
            return f"taken; {points(policy.penalty_per_day * 100)} % of the points go for every day begun"
        case Late.ACCEPTED:
            return "taken, and marked late"


def _zone(session: Session, lab: Lab) -> str:
    course = courses.course(session, lab.course_id)
    return course.timezone if course else "UTC"
