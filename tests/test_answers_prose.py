"""Written answers: found by their question's heading, wherever the student wrote them."""

import pytest
from documents import markdown, notebook, read_bytes

from grading.answers.model import Answer, Wanted


def text_of(*cells: object, heading: str = "1.2", template: tuple[str, ...] = ()) -> Answer:
    wanted = Wanted(question="q", entry="", heading=heading, stubs=template)
    return read_bytes(notebook(*cells), wanted=(wanted,)).answers[0]  # type: ignore[arg-type]


QUESTION = "#### Question 1.2 (5 points)\nDescribe what you see.\n\n"


@pytest.mark.parametrize(
    "cells",
    [
        [markdown(QUESTION + "**Your Answer:**\n\nIt is slow.")],
        [markdown(QUESTION + "**Your Answer:** It is slow.")],
        [markdown(QUESTION + "**Your Answer (Optional):**\nIt is slow.")],
        [markdown(QUESTION + "**Your answer**: It is slow.")],
        [markdown(QUESTION + "Your Answer:\nIt is slow.")],
        [markdown(QUESTION + "**Your Answer:**"), "time(gemm)", markdown("It is slow.")],
        [markdown(QUESTION + "**Your Answer:**\n1.\n2.\n3.\n"), markdown("It is slow.")],
        [markdown(QUESTION), "x = 1", markdown("It is slow.")],
        [markdown(QUESTION), markdown("**Your Answer:**\nIt is slow.")],
        [markdown("Some words before.\n\n" + QUESTION + "**Your Answer:**\nIt is slow.\n\n#### Question 1.3\nNext")],
        [markdown("## 1.2 Latency"), markdown("#### question 1.2   \n**Your Answer:**\nIt is slow.")],
        [markdown(QUESTION + "**Your Answer:**\nIt is slow."), markdown("## 2 The roofline")],
        [markdown(QUESTION.replace("####", "##")), markdown("It is slow."), markdown("## Question 1.3\nNext")],
    ],
)
def test_a_written_answer_is_found_by_its_heading(cells: list[object]) -> None:
    answer = text_of(*cells)
    assert answer.found
    assert answer.text.strip() == "It is slow."


def test_a_students_own_headings_and_further_cells_belong_to_the_answer() -> None:
    answer = text_of(markdown(QUESTION + "**Your Answer:**\n### First\none"), markdown("### Second\ntwo"))
    assert "one" in answer.text and "two" in answer.text


@pytest.mark.parametrize(
    "heading", ["#### Bonus 3.1 (2.5 points)", "### Bonus Question 3.1", "#### Question 3.1 (Bonus)", "# BONUS: 3.1 #"]
)
def test_a_bonus_question_has_its_own_heading(heading: str) -> None:
    cells = (markdown("#### Question 3.1\n**Your Answer:** main"), markdown(f"{heading}\n**Your Answer:** extra"))
    assert text_of(*cells, heading="bonus 3.1").text.strip() == "extra"
    assert text_of(*cells, heading="3.1").text.strip() == "main"


@pytest.mark.parametrize(
    "below", ["", "1.\n2.\n3.\n", "1. \n2. \n", "*YOUR ANSWER HERE*", "<!-- write here -->", "- a)\n- b)", "**TODO**"]
)
def test_a_template_left_as_it_was_is_no_answer(below: str) -> None:
    answer = text_of(markdown(QUESTION + "**Your Answer:**\n" + below))
    assert answer.reason == "Not answered: nothing is written below the heading in cell 1."


def test_the_templates_own_text_is_no_answer() -> None:
    prose = "Here comes\n the next part."
    assert not text_of(markdown(QUESTION), markdown(prose), template=("Here comes the next part.",)).found


def test_a_picture_alone_is_an_answer() -> None:
    assert text_of(markdown(QUESTION + "**Your Answer:**\n![](attachment:plot.png)")).found


@pytest.mark.parametrize("cell", ["## 1.2 Latency", "Question 1.2", "#### Question 1.20", "```\n# Question 1.2\n```"])
def test_what_is_no_question_heading_is_not_taken_for_one(cell: str) -> None:
    answer = text_of(markdown(cell), markdown("It is slow."))
    assert answer.reason == "Not answered: no heading “Question 1.2” was found in the notebook's Markdown cells."


def test_a_python_file_holds_no_written_answer() -> None:
    wanted = (Wanted(question="q", entry="", heading="1.2"),)
    assert "Hand in the notebook" in read_bytes(b"x = 1", "lab.py", wanted).answers[0].reason
