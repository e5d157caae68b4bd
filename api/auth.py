"""Who is asking and what they may do: the only place where a route is opened or closed to somebody.

A person comes with a personal token (`Authorization: Bearer`) or the session cookie, a machine with an access token.
Who has no place in a course is told that the course does not exist. A token's scopes bound what its person may do, and
the person's role in the course bounds it again.

Not covered: who may have an account, and transport (TLS is the reverse proxy's).
"""

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import Depends, Path, Request, Response, Security
from fastapi.security import APIKeyCookie, HTTPBearer, OAuth2
from fastapi.security.utils import get_authorization_scheme_param
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from api.problems import ProblemError
from grading.roster import Place
from grading.settings import Settings
from grading.store import courses, people, tokens
from grading.store.session import reading, transaction
from grading.store.tables import Client, Lab, Role, Submission, Token
from grading.store.tokens import Purpose, Scope

COOKIE = "rooflab_session"
SESSION_LIFETIME = timedelta(hours=12)
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
RANK = {Role.STUDENT: 0, Role.TA: 1, Role.ADMIN: 2}

bearer = HTTPBearer(scheme_name="token", description="A personal token, made on the account page.", auto_error=False)
cookie = APIKeyCookie(name=COOKIE, scheme_name="session", description="The web pages' session.", auto_error=False)
client_credentials = OAuth2(
    flows={"clientCredentials": {"tokenUrl": "/oauth2/token", "scopes": {Scope.GRADES.value: "read the grades"}}},
    scheme_name="client",
    description="A machine bound to one course.",
    auto_error=False,
)


@dataclass(frozen=True, slots=True)
class Person:
    """A person who is signed in, by whichever token."""

    user_id: int
    login: str
    name: str
    token_id: int
    scopes: frozenset[str]
    purpose: Purpose
    expires_at: datetime | None  # of the personal token behind it all


@dataclass(frozen=True, slots=True)
class Machine:
    """An LMS's client that holds an access token."""

    client_id: str
    course_id: str
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class InCourse:
    """A person in a course where they have a place."""

    person: Person
    role: Role
    course_id: str

    @property
    def staff(self) -> bool:
        """Whether they see what staff see: by role, and by what their token is for."""
        return RANK[self.role] >= RANK[Role.TA] and Scope.STAFF in self.person.scopes


@dataclass(frozen=True, slots=True)
class InLab(InCourse):
    lab: Lab


@dataclass(frozen=True, slots=True)
class AtSubmission(InLab):
    submission: Submission


CourseId = Annotated[str, Path(pattern=courses.ID, description="A course's id", examples=["gpu-2026"])]
LabId = Annotated[str, Path(pattern=courses.ID, description="A lab's id", examples=["lab1"])]
Login = Annotated[str, Path(min_length=1, max_length=255, description="A person's login", examples=["ann"])]
SubmissionId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,32}$", description="A submission's id")]


def current_person(request: Request) -> Person:
    """The person behind a request, or 401. A cookie on a request that another site caused is refused."""
    known = getattr(request.state, "person", None)
    if isinstance(known, Person):
        return known
    caller = _caller(request)
    if isinstance(caller, Machine):
        raise _insufficient("This is a client's token; it reads grades and nothing else.")
    request.state.person = caller
    return caller


def signed_in(
    request: Request,
    _token: Annotated[object, Security(bearer)] = None,
    _session: Annotated[object, Security(cookie)] = None,
) -> Person:
    """`current_person` for API routes, where a cookie alone does not prove that our own page sent an unsafe request."""
    person = current_person(request)
    if person.purpose is Purpose.SESSION and request.method not in SAFE_METHODS and not _says_where_from(request):
        check_csrf(request)
    return person


def in_course(least: Role, scope: Scope) -> Callable[..., InCourse]:
    """A dependency: a person with at least this role in the path's `course`, by a token of this scope."""

    def dependency(request: Request, course: CourseId, person: Annotated[Person, Depends(signed_in)]) -> InCourse:
        return enter_course(request, person, course, least, scope)

    return dependency


def in_lab(least: Role, scope: Scope) -> Callable[..., InLab]:
    """A dependency: a person with at least this role in the path's `lab`, by a token of this scope."""

    def dependency(request: Request, lab: LabId, person: Annotated[Person, Depends(signed_in)]) -> InLab:
        return enter_lab(request, person, lab, least, scope)

    return dependency


def at_submission(
    request: Request, submission: SubmissionId, person: Annotated[Person, Depends(signed_in)]
) -> AtSubmission:
    """A dependency: the person who handed the path's `submission` in, or staff of its course."""
    return enter_submission(request, person, submission)


def staff_at_submission(here: Annotated[AtSubmission, Depends(at_submission)]) -> AtSubmission:
    """A dependency: staff of the course of the path's `submission`."""
    return require_staff(here)


def enter_course(request: Request, person: Person, course_id: str, least: Role, scope: Scope) -> InCourse:
    """A person's place in a course: 404 for strangers, 403 where role or scope does not reach."""
    with reading(settings_of(request).database) as session:
        role = people.role_in(session, course_id, person.user_id)
    if role is None:
        raise ProblemError(404, "no-such-course", "There is no such course, or you have no place in it.")
    _require(person, role, least, scope)
    return InCourse(person, role, course_id)


def enter_lab(request: Request, person: Person, lab_id: str, least: Role, scope: Scope) -> InLab:
    """A person's place in a lab: 404 for strangers, 403 where role or scope does not reach."""
    with reading(settings_of(request).database) as session:
        lab = courses.lab(session, lab_id)
        role = people.role_in(session, lab.course_id, person.user_id) if lab else None
    if lab is None or role is None:
        raise ProblemError(404, "no-such-lab", "There is no such lab, or you have no place in its course.")
    _require(person, role, least, scope)
    return InLab(person, role, lab.course_id, lab)


def enter_place(session: Session, here: InCourse, login: str) -> Place:
    """Somebody's place in a course that one is in, or 404; a student who was dropped has one still."""
    place = people.place_of(session, here.course_id, login)
    if place is None:
        raise ProblemError(404, "no-such-student", "Nobody in this course has this login.")
    return place


def enter_submission(request: Request, person: Person, submission_id: str) -> AtSubmission:
    """A submission, for who handed it in and for staff; to anybody else it does not exist."""
    with reading(settings_of(request).database) as session:
        submission = session.get(Submission, submission_id)
        lab = courses.lab(session, submission.lab_id) if submission else None
        role = people.role_in(session, lab.course_id, person.user_id) if lab else None
    if submission is None or lab is None or role is None:
        raise _no_submission()
    if submission.user_id == person.user_id:
        _require(person, role, Role.STUDENT, Scope.READ)
    elif role is Role.STUDENT:
        raise _no_submission()
    else:
        _require(person, role, Role.TA, Scope.STAFF)
    return AtSubmission(person, role, lab.course_id, lab, submission)


def require_staff(here: AtSubmission) -> AtSubmission:
    """Refuse the student who handed it in, where staff alone may act."""
    _require(here.person, here.role, Role.TA, Scope.STAFF)
    return here


def enter_grades(
    request: Request,
    course: CourseId,
    _token: Annotated[object, Security(bearer)] = None,
    _client: Annotated[object, Security(client_credentials)] = None,
) -> str:
    """A dependency: the course whose grades may be pulled, by its own client or by its staff."""
    caller = _caller(request)
    if isinstance(caller, Person):
        return enter_course(request, caller, course, Role.TA, Scope.STAFF).course_id
    if caller.course_id != course:
        raise ProblemError(404, "no-such-course", "There is no such course, or this client is not bound to it.")
    if Scope.GRADES not in caller.scopes:
        raise _insufficient("This token does not reach grades.")
    return course


def require_scope(person: Person, scope: Scope) -> None:
    """Refuse a token that is not for this."""
    if scope not in person.scopes:
        raise _insufficient(f"This token lacks the scope {scope.value}.", scope)


def open_session(request: Request, response: Response, secret: str) -> bool:
    """Sign a browser in with a personal token: sets the cookie on the response. False: the token is not valid."""
    settings, now = settings_of(request), datetime.now(UTC)
    address = address_of(request)
    attempts = request.app.state.attempts
    attempts.refuse_if_many(address)
    _refuse_cross_site(request)
    with transaction(settings.database) as session:
        personal = tokens.resolve(session, secret.strip(), now)
        if personal is None or personal.purpose != Purpose.PERSONAL:
            attempts.failed(address)
            return False
        tokens.note_use(session, personal.id, now)
        tokens.purge(session, now)
        _, made = tokens.issue(
            session,
            Purpose.SESSION,
            now=now,
            scopes=personal.scopes,
            user_id=personal.user_id,
            name="web",
            lifetime=SESSION_LIFETIME,
            parent_id=personal.id,
        )
    response.set_cookie(
        COOKIE,
        made,
        max_age=int(SESSION_LIFETIME.total_seconds()),
        path="/",
        httponly=True,
        samesite="lax",
        secure=settings.secure_cookies,
    )
    return True


def close_session(request: Request, response: Response) -> None:
    """Sign a browser out: the session is revoked, not only forgotten by the browser."""
    settings, now = settings_of(request), datetime.now(UTC)
    with transaction(settings.database) as session:
        token = tokens.resolve(session, request.cookies.get(COOKIE, ""), now)
        if token is not None and token.purpose == Purpose.SESSION:
            tokens.revoke(session, token.id, now)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax", secure=settings.secure_cookies)


def csrf_token(request: Request) -> str:
    """What a form of this session must carry, in a field or in `X-CSRF-Token`; empty without a session."""
    held = request.cookies.get(COOKIE, "")
    if not held:
        return ""
    key = settings_of(request).seed_secret
    return hmac.digest(key, b"csrf of session " + tokens.digest(held).encode(), "sha256").hex()


def check_csrf(request: Request, submitted: str | None = None) -> None:
    """Refuse a form that was not made for this session, or that another site sent. `submitted` is its field."""
    _refuse_cross_site(request)
    given = submitted if submitted is not None else request.headers.get("x-csrf-token", "")
    wanted = csrf_token(request)
    if not wanted or not hmac.compare_digest(wanted.encode(), given.encode(errors="replace")):
        raise ProblemError(403, "csrf", "This form is out of date. Load the page again and repeat what you did.")


def settings_of(request: Request) -> Settings:
    """The settings that the app was made with."""
    settings = request.app.state.settings
    assert isinstance(settings, Settings)
    return settings


def address_of(request: Request) -> str:
    """The client's address, as far as it is known."""
    return request.client.host if request.client else ""


def _caller(request: Request) -> Person | Machine:
    scheme, secret = get_authorization_scheme_param(request.headers.get("authorization"))
    purposes: tuple[Purpose, ...]
    if scheme:
        purposes = (Purpose.PERSONAL, Purpose.ACCESS)
        secret = secret if scheme.lower() == "bearer" else ""
    else:
        purposes, secret = (Purpose.SESSION,), request.cookies.get(COOKIE, "")
        if not secret:
            raise ProblemError(
                401, "not-signed-in", "Send a token: Authorization: Bearer …", {"WWW-Authenticate": "Bearer"}
            )
        if request.method not in SAFE_METHODS:
            _refuse_cross_site(request)
    settings, now = settings_of(request), datetime.now(UTC)
    with reading(settings.database) as session:
        token = tokens.resolve(session, secret.strip(), now)
        if token is None or token.purpose not in purposes:
            raise ProblemError(
                401,
                "invalid-token",
                "This token is not valid: mistyped, revoked, or past its time.",
                {"WWW-Authenticate": 'Bearer error="invalid_token"'},
            )
        caller: Person | Machine
        if token.client_id is not None:
            client = session.get_one(Client, token.client_id)
            caller = Machine(client.id, client.course_id, frozenset(token.scopes))
        else:
            assert token.user_id is not None
            user = people.user(session, token.user_id)
            assert user is not None
            behind = session.get_one(Token, token.parent_id) if token.parent_id is not None else token
            caller = Person(
                user.id,
                user.login,
                user.name,
                token.id,
                frozenset(token.scopes),
                Purpose(token.purpose),
                behind.expires_at,
            )
    if tokens.worth_noting(token, now):
        _note_use(settings, token.id, now)
    return caller


def _note_use(settings: Settings, token_id: int, now: datetime) -> None:
    try:
        with transaction(settings.database) as session:
            tokens.note_use(session, token_id, now)
    except OperationalError:
        pass  # a busy database keeps nobody from reading; the next use notes it


def _require(person: Person, role: Role, least: Role, scope: Scope) -> None:
    if RANK[role] < RANK[least]:
        raise ProblemError(403, "role", f"This is for the course's staff ({least.value}); you are {role.value} there.")
    require_scope(person, scope)


def _insufficient(detail: str, scope: Scope | None = None) -> ProblemError:
    wanted = f', scope="{scope.value}"' if scope else ""
    return ProblemError(
        403, "insufficient-scope", detail, {"WWW-Authenticate": f'Bearer error="insufficient_scope"{wanted}'}
    )


def _no_submission() -> ProblemError:
    return ProblemError(404, "no-such-submission", "There is no such submission, or it is not yours to see.")


def _says_where_from(request: Request) -> bool:
    return "sec-fetch-site" in request.headers or "origin" in request.headers


def _refuse_cross_site(request: Request) -> None:
    """Refuse what the browser itself says another site caused. A proxy may change the scheme, so hosts are compared."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        own = site == "same-origin"
    else:
        own = origin is None or origin.partition("://")[2] == request.headers.get("host", "")
    if not own:
        raise ProblemError(403, "cross-site", "This request came from another site and was refused.")
