"""The court itself can fail: it sees a hidden value that is shown, and a point that is gained."""

from dataclasses import replace

import pytest
from court import HONEST, Court


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("1.3", "def gemm_mac(x, y): return 1"),
        ("4.3.1", "import torch\ndef gelu_tanh_python(input): return 2 * input"),
    ],
)
def test_a_hidden_value_that_is_shown_is_found(court: Court, question: str, source: str) -> None:
    graded = court.hand_in({question: source})
    hidden = max(court.hidden(graded, question), key=len)
    assert court.hidden_shown(graded, question) == set()
    told = replace(graded, shown=f"{graded.shown} <td>{hidden}</td>")
    assert court.hidden_shown(told, question) == {hidden}


def test_an_attack_that_earned_points_would_be_found(court: Court) -> None:
    with pytest.raises(AssertionError):
        court.withstands("1.3", HONEST, named="")


def test_an_attack_that_staff_are_not_told_of_would_be_found(court: Court) -> None:
    with pytest.raises(AssertionError):
        court.withstands("1.3", "def gemm_mac(x, y): return 1", named="words that stand in no verdict")
