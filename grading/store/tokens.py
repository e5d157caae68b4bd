"""Bearer secrets: made once, shown once, kept as a SHA-256, resolved in constant time.

Not covered: what a token may do. Its scopes are an upper bound; `api.auth` also asks for its person's role.
"""

import hashlib
import hmac
import secrets
import string
import zlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import delete, or_, select, update
from sqlalchemy.orm import Session

from grading.store.tables import Client, Token

ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
RANDOM_LETTERS = 30  # 178 bits
CHECK_LETTERS = 6
HINT_LETTERS = 16
USED_EVERY = timedelta(minutes=1)
KEPT_AFTER_END = timedelta(days=1)


class Purpose(StrEnum):
    """What a token is for, and so where it is taken: a header (personal, access) or the session cookie."""

    PERSONAL = "personal"
    SESSION = "session"
    ACCESS = "access"


class Scope(StrEnum):
    """What a token may be used for, at most."""

    SUBMIT = "submit"
    READ = "read"
    STAFF = "staff"
    ADMIN = "admin"
    GRADES = "grades"  # a client's alone


PERSONAL_SCOPES = (Scope.SUBMIT, Scope.READ, Scope.STAFF, Scope.ADMIN)
PREFIXES = {Purpose.PERSONAL: "rooflab_pat_", Purpose.SESSION: "rooflab_ses_", Purpose.ACCESS: "rooflab_acc_"}
CLIENT_SECRET = "rooflab_sec_"


def issue(
    session: Session,
    purpose: Purpose,
    *,
    now: datetime,
    scopes: Iterable[str],
    user_id: int | None = None,
    client_id: str | None = None,
    name: str = "",
    lifetime: timedelta | None = None,
    parent_id: int | None = None,
) -> tuple[Token, str]:
    """A new token and its secret, which is stored nowhere and cannot be shown again."""
    if (user_id is None) == (client_id is None):
        raise ValueError("a token belongs to a person or to a client")
    secret = new_secret(PREFIXES[Purpose(purpose)])
    token = Token(
        hash=digest(secret),
        hint=secret[:HINT_LETTERS],
        purpose=Purpose(purpose).value,
        name=name,
        user_id=user_id,
        client_id=client_id,
        parent_id=parent_id,
        scopes=sorted({Scope(scope).value for scope in scopes}),
        created_at=now,
        expires_at=None if lifetime is None else now + lifetime,
    )
    session.add(token)
    session.flush()
    return token, secret


def resolve(session: Session, secret: str, now: datetime) -> Token | None:
    """The token that a secret opens, unless it, its parent or its client was revoked, or its time is over."""
    if not well_formed(secret):
        return None
    hashed = digest(secret)
    token = session.scalar(select(Token).where(Token.hash == hashed))
    if token is None or not hmac.compare_digest(token.hash, hashed) or not _in_force(token, now):
        return None
    if token.parent_id is not None:
        parent = session.get(Token, token.parent_id)
        if parent is None or not _in_force(parent, now):
            return None
    if token.client_id is not None:
        client = session.get(Client, token.client_id)
        if client is None or client.revoked_at is not None:
            return None
    return token


def worth_noting(token: Token, now: datetime) -> bool:
    """Whether this use is worth a write: a token's last use is kept to the minute."""
    return token.last_used_at is None or now - token.last_used_at >= USED_EVERY


def note_use(session: Session, token_id: int, now: datetime) -> None:
    """Remember that a token was used."""
    session.execute(update(Token).where(Token.id == token_id).values(last_used_at=now))


def of_user(session: Session, user_id: int) -> list[Token]:
    """A person's personal tokens that were not revoked, newest first."""
    return list(
        session.scalars(
            select(Token)
            .where(Token.user_id == user_id, Token.purpose == Purpose.PERSONAL.value, Token.revoked_at.is_(None))
            .order_by(Token.id.desc())
        )
    )


def revoke(session: Session, token_id: int, now: datetime, user_id: int | None = None) -> bool:
    """Revoke a token (of this person, if one is given), and what was opened with it. False: no such token."""
    token = session.get(Token, token_id)
    if token is None or token.revoked_at is not None or (user_id is not None and token.user_id != user_id):
        return False
    token.revoked_at = now
    session.execute(update(Token).where(Token.parent_id == token_id, Token.revoked_at.is_(None)).values(revoked_at=now))
    return True


def purge(session: Session, now: datetime) -> int:
    """Forget sessions and access tokens that have been over for a day; how many. Personal ones are kept."""
    horizon = now - KEPT_AFTER_END
    over = or_(Token.expires_at <= horizon, Token.revoked_at <= horizon)
    passing = Token.purpose.in_([Purpose.SESSION.value, Purpose.ACCESS.value])
    free = select(Token.id).where(passing, over).with_for_update(skip_locked=True)  # so that nobody waits for this
    gone = delete(Token).where(Token.id.in_(free)).returning(Token.id)
    return len(session.scalars(gone, execution_options={"synchronize_session": False}).all())


def new_secret(prefix: str) -> str:
    """A random secret: a prefix that says what it is, 178 random bits, and a checksum against typing errors."""
    body = prefix + "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_LETTERS))
    return body + _checksum(body)


def well_formed(secret: str) -> bool:
    """Whether a text can be one of our secrets at all; nothing else reaches the database."""
    if len(secret) > 64 or not secret.isascii() or not secret.startswith(tuple(PREFIXES.values())):
        return False
    body, check = secret[:-CHECK_LETTERS], secret[-CHECK_LETTERS:]
    return hmac.compare_digest(_checksum(body), check)


def digest(secret: str) -> str:
    """The form in which a secret is stored. No salt: a secret is random, so nobody can try likely ones."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _in_force(token: Token, now: datetime) -> bool:
    return token.revoked_at is None and (token.expires_at is None or now < token.expires_at)


def _checksum(body: str) -> str:
    number, letters = zlib.crc32(body.encode()), []
    for _ in range(CHECK_LETTERS):
        number, digit = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[digit])
    return "".join(reversed(letters))
