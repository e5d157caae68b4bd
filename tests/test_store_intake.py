"""What is handed in is recorded with its bytes or not at all, within the lab's rules: on both databases."""

import base64
import json
from functools import partial
from pathlib import Path

import anyio
import pytest
from classroom import COURSE, LAB, finish, hand_in, minutes, open_course, taken
from test_store_blobs import files, full_disk

from grading import intake
from grading.answers.model import Refused
from grading.intake import Closed, Received
from grading.policy import Late, Policy
from grading.settings import Settings
from grading.store import blobs, courses, gradings, submissions
from grading.store.session import reading, transaction
from grading.store.tables import Submission

SOURCE = b"def gemm_mac(x, y):\n    return 1\n"


def given(folder: Path, content: bytes = SOURCE) -> Path:
    path = folder / "upload"
    path.write_bytes(content)
    return path


def receive(settings: Settings, student: int, path: Path, filename: str = "lab.py") -> Received:
    return anyio.run(partial(intake.receive, settings, LAB, student, path, filename))


def nothing_is_stored(settings: Settings) -> bool:
    with reading(settings.database) as session:
        rows = session.query(Submission).count()
    return rows == 0 and files(settings.data / "blobs") == [] and messages(settings) == []


def messages(settings: Settings) -> list[Path]:
    return files(settings.data / "queue" / "messages")


def test_a_submission_is_read_kept_queued_and_nudged(settings: Settings, tmp_path: Path) -> None:
    (student,) = open_course(settings.database, due_at=minutes(0))
    received = receive(settings, student, given(tmp_path), "../My  lab\u202e \x07(1).py")
    with reading(settings.database) as session:
        found = submissions.get(session, received.submission_id)
        assert found is not None
        assert (found.number, found.filename, found.size, found.late) == (1, "My lab (1).py", len(SOURCE), True)
        assert blobs.path(settings.data / "blobs", found.sha256).read_bytes() == SOURCE
        answers = {answer.question: answer for answer in submissions.answers(found).answers}
        assert answers["1.3"].found and not answers["1.4"].found
        grading = gradings.current(session, found.id)
        assert (grading.id, grading.state, grading.queue) == (received.grading_id, "queued", "cpu")
    (message,) = messages(settings)
    body = base64.b64decode(json.loads(message.read_text())["body"])
    assert json.loads(body)[:2] == [[received.grading_id], {}]


def test_pasted_answers_are_kept_as_they_came(settings: Settings) -> None:
    (student,) = open_course(settings.database)
    texts = {"1.3": SOURCE.decode()}
    received = anyio.run(partial(intake.receive_pasted, settings, LAB, student, texts))
    with reading(settings.database) as session:
        found = submissions.get(session, received.submission_id)
        assert found is not None
        assert json.loads(blobs.path(settings.data / "blobs", found.sha256).read_bytes()) == texts
        assert next(answer for answer in submissions.answers(found).answers if answer.question == "1.3").found


def test_a_refused_file_leaves_nothing(settings: Settings, tmp_path: Path) -> None:
    (student,) = open_course(settings.database)
    with pytest.raises(Refused):
        receive(settings, student, given(tmp_path, b"\x7fELF\0\0\0"))
    assert nothing_is_stored(settings)


def test_a_disk_that_fills_up_leaves_nothing(settings: Settings, tmp_path: Path) -> None:
    (student,) = open_course(settings.database)
    path = given(tmp_path, SOURCE + b"# padding\n" * 40_000)
    with full_disk(200_000), pytest.raises(OSError, match="File too large"):
        receive(settings, student, path)
    assert nothing_is_stored(settings)


def test_an_unknown_lab_takes_nothing(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(Closed) as refusal:
        receive(settings, 1, given(tmp_path))
    assert refusal.value.code == "unknown_lab"


def test_a_lab_that_closes_at_its_due_time_takes_nothing_after(settings: Settings, tmp_path: Path) -> None:
    (student,) = open_course(settings.database, policy=Policy(late=Late.CLOSED), due_at=minutes(0))
    with pytest.raises(Closed) as refusal:
        receive(settings, student, given(tmp_path))
    assert refusal.value.code == "past_due"
    assert nothing_is_stored(settings)


def all_at_once(settings: Settings, folder: Path, *students: int) -> list[str]:
    """What becomes of uploads that begin in the same moment: numbers, or why they were refused; sorted."""
    outcomes: list[str] = []

    async def upload(student: int, number: int) -> None:
        path = folder / f"upload{number}"
        path.write_bytes(SOURCE + b"# %d\n" % number)
        try:
            outcomes.append(str((await intake.receive(settings, LAB, student, path, "lab.py")).number))
        except Closed as closed:
            outcomes.append(closed.code)

    async def every() -> None:
        async with anyio.create_task_group() as group:
            for number, student in enumerate(students):
                group.start_soon(upload, student, number)

    anyio.run(every)
    return sorted(outcomes)


def test_of_simultaneous_uploads_only_as_many_pass_as_the_limit_allows(settings: Settings, tmp_path: Path) -> None:
    first, second = open_course(settings.database, students=2, policy=Policy(attempts=1))
    assert all_at_once(settings, tmp_path, first, first, second) == ["1", "1", "no_attempts_left"]
    assert len(files(settings.data / "blobs")) == 2


def test_who_has_two_files_being_read_is_told_to_wait_and_others_are_not(settings: Settings, tmp_path: Path) -> None:
    first, second = open_course(settings.database, students=2)
    assert all_at_once(settings, tmp_path, first, first, first, first, second) == ["1", "1", "2", "busy", "busy"]
    assert receive(settings, first, given(tmp_path)).number == 3


def test_who_has_three_submissions_waiting_is_told_to_wait_and_others_are_not(
    settings: Settings, tmp_path: Path
) -> None:
    first, second = open_course(settings.database, students=2)
    with transaction(settings.database) as session:
        courses.create_lab(session, id="other", course_id=COURSE, title="Other", pack="lab1", now=minutes(0))
        old = hand_in(session, first)[0]
    graded = taken_and_finished(settings)
    assert graded == old
    with transaction(settings.database) as session:  # a regrade is none of the student's doing
        gradings.add(session, old, why="regrade", by_user_id=second, now=minutes(0))
    for lab in (LAB, "other", LAB):
        anyio.run(partial(intake.receive, settings, lab, first, given(tmp_path), "lab.py"))
    with pytest.raises(Closed) as refusal:
        receive(settings, first, given(tmp_path))
    assert refusal.value.code == "too_many_waiting"
    assert "Wait until one of them is graded" in refusal.value.message
    assert receive(settings, second, given(tmp_path)).number == 1
    while taken_and_finished(settings) == old:
        pass  # the regrade, queued first, frees no place
    assert receive(settings, first, given(tmp_path)).number == 4


def test_two_uploads_at_once_cannot_both_be_the_last_that_may_wait(settings: Settings, tmp_path: Path) -> None:
    (student,) = open_course(settings.database)
    with transaction(settings.database) as session:
        hand_in(session, student)
        hand_in(session, student)
    assert all_at_once(settings, tmp_path, student, student) == ["3", "too_many_waiting"]


def taken_and_finished(settings: Settings) -> str:
    """Grade what has waited longest; its submission."""
    with transaction(settings.database) as session:
        claimed = taken(session, minutes(10**7))
        assert finish(session, claimed, "5", at=minutes(10**7))
        return claimed.submission_id


def test_a_submission_that_a_fault_of_ours_left_ungraded_uses_up_no_attempt(settings: Settings, tmp_path: Path) -> None:
    (student,) = open_course(settings.database, policy=Policy(attempts=1))
    received = receive(settings, student, given(tmp_path))
    with pytest.raises(Closed):
        receive(settings, student, given(tmp_path))
    with transaction(settings.database) as session:
        claimed = gradings.claim(session, "cpu", minutes(10**7), 30, 1)
        assert claimed is not None and claimed.grading_id == received.grading_id
        gradings.release_with_fault(session, claimed, "sandbox", minutes(10**7), 30, max_attempts=1)
    assert receive(settings, student, given(tmp_path)).number == 2


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [
        ("lab.ipynb", "lab.ipynb"),
        ("C:\\Users\\ann\\lab.ipynb", "lab.ipynb"),
        ("../../etc/passwd", "passwd"),
        ("", "unnamed"),
        ("///", "unnamed"),
        ("\u202e\x00\n", "unnamed"),
        ("täglich 日本.py", "täglich 日本.py"),
        ("a" * 500 + ".ipynb", "a" * 194 + ".ipynb"),
        ("a." + "b" * 500, "a." + "b" * 15),
    ],
)
def test_a_filename_is_cleaned_and_bounded(given_name: str, kept: str) -> None:
    assert intake.clean_name(given_name) == kept
