"""Brings a database to the newest tables. The migrations lie beside the packages, in `migrations/`."""

import os
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import make_url

FOLDER = Path(__file__).parent.parent.parent / "migrations"


def upgrade(url: str) -> None:
    """Apply all migrations that the database has not seen. Several processes may do so at once."""
    made = make_url(url)
    if made.get_backend_name() == "sqlite" and made.database:
        folder = Path(made.database).parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _touch_private(Path(made.database))
    command.upgrade(config(url), "head")


def check(url: str) -> None:
    """Raise where the database and the models differ."""
    command.check(config(url))


def config(url: str) -> Config:
    """What Alembic needs to know, with the database's URL for `env.py`."""
    made = Config()
    made.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    made.attributes["url"] = url
    return made


def _touch_private(path: Path) -> None:
    """Make the file before SQLite would, which leaves it, and the journals beside it, to everybody's eyes."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
