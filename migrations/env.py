"""What Alembic runs: one transaction, one migrating process at a time, the URL from its caller or from the settings."""

from typing import Any

from alembic import context
from sqlalchemy import create_engine, event, text
from sqlalchemy.pool import NullPool

from grading.settings import Settings
from grading.store.tables import Base

LOCK = 7_655_623  # any number, the same in every process


def run() -> None:
    """Migrate within one transaction that excludes every other migration."""
    url = context.config.attributes.get("url") or Settings().database
    engine = create_engine(url, poolclass=NullPool)
    sqlite = engine.dialect.name == "sqlite"
    if sqlite:
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    with engine.begin() as connection:
        if not sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        context.configure(
            connection=connection, target_metadata=Base.metadata, render_as_batch=True, compare_server_default=True
        )
        with context.begin_transaction():
            context.run_migrations()


def _prepare(connection: Any, record: Any) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    # A batch migration makes a table anew and drops the old one, which must not reach the rows that refer to it.
    for pragma in ("busy_timeout=30000", "journal_mode=WAL", "foreign_keys=OFF"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


run()
