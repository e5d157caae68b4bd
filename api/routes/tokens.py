"""A person's own tokens: made, listed, revoked."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response

from api.auth import Person, settings_of, signed_in
from api.problems import ProblemError, documented
from api.schemas import NewToken, TokenMade, Tokens, TokenShown
from grading.store import tokens
from grading.store.session import reading, transaction
from grading.store.tables import Token
from grading.store.tokens import Purpose, Scope

router = APIRouter(prefix="/tokens", tags=["tokens"])
MOST = 50
LIFETIME = timedelta(days=120)
LONGEST = timedelta(days=366)


@router.post("", status_code=201, operation_id="make_token", responses=documented(400, 401, 403, 409))
def make(
    request: Request, response: Response, wanted: NewToken, person: Annotated[Person, Depends(signed_in)]
) -> TokenMade:
    """Make a token that does no more, and lasts no longer, than the one used to ask for it."""
    now = datetime.now(UTC)
    missing = {scope for scope in wanted.scopes} - person.scopes
    if Scope.GRADES in wanted.scopes or missing:
        raise ProblemError(403, "scopes", "A new token cannot do more than the one that asks for it.")
    until = wanted.expires_at or now + LIFETIME
    if person.expires_at is not None:
        until = min(until, person.expires_at)
    if not now < until <= now + LONGEST:
        raise ProblemError(422, "expiry", "A token ends in the future, and within a year.")
    with transaction(settings_of(request).database) as session:
        if len(tokens.of_user(session, person.user_id)) >= MOST:
            raise ProblemError(409, "too-many-tokens", f"You have {MOST} tokens. Revoke one that you no longer use.")
        token, secret = tokens.issue(
            session,
            Purpose.PERSONAL,
            now=now,
            scopes=wanted.scopes,
            user_id=person.user_id,
            name=wanted.name,
            lifetime=until - now,
        )
    response.headers["Cache-Control"] = "no-store"
    return TokenMade(secret=secret, **_shown(token).model_dump())


@router.get("", operation_id="list_tokens", responses=documented(401))
def listing(request: Request, person: Annotated[Person, Depends(signed_in)]) -> Tokens:
    """Your tokens, newest first, without their secrets."""
    with reading(settings_of(request).database) as session:
        return Tokens(items=[_shown(token) for token in tokens.of_user(session, person.user_id)])


@router.delete("/{token}", status_code=204, operation_id="revoke_token", responses=documented(401, 403, 404))
def revoke(
    request: Request,
    token: Annotated[int, Path(ge=1, le=2**31 - 1)],
    person: Annotated[Person, Depends(signed_in)],
) -> None:
    """Revoke one of your tokens; web sessions opened with it end too."""
    with transaction(settings_of(request).database) as session:
        if not tokens.revoke(session, token, datetime.now(UTC), person.user_id):
            raise ProblemError(404, "no-such-token", "You have no such token in force.")


def _shown(token: Token) -> TokenShown:
    return TokenShown(
        id=token.id,
        name=token.name,
        hint=token.hint,
        scopes=[Scope(scope) for scope in token.scopes],
        created_at=token.created_at,
        expires_at=token.expires_at,
        last_used_at=token.last_used_at,
    )
