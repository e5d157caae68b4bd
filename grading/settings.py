"""What a deployment may set, from the environment (`ROOFLAB_…`)."""

import os
import secrets
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from tempfile import NamedTemporaryFile

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from grading.store.blobs import synchronise

LEAST_SECRET = 16  # letters; fewer could be guessed from hidden cases that somebody saw


class Settings(BaseSettings):
    """The deployment's settings. Everything has a default that works on one machine without any service."""

    model_config = SettingsConfigDict(env_prefix="ROOFLAB_", frozen=False, hide_input_in_errors=True)

    data: Path = Field(default=Path("data"), description="folder of the database, the bytes handed in and the secret")
    database_url: str = Field(default="", description="SQLAlchemy URL; empty: SQLite in the data folder")
    broker_url: str = Field(default="", description="redis://…; empty: files in the data folder, no service needed")
    secret: str = Field(default="", repr=False, description="seeds hidden cases; empty: made once in the data folder")
    packs: Path | None = Field(default=None, description="folder of packs; empty: the packs that come with Rooflab")
    max_upload_bytes: int = Field(default=64 * 1024 * 1024, gt=0)
    readers: int = Field(
        default_factory=lambda: max(2, min(8, os.cpu_count() or 2)),
        ge=2,
        description="files read at once; those of one person come one after the other",
    )
    lease_seconds: float = Field(default=30.0, ge=1)
    max_attempts: int = Field(default=3, ge=1)
    sweep_seconds: float = Field(default=10.0, gt=0)
    explanations_per_day: int = 20
    allow_reduced_isolation: bool = Field(default=False, description="grade even where the sandbox cannot be whole")
    secure_cookies: bool = Field(default=False, description="set behind HTTPS")
    proxies: str = Field(
        default="127.0.0.1",
        description="addresses and networks, with commas: what these send is from where their X-Forwarded-For says",
    )

    @field_validator("secret")
    @classmethod
    def _long_enough(cls, secret: str) -> str:
        if secret and len(secret) < LEAST_SECRET:
            raise ValueError(f"a secret has at least {LEAST_SECRET} letters: take those of `openssl rand -hex 32`")
        return secret

    @property
    def database(self) -> str:
        return self.database_url or f"sqlite:///{(self.data / 'rooflab.sqlite').resolve()}"

    @property
    def broker(self) -> str:
        return self.broker_url or "filesystem://"

    @cached_property
    def seed_secret(self) -> bytes:
        """The secret that hidden inputs are drawn from. Made on first use, readable by this user alone."""
        if self.secret:
            return self.secret.encode()
        path = self.data / "secret"
        if not path.exists():
            with NamedTemporaryFile("w", dir=self.data, encoding="ascii") as file:
                file.write(secrets.token_hex(32))
                file.flush()
                os.fsync(file.fileno())
                with suppress(FileExistsError):  # of two processes that make one at once, the first decides
                    os.link(file.name, path)
                synchronise(self.data)
        return path.read_bytes()
