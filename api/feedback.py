"""A submission and its verdicts as the API shows them: what a student may read, and the more that staff may."""

from collections.abc import Sequence

from api.schemas import CheckShown, DiagnosisShown, Links, SubmissionListed, SubmissionShown, VerdictShown
from grading.store import submissions
from grading.store.tables import Grading, GradingState, Submission
from grading.verdict import Check, Verdict

REVIEW = "A person will look at this answer; the points stand until then."


def listed(submission: Submission, grading: Grading) -> SubmissionListed:
    """A submission as a line of a list."""
    graded = grading.state == GradingState.GRADED
    return SubmissionListed(
        id=submission.id,
        number=submission.number,
        filename=submission.filename,
        size=submission.size,
        received_at=submission.received_at,
        late=submission.late,
        state=GradingState(grading.state),
        points=grading.points if graded else None,
        bonus=grading.bonus if graded else None,
        pending=grading.pending if graded else None,
        out_of=grading.out_of if graded else None,
    )


def shown(
    submission: Submission,
    grading: Grading,
    position: int,
    verdicts: Sequence[Verdict] | None,
    questions: int,
    links: Links,
    staff: bool,
) -> SubmissionShown:
    """A submission whole. Without `staff`, nothing that could carry a hidden input or an expected value."""
    return SubmissionShown(
        **listed(submission, grading).model_dump(),
        lab=submission.lab_id,
        grading=grading.id,
        position=position,
        progress=grading.progress,
        questions=questions,
        why=grading.why,
        isolation=grading.isolation,
        notes=list(submissions.answers(submission).notes),
        fault=grading.fault if staff else None,
        verdicts=None if verdicts is None else [verdict_shown(verdict, staff) for verdict in verdicts],
        links=links,
    )


def verdict_shown(verdict: Verdict, staff: bool) -> VerdictShown:
    """A verdict for a student, or whole for staff."""
    diagnosis = verdict.diagnosis
    return VerdictShown(
        question=verdict.question,
        state=verdict.state,
        points=verdict.points,
        out_of=verdict.out_of,
        headline=verdict.headline,
        checks=[_check(check, number, staff) for number, check in enumerate(verdict.checks, 1)],
        remarks=list(verdict.remarks),
        diagnosis=DiagnosisShown(code=diagnosis.code, text=diagnosis.text) if diagnosis else None,
        needs_review=verdict.needs_review if staff or verdict.needs_review is None else REVIEW,
        evidence=verdict.evidence if staff else {},
    )


def _check(check: Check, number: int, staff: bool) -> CheckShown:
    """A drawn case's label may describe its inputs, so a student reads its number; its text is of a closed list."""
    label = check.label if check.public or staff else f"drawn case {number}"
    return CheckShown(label=label, public=check.public, passed=check.passed, text=check.text)
