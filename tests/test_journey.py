"""The whole story, on the real stack, in the order in which it happens. Read this first.

One `rooflab serve` runs for all of it: the server, the embedded broker, a worker process and its sandbox. Sam, a
student, hands in a notebook and reads feedback; Tia, a TA, looks at the scoreboard; Ada, the admin, lets a machine pull
grades.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

CELLS = (
    "import math\nimport torch\nfrom utils import *\n%matplotlib inline\n",
    "# #### Question 1.3 (5 points)\ndef gemm_mac(x, y):\n    N, K = x.shape\n    return N * K * y.shape[1]\n",
    "assert gemm_mac(torch.ones(2, 3), torch.ones(3, 4)) == 24\nplot_roofline('T4')\n",
    "def gemm_io(A, B):\n    N, K = A.shape\n    M = B.shape[1]\n    return 4 * (N * K + K * M)\n",
    "def gelu_tanh_python(input):\n"
    "    return 0.5 * input * (1 + torch.tanh(math.sqrt(2 / math.pi) * (input + 0.044715 * input ** 3)))\n",
    "def calc_attn_mac(B, H, L_q, L_kv, D_h):\n    while True:\n        pass\n",
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A running `rooflab serve`; what it printed when it was ready: its address, and a token for each person."""
    data = tmp_path_factory.mktemp("service")
    command = [sys.executable, "-m", "api.cli", "serve", "--port", "0", "--json", "--data", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=_environment()) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0


@pytest.fixture(scope="module")
def graded(service: dict[str, str]) -> dict[str, Any]:
    """Sam's notebook, handed in over HTTP and followed to its verdict."""
    with _person(service, "student") as sam:
        taken = sam.post(f"/labs/{service['lab']}/submissions", files={"file": ("lab1 (final).ipynb", notebook())})
        assert taken.status_code == 201
        events = _follow(sam, taken.json()["id"])
        assert events[-1]["done"] and events[-1]["state"] == "graded"
        return dict(sam.get(f"/submissions/{taken.json()['id']}").json())


def test_a_right_count_earns_full_points(graded: dict[str, Any]) -> None:
    verdict = _verdict(graded, "1.3")
    assert (verdict["state"], verdict["points"], verdict["out_of"]) == ("passed", "5", "5")


def test_a_wrong_count_is_explained_in_terms_of_the_lab(graded: dict[str, Any]) -> None:
    verdict = _verdict(graded, "1.4")
    assert verdict["state"] == "failed"
    assert verdict["diagnosis"]["code"].startswith("missing:")
    assert "4·N·M" in verdict["diagnosis"]["text"]  # the product that is never written


def test_code_is_judged_on_public_and_drawn_cases_and_never_called_all_tests(graded: dict[str, Any]) -> None:
    verdict = _verdict(graded, "4.3.1")
    assert (verdict["state"], verdict["points"]) == ("passed", "3")
    assert {check["public"] for check in verdict["checks"]} == {True, False}
    assert "all tests" not in json.dumps(graded).lower()


def test_an_endless_loop_costs_its_own_question_and_no_other(graded: dict[str, Any]) -> None:
    verdict = _verdict(graded, "3.1b")
    assert (verdict["state"], verdict["points"]) == ("failed", "0")
    assert "too long" in verdict["headline"]


def test_what_was_not_handed_in_says_so_and_what_was_looked_for(graded: dict[str, Any]) -> None:
    verdict = _verdict(graded, "1.1")
    assert verdict["state"] == "not answered"
    assert "gemm" in verdict["headline"]


def test_every_verdict_has_a_reason_and_the_student_sees_no_evidence(graded: dict[str, Any]) -> None:
    assert all(verdict["headline"] for verdict in graded["verdicts"])
    assert all(verdict["evidence"] == {} for verdict in graded["verdicts"])
    assert graded["isolation"] == "full"


def test_the_same_feedback_stands_on_a_page_that_needs_no_script(
    service: dict[str, str], graded: dict[str, Any]
) -> None:
    with httpx.Client(base_url=service["url"], follow_redirects=True) as browser:
        form = browser.get("/login").text
        signed_in = browser.post("/login", data={**_hidden_fields(form), "token": service["student"]})
        assert signed_in.status_code == 200
        page = browser.get(f"/submissions/{graded['id']}").text
    assert "4·N·M" in page
    assert "lab1 (final).ipynb" in page


def test_a_file_that_is_no_notebook_is_refused_with_a_reason_and_leaves_nothing(service: dict[str, str]) -> None:
    with _person(service, "student") as sam:
        before = len(sam.get(f"/labs/{service['lab']}/submissions").json()["items"])
        refused = sam.post(f"/labs/{service['lab']}/submissions", files={"file": ("lab1.ipynb", b'{"cells": [')})
        assert 400 <= refused.status_code < 500
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json()["detail"]
        assert len(sam.get(f"/labs/{service['lab']}/submissions").json()["items"]) == before


def test_a_worse_submission_does_not_lower_the_grade(service: dict[str, str], graded: dict[str, Any]) -> None:
    with _person(service, "student") as sam:
        grade = sam.get(f"/labs/{service['lab']}").json()["grade"]
        taken = sam.post(
            f"/labs/{service['lab']}/submissions", json={"answers": {"1.3": "def gemm_mac(x, y): return 0"}}
        )
        _follow(sam, taken.json()["id"])
        assert sam.get(f"/labs/{service['lab']}").json()["grade"] == grade


def test_the_ta_sees_the_scoreboard_and_the_student_does_not(service: dict[str, str], graded: dict[str, Any]) -> None:
    with _person(service, "ta") as tia:
        board = tia.get(f"/labs/{service['lab']}/scoreboard").json()
        [sam] = [row for row in board["items"] if row["login"] == "demo-student"]
        assert sam["submission"] == graded["id"]
        assert sam["questions"]["1.3"]["state"] == "passed"
    with _person(service, "student") as student:
        assert student.get(f"/labs/{service['lab']}/scoreboard").status_code in (403, 404)


def test_the_lms_pulls_exact_grades_with_a_secret_of_its_own(service: dict[str, str], graded: dict[str, Any]) -> None:
    with _person(service, "admin") as ada:
        client = ada.post("/courses/demo/clients", json={"name": "LMS"}).json()
    with httpx.Client(base_url=service["url"]) as lms:
        granted = lms.post(
            "/oauth2/token", data={"grant_type": "client_credentials"}, auth=(client["id"], client["secret"])
        )
        headers = {"Authorization": f"Bearer {granted.json()['access_token']}"}
        [grade] = lms.get("/api/v1/courses/demo/grades", headers=headers).json()["items"]
    assert grade["login"] == "demo-student"
    assert grade["points"] == graded["points"]


def notebook() -> bytes:
    """A course-shaped notebook, as Jupyter writes it."""
    cells = [
        {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": source} for source in CELLS
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode()


def _person(service: dict[str, str], who: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {service[who]}"}
    return httpx.Client(base_url=service["url"] + "/api/v1", headers=headers, timeout=60)


def _follow(person: httpx.Client, submission: str) -> list[dict[str, Any]]:
    with person.stream("GET", f"/submissions/{submission}/events") as stream:
        return [json.loads(line.removeprefix("data:")) for line in stream.iter_lines() if line.startswith("data:")]


def _verdict(graded: dict[str, Any], question: str) -> dict[str, Any]:
    return next(verdict for verdict in graded["verdicts"] if verdict["question"] == question)


def _hidden_fields(page: str) -> dict[str, str]:
    fields = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    return dict(fields)


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)}
