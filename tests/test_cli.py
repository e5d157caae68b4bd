"""The command line: what stops it is one line and a documented exit code, and reading commands speak JSON."""

import csv
import json
import os
import signal
import socket
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

ROOT = Path(__file__).parent.parent
ROSTER = "name,login,email,section\nAnn Doe,ann,ann@example.org,01\nBob Roe,bob,bob@example.org,02\n"


def rooflab(data: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "api.cli", *words],
        env=os.environ | {"ROOFLAB_DATA": str(data), "PYTHONPATH": str(ROOT), "COLUMNS": "200"} | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a database and an empty course."""
    data = tmp_path_factory.mktemp("course")
    for words in (("db", "migrate"), ("db", "course", "gpu", "GPU course", "--admin", "ada")):
        done = rooflab(data, *words)
        assert done.returncode == 0, done.stderr
    return data


def test_a_port_in_use_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        done = rooflab(tmp_path, "serve", "--port", port)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert port in done.stderr and "--port" in done.stderr


def test_a_folder_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = rooflab(tmp_path, "serve", "--port", "0", "--data", str(tmp_path / "file" / "data"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "--data" in done.stderr


def test_a_database_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    done = rooflab(tmp_path / "nowhere", "roster", "list", "gpu")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "rooflab db migrate" in done.stderr


def test_a_setting_that_is_wrong_is_named(tmp_path: Path) -> None:
    done = rooflab(tmp_path, "db", "migrate", ROOFLAB_MAX_ATTEMPTS="many")
    assert done.returncode == 1
    assert "ROOFLAB_MAX_ATTEMPTS" in done.stderr and "Traceback" not in done.stderr


def test_a_secret_that_could_be_guessed_is_refused_in_one_line_that_does_not_repeat_it(tmp_path: Path) -> None:
    done = rooflab(tmp_path, "db", "migrate", ROOFLAB_SECRET="hunter2")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "ROOFLAB_SECRET" in done.stderr and "16" in done.stderr and "hunter2" not in done.stderr


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_on_this_machine_is_reached_past_any_proxy(tmp_path: Path, host: str) -> None:
    with HTTPServer(("127.0.0.1", 0), Unauthorised) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://{host}:{server.server_port}"
        proxied = {"http_proxy": "http://127.0.0.1:1", "no_proxy": "", "NO_PROXY": ""}
        done = rooflab(tmp_path, "status", "--server", url, "--token", "x", **proxied)
        server.shutdown()
    assert done.returncode == 5, done.stderr


@pytest.mark.parametrize(
    ("server", "token", "code", "says"),
    [
        ("http://127.0.0.1:1", "", 5, "No token"),
        ("http://127.0.0.1:1", "rooflab_pat_…", 5, "no token"),
        ("127.0.0.1:8000", "x", 4, "http://"),
        ("http://127.0.0.1:1", "x", 4, "Nothing answers"),
    ],
)
def test_what_is_wrong_with_token_or_address_is_told_in_one_line(
    tmp_path: Path, server: str, token: str, code: int, says: str
) -> None:
    done = rooflab(tmp_path, "status", "--server", server, ROOFLAB_TOKEN=token)
    assert (done.returncode, done.stderr.count("\n")) == (code, 1)
    assert says in done.stderr


@pytest.mark.parametrize(
    ("words", "environment", "says"),
    [
        (("roster", "list", "gpu"), {"ROOFLAB_DATABASE_URL": "garbage"}, "ROOFLAB_DATABASE_URL"),
        (("db", "migrate"), {"ROOFLAB_DATA": "/proc/nowhere"}, "/proc/nowhere"),
        (("serve", "--host", "host.invalid"), {}, "--host"),
    ],
)
def test_a_setting_that_cannot_be_used_is_told_in_one_line(
    tmp_path: Path, words: tuple[str, ...], environment: dict[str, str], says: str
) -> None:
    done = rooflab(tmp_path, *words, **environment)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert says in done.stderr


def test_a_course_that_there_is_not_is_no_empty_course(course: Path) -> None:
    for words in (("roster", "list", "none"), ("token", "handout", "none")):
        done = rooflab(course, *words)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", "There is no course none.\n")


class Unauthorised(BaseHTTPRequestHandler):
    """Lets nobody in."""

    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None: ...


def test_a_server_that_cannot_be_reached_has_its_own_exit_code(tmp_path: Path) -> None:
    done = rooflab(tmp_path, "status", "--server", "http://127.0.0.1:1", "--token", "x")
    assert done.returncode == 4
    assert "--server" in done.stderr


def test_a_file_that_is_no_notebook_is_refused_without_a_server_too(tmp_path: Path) -> None:
    (tmp_path / "lab.ipynb").write_bytes(b"%PDF-1.7")
    done = rooflab(tmp_path, "grade", str(tmp_path / "lab.ipynb"))
    assert done.returncode == 3
    assert "PDF" in done.stderr


def test_a_roster_is_shown_first_and_applied_when_told(course: Path, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text(ROSTER)
    seen = rooflab(course, "roster", "apply", "gpu", str(tmp_path / "roster.csv"), "--json")
    assert json.loads(seen.stdout) == {"added": ["ann", "bob"], "changed": [], "dropped": []}
    assert [one["login"] for one in json.loads(rooflab(course, "roster", "list", "gpu", "--json").stdout)] == ["ada"]
    assert rooflab(course, "roster", "apply", "gpu", str(tmp_path / "roster.csv"), "--yes").returncode == 0
    listed = json.loads(rooflab(course, "roster", "list", "gpu", "--json").stdout)
    assert {one["login"]: one["role"] for one in listed} == {"ada": "admin", "ann": "student", "bob": "student"}


def test_a_roster_with_a_bad_row_or_a_row_of_staff_says_so(course: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("name,login\nAnn Doe,\n")
    bad = rooflab(course, "roster", "apply", "gpu", str(tmp_path / "bad.csv"), "--yes")
    assert bad.returncode == 3 and "Row 2: the login is missing" in bad.stderr
    (tmp_path / "staff.csv").write_text("name,login\nAda,ada\n")
    assert "ada is staff here" in rooflab(course, "roster", "apply", "gpu", str(tmp_path / "staff.csv")).stderr


def test_each_student_gets_a_first_token_once_and_staff_are_added_by_name(course: Path) -> None:
    handed = list(csv.DictReader(rooflab(course, "token", "handout", "gpu").stdout.splitlines()))
    assert [(row["login"], row["token"][:12]) for row in handed] == [("ann", "rooflab_pat_"), ("bob", "rooflab_pat_")]
    again = rooflab(course, "token", "handout", "gpu")
    assert list(csv.DictReader(again.stdout.splitlines())) == [] and "a token already" in again.stderr
    assert rooflab(course, "roster", "add", "gpu", "tia", "--role", "ta").returncode == 0
    listed = json.loads(rooflab(course, "roster", "list", "gpu", "--json").stdout)
    assert {one["login"]: one["role"] for one in listed}["tia"] == "ta"


def test_a_lab_that_nobody_could_reach_is_not_made(course: Path) -> None:
    assert rooflab(course, "db", "lab", "gpu", "lab 1/x", "Lab 1").returncode == 2
    assert rooflab(course, "db", "lab", "gpu", "lab1", "Lab 1", "--pack", "nope").returncode == 1
    assert rooflab(course, "db", "lab", "gpu", "lab1", "Lab 1", "--release").returncode == 0


def test_a_server_whose_worker_dies_says_so_and_stops(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "api.cli", "serve", "--port", "0", "--json", "--data", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdout is not None and server.stderr is not None
        server.stdout.readline()
        [worker] = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()[:1]
        os.kill(int(worker), signal.SIGKILL)
        assert server.wait(60) == 1
        assert "The worker ended" in server.stderr.read()


def test_a_token_is_printed_once_listed_by_its_beginning_and_revoked(course: Path) -> None:
    secret = rooflab(course, "token", "create", "ada").stdout.strip()
    [listed] = json.loads(rooflab(course, "token", "list", "ada", "--json").stdout)
    assert secret.startswith(listed["hint"]) and len(listed["hint"]) < len(secret) / 2
    assert rooflab(course, "token", "revoke", str(listed["id"])).returncode == 0
    assert json.loads(rooflab(course, "token", "list", "ada", "--json").stdout) == []
    assert rooflab(course, "token", "revoke", str(listed["id"])).returncode == 1


def test_the_doctor_speaks_json(tmp_path: Path) -> None:
    told = json.loads(rooflab(tmp_path, "worker", "doctor", "--json").stdout)
    assert {"kernel", "bubblewrap", "isolation"} <= {one["part"] for one in told["findings"]}
    assert told["limits"]["cpu"]["wall_seconds"] > 0
