"""One submission: how far its grading is, then its feedback."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from api.auth import (
    AtSubmission,
    Person,
    SubmissionId,
    check_csrf,
    current_person,
    enter_submission,
    require_staff,
    settings_of,
)
from api.pages.changes import changes_shown
from api.pages.login import local
from api.pages.rendering import page
from api.pages.times import When, when
from api.pages.views import feedback
from api.pages.words import counted
from api.routes import retry as door
from api.schemas import Reason, Retry
from grading.outline import Outline
from grading.shelf import outline_of
from grading.store import courses, gradings, people, submissions
from grading.store.session import reading
from grading.store.tables import Grading, GradingState, User

router = APIRouter(prefix="/submissions/{submission}")
Who = Annotated[Person, Depends(current_person)]
SOON_MS, LATER_MS, LATEST_MS = 250, 250, 5000


@dataclass(frozen=True, slots=True)
class SubmissionView:
    id: str
    number: int
    lab_id: str
    lab_title: str
    mine: bool
    student: str
    login: str
    filename: str
    size: int
    received: When
    late: bool


@dataclass(frozen=True, slots=True)
class ProgressView:
    """How far a grading is. `key` changes whenever anything shown does; `again_ms` says when to ask again."""

    key: str
    title: str
    sentence: str
    fault: str
    started: bool
    done: int
    total: int
    again_ms: int


@router.get("")
def submission(request: Request, submission: SubmissionId, person: Who) -> Response:
    """The whole page."""
    shown = _shown(request, enter_submission(request, person, submission))
    return page(request, "submission.html", **shown)


@router.get("/progress")
def progress(
    request: Request, submission: SubmissionId, person: Who, seen: Annotated[str, Query(max_length=100)] = ""
) -> Response:
    """What has changed since the page saw `seen`, for the page itself; nothing (204) while nothing has."""
    shown = _shown(request, enter_submission(request, person, submission))
    if shown["progress"] is not None and shown["progress"].key == seen:
        return Response(status_code=204, headers={"Cache-Control": "no-store"})
    return page(request, "_changed.html", **shown)


@router.post("/retry")
def retry(
    request: Request,
    submission: SubmissionId,
    person: Who,
    csrf: Annotated[str, Form()] = "",
    reason: Annotated[Reason, Form()] = "",
    next: Annotated[str, Form()] = "",
) -> Response:
    """Have it graded again after a fault of ours, and go back to where the button was."""
    here = require_staff(enter_submission(request, person, submission))
    check_csrf(request, csrf)
    door.retry(request, here, Retry(reason=reason))
    return RedirectResponse(local(next) if next else f"/submissions/{submission}", 303)


def _shown(request: Request, at: AtSubmission) -> dict[str, Any]:
    settings = settings_of(request)
    outline = outline_of(settings, at.lab.pack)
    with reading(settings.database) as session:
        grading = gradings.current(session, at.submission.id)
        position = gradings.position(session, grading.id)
        done = grading.state == GradingState.GRADED
        verdicts = gradings.verdicts(session, grading.id) if done else []
        owner = people.user(session, at.submission.user_id)
        course = courses.course(session, at.course_id)
        changes = changes_shown(session, at.lab, at.submission.user_id, datetime.now(UTC)) if at.staff else None
        asked_by = people.user(session, grading.by_user_id) if at.staff and grading.by_user_id else None
    view = None
    if done:
        answers = submissions.answers(at.submission)
        view = feedback(outline, answers, grading, verdicts, at.staff, at.lab, at.submission.received_at)
    waits = grading.state in (GradingState.QUEUED, GradingState.RUNNING)
    return {
        "submission": _submission(at, owner, course.timezone if course else "UTC"),
        "progress": _progress(grading, position, outline) if waits else None,
        "feedback": view,
        "staff": at.staff,
        "changes": changes,
        "fault": grading.fault or "",
        "again": f"{grading.why}, asked for by {asked_by.name}" if asked_by else "",
    }


def _submission(at: AtSubmission, owner: User | None, zone: str) -> SubmissionView:
    stored = at.submission
    return SubmissionView(
        id=stored.id,
        number=stored.number,
        lab_id=at.lab.id,
        lab_title=at.lab.title,
        mine=stored.user_id == at.person.user_id,
        student=owner.name if owner else "",
        login=owner.login if owner else "",
        filename=stored.filename,
        size=stored.size,
        received=when(stored.received_at, zone, datetime.now(UTC)),
        late=stored.late,
    )


def _progress(grading: Grading, position: int, outline: Outline) -> ProgressView:
    total, running = len(outline.questions), grading.state == GradingState.RUNNING
    if running:
        title, sentence = "Grading", f"{grading.progress} of {counted(total, 'question', 'questions')} judged."
    elif position:
        before = counted(position, "submission is", "submissions are")
        title, sentence = "In the queue", f"{before} graded before yours."
    else:
        title, sentence = "In the queue", "Yours is next."
    again = SOON_MS if running else min(LATEST_MS, SOON_MS + LATER_MS * position)
    interrupted = grading.fault is not None or grading.attempts > (1 if running else 0)
    return ProgressView(
        key=f"{grading.state}-{position}-{grading.progress}-{grading.attempts}",
        title=title,
        sentence=sentence,
        fault="A fault of ours interrupted an earlier try. It costs you nothing; grading starts again by itself."
        if interrupted
        else "",
        started=running,
        done=grading.progress,
        total=total,
        again_ms=again,
    )
