"""A nudge reaches the broker quickly and whole, holds an id and nothing else, and never harms who sends it."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from kombu import Queue

from grading import queue
from grading.settings import Settings

SEND = """
import sys
from pathlib import Path
from grading import queue
from grading.settings import Settings
settings = Settings(data=Path(sys.argv[1]), broker_url="")
for number in range(int(sys.argv[2])):
    queue.nudge(settings, f"{sys.argv[3]}-{number}")
"""


@pytest.fixture(params=["files", "redis"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """A deployment without a database, on each of the two brokers."""
    url = "" if request.param == "files" else request.getfixturevalue("redis_url")
    made = Settings(data=tmp_path, broker_url=url, secret="not a secret, but for tests")
    app = queue.connect(made.broker, made.data)
    drained(app)
    yield made
    drained(app)


def drained(app: Celery) -> list[list[Any]]:
    """The arguments of all messages that wait in the queue, which is empty from now on."""
    found = []
    with app.connection_for_read() as connection, connection.channel() as channel:
        bound = Queue(queue.CPU, channel=channel, exchange=queue.CPU, routing_key=queue.CPU)
        bound.declare()
        while message := bound.get(no_ack=True):
            found.append(message.payload)
    app.close()
    return found


def test_a_nudge_holds_the_id_and_nothing_else(settings: Settings) -> None:
    queue.nudge(settings, "some-grading")
    (message,) = drained(queue.connect(settings.broker, settings.data))
    assert message[:2] == [["some-grading"], {}]


def test_nudges_come_in_the_order_they_were_sent(settings: Settings) -> None:
    sent = [f"grading-{number}" for number in range(20)]
    for one in sent:
        queue.nudge(settings, one)
    assert [message[0][0] for message in drained(queue.connect(settings.broker, settings.data))] == sent


def test_a_broker_that_is_down_is_not_the_sender_s_problem(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound and not listening: nothing answers, and nobody else takes the port
        url = f"redis://:password@127.0.0.1:{nobody.getsockname()[1]}/0"
        queue.nudge(Settings(data=tmp_path, broker_url=url), "some-grading")
    assert "some-grading waits for the sweep" in caplog.text
    assert "password" not in caplog.text


def test_a_folder_that_is_away_is_not_the_sender_s_problem(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    queue.nudge(Settings(data=tmp_path / "file", broker_url=""), "some-grading")
    assert "some-grading waits for the sweep" in caplog.text


def test_messages_in_files_are_the_service_s_own(tmp_path: Path) -> None:
    queue.nudge(Settings(data=tmp_path, broker_url=""), "some-grading")
    (message,) = (tmp_path / "queue" / "messages").iterdir()
    assert message.stat().st_mode & 0o777 == 0o600
    assert message.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_that_is_no_message_is_dropped(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, broker_url="")
    queue.nudge(settings, "some-grading")
    for name, content in (("0.cpu.msg", b""), ("1.cpu.msg", b"\xff{"), (".2.cpu.msg", b"half"), ("other", b"")):
        (tmp_path / "queue" / "messages" / name).write_bytes(content)
    assert [message[0] for message in drained(queue.connect(settings.broker, settings.data))] == [["some-grading"]]


def test_of_many_processes_every_message_arrives_once_and_whole(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, broker_url="")
    app = queue.connect(settings.broker, settings.data)
    senders = [subprocess.Popen([sys.executable, "-c", SEND, str(tmp_path), "100", name]) for name in ("ann", "bob")]
    arrived: list[str] = []
    while any(sender.poll() is None for sender in senders):
        arrived += [message[0][0] for message in drained(app)]
    arrived += [message[0][0] for message in drained(app)]
    assert sorted(arrived) == sorted(f"{name}-{number}" for name in ("ann", "bob") for number in range(100))
