"""`./rooflab`: starts at once when all is well, and when it is not, says in one line what to do and harms nothing."""

import ast
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "rooflab"
SYNTAX_OF_LATER_PYTHONS = (
    ast.AnnAssign,
    ast.AsyncFunctionDef,
    ast.JoinedStr,
    ast.Match,
    ast.NamedExpr,
    ast.Nonlocal,
    ast.Starred,
    ast.YieldFrom,
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what the script reads, and no environment yet."""
    folder = tmp_path / "check out"
    folder.mkdir()
    shutil.copy(SCRIPT, folder)
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copytree(ROOT / ".lock", folder / ".lock")
    return folder


@pytest.fixture
def ready(checkout: Path) -> Path:
    """The same with an environment that is stamped as whole; its programs are stand-ins that print their own name."""
    programs = checkout / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "rooflab", "ruff", "mypy", "lint-imports", "pytest"):
        _stand_in(programs / name, f'echo {name} "$@"')
    _stamp(checkout)
    return checkout


def test_no_syntax_is_used_that_an_old_python_cannot_read() -> None:
    for node in ast.walk(ast.parse(SCRIPT.read_text("utf-8"))):
        assert not isinstance(node, SYNTAX_OF_LATER_PYTHONS)
        if isinstance(node, ast.FunctionDef):
            assert not node.args.kwonlyargs and not node.returns
            assert not any(argument.annotation for argument in node.args.args)
        if isinstance(node, ast.Raise):
            assert node.cause is None


def test_an_old_python_with_no_newer_beside_it_is_told_so(checkout: Path) -> None:
    done = _run_after("sys.version_info = (3, 8, 1)", checkout, "serve", PATH="/nowhere")
    assert done.returncode == 1
    assert done.stderr == "rooflab: Python 3.11 or newer is needed, this is 3.8: install python3.11 or newer\n"


def test_an_old_python_goes_on_with_a_newer_one_that_works(ready: Path, tmp_path: Path) -> None:
    _stand_in(tmp_path / "python3.11", "exit 127")
    (tmp_path / "python3.12").symlink_to(sys.executable)
    done = _run_after("sys.version_info = (3, 8, 1)", ready, "status", PATH=f"{tmp_path}:{os.defpath}")
    assert done.stdout == "rooflab status\n"


def test_help_before_the_first_use_installs_nothing(checkout: Path) -> None:
    assert _run(checkout, "--help").stdout.startswith("usage: ./rooflab")
    assert _run(checkout).stdout.startswith("usage: ./rooflab")
    assert not (checkout / ".venv").exists()


def test_a_ready_environment_is_used_at_once_with_the_words_as_given(ready: Path) -> None:
    assert _run(ready, "submit", "my file.ipynb", "--json").stdout == "rooflab submit my file.ipynb --json\n"


def test_the_test_word_checks_the_code_and_ends_with_pytest(ready: Path) -> None:
    done = _run(ready, "test", "-q", "tests")
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == ["python", "ruff", "ruff", "mypy", "lint-imports", "rooflab:", "pytest"]
    assert done.stdout.endswith("pytest -q tests\n")
    assert done.returncode == 0


def test_a_failed_check_fails_the_run_though_the_tests_pass(ready: Path) -> None:
    _stand_in(ready / ".venv" / "bin" / "mypy", "exit 1")
    done = _run(ready, "test")
    assert "rooflab: checks that failed: mypy\n" in done.stdout
    assert done.stdout.endswith("pytest\n")
    assert done.returncode == 1


def test_failed_tests_give_the_run_their_exit_code(ready: Path) -> None:
    _stand_in(ready / ".venv" / "bin" / "pytest", "exit 3")
    assert _run(ready, "test").returncode == 3


def test_an_environment_that_somebody_else_made_is_not_touched(checkout: Path) -> None:
    theirs = checkout / ".venv" / "theirs"
    theirs.parent.mkdir()
    theirs.write_text("kept")
    done = _run(checkout, "setup")
    assert done.returncode == 1
    assert done.stderr == f"rooflab: {theirs.parent} was not made by ./rooflab: move it away, then start again\n"
    assert theirs.read_text() == "kept"


def test_a_half_made_environment_is_made_anew_and_a_broken_network_is_named(checkout: Path) -> None:
    left = checkout / ".venv" / "left" / "half"
    left.mkdir(parents=True)
    (checkout / ".venv" / "rooflab.json").write_text("{}")
    nowhere = {"PIP_CONFIG_FILE": "/dev/null", "HTTPS_PROXY": "http://127.0.0.1:9", "UV_NO_CACHE": "1"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))} | nowhere
    done = _run(checkout, "setup", environment=environment)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "rooflab: the package registry cannot be reached: look at the network"
    )
    assert not left.exists()
    assert json.loads((checkout / ".venv" / "rooflab.json").read_text()) == {}


def test_a_full_disk_is_found_before_anything_is_fetched(checkout: Path) -> None:
    little = "import shutil, types; shutil.disk_usage = lambda path: types.SimpleNamespace(free=3e8)"
    done = _run_after(little, checkout, "--cpu", "setup")
    assert done.returncode == 1
    assert done.stderr == f"rooflab: 0.3 GB are free, 2.0 are needed: free some space for {checkout}\n"


def test_a_folder_that_cannot_be_written_is_named() -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders keep other users out
        folder = Path(name)
        shutil.copy(SCRIPT, folder)
        folder.chmod(0o555)
        plain = "import fcntl, pkgutil; os.setresuid(*[os.getuid() or 65534] * 3)"
        done = _run_after(plain, folder, "setup")
        folder.chmod(0o755)
    assert done.returncode == 1
    assert done.stderr.startswith(f"rooflab: cannot write to {folder}: make it yours")


def test_a_second_set_up_waits_for_the_first_and_uses_what_it_made(ready: Path) -> None:
    (ready / ".venv" / "rooflab.json").write_text("{}")
    lock = os.open(ready, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    command = [sys.executable, str(ready / "rooflab"), "status"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as second:
        assert second.stderr and second.stdout
        assert second.stderr.readline() == "rooflab: another set-up is at work here: waiting for it\n"
        _stamp(ready)
        os.close(lock)
        assert second.stdout.read() == "rooflab status\n"


@pytest.mark.parametrize("change", ["pyproject.toml", ".lock/runtime.txt", ".lock/torch-cpu.txt"])
def test_a_changed_lock_ends_the_readiness(ready: Path, change: str) -> None:
    with (ready / change).open("a") as file:
        file.write("\n# changed\n")
    _stand_in(ready / ".venv" / "bin" / "python", "exit 1")
    assert "rooflab: installer ..." in _run(ready, "status").stderr


def _stand_in(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def _stamp(folder: Path) -> None:
    """Mark the environment as whole, in the script's own terms."""
    program = (
        "import runpy, json; names = runpy.run_path('rooflab', run_name='names'); stamp = names['stamp'];"
        "names['write_state'](dict(root=names['ROOT'], variant='cpu', runtime=stamp('runtime'), test=stamp('test')))"
    )
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)


def _run(folder: Path, *words: str, environment: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(folder / "rooflab"), *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


def _run_after(preparation: str, folder: Path, *words: str, **changes: str) -> "subprocess.CompletedProcess[str]":
    """Run the script in an interpreter that something was done to before."""
    program = (
        f"import os, sys, runpy, json, hashlib, subprocess; {preparation};"
        f"sys.argv = {['rooflab', *words]!r}; runpy.run_path({str(folder / 'rooflab')!r}, run_name='__main__')"
    )
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env={**os.environ, **changes}, timeout=120
    )
