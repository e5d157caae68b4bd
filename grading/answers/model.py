"""What reading a file gives: an answer or a reason for each question, and the one text that everybody sees."""

from pydantic import BaseModel, ConfigDict


class Wanted(BaseModel):
    """What to look for on behalf of one question; made from the public part of a pack."""

    model_config = ConfigDict(frozen=True)
    question: str
    entry: str  # the name of the function asked for; "" for a question answered in words
    heading: str  # "3.1", "bonus 3.2": the number in the notebook's own heading
    stubs: tuple[str, ...] = ()  # the template's own text of the definition: equal to it means not answered


class Answer(BaseModel):
    """One question's answer. For code, `source` is the slice that is run and shown; line ends are `\\n` alone."""

    model_config = ConfigDict(frozen=True)
    question: str
    found: bool
    reason: str = ""  # why it was not found; never empty when found is false
    source: str = ""
    definition: str = ""  # the definition that runs, with the comments directly above it
    text: str = ""  # a written answer, Markdown
    where: str = ""  # "cell 7", "line 12"
    notes: tuple[str, ...] = ()  # for the student: "taken from a Markdown cell"
    missing: tuple[str, ...] = ()  # names that the slice uses and the file never defines


class Answers(BaseModel):
    """All that was found in one submission, with notes about the file as a whole."""

    model_config = ConfigDict(frozen=True)
    answers: tuple[Answer, ...]
    notes: tuple[str, ...] = ()
    filename: str = ""


class Refused(Exception):
    """The file as a whole cannot be taken. `code` is a short stable word, the message is for the student."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
