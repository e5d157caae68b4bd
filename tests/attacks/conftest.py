"""One running service for all attacks: as `rooflab serve` starts it, with a secret that the tests know."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from court import Court

from grading.settings import Settings

SECRET = "canary-of-the-seed-3f9c1a7be2d84605"


@pytest.fixture(scope="session")
def court(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Court]:
    """The service that every attack is tried on."""
    data = tmp_path_factory.mktemp("court")
    command = [sys.executable, "-m", "api.cli", "serve", "--port", "0", "--json", "--data", str(data)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "ROOFLAB_SECRET": SECRET}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            ready = json.loads(process.stdout.readline())
            yield Court(ready["url"], ready["lab"], ready["ta"], Settings(data=data, secret=SECRET))
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
