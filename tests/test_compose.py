"""The compose file: what the specification asks, what safety asks, and its commands run by hand on real servers."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import parts
import pytest
import yaml
from classroom import eventually
from sqlalchemy import create_engine, make_url
from sqlalchemy.pool import NullPool

from grading.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docker-compose.yml").read_text("utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if "build" in service]
WORKERS = [name for name in OURS if name.startswith("worker")]
PROFILE: dict[str, Any] = json.loads((ROOT / ".docker" / "worker-seccomp.json").read_text("utf-8"))
DEPLOYING = (ROOT / "docs" / "deploy.md").read_text("utf-8")
CLI = [sys.executable, "-m", "api.cli"]


def test_the_file_is_valid_by_the_compose_specification() -> None:
    schema = json.loads((ROOT / "tests" / "data" / "compose-spec.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(COMPOSE)


def test_every_part_of_the_deployment_is_a_service() -> None:
    assert set(SERVICES) == {"api", "worker-cpu", "worker-gpu", "migrate", "redis", "postgres"}
    assert SERVICES["worker-gpu"]["profiles"] == ["gpu"]


@pytest.mark.parametrize("name", OURS)
def test_the_command_of_a_service_exists(name: str) -> None:
    done = subprocess.run([*CLI, *SERVICES[name]["command"], "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", OURS)
def test_the_image_of_a_service_is_built_from_files_that_are_here(name: str) -> None:
    dockerfile = ROOT / SERVICES[name]["build"]["dockerfile"]
    lines = dockerfile.read_text("utf-8").splitlines()
    assert "USER rooflab" in lines
    (setting_up,) = (number for number, line in enumerate(lines) if "./rooflab" in line and "setup" in line)
    assert setting_up < lines.index("COPY . .")  # so that it is kept while only our own files change
    assert 'ENTRYPOINT ["/app/.venv/bin/rooflab"]' in lines


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "migrate"])
def test_a_lasting_service_has_a_health_check_and_is_restarted(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"]
    assert SERVICES[name]["restart"] == "unless-stopped"


def test_no_secret_has_a_default() -> None:
    secrets = {variable: rest for variable, rest in _variables() if re.search("PASSWORD|SECRET", variable)}
    assert len(secrets) == 3
    assert all(rest.startswith(":?") for rest in secrets.values())


def test_no_service_gets_a_secret_in_plain_words() -> None:
    for service in SERVICES.values():
        for key, value in service["environment"].items():
            if re.search("PASSWORD|SECRET|AUTH|URL", key):
                assert "${ROOFLAB_" in value


@pytest.mark.parametrize("variable", sorted({variable for variable, _ in re.findall(r"\$\{(\w+)([^}]*)\}", TEXT)}))
def test_a_variable_of_the_compose_file_is_documented(variable: str) -> None:
    assert f"`{variable}`" in DEPLOYING


@pytest.mark.parametrize("setting", sorted(Settings.model_fields))
def test_a_setting_is_documented(setting: str) -> None:
    assert f"`ROOFLAB_{setting.upper()}`" in DEPLOYING


@pytest.mark.parametrize("name", OURS)
def test_a_service_is_given_nothing_but_settings(name: str) -> None:
    known = {f"ROOFLAB_{setting.upper()}" for setting in Settings.model_fields}
    assert set(SERVICES[name]["environment"]) - {"TMPDIR"} <= known


def test_uploads_come_in_on_the_volume_and_not_in_memory() -> None:
    assert Path(SERVICES["api"]["environment"]["TMPDIR"]).is_relative_to("/data")
    assert "data:/data" in SERVICES["api"]["volumes"]


@pytest.mark.parametrize("name", OURS)
def test_a_service_of_ours_has_no_capability_and_writes_to_its_volume_alone(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert "no-new-privileges:true" in service["security_opt"]
    assert not {"privileged", "cap_add", "pid", "ipc", "network_mode"} & set(service)


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_has_room_for_the_sandbox_and_no_way_out(name: str) -> None:
    service = SERVICES[name]
    assert {"apparmor=unconfined", "systempaths=unconfined"} < set(service["security_opt"])
    assert "seccomp=./.docker/worker-seccomp.json" in service["security_opt"]
    assert service["networks"] == ["back"]
    assert "mem_limit" in service and "pids_limit" in service
    assert "ports" not in service


def test_only_the_api_is_reached_from_outside_and_only_from_this_machine_unless_told() -> None:
    assert COMPOSE["networks"]["back"] == {"internal": True}
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["api"]
    assert [name for name, service in SERVICES.items() if "front" in service["networks"]] == ["api"]
    assert SERVICES["api"]["ports"] == ["${ROOFLAB_LISTEN:-127.0.0.1:8000}:8000"]


def test_bubblewrap_works_under_the_workers_profile() -> None:
    assert _bubblewrap_under(PROFILE).returncode == 0


def test_bubblewrap_does_not_work_without_the_one_rule_that_is_for_it() -> None:
    without = PROFILE | {"syscalls": [rule for rule in PROFILE["syscalls"] if "pivot_root" not in rule["names"]]}
    assert _bubblewrap_under(without).returncode != 0


def test_the_workers_profile_refuses_what_containers_are_refused() -> None:
    allowed = {name for rule in PROFILE["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}
    refused = {
        "bpf",
        "init_module",
        "kexec_load",
        "perf_event_open",
        "userfaultfd",
        "keyctl",
        "io_uring_setup",
        "reboot",
    }
    assert PROFILE["defaultAction"] == "SCMP_ACT_ERRNO"
    assert not allowed & refused


def test_the_commands_work_together_on_real_servers(database: str, redis_url: str, tmp_path: Path) -> None:
    """What compose does: migrate to its end, then the API and a worker; a submission goes through all of them."""
    given = {
        "ROOFLAB_DATABASE_URL": database,
        "ROOFLAB_BROKER_URL": redis_url,
        "ROOFLAB_SECRET": "no secret, but for this test",
    }
    environment = {**os.environ, **given, "ROOFLAB_DATA": str(tmp_path)}
    subprocess.run(
        [*CLI, *SERVICES["migrate"]["command"]], env=environment, check=True, capture_output=True, timeout=60
    )
    serving = ["127.0.0.1" if word == "0.0.0.0" else word for word in SERVICES["api"]["command"]]
    serving = ["0" if word == "8000" else word for word in serving]
    with (
        _running(SERVICES["worker-cpu"]["command"], environment) as worker,
        _running([*serving, "--demo", "--json"], environment) as api,
    ):
        ready = json.loads(api.stdout.readline())
        health_of_all = httpx.get(f"{ready['url']}/api/v1/health").json()
        assert (health_of_all["status"], health_of_all["database"], health_of_all["queue"]) == ("ok", True, True)
        sample = ROOT / "grading" / "packs" / "lab1" / "samples" / "notebook" / "answers.ipynb"
        handing_in = ["submit", str(sample), "--server", ready["url"], "--token", ready["student"], "--json"]
        done = subprocess.run([*CLI, *handing_in], env=environment, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["state"] == "graded"
        assert eventually(lambda: _is_healthy(environment))
        assert worker.poll() is None
    assert not _is_healthy(environment)


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    """An empty database on the run's server, as the postgres service makes it."""
    server = make_url(postgres_url)
    admin = create_engine(server, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.exec_driver_sql("CREATE DATABASE compose")
        yield server.set(database="compose").render_as_string(hide_password=False)
        connection.exec_driver_sql("DROP DATABASE compose WITH (FORCE)")


@contextmanager
def _running(words: list[str], environment: dict[str, str]) -> Iterator[Any]:
    process = subprocess.Popen([*CLI, *words], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def _is_healthy(environment: dict[str, str]) -> bool:
    """What the worker's health check in the compose file says."""
    command = [sys.executable, *SERVICES["worker-cpu"]["healthcheck"]["test"][2:]]
    return subprocess.run(command, env=environment, capture_output=True, timeout=60).returncode == 0


def _variables() -> list[tuple[str, str]]:
    return re.findall(r"\$\{(\w+)([^}]*)\}", TEXT)


def _bubblewrap_under(profile: dict[str, Any]) -> "subprocess.CompletedProcess[bytes]":
    """Start a sandbox as the container would: a plain user, no new privileges, the profile's filter in place."""
    with tempfile.TemporaryDirectory(prefix="rooflab-bwrap-") as name:
        Path(name).chmod(0o711)
        program = parts.runnable_by_all(parts.bubblewrap(), Path(name) / "wheel")
        words = [str(program), "--unshare-all", "--uid", "0", "--gid", "0", "--cap-add", "ALL"]
        words += ["--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]
        words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--", "/usr/bin/true"]
        return subprocess.run([sys.executable, "-c", CONFINED, json.dumps(profile), *words], capture_output=True)


CONFINED = """
import ctypes, errno, json, os, sys
import pyseccomp as seccomp

profile, words = json.loads(sys.argv[1]), sys.argv[2:]
compare = {"SCMP_CMP_EQ": seccomp.EQ}
filter = seccomp.SyscallFilter(seccomp.ERRNO(profile["defaultErrnoRet"]))
for rule in profile["syscalls"]:
    action = seccomp.ALLOW if rule["action"] == "SCMP_ACT_ALLOW" else seccomp.ERRNO(rule["errnoRet"])
    arguments = [seccomp.Arg(a["index"], compare[a["op"]], a["value"]) for a in rule.get("args", [])]
    for name in rule["names"]:
        if seccomp.resolve_syscall(seccomp.system_arch(), name) != -1:
            filter.add_rule(action, name, *arguments)
if os.getuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
filter.load()  # it asks for no new privileges first
os.execve(words[0], words, {})
"""
