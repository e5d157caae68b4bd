"""A person's labs: listed, read with their questions, and changed by an admin."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request

from api.auth import InLab, Person, in_lab, require_scope, settings_of, signed_in
from api.problems import documented
from api.schemas import GradeShown, LabChange, LabChanged, LabListed, Labs, LabShown, QuestionShown
from grading.policy import Policy
from grading.shelf import outline_of
from grading.store import courses, grades
from grading.store.session import reading, transaction
from grading.store.tables import Grade, Lab, Role
from grading.store.tokens import Scope

router = APIRouter(prefix="/labs", tags=["labs"])


@router.get("", operation_id="list_labs", responses=documented(401, 403))
def listing(request: Request, person: Annotated[Person, Depends(signed_in)]) -> Labs:
    """The labs of your courses, the next due one first."""
    require_scope(person, Scope.READ)
    with reading(settings_of(request).database) as session:
        return Labs(items=[_listed(lab, role) for lab, role in courses.labs_for(session, person.user_id)])


@router.get("/{lab}", operation_id="read_lab", responses=documented(401, 403, 404))
def read(request: Request, here: Annotated[InLab, Depends(in_lab(Role.STUDENT, Scope.READ))]) -> LabShown:
    """A lab's questions, rules and due time, and your own result so far."""
    outline = outline_of(settings_of(request), here.lab.pack)
    with reading(settings_of(request).database) as session:
        grade = grades.of_student(session, here.lab.id, here.person.user_id)
    return LabShown(
        **_listed(here.lab, here.role).model_dump(),
        policy=Policy.model_validate(here.lab.policy),
        out_of=outline.out_of,
        bonus_out_of=outline.bonus_out_of,
        questions=[QuestionShown(**question.model_dump(exclude={"kind"})) for question in outline.questions],
        grade=_grade(grade) if grade else None,
    )


@router.patch("/{lab}", operation_id="change_lab", responses=documented(400, 401, 403, 404, 413))
def change(
    request: Request, wanted: LabChange, here: Annotated[InLab, Depends(in_lab(Role.ADMIN, Scope.ADMIN))]
) -> LabChanged:
    """Change the due time, the rules, or whether grades may leave. Grades follow the rules at once."""
    given, changed = wanted.model_fields_set, 0
    with transaction(settings_of(request).database) as session:
        held, now = courses.hold(session, here.lab), datetime.now(UTC)
        lab = session.get_one(Lab, here.lab.id)
        if "due_at" in given:
            lab.due_at = wanted.due_at
        if wanted.policy is not None:
            lab.policy = {**lab.policy, **wanted.policy.model_dump(mode="json", exclude_unset=True)}
        if "due_at" in given or wanted.policy is not None:
            changed = courses.recount(
                session, lab, held, why="the lab's rules changed", by_user_id=here.person.user_id, now=now
            )
        if wanted.released:
            grades.release(session, lab.id, now)
        elif wanted.released is False:
            lab.released = False
        session.flush()
        policy = Policy.model_validate(lab.policy)
        return LabChanged(**_listed(lab, here.role).model_dump(), policy=policy, grades_changed=changed)


def _listed(lab: Lab, role: Role) -> LabListed:
    return LabListed(
        id=lab.id, course=lab.course_id, title=lab.title, due_at=lab.due_at, role=role, released=lab.released
    )


def _grade(grade: Grade) -> GradeShown:
    return GradeShown(
        points=grade.points, bonus=grade.bonus, pending=grade.pending, out_of=grade.out_of, late=grade.late
    )
