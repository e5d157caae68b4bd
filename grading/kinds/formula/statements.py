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
_CLAUSE_END: Final = re.compile(
    r"[,;:()\n]|\b(?:but|though|because|since|so|and(?= (?:is|are|was|were|do|does|we|it|they)\b))\b", re.IGNORECASE
)
_HALF_CLAUSE_END: Final = re.compile(_CLAUSE_END.pattern + r"|\band\b", re.IGNORECASE)
_ASSUMES: Final = re.compile(
    r"\b(?:assum\w*|suppos\w*|consider\w*|treat\w*|we (?:count|take)|fus\w*|transpos\w*|materiali[sz]\w*|recomput\w*|"
    r"cach\w*|reus\w*|window\w*|masked|each token|per token)\b",
    re.IGNORECASE,
)
_NAMED_AFTER: Final = re.compile(
    r"\s*[:(=]\s*(?:(?:is|are)\s+)?(?:not|never|none|ignored|excluded|omitted|skipped|left out|0)\b", re.IGNORECASE
)
_LIST_GOES_ON: Final = re.compile(r"[,/&+]|\b(?:and|or|nor)\b", re.IGNORECASE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+")
_BULLET: Final = re.compile(r"\s*(?:[-*•–]|\(?\d{1,2}[.)])\s+")
# A line that ends in such a word, or a next one that begins so, is wrapped: the sentence goes on.
_OPEN: Final = re.compile(
    r"(?:,|\b(?:the|an?|of|and|or|nor|not|no|any|all|each|every|is|are|be|that|than|as|in|on|at|to|by|for|from|with|without|we|do|"
    r"only|(?:count|need|omit|skip)s?|(?:assum|tak|mak|us|ignor|exclud)(?:es?|ing)|(?:count|omitt|skipp)ing)|\w+n['’]t)$",
    re.IGNORECASE,
)
_GOES_ON: Final = re.compile(
    r"(?:and|or|nor|not|is|are|was|were|be|that|which|as|in|on|at|to|by|of|for|from|with|without|takes?|needs?|makes?|uses?|"
    r"does|do|counts?|counted|reads?|writes?|written|passes|times)\b"
)
WRAPPED_FROM: Final = 60  # characters: a line this long is taken for wrapped wherever the next one begins small
_STRING: Final = re.compile(r"^[A-Za-z]{0,2}('''|\"\"\"|'|\")(.*)\1$", re.DOTALL)
_SILENT: Final = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.ENCODING})
_OPENERS: Final = frozenset({tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})


@dataclass(frozen=True, slots=True)
class Said:
    """One place where a sentence touches an assumption: the choices that its words fit, and whether it denies them.

    `doubtful` means that a negation may or may not reach: one beyond an "and" ("ignore norms and rope"), or at the end
    of a list ("norms, rope and softmax are not counted"). It settles nothing, either way.
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
    first: dict[tuple[str, frozenset[str], bool, bool], Said] = {}  # of many alike one is enough: work stays bounded
    for sentence in _own_sentences(question, answer):
        for axis in axes:
            for one in _about(axis, sentence):
                first.setdefault((one.axis, one.choices, one.denied, one.doubtful), one)
    return tuple(first.values())


def assumed(question: Question, answer: Answer, axes: Sequence[Axis]) -> str:
    """The first sentence that sounds like an assumption, known or not: for a person to read."""
    plain = {axis.name: axis.choices[0].name for axis in axes}
    for sentence in _own_sentences(question, answer) if axes else ():
        known = (one for axis in axes for one in _about(axis, sentence))
        if _ASSUMES.search(sentence) or any(not one.denied and plain[one.axis] not in one.choices for one in known):
            return quoted(sentence)
    return ""


def stated(statements: Iterable[Said], combination: Combination) -> dict[str, str]:
    """Which of the combination's departures are clearly stated: the choice's name and the sentence, quoted.

    Nothing is clear where any sentence contradicts what the formula does, and an assumption is not where a doubtful one
    speaks of another choice: comments stuffed with every known assumption state none.
    """
    departed = {choice.name for choice in combination.departures}
    clear: dict[str, tuple[str, str]] = {}
    unsettled: set[str] = set()
    for one in statements:
        name = combination.chosen[one.axis].name
        if one.doubtful:
            if name not in one.choices:
                unsettled.add(one.axis)
        elif name not in one.choices:
            if not one.denied:
                return {}
        elif name in departed:
            if one.denied:
                return {}
            clear.setdefault(name, (one.axis, quoted(one.sentence)))
    return {name: sentence for name, (axis, sentence) in clear.items() if axis not in unsettled}


def touching(statements: Iterable[Said], combination: Combination) -> tuple[str, ...]:
    """The sentences that speak of the combination's assumptions, clearly or not, quoted."""
    axes = {axis for axis, choice in combination.chosen.items() if choice in combination.departures}
    return tuple(dict.fromkeys(quoted(one.sentence) for one in statements if one.axis in axes))


def quoted(sentence: str) -> str:
    """A student's sentence on one line, short enough to be shown."""
    sentence = sentence.replace("\n", " / ")
    return sentence if len(sentence) <= QUOTED else sentence[: QUOTED - 1] + "…"


def _own_sentences(question: Question, answer: Answer) -> list[str]:
    course = {sentence.casefold() for stub in question.stubs for sentence in _sentences(stub)}
    return [sentence for sentence in _sentences(answer.definition) if sentence.casefold() not in course]


def _about(axis: Axis, sentence: str) -> Iterator[Said]:
    patterns: dict[str, set[str]] = {}
    for choice in axis.choices:
        for pattern in choice.says:
            patterns.setdefault(pattern, set()).add(choice.name)
    spoken: dict[frozenset[str], list[tuple[int, int]]] = {}
    for pattern, names in patterns.items():
        choices = frozenset(names)
        spans = spoken.setdefault(choices, [])
        for match in re.finditer(pattern, sentence, re.IGNORECASE):
            start, end = match.span()
            if any(start < other_end and other_start < end for other_start, other_end in spans):
                continue  # an earlier pattern of the same choice has spoken for this place
            spans.append((start, end))
            denied = _denied(sentence, match, _HALF_CLAUSE_END) or bool(_NAMED_AFTER.match(sentence, end))
            doubtful = not denied and (_denied(sentence, match, _CLAUSE_END) or _denied_with_a_list(sentence, match))
            yield Said(axis.name, choices, sentence, denied, doubtful)


def _denied(sentence: str, match: re.Match[str], end: re.Pattern[str]) -> bool:
    key = "key" if "key" in match.re.groupindex else 0
    before = end.split(sentence[: match.start(key)])[-1]
    after = end.split(sentence[match.end() :])[0]
    near = " ".join(before.split()[-6:])
    return bool(_TURNED.search(near) or _TURNED_AFTER.search(after))


def _denied_with_a_list(sentence: str, match: re.Match[str]) -> bool:
    """Whether a match of one word begins a list that ends in a denial: "norms and rope are not counted"."""
    after = sentence[match.end() :]
    if " " in match[0].strip() or not _LIST_GOES_ON.match(after.lstrip()):
        return False
    for item in filter(str.strip, _LIST_GOES_ON.split(after)):
        first, _, rest = item.strip().partition(" ")
        if _TURNED_AFTER.search(rest) and not _TURNED.match(first):
            return True
        if len(rest.split()) > 1:
            return False
    return False


def _sentences(text: str) -> list[str]:
    found: list[str] = []
    for block in _blocks(text):
        for item in _items(block):
            for sentence in _SENTENCE_END.split(item):
                if flat := sentence.strip()[:LONGEST_SENTENCE]:
                    found.append(flat)
    return found[:MOST_SENTENCES]


def _items(block: str) -> Iterator[str]:
    """Paragraphs and items of lists. A line's end stays one where it ends a clause, and is a blank elsewhere."""
    item = last = ""
    for line in block.split("\n"):
        bare = " ".join(_BULLET.sub("", line, count=1).split())
        if not bare or _BULLET.match(line):
            if item:
                yield item
            item = bare
        elif not item:
            item = bare
        else:
            wrapped = _OPEN.search(last) or (bare[0].islower() and (len(last) >= WRAPPED_FROM or _GOES_ON.match(bare)))
            item += (" " if wrapped else "\n") + bare
        last = bare
    if item:
        yield item


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
