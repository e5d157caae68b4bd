"""The doctor names every part the sandbox stands on, and agrees with what is reached when tried."""

from worker import doctor
from worker.sandbox import isolation


def test_every_part_is_named_once_and_what_is_not_good_has_advice() -> None:
    findings = doctor.report()

    assert [one.part for one in findings] == [
        "kernel",
        "bubblewrap",
        "user namespaces",
        "Landlock",
        "seccomp",
        "own uid",
        "own /proc",
        "isolation",
    ]
    assert all(one.good or one.advice for one in findings)
    assert all(one.found for one in findings)


def test_the_last_line_is_the_level_that_a_slot_reaches() -> None:
    assert doctor.report()[-1].found.split(";")[0] == isolation().level
