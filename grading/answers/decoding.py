"""Bytes to text, once: which text a file holds, or the name of what it is instead.

Not covered: what the text means. A coding declaration counts only here; everything later works on `str`, where Python
ignores it, so that nobody can read the file in two ways.
"""

import codecs
import re

from grading.answers.model import Refused

MAGIC = (
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "a ZIP archive"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0", "an old Microsoft Office document"),
    (b"{\\rtf", "an RTF document"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a Windows program"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
    (b"\xa7\x0d\x0d\x0a", "compiled Python"),
    (b"\xcb\x0d\x0d\x0a", "compiled Python"),
)
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins like the UTF-16 one, so it is asked first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
HONOURED = {"utf-8": "utf-8", "ascii": "utf-8", "iso8859-1": "latin-1", "cp1252": "cp1252"}
FALLBACK_NOTE = (
    "The file is not UTF-8. It was read as Latin-1 (Windows-1252), so accented letters may look wrong; "
    "save it as UTF-8 to be sure."
)
_DECLARATION = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK_OR_COMMENT = re.compile(rb"^[ \t\f]*(?:#|$)")
_CONTROLS = bytes(range(9)) + bytes(range(14, 27)) + bytes(range(28, 32))


def looks_like(raw: bytes) -> str | None:
    """The name of a binary format by its first bytes, or None for what may be text."""
    for magic, name in MAGIC:
        if raw.startswith(magic) and not (magic == b"MZ" and b"\0" not in raw[:512]):
            return name
    return None


def decode(raw: bytes) -> tuple[str, list[str]]:
    """The file's text without its byte-order mark, and notes for the student."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return _marked(raw[len(mark) :], encoding), []
    head = raw[: 1 << 16]
    if b"\0" in raw or len(head) - len(head.translate(None, _CONTROLS)) > len(head) // 20:
        raise Refused("binary", "This is not a text file. Hand in the notebook (.ipynb) or a Python file (.py).")
    declared, line = _declared(raw)
    if declared in ("latin-1", "cp1252"):
        return _western(raw, declared), [f"Line {line} declares {declared}, so the file was read as such."]
    try:
        return raw.decode("utf-8"), []
    except UnicodeDecodeError:
        return _western(raw, "cp1252"), [FALLBACK_NOTE]


def normalise(text: str) -> str:
    """The text with `\\n` as its only line end. A form feed alone on a line, an old page break, goes."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(r"^[ \t]*\f[ \t\f]*$", "", text, flags=re.MULTILINE) if "\f" in text else text


def printable(text: str, limit: int = 200) -> str:
    """A student's text made fit to stand in a message: one line, no control characters, of bounded length."""
    text = "".join(character if character.isprintable() else "�" for character in text[: limit + 1])
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _marked(raw: bytes, encoding: str) -> str:
    if encoding == "utf-8":
        declared, line = _declared(raw)
        if declared not in ("", "utf-8"):
            raise _foreign(declared, line)
    try:
        return raw.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise Refused(
            "encoding",
            f"The file says that it is {encoding.upper()} but is not. Save it as UTF-8 and hand it in again.",
        ) from None


def _western(raw: bytes, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:  # Windows-1252 leaves five bytes undefined
        return raw.decode("latin-1")


def _declared(raw: bytes) -> tuple[str, int]:
    for number, line in enumerate(re.split(rb"\r\n?|\n", raw[:2048])[:2], start=1):
        if match := _DECLARATION.match(line):
            name = match[1].decode("ascii", "replace")
            try:
                known = HONOURED.get(codecs.lookup(name).name)
            except (LookupError, ValueError):
                known = None
            if known is None:
                raise _foreign(name, number)
            return known, number
        if not _BLANK_OR_COMMENT.match(line):
            break
    return "", 0


def _foreign(name: str, line: int) -> Refused:
    return Refused(
        "encoding",
        f"Line {line} declares the encoding {printable(name, 40)}. Save the file as UTF-8 and delete that declaration.",
    )
