"""What the API takes and gives, as types. Points are exact decimals and travel as strings."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from grading.store.tokens import Scope


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("control characters are not taken")
    return text


Name = Annotated[
    str, StringConstraints(min_length=1, max_length=100, strip_whitespace=True), AfterValidator(_printable)
]


class Given(BaseModel):
    """A body that a client sends: an unknown field is a mistake, not something to pass over."""

    model_config = ConfigDict(extra="forbid")


class Health(BaseModel):
    """Whether the service can work. `degraded`: it takes submissions and the worker finds them later."""

    status: Literal["ok", "degraded", "down"]
    database: bool
    queue: bool


class NewToken(Given):
    name: Name = Field(examples=["my laptop"])
    scopes: list[Scope] = Field(min_length=1, max_length=4, examples=[["submit", "read"]])
    expires_at: AwareDatetime | None = Field(default=None, examples=["2027-03-01T00:00:00Z"])


class TokenShown(BaseModel):
    """A token without its secret."""

    id: int
    name: str
    hint: str = Field(description="how the secret begins", examples=["rooflab_pat_4fQz"])
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None = Field(description="to the minute")


class TokenMade(TokenShown):
    secret: str = Field(description="shown here once and never again")


class Tokens(BaseModel):
    items: list[TokenShown]


class NewClient(Given):
    name: Name = Field(examples=["Canvas sync"])


class ClientShown(BaseModel):
    """A machine that pulls the grades of one course."""

    id: str
    name: str
    course: str
    created_at: datetime
    revoked_at: datetime | None


class ClientMade(ClientShown):
    secret: str = Field(description="shown here once and never again")
    token_url: str = "/oauth2/token"
    grades_url: str


class Clients(BaseModel):
    items: list[ClientShown]


class AccessToken(BaseModel):
    """RFC 6749, section 5.1."""

    access_token: str
    token_type: Literal["Bearer"] = "Bearer"
    expires_in: int = 3600
    scope: str = "grades"


class OAuthError(BaseModel):
    """RFC 6749, section 5.2."""

    error: Literal["invalid_request", "invalid_client", "unsupported_grant_type", "invalid_scope"]
    error_description: str
