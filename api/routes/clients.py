"""The machines that may pull a course's grades: made, listed and revoked by its admins."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response

from api.auth import InCourse, in_course, settings_of
from api.problems import ProblemError, documented
from api.schemas import ClientMade, Clients, ClientShown, NewClient
from grading.store import courses
from grading.store.session import reading, transaction
from grading.store.tables import Client, Role
from grading.store.tokens import Scope

router = APIRouter(prefix="/courses/{course}/clients", tags=["grades"], responses=documented(401, 403, 404))
Admin = Annotated[InCourse, Depends(in_course(Role.ADMIN, Scope.ADMIN))]
ClientId = Annotated[str, Path(pattern=r"^client-[0-9a-f]{16}$", examples=["client-0123456789abcdef"])]
MOST = 20


@router.post("", status_code=201, operation_id="make_client", responses=documented(400, 409))
def make(request: Request, response: Response, wanted: NewClient, here: Admin) -> ClientMade:
    """Make a client; its secret is shown here and never again."""
    with transaction(settings_of(request).database) as session:
        if sum(one.revoked_at is None for one in courses.clients_of(session, here.course_id)) >= MOST:
            raise ProblemError(409, "too-many-clients", f"This course has {MOST} clients. Revoke one first.")
        client, secret = courses.create_client(
            session, course_id=here.course_id, name=wanted.name, now=datetime.now(UTC)
        )
    response.headers["Cache-Control"] = "no-store"
    grades_url = f"/api/v1/courses/{here.course_id}/grades"
    return ClientMade(**_shown(client).model_dump(), secret=secret, grades_url=grades_url)


@router.get("", operation_id="list_clients")
def listing(request: Request, here: Admin) -> Clients:
    """The course's clients, revoked ones too, newest first."""
    with reading(settings_of(request).database) as session:
        return Clients(items=[_shown(client) for client in courses.clients_of(session, here.course_id)])


@router.delete("/{client}", status_code=204, operation_id="revoke_client")
def revoke(request: Request, client: ClientId, here: Admin) -> None:
    """Revoke a client and every token it holds."""
    with transaction(settings_of(request).database) as session:
        if not courses.revoke_client(session, here.course_id, client, datetime.now(UTC)):
            raise ProblemError(404, "no-such-client", "This course has no such client in force.")


def _shown(client: Client) -> ClientShown:
    return ClientShown(
        id=client.id,
        name=client.name,
        course=client.course_id,
        created_at=client.created_at,
        revoked_at=client.revoked_at,
    )
