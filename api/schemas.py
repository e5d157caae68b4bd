"""What the API takes and gives, as types. Points are exact decimals and travel as strings."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    model_validator,
)

from grading.policy import Policy
from grading.store.tables import GradingState, Role
from grading.store.tokens import Scope
from grading.verdict import State


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("control characters are not taken")
    return text


def _of_our_time(moment: datetime) -> datetime:
    if not 2000 <= moment.year < 2100:
        raise ValueError("the year must be between 2000 and 2099")
    return moment


Moment = Annotated[AwareDatetime, AfterValidator(_of_our_time)]
Name = Annotated[
    str, StringConstraints(min_length=1, max_length=100, strip_whitespace=True), AfterValidator(_printable)
]


MOST_FIELDS = 64


def _few(given: Any) -> Any:
    """Count before anything is looked at: each unknown field would be an error of its own, worded one by one."""
    if isinstance(given, dict) and len(given) > MOST_FIELDS:
        raise ValueError(f"more than {MOST_FIELDS} fields are not taken")
    return given


class Given(BaseModel):
    """A body that a client sends: an unknown field is a mistake, not something to pass over."""

    model_config = ConfigDict(extra="forbid")
    _count = model_validator(mode="before")(_few)


class Health(BaseModel):
    """Whether the service can work. `degraded`: it takes submissions, and they are or may be graded late.

    `waiting` is how many gradings wait for a worker, `longest_wait` for how many seconds the first of them has.
    """

    status: Literal["ok", "degraded", "down"]
    database: bool
    queue: bool
    waiting: int
    longest_wait: int


class NewToken(Given):
    name: Name = Field(examples=["my laptop"])
    scopes: list[Scope] = Field(min_length=1, max_length=4, examples=[["submit", "read"]])
    expires_at: Moment | None = Field(default=None, examples=["2027-03-01T00:00:00Z"])


class TokenShown(BaseModel):
    """A token without its secret."""

    id: int
    name: str
    hint: str = Field(description="how the secret begins", examples=["rooflab_pat_4fQz"])
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None = Field(description="to the minute")


class TokenMade(TokenShown):
    secret: str = Field(description="shown here once and never again")


class Tokens(BaseModel):
    items: list[TokenShown]


class NewClient(Given):
    name: Name = Field(examples=["Canvas sync"])


class ClientShown(BaseModel):
    """A machine that pulls the grades of one course."""

    id: str
    name: str
    course: str
    created_at: datetime
    revoked_at: datetime | None


class ClientMade(ClientShown):
    secret: str = Field(description="shown here once and never again")
    token_url: str = "/oauth2/token"
    grades_url: str


class Clients(BaseModel):
    items: list[ClientShown]


class AccessToken(BaseModel):
    """RFC 6749, section 5.1."""

    access_token: str
    token_type: Literal["Bearer"] = "Bearer"
    expires_in: int = 3600
    scope: str = "grades"


class OAuthError(BaseModel):
    """RFC 6749, section 5.2."""

    error: Literal["invalid_request", "invalid_client", "unsupported_grant_type", "invalid_scope"]
    error_description: str


class QuestionShown(BaseModel):
    """A question as it is asked."""

    id: str = Field(examples=["1.3"])
    title: str
    heading: str = Field(description="the number in the notebook's own heading")
    points: Decimal
    bonus: bool
    entry: str = Field(description="the function asked for; empty for a question answered in words")
    parameters: list[str]
    prompt: str = Field(description="Markdown")
    stub: str = Field(description="the definition to complete")


class GradeShown(BaseModel):
    """A student's effective result in a lab, so far."""

    points: Decimal
    bonus: Decimal
    pending: Decimal = Field(description="points that wait for a person")
    out_of: Decimal
    late: bool


class LabListed(BaseModel):
    """A lab in a list."""

    id: str = Field(examples=["lab1"])
    course: str
    title: str
    due_at: datetime | None
    role: Role = Field(description="yours in its course")
    released: bool = Field(description="whether grades may leave for the LMS")


class Labs(BaseModel):
    items: list[LabListed]


class LabShown(LabListed):
    """A lab with its questions and rules."""

    policy: Policy
    out_of: Decimal
    bonus_out_of: Decimal
    questions: list[QuestionShown]
    grade: GradeShown | None = Field(description="your own; none until something counts")


class LabChange(Given):
    """What changes of a lab. A field that is not given stays as it is."""

    due_at: Moment | None = Field(default=None, examples=["2027-03-01T14:59:00Z"])
    released: bool | None = None
    policy: Policy | None = None


class LabChanged(LabListed):
    policy: Policy
    grades_changed: int


class Pasted(Given):
    """Code, or a written answer, pasted per question."""

    answers: Annotated[
        dict[Annotated[str, StringConstraints(max_length=32)], Annotated[str, StringConstraints(max_length=200_000)]],
        BeforeValidator(_few),
    ] = Field(min_length=1, max_length=MOST_FIELDS, examples=[{"1.3": "def gemm_io(N, K, M, B):\n    return 0\n"}])


Reason = Annotated[str, StringConstraints(max_length=200, strip_whitespace=True), AfterValidator(_printable)]


class Retry(Given):
    """Why something is graded again."""

    reason: Reason = Field(
        default="", description="what was repaired; its student may read this", examples=["disk full"]
    )


class Retried(BaseModel):
    queued: int = Field(description="how many submissions wait again")


class Links(BaseModel):
    """Where to go from a submission."""

    self: str
    events: str
    answers: str
    file: str
    page: str


class Received(BaseModel):
    """A submission that was taken, and waits to be graded."""

    id: str
    grading: str
    number: int = Field(description="1 for your first in this lab")
    state: GradingState
    position: int = Field(description="how many are graded before it")
    links: Links


class CheckShown(BaseModel):
    """One case. Of drawn ones, only the kind of mismatch is told."""

    label: str
    public: bool
    passed: bool
    text: str


class DiagnosisShown(BaseModel):
    code: str
    text: str


class VerdictShown(BaseModel):
    """One question's judgement. `evidence` is for staff and empty otherwise."""

    question: str
    state: State
    points: Decimal
    out_of: Decimal
    headline: str
    checks: list[CheckShown]
    remarks: list[str]
    diagnosis: DiagnosisShown | None
    needs_review: str | None
    evidence: dict[str, JsonValue]


class SubmissionListed(BaseModel):
    """A submission in a list."""

    id: str
    number: int
    filename: str
    size: int
    received_at: datetime
    late: bool
    state: GradingState
    points: Decimal | None
    bonus: Decimal | None
    pending: Decimal | None
    out_of: Decimal | None


class Submissions(BaseModel):
    items: list[SubmissionListed]
    next: str | None = Field(description="the address of the next page")


class SubmissionShown(SubmissionListed):
    """A submission and what became of it."""

    lab: str
    grading: str
    position: int
    progress: int = Field(description="questions judged")
    questions: int
    why: str = Field(description="what this grading is for", examples=["handed in"])
    isolation: str | None
    notes: list[str] = Field(description="about the file as a whole")
    fault: str | None = Field(description="for staff: the cause on our side, where grading failed")
    verdicts: list[VerdictShown] | None = Field(description="none until it is graded")
    links: Links


class AnswerShown(BaseModel):
    """What was understood as the answer to one question: the text that is run and shown to staff."""

    question: str
    found: bool
    reason: str
    source: str
    text: str
    where: str
    notes: list[str]
    missing: list[str]


class AnswersShown(BaseModel):
    filename: str
    notes: list[str]
    answers: list[AnswerShown]


class Progress(BaseModel):
    """The data of a `state` event."""

    state: GradingState
    position: int
    progress: int
    questions: int
    done: bool


class CellShown(BaseModel):
    """One question of one student on the scoreboard."""

    state: State
    points: Decimal
    needs_review: bool


class RowShown(BaseModel):
    """One student on the scoreboard. Points are null until something counts; "0" is a grade."""

    login: str
    name: str
    section: str
    submission: str | None
    handed_in: int = Field(description="how many submissions")
    points: Decimal | None
    bonus: Decimal | None
    pending: Decimal | None
    out_of: Decimal | None
    late: bool
    isolation: str | None
    questions: dict[str, CellShown]


class FaultShown(BaseModel):
    """A submission that stays ungraded, in whole or in part, by a fault of ours."""

    submission: str
    number: int
    login: str
    name: str
    attempts: int
    cause: str


class ScoreboardShown(BaseModel):
    lab: str
    questions: list[str]
    items: list[RowShown]
    faults: list[FaultShown]


class RosterRow(BaseModel):
    login: str
    name: str
    email: str
    section: str
    change: str = Field(description="what becomes different, in words")


class RosterFault(BaseModel):
    row: int
    text: str


class RosterPreview(BaseModel):
    """What a class list would change. Nothing is applied while a row has a problem."""

    added: list[RosterRow]
    changed: list[RosterRow]
    dropped: list[RosterRow] = Field(description="become inactive; their work is kept")
    unchanged: list[RosterRow]
    notes: list[str]
    problems: list[RosterFault]
    digest: str = Field(description="of these changes; to be sent along when they are applied")


class RosterApplied(BaseModel):
    added: int
    changed: int
    dropped: int
    unchanged: int


class Pulled(BaseModel):
    """One student's grade in one released lab. Who has no grade is absent; "0" is a grade."""

    lab: str
    title: str
    login: str
    name: str
    email: str
    section: str
    active: bool = Field(description="false: dropped from the roster")
    points: Decimal
    bonus: Decimal
    out_of: Decimal
    pending: Decimal
    late: bool
    revision: int
    changed_at: datetime


class Grades(BaseModel):
    """Grades in the order in which they changed."""

    items: list[Pulled]
    revision: int = Field(description="of the last item: what to send as `since` next time")
    next: str | None = Field(description="the address of the next page, as in the Link header")
