"""The real parts come up, are real, and go away; a missing one is named and never passed over in silence."""

import os
import subprocess
import sys
from pathlib import Path

import parts
import psycopg
import pytest
import redis

HERE = Path(__file__).parent


def test_postgres_answers_and_may_make_databases(postgres_url: str) -> None:
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("create database parts_check")
        connection.execute("drop database parts_check")


def test_redis_keeps_what_it_is_given(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.set("parts:check", "kept", ex=60)
        assert client.getdel("parts:check") == b"kept"


def test_chromium_tells_its_version(chromium_path: Path) -> None:
    done = subprocess.run([chromium_path, "--version"], capture_output=True, text=True, timeout=60)
    assert "Chrom" in done.stdout


def test_servers_are_gone_after_their_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROOFLAB_TEST_REDIS", raising=False)
    with parts.redis() as url:
        pass
    with redis.Redis.from_url(url) as client, pytest.raises(redis.ConnectionError):
        client.ping()


def test_servers_die_with_a_killed_test_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A run killed with -9 cleans nothing up itself."""
    monkeypatch.delenv("ROOFLAB_TEST_REDIS", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    program = "import parts, sys\nwith parts.redis() as url:\n    print(url, flush=True)\n    sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], cwd=HERE, stdin=-1, stdout=-1, text=True) as run:
        assert run.stdout
        url = run.stdout.readline().strip()
        with redis.Redis.from_url(url) as client:
            listening = client.pubsub()
            listening.subscribe("parts:never")
            run.kill()
            with pytest.raises(redis.ConnectionError):
                for _ in listening.listen():
                    pass


@pytest.mark.parametrize(("ci", "outcome"), [("true", "1 error"), ("", "1 skipped")])
def test_a_missing_part_is_named_before_the_last_line(ci: str, outcome: str, tmp_path: Path) -> None:
    (tmp_path / "test_browser.py").write_text("def test_browser(chromium_path): pass\n")
    environment = {**os.environ, "CI": ci, "ROOFLAB_TEST_CHROMIUM": "no-such-browser", "PYTHONPATH": str(HERE)}
    command = [sys.executable, "-m", "pytest", "-p", "plugin_parts", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=120)
    lines = done.stdout.strip().splitlines()
    assert any(line.startswith("Chromium: ") for line in lines)
    assert outcome in lines[-1]
    assert (done.returncode == 0) is (ci == "")
