"""The migrations and the models agree, on both databases, however often and by however many processes they are run."""

import subprocess
import sys
from pathlib import Path

from sqlalchemy import create_engine, inspect
from sqlalchemy.pool import NullPool

from grading.store import migrate
from grading.store.tables import Base


def test_the_migrations_make_exactly_the_tables_of_the_models(database_url: str) -> None:
    migrate.check(database_url)


def test_an_upgrade_of_a_new_database_leaves_it_alone(database_url: str) -> None:
    migrate.upgrade(database_url)
    made = create_engine(database_url, poolclass=NullPool)
    assert set(inspect(made).get_table_names()) == {*Base.metadata.tables, "alembic_version"}


def test_processes_that_migrate_at_once_wait_for_each_other(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/new/rooflab.sqlite"
    script = f"from grading.store import migrate; migrate.upgrade({url!r})"
    processes = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    migrate.check(url)


def test_the_database_file_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "rooflab.sqlite"
    migrate.upgrade(f"sqlite:///{file}")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
