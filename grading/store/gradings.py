"""Gradings: the rows that workers claim, and the verdicts they end in.

A claim is a compare-and-set with one winner on both databases. Its lease has to be extended; once it has run out
another worker may claim the row, and whoever lost it can change nothing any more.
"""

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select, tuple_, update
from sqlalchemy.orm import Session, aliased

from grading.answers.model import Answers
from grading.score import Score
from grading.store import grades
from grading.store.session import hold_course, hold_person
from grading.store.tables import Grading, GradingState, Lab, Submission, User, VerdictRow
from grading.verdict import State, Verdict

QUEUED, RUNNING, GRADED, FAILED = GradingState
LONGEST_WAIT = timedelta(minutes=1)  # whoever waits for longer, or nothing is being graded
LOST_TOO_OFTEN = "its lease ran out each time: the worker died or hung"


@dataclass(frozen=True, slots=True)
class Claimed:
    """A grading that this worker alone may finish, for as long as its lease lasts."""

    grading_id: str
    claim: str
    attempt: int
    submission_id: str
    lab_id: str
    user_id: int
    pack: str
    answers: Answers


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a submission's grading in force is. `position` is how many queued ones come before it."""

    grading_id: str
    state: GradingState
    position: int
    progress: int


@dataclass(frozen=True, slots=True)
class Fault:
    """A grading that a fault of ours ended, or some of whose questions it kept from being judged."""

    grading_id: str
    submission_id: str
    number: int
    login: str
    name: str
    attempts: int
    cause: str


def add(
    session: Session, submission_id: str, *, why: str, by_user_id: int | None, now: datetime, queue: str = "cpu"
) -> Grading:
    """Queue a grading. It comes into force at once when nothing graded is there, and otherwise when it is graded."""
    before = session.scalar(select(Grading).where(Grading.submission_id == submission_id, Grading.current))
    current = before is None or before.state != GRADED
    if before is not None and current:
        before.current = False
        session.flush()
    grading = Grading(
        id=secrets.token_hex(16),
        submission_id=submission_id,
        state=QUEUED,
        queue=queue,
        why=why[:255],
        by_user_id=by_user_id,
        queued_at=now,
        nudged_at=now,
        current=current,
    )
    session.add(grading)
    session.flush()
    return grading


def retry(session: Session, submission_id: str, *, why: str, by_user_id: int, now: datetime) -> Grading | None:
    """Queue a submission again that a fault of ours met; none when none did, or when it waits again already.

    What was judged of it stays in force until it is graded anew.
    """
    hold_person(session, session.get_one(Submission, submission_id).user_id)
    met = select(Grading.queue).where(Grading.submission_id == submission_id, _met_by_fault())
    found = session.execute(met).one_or_none()
    if found is None:
        return None
    return add(session, submission_id, why=why, by_user_id=by_user_id, now=now, queue=found.queue)


def current(session: Session, submission_id: str) -> Grading:
    """A submission's grading in force."""
    return session.scalars(select(Grading).where(Grading.submission_id == submission_id, Grading.current)).one()


def position(session: Session, grading_id: str) -> int:
    """How many queued gradings come before this one; 0 when it is next, or no longer queued."""
    own = session.execute(
        select(Grading.queue, Grading.queued_at, Grading.id).where(Grading.id == grading_id, Grading.state == QUEUED)
    ).one_or_none()
    if own is None:
        return 0
    before = tuple_(Grading.queued_at, Grading.id) < tuple_(own.queued_at, own.id)
    waiting = (Grading.state == QUEUED, Grading.queue == own.queue, before)
    return session.scalar(select(func.count()).select_from(Grading).where(*waiting)) or 0


def standings(session: Session, submission_ids: Collection[str]) -> dict[str, Standing]:
    """How far the gradings in force of these submissions are, read at once."""
    order = func.row_number().over(partition_by=Grading.queue, order_by=(Grading.queued_at, Grading.id))
    queued = select(Grading.id, (order - 1).label("position")).where(Grading.state == QUEUED).subquery()
    rows = session.execute(
        select(Grading.submission_id, Grading.id, Grading.state, Grading.progress, queued.c.position)
        .outerjoin(queued, queued.c.id == Grading.id)
        .where(Grading.current, Grading.submission_id.in_(submission_ids))
    )
    return {row[0]: Standing(row.id, GradingState(row.state), row.position or 0, row.progress) for row in rows}


def claim(session: Session, queue: str, now: datetime, lease_seconds: float, max_attempts: int) -> Claimed | None:
    """Take the grading that has waited longest, or none. One that has used up its attempts is failed on the way."""
    while True:
        found = session.execute(
            select(Grading.id, Grading.attempts, Grading.state)
            .where(Grading.queue == queue, _free(now))
            .order_by(Grading.queued_at, Grading.id)
            .limit(1)
            .with_for_update(skip_locked=True)
        ).one_or_none()
        if found is None:
            return None
        if found.attempts >= max_attempts:
            _set(session, found.id, _free(now), _failed(LOST_TOO_OFTEN, now))
            continue
        secret = secrets.token_hex(16)
        taken = {
            "state": RUNNING,
            "claim": secret,
            "attempts": found.attempts + 1,
            "lease_until": now + timedelta(seconds=lease_seconds),
            "started_at": now,
            "progress": 0,
        }
        if _set(session, found.id, and_(_free(now), Grading.attempts == found.attempts), taken):
            return _claimed(session, found.id, secret, found.attempts + 1)


def heartbeat(session: Session, claimed: Claimed, progress: int, now: datetime, lease_seconds: float) -> bool:
    """Extend the lease and note how many questions are judged; false when the claim has been lost."""
    lease = now + timedelta(seconds=lease_seconds)
    return _set(session, claimed.grading_id, _held(claimed), {"lease_until": lease, "progress": progress})


def hold(session: Session, claimed: Claimed) -> None:
    """Make others wait who change the grades that finishing this may change. The time of a change is read after it."""
    hold_person(session, claimed.user_id)
    hold_course(session, session.scalars(select(Lab.course_id).where(Lab.id == claimed.lab_id)).one())


def finish(
    session: Session,
    claimed: Claimed,
    verdicts: Sequence[Verdict],
    score: Score,
    isolation: str,
    pack_digest: str,
    now: datetime,
) -> bool:
    """Store the verdicts and what follows from them for the grade; false, and nothing changed, when the claim is lost.

    A submission that is graded anew keeps its earlier grading beside this one, no longer in force.
    """
    ended = {
        "state": GRADED,
        "claim": None,
        "lease_until": None,
        "finished_at": now,
        "fault": _fault_in(verdicts),
        "progress": len(verdicts),
        "isolation": isolation[:64],
        "pack_digest": pack_digest,
        "points": score.points,
        "bonus": score.bonus,
        "pending": score.pending,
        "out_of": score.out_of,
    }
    if not _set(session, claimed.grading_id, _held(claimed), ended):
        return False
    session.add_all(_row(claimed.grading_id, position, verdict) for position, verdict in enumerate(verdicts))
    _put_in_force(session, claimed)
    why, by_user_id = session.execute(
        select(Grading.why, Grading.by_user_id).where(Grading.id == claimed.grading_id)
    ).one()
    grades.recompute(session, claimed.lab_id, claimed.user_id, why=why, by_user_id=by_user_id, now=now)
    return True


def release_with_fault(
    session: Session, claimed: Claimed, fault: str, now: datetime, retry_seconds: float, max_attempts: int
) -> bool:
    """Give a grading back after a fault of ours: tried again later, failed after the last attempt; false when lost."""
    if claimed.attempt >= max_attempts:
        values = _failed(fault, now)
    else:
        retry_at = now + timedelta(seconds=retry_seconds * (claimed.attempt - 1))
        values = {"state": QUEUED, "claim": None, "lease_until": retry_at, "fault": _clean(fault, 255), "progress": 0}
    return _set(session, claimed.grading_id, _held(claimed), values)


def waiting(session: Session, now: datetime, quiet_seconds: float, limit: int) -> list[tuple[str, str]]:
    """Gradings (id, queue) that could be claimed and have had no nudge lately; they count as nudged from now on."""
    quiet = now - timedelta(seconds=quiet_seconds)
    overdue = and_(_free(now), or_(Grading.nudged_at.is_(None), Grading.nudged_at <= quiet))
    found = session.execute(
        select(Grading.id, Grading.queue)
        .where(overdue)
        .order_by(Grading.queued_at, Grading.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()
    return [(row.id, row.queue) for row in found if _set(session, row.id, overdue, {"nudged_at": now})]


def backlog(session: Session, now: datetime) -> tuple[int, datetime | None]:
    """How many gradings wait for a worker, and since when the first of them does."""
    count, first = session.execute(select(func.count(), func.min(Grading.queued_at)).where(_free(now))).one()
    return count, first


def idle_since(session: Session, now: datetime) -> datetime | None:
    """Since when nothing is being graded although something waits; none when all is well."""
    _, first = backlog(session, now)
    if first is None or now - first <= LONGEST_WAIT:
        return None
    running = select(Grading.id).where(Grading.state == RUNNING, Grading.lease_until > now)
    if session.scalar(select(running.exists())):
        return None
    since = max(first, session.scalar(select(func.max(Grading.finished_at))) or first)
    return since if now - since > LONGEST_WAIT else None


def verdicts(session: Session, grading_id: str) -> list[Verdict]:
    """The verdicts of a grading, in the pack's order."""
    rows = session.scalars(
        select(VerdictRow.body).where(VerdictRow.grading_id == grading_id).order_by(VerdictRow.position)
    )
    return [Verdict.model_validate(body) for body in rows]


def explained_since(session: Session, user_id: int, lab_id: str, question: str, since: datetime) -> int:
    """How many of a student's submissions since then have had this question explained. A regrade costs none."""
    found = session.scalar(
        select(func.count(Submission.id.distinct()))
        .join(Grading, Grading.submission_id == Submission.id)
        .join(VerdictRow, VerdictRow.grading_id == Grading.id)
        .where(
            Submission.lab_id == lab_id,
            Submission.user_id == user_id,
            Submission.received_at >= since,
            VerdictRow.question == question,
            VerdictRow.explained,
        )
    )
    return found or 0


def faults(session: Session, lab_id: str) -> list[Fault]:
    """The lab's submissions that stay ungraded, in whole or in part, by a fault of ours; the newest first."""
    rows = session.execute(
        select(Grading.id, Submission.id, Submission.number, User.login, User.name, Grading.attempts, Grading.fault)
        .join(Submission, Submission.id == Grading.submission_id)
        .join(User, User.id == Submission.user_id)
        .where(Submission.lab_id == lab_id, _met_by_fault())
        .order_by(Submission.received_at.desc())
    )
    return [Fault(*row[:6], cause=row[6] or "") for row in rows]


def _met_by_fault() -> ColumnElement[bool]:
    """In force, ended with a fault of ours named, and not being graded anew."""
    anew = aliased(Grading)
    waits = select(anew.id).where(anew.submission_id == Grading.submission_id, anew.state.in_((QUEUED, RUNNING)))
    return and_(Grading.current, Grading.state.in_((GRADED, FAILED)), Grading.fault.is_not(None), ~waits.exists())


def _fault_in(verdicts: Sequence[Verdict]) -> str | None:
    """The first fault of ours that kept a question from being judged."""
    met = next((verdict for verdict in verdicts if verdict.state is State.OURS), None)
    return None if met is None else _clean(f"{met.question}: {met.evidence.get('fault')}", 255)


def _free(now: datetime) -> ColumnElement[bool]:
    """Queued and due, or running without a lease that holds."""
    return or_(
        and_(Grading.state == QUEUED, or_(Grading.lease_until.is_(None), Grading.lease_until <= now)),
        and_(Grading.state == RUNNING, Grading.lease_until <= now),
    )


def _held(claimed: Claimed) -> ColumnElement[bool]:
    return and_(Grading.state == RUNNING, Grading.claim == claimed.claim)


def _set(session: Session, grading_id: str, condition: ColumnElement[bool], values: dict[str, Any]) -> bool:
    """The compare-and-set: change the row where the condition still holds, and say whether it did."""
    statement = update(Grading).where(Grading.id == grading_id, condition).values(values).returning(Grading.id)
    changed = session.execute(statement, execution_options={"synchronize_session": "fetch"})
    return changed.one_or_none() is not None


def _failed(fault: str, now: datetime) -> dict[str, Any]:
    return {"state": FAILED, "claim": None, "lease_until": None, "finished_at": now, "fault": _clean(fault, 255)}


def _claimed(session: Session, grading_id: str, secret: str, attempt: int) -> Claimed:
    submission, pack = session.execute(
        select(Submission, Lab.pack)
        .join(Grading, Grading.submission_id == Submission.id)
        .join(Lab, Lab.id == Submission.lab_id)
        .where(Grading.id == grading_id)
    ).one()
    return Claimed(
        grading_id=grading_id,
        claim=secret,
        attempt=attempt,
        submission_id=submission.id,
        lab_id=submission.lab_id,
        user_id=submission.user_id,
        pack=pack,
        answers=Answers.model_validate(submission.answers),
    )


def _put_in_force(session: Session, claimed: Claimed) -> None:
    others = (Grading.submission_id == claimed.submission_id, Grading.id != claimed.grading_id)
    session.execute(update(Grading).where(*others).values(current=False))
    session.execute(update(Grading).where(Grading.id == claimed.grading_id).values(current=True))


def _row(grading_id: str, position: int, verdict: Verdict) -> VerdictRow:
    return VerdictRow(
        grading_id=grading_id,
        question=verdict.question,
        position=position,
        state=verdict.state,
        points=verdict.points,
        out_of=verdict.out_of,
        needs_review=None if verdict.needs_review is None else _clean(verdict.needs_review, 500),
        explained=verdict.explained,
        diagnosis_code=None if verdict.diagnosis is None else _clean(verdict.diagnosis.code, 120),
        body=verdict.model_dump(mode="json"),
    )


def _clean(text: str, longest: int) -> str:
    """A text that every database takes: no NUL, no lone surrogates, bounded."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")[:longest]
