"""Upload to verdict over HTTP: a notebook of four code questions, the embedded default, warm.

Timed from the first byte of the upload until the feedback has been read, as a student's client would see it.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from _report import report

ROOT = Path(__file__).parent.parent
TARGET = {"median": 0.25, "p95": 0.5}

CELLS = (
    "import math\nimport torch\n",
    "def gemm_mac(x, y):\n    N, K = x.shape\n    _, M = y.shape\n    return N * K * M\n",
    "def gemm_io(A, B):\n    N, K = A.shape\n    _, M = B.shape\n    return 4 * (N * K + K * M + N * M)\n",
    "def calc_attn_io(B, H, L_q, L_kv, D_h):\n"
    "    scores = B * H * L_q * L_kv\n"
    "    qk = B * H * (L_q + L_kv) * D_h + scores\n"
    "    av = scores + B * H * (L_kv + L_q) * D_h\n"
    "    return 4 * (qk + 5 * scores + av)\n",
    "def gelu_tanh_python(input):\n"
    "    inner = math.sqrt(2 / math.pi) * (input + 0.044715 * input**3)\n"
    "    return 0.5 * input * (1 + torch.tanh(inner))\n",
)
EXPECTED = {"1.3": "5", "1.4": "5", "3.2": "5", "4.3.1": "3"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=60, help="timed submissions")
    parser.add_argument("--warm-up", type=int, default=10, help="submissions not counted, first")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "api.cli", "serve", "--port", "0", "--json", "--data", data]
        server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, env=os.environ | {"ROOFLAB_DATA": data})
        assert server.stdout is not None
        try:
            ready = json.loads(server.stdout.readline())
            headers = {"Authorization": f"Bearer {ready['student']}"}
            with httpx.Client(base_url=ready["url"] + "/api/v1", headers=headers, timeout=60) as http:
                seconds = [hand_in(http, ready["lab"]) for _ in range(options.warm_up + options.n)]
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()
    report("feedback", seconds[options.warm_up :], TARGET)


def hand_in(http: httpx.Client, lab: str) -> float:
    """One submission, checked for its points; the seconds from upload to feedback read."""
    content = notebook()
    begun = time.perf_counter()
    received = http.post(f"/labs/{lab}/submissions", files={"file": ("lab.ipynb", content)})
    received.raise_for_status()
    submission = received.json()["id"]
    with http.stream("GET", f"/submissions/{submission}/events") as events:
        for _ in events.iter_lines():
            pass
    found = http.get(f"/submissions/{submission}").json()
    seconds = time.perf_counter() - begun
    points = {verdict["question"]: verdict["points"] for verdict in found["verdicts"]}
    wrong = {question: points.get(question) for question, worth in EXPECTED.items() if points.get(question) != worth}
    if wrong:
        raise SystemExit(f"wrong points, so the time says nothing: {wrong}")
    return seconds


def notebook() -> bytes:
    cells = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
        for source in CELLS
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode()


if __name__ == "__main__":
    main()
