"""Fixtures that every test file may use."""

import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import create_engine, make_url
from sqlalchemy.pool import NullPool

from grading.settings import Settings
from grading.store import migrate
from grading.store.session import engine

pytest_plugins = ["plugin_parts"]

# How long drawing or running an example takes says nothing on a busy machine.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A fresh database, made by the migrations; the test runs on each of the two engines."""
    template = request.getfixturevalue(f"{request.param}_template")
    if request.param == "sqlite":
        file = tmp_path / "rooflab.sqlite"
        shutil.copy(template, file)
        url = f"sqlite:///{file}"
        yield url
        engine(url).dispose()
        return
    server = make_url(request.getfixturevalue("postgres_url"))
    name = f"test_{secrets.token_hex(8)}"
    _on_server(server, f'CREATE DATABASE {name} TEMPLATE "{template}"')
    url = server.set(database=name).render_as_string(hide_password=False)
    yield url
    engine(url).dispose()
    _on_server(server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """A deployment of its own: both databases in turn, the embedded broker, and a secret."""
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    return Settings(data=data, database_url=database_url, broker_url="", secret="not a secret, but for tests")


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file, to be copied."""
    file = tmp_path_factory.mktemp("template") / "rooflab.sqlite"
    migrate.upgrade(f"sqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def postgresql_template(postgres_url: str) -> Iterator[str]:
    """A migrated PostgreSQL database, to be copied: its name on the run's server."""
    server = make_url(postgres_url)
    name = f"template_{secrets.token_hex(8)}"
    _on_server(server, f"CREATE DATABASE {name}")
    migrate.upgrade(server.set(database=name).render_as_string(hide_password=False))
    yield name
    _on_server(server, f"DROP DATABASE {name} WITH (FORCE)")


def _on_server(server: object, statement: str) -> None:
    made = create_engine(server, poolclass=NullPool, isolation_level="AUTOCOMMIT")  # type: ignore[arg-type]
    with made.connect() as connection:
        connection.exec_driver_sql(statement)
