"""What a student's comments state: the assumptions said aloud in, or directly above, the definition that ran.

The text is only tokenised, never parsed or run, and bounded first. Not covered: understanding prose. A statement is a
sentence that matches a pattern of the pack without a negation or a condition around it; a person sees it in any case.
"""

import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from grading.answers.model import Answer
from grading.kinds.contract import Question
from grading.kinds.formula.count import Axis, Combination

LONGEST_TEXT: Final = 40_000
LONGEST_SENTENCE: Final = 400
MOST_SENTENCES: Final = 200
QUOTED: Final = 200

_TURNED: Final = re.compile(
    r"\b(?:not?|non|never|neither|nor|without|cannot|\w+n['’]t|(?:do|does|is|are|ca|wo)nt|exclud\w+|ignor\w+|omit\w*|skip\w*|unlike|"
    r"instead of|rather than|if|unless|when|whether|could|would|might|maybe|perhaps|either)\b",
    re.IGNORECASE,
)
_TURNED_AFTER: Final = re.compile(
    r"^[\s\w=]{0,24}?\b(?:not|never|\w+n['’]t|ignored|excluded|omitted|skipped|left out|false|no|none)\b", re.IGNORECASE
)
_CLAUSE_END: Final = re.compile(r"[,;:()]|\b(?:but|though|because|since|so)\b", re.IGNORECASE)
_HALF_CLAUSE_END: Final = re.compile(_CLAUSE_END.pattern + r"|\band\b", re.IGNORECASE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+|\n\s*\n")
_STRING: Final = re.compile(r"^[A-Za-z]{0,2}('''|\"\"\"|'|\")(.*)\1$", re.DOTALL)
_SILENT: Final = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.ENCODING})
_OPENERS: Final = frozenset({tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})


@dataclass(frozen=True, slots=True)
class Said:
    """One place where a sentence touches an assumption: the choices that its words fit, and whether it denies them.

    `doubtful` means that a negation stands beyond an "and", where it may or may not reach: "ignore norms and rope".
    """

    axis: str
    choices: frozenset[str]
    sentence: str
    denied: bool
    doubtful: bool


def read(question: Question, answer: Answer) -> Answer:
    """The answer as it is, or not found when it is still the template's own text."""
    own = _code(answer.definition)
    if answer.found and own and any(own == _code(stub) for stub in question.stubs):
        reason = f"{question.entry or 'The function'} is still as the template has it: its gaps are not filled in."
        return answer.model_copy(update={"found": False, "reason": reason})
    return answer


def said(question: Question, answer: Answer, axes: Sequence[Axis]) -> tuple[Said, ...]:
    """Everything that the student's own sentences say about the assumptions."""
    course = {sentence.casefold() for stub in question.stubs for sentence in _sentences(stub)}
    own = (sentence for sentence in _sentences(answer.definition) if sentence.casefold() not in course)
    return tuple(one for sentence in own for axis in axes for one in _about(axis, sentence))


def stated(statements: Iterable[Said], combination: Combination) -> dict[str, str]:
    """Which of the combination's departures are clearly stated: the choice's name and the sentence, quoted.

    Nothing is clear where any sentence contradicts what the formula does: comments stuffed with every known assumption
    state none.
    """
    statements = tuple(statements)
    departed = {choice.name for choice in combination.departures}
    clear: dict[str, str] = {}
    for one in statements:
        name = combination.chosen[one.axis].name
        if name in one.choices:
            if one.denied and name in departed:
                return {}
            if not one.denied and name in departed:
                clear.setdefault(name, quoted(one.sentence))
        elif not one.denied and not one.doubtful:
            return {}
    return clear


def quoted(sentence: str) -> str:
    """A student's sentence, short enough to be shown."""
    return sentence if len(sentence) <= QUOTED else sentence[: QUOTED - 1] + "…"


def _about(axis: Axis, sentence: str) -> Iterator[Said]:
    patterns: dict[str, set[str]] = {}
    for choice in axis.choices:
        for pattern in choice.says:
            patterns.setdefault(pattern, set()).add(choice.name)
    for pattern, choices in patterns.items():
        for match in re.finditer(pattern, sentence, re.IGNORECASE):
            denied = _denied(sentence, match, _HALF_CLAUSE_END)
            yield Said(axis.name, frozenset(choices), sentence, denied, denied or _denied(sentence, match, _CLAUSE_END))


def _denied(sentence: str, match: re.Match[str], end: re.Pattern[str]) -> bool:
    key = "key" if "key" in match.re.groupindex else 0
    before = end.split(sentence[: match.start(key)])[-1]
    after = end.split(sentence[match.end() :])[0]
    near = " ".join(before.split()[-6:])
    return bool(_TURNED.search(near) or _TURNED_AFTER.search(after))


def _sentences(text: str) -> list[str]:
    found: list[str] = []
    for block in _blocks(text):
        for sentence in _SENTENCE_END.split(block):
            flat = " ".join(sentence.split())[:LONGEST_SENTENCE]
            if flat:
                found.append(flat)
    return found[:MOST_SENTENCES]


def _blocks(text: str) -> Iterator[str]:
    """Comments, neighbouring lines of them together, and the strings that stand as statements."""
    block: list[str] = []
    last_line, opened = -1, True
    for token in _tokens(text):
        if token.type == tokenize.COMMENT:
            alone = not token.line[: token.start[1]].strip()
            if block and not (alone and token.start[0] == last_line + 1):
                yield "\n".join(block)
                block = []
            block.append(token.string.lstrip("#").strip())
            last_line = token.start[0] if alone else -1
        elif token.type == tokenize.STRING and opened and (match := _STRING.match(token.string)):
            yield match[2]
        if token.type not in _SILENT:
            opened = token.type in _OPENERS or token.string == ":"
    if block:
        yield "\n".join(block)


def _code(text: str) -> tuple[str, ...]:
    """The words of a piece of code that do something: no comments, no blank lines, no statements that are strings."""
    words: list[str] = []
    opened = True
    for token in _tokens(text):
        if token.type in _SILENT or (token.type == tokenize.STRING and opened):
            continue
        opened = token.type in _OPENERS or token.string == ":"
        if token.type not in (tokenize.NEWLINE, tokenize.ENDMARKER):
            words.append("" if token.type == tokenize.INDENT else token.string)
    return tuple(words)


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens up to the first thing that Python would not read."""
    try:
        yield from tokenize.generate_tokens(io.StringIO(text[:LONGEST_TEXT]).readline)
    except (tokenize.TokenError, SyntaxError, ValueError):
        return
