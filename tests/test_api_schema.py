"""Requests made up from the OpenAPI description: none is a fault of ours, and every error is the one it promises."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from api_world import World, make_world
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as bounded
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from grading.settings import Settings

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 30


@pytest.fixture
def world(settings: Settings, tmp_path: Path) -> Iterator[World]:
    with make_world(settings, tmp_path) as made:
        yield made


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)  # the stricter of the two
def test_no_made_up_request_is_a_fault_of_ours(world: World) -> None:
    schema = schemathesis.openapi.from_dict(world.http.get("/api/v1/openapi.json").json())
    schema.config.update(base_url=str(world.http.base_url))
    admin, client = world.bearer("ada"), world.access("gpu")  # whose tokens reach furthest
    asked = sum(
        ask(world, result.ok(), client if result.ok().path.endswith("/grades") else admin)
        for result in schema.get_all_operations()
    )
    assert asked >= 500


def ask(world: World, operation: schemathesis.APIOperation, headers: dict[str, str]) -> int:
    """Send one operation's made-up requests; how many."""
    asked = 0
    cases = [operation.as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode]
    known = {"lab": "lab1", "course": "gpu", "submission": world.submission}

    @seed(20260301)
    @bounded(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=st.one_of(*cases), real=st.booleans())
    def send(case: schemathesis.Case, real: bool) -> None:
        nonlocal asked
        if real:  # made-up ids seldom exist
            case.path_parameters.update({name: known[name] for name in case.path_parameters if name in known})
        case.call_and_validate(headers=headers, checks=CHECKS, timeout=30)
        asked += 1

    send()
    return asked
