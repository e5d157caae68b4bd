"""The engine and the one commit point."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from sqlalchemy import Engine, create_engine, event, select
from sqlalchemy.orm import Session

from grading.store.tables import Course, User


@contextmanager
def transaction(url: str) -> Iterator[Session]:
    """A session that commits when the block ends and rolls back when it raises. Nothing else commits.

    On SQLite it holds the write lock all along, so that what it read stays true until it commits, the clock included.
    """
    with Session(engine(url).execution_options(writes=True), expire_on_commit=False) as session, session.begin():
        session.connection()  # which begins
        yield session


@contextmanager
def reading(url: str) -> Iterator[Session]:
    """A session that only reads and takes no write lock."""
    with Session(engine(url)) as session:
        yield session


def hold_person(session: Session, user_id: int) -> None:
    """Make other transactions about the same person wait until this one ends, so that what they count stays true."""
    session.execute(select(User.id).where(User.id == user_id).with_for_update(key_share=True)).one()


def hold_course(session: Session, course_id: str) -> None:
    """Make other transactions that change grades of the course wait: revisions then become visible in order.

    Whoever holds a person too holds the person first.
    """
    session.execute(select(Course.id).where(Course.id == course_id).with_for_update()).one()


@cache
def engine(url: str) -> Engine:
    """The process's engine for a database URL. SQLite runs in WAL mode, keeps what is committed, minds foreign keys."""
    if url.startswith("sqlite"):
        made = create_engine(url, connect_args={"timeout": 30}, hide_parameters=True)
        event.listen(made, "connect", _prepare_sqlite)
        event.listen(made, "begin", _begin)
        return made
    return create_engine(url, pool_pre_ping=True, hide_parameters=True)


def _prepare_sqlite(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # pysqlite's own BEGIN comes too late for a claim; `_begin` sends it
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Any) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
