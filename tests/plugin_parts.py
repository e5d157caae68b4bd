"""Fixtures for the real parts, and what becomes of a test whose part this machine has not got.

Such a test is skipped, and the part is named once more before pytest's last line, so that nobody takes the run for a
whole one. Where CI=true it is not skipped but fails, unless it is a thing that only a machine's administrator grants.
"""

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import parts
import pytest

_missing: dict[str, str] = {}


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL for the whole run; whoever uses it makes databases of their own in it."""
    with parts.postgres() as url:
        yield url


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A Redis for the whole run; whoever uses it takes a database number or key prefix of their own."""
    with parts.redis() as url:
        yield url


@pytest.fixture(scope="session")
def chromium_path() -> Path:
    """A browser for the pages."""
    return parts.chromium()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    return (yield from _skipping_what_is_missing())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    return (yield from _skipping_what_is_missing())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _missing:
        terminalreporter.section("parts that this machine has not got", red=True)
        for name, why in sorted(_missing.items()):
            terminalreporter.write_line(f"{name}: {why}")


def _skipping_what_is_missing() -> Generator[None, object, object]:
    try:
        return (yield)
    except parts.Missing as error:
        _missing[error.name] = error.why
        if os.environ.get("CI") == "true" and not isinstance(error, parts.NotGranted):
            raise
        pytest.skip(str(error))
