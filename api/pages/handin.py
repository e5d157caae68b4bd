"""Handing in from a page: a file, or code pasted per question. Both go to the same intake as the API."""

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from api.auth import InLab, LabId, Person, check_csrf, current_person, enter_lab, settings_of
from api.pages.labs import lab_page
from api.pages.views import field_name
from api.problems import ProblemError
from api.routes.uploads import on_disk, one_file
from grading import intake
from grading.answers.model import Refused
from grading.answers.reading import MAX_PASTED
from grading.intake import Closed, Received
from grading.shelf import outline_of
from grading.store.tables import Role
from grading.store.tokens import Scope

router = APIRouter(prefix="/labs/{lab}")
Who = Annotated[Person, Depends(current_person)]
TOLD_ON_THE_FORM = {400, 413, 415, 422}
MOST_FIELD_BYTES = 1024 * 1024
TOO_LONG = "That is more text than is taken here. Paste the functions alone, or hand in a file."


@router.post("/submissions")
async def hand_in(request: Request, lab: LabId, person: Who) -> Response:
    """Take a file, and go on to the submission's page; a refusal is told on the form."""
    entered = await run_in_threadpool(enter_lab, request, person, lab, Role.STUDENT, Scope.SUBMIT)
    settings = settings_of(request)
    try:
        async with one_file(request) as (file, fields):
            check_csrf(request, fields.get("csrf", ""))
            if not file.filename:
                raise Refused("no_file", "Choose a file first.")
            async with on_disk(settings, file) as path:
                received = await intake.receive(settings, entered.lab.id, person.user_id, path, file.filename)
    except (Refused, Closed, HTTPException) as refusal:
        code, problem = _told(refusal)
        return await run_in_threadpool(lab_page, request, entered, code, file_problem=problem)
    return _to_submission(received)


@router.post("/pasted")
async def paste(request: Request, lab: LabId, person: Who) -> Response:
    """Take what was pasted, all of it as one submission."""
    entered = await run_in_threadpool(enter_lab, request, person, lab, Role.STUDENT, Scope.SUBMIT)
    settings = settings_of(request)
    outline = await run_in_threadpool(outline_of, settings, entered.lab.pack)
    questions = [question.id for question in outline.questions]
    try:
        async with request.form(max_files=0, max_fields=len(questions) + 8, max_part_size=MOST_FIELD_BYTES) as form:
            fields = {name: value for name, value in form.multi_items() if isinstance(value, str)}
    except HTTPException as refusal:
        code, problem = _told(refusal)
        return await run_in_threadpool(lab_page, request, entered, code, paste_problem=problem)
    check_csrf(request, fields.get("csrf", ""))
    texts = {question: fields.get(field_name(question), "") for question in questions}
    texts = {question: text for question, text in texts.items() if text.strip()}
    return await _receive_pasted(request, entered, texts)


async def _receive_pasted(request: Request, entered: InLab, texts: dict[str, str]) -> Response:
    pasted = {field_name(question): text for question, text in texts.items()}
    long = {field_name(question): TOO_LONG for question, text in texts.items() if len(text) > MAX_PASTED}
    code, problem = 422, ""
    if not texts:
        problem = "Nothing is pasted yet. Open a question above and paste your answer there."
    elif long:
        problem = "Nothing was handed in: a text above is too long."
    else:
        try:
            received = await intake.receive_pasted(settings_of(request), entered.lab.id, entered.person.user_id, texts)
            return _to_submission(received)
        except (Refused, Closed) as refusal:
            code, problem = _told(refusal)
    return await run_in_threadpool(
        lab_page, request, entered, code, paste_problem=problem, pasted=pasted, paste_problems=long
    )


def _told(refusal: Refused | Closed | HTTPException) -> tuple[int, str]:
    """The status and the words of a refusal that belongs on the form; what does not is raised on."""
    if isinstance(refusal, Closed):
        return 409, refusal.message
    if isinstance(refusal, Refused):
        return 413 if refusal.code == "too_large" else 422, refusal.message
    if refusal.status_code not in TOLD_ON_THE_FORM:
        raise refusal
    if isinstance(refusal, ProblemError):
        return refusal.status_code, "Choose a file first." if refusal.code == "no-file" else str(refusal.detail)
    return 413, TOO_LONG


def _to_submission(received: Received) -> Response:
    return RedirectResponse(f"/submissions/{received.submission_id}", 303)
