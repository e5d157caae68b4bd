"""A ZIP archive as hostile data: the one file in it that matters, read with a cap. Nothing is ever unpacked to disk.

Sizes in headers are used only to refuse early; the cap counts the bytes that really come out.
"""

import re
import stat
import struct
import unicodedata
import zipfile
from pathlib import Path

from grading.answers.decoding import printable
from grading.answers.model import Refused

MAX_MEMBERS = 1000
MAX_DIRECTORY_BYTES = 1 << 20
MAX_RATIO = 500  # text never reaches it; deflate ends at 1032
RATIO_COUNTS_FROM = 1 << 20
NESTED = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z", ".rar")
IGNORED = re.compile(r"(^|/)(__MACOSX|\.ipynb_checkpoints|__pycache__|\.git)/|(^|/)(\._[^/]*|\.DS_Store|Thumbs\.db)$")
_END = struct.Struct("<4s4H2LH")


def take(path: Path, max_bytes: int) -> tuple[bytes, str]:
    """The bytes and the name of the notebook, or of the Python file where there is no notebook."""
    _check_directory(path)
    try:
        with zipfile.ZipFile(path) as archive:
            member = _choose(archive.infolist(), max_bytes)
            return _inflate(archive, member, max_bytes), member.filename
    except Refused:
        raise
    except (NotImplementedError, RuntimeError) as error:
        raise Refused("bad_zip", "The ZIP archive is packed in an unusual way. Make it again with Deflate.") from error
    except MemoryError:
        raise
    except Exception as error:  # zipfile, zlib and lzma each raise much more than they document
        raise Refused("bad_zip", "The ZIP archive is damaged or cut short. Make it again.") from error


def _check_directory(path: Path) -> None:
    """Look at the archive's own table of contents before it is read: zipfile would hold all of it in memory."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 65536 - _END.size - 20))
        tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + _END.size:
        raise Refused("bad_zip", "The ZIP archive is cut short: its end is missing. Make it again.")
    _, _, _, _, members, directory, _, _ = _END.unpack_from(tail, at)
    if tail[max(0, at - 20) : at].startswith(b"PK\x06\x07"):
        raise Refused("zip_bomb", "The ZIP archive is of the large-file form (ZIP64). Put only the notebook in it.")
    if members > MAX_MEMBERS or directory > MAX_DIRECTORY_BYTES:
        raise Refused("zip_bomb", f"The ZIP archive holds more than {MAX_MEMBERS} files. Put only the notebook in it.")


def _choose(members: list[zipfile.ZipInfo], max_bytes: int) -> zipfile.ZipInfo:
    seen: set[str] = set()
    notebooks, scripts = [], []
    if len(members) > MAX_MEMBERS:
        raise Refused("zip_bomb", f"The ZIP archive holds more than {MAX_MEMBERS} files. Put only the notebook in it.")
    if sum(member.file_size for member in members) > 8 * max_bytes:
        raise Refused(
            "zip_bomb", "The ZIP archive unpacks to far more than may be handed in. Put only the notebook in."
        )
    for member in members:
        name = _checked_name(member, seen)
        if name.endswith("/") or IGNORED.search(name):
            continue
        if name == "[Content_Types].xml":
            raise Refused("binary", "This is an Office document. Hand in the notebook (.ipynb) or a Python file (.py).")
        ending = name.lower()
        if ending.endswith(NESTED):
            raise Refused(
                "nested_zip", f"The archive holds another archive, {printable(name)}. Put the notebook in it directly."
            )
        if ending.endswith(".ipynb"):
            notebooks.append(member)
        elif ending.endswith(".py"):
            scripts.append(member)
    for kind, found in (("notebooks", notebooks), ("Python files", scripts)):
        if len(found) > 1:
            names = ", ".join(printable(member.filename) for member in found[:10])
            raise Refused("several_files", f"The archive holds {len(found)} {kind}: {names}. Hand in only one of them.")
        if found:
            return found[0]
    raise Refused("nothing_in_zip", "The archive holds neither a notebook (.ipynb) nor a Python file (.py).")


def _checked_name(member: zipfile.ZipInfo, seen: set[str]) -> str:
    name = unicodedata.normalize("NFC", member.filename.replace("\\", "/"))
    shown = printable(member.filename)
    if name.startswith("/") or re.match(r"[A-Za-z]:", name) or ".." in name.split("/"):
        raise Refused("unsafe_path", f"The archive holds a path that leads out of it: {shown}.")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise Refused("symlink", f"The archive holds a symbolic link, {shown}. Put the file itself in it.")
    if member.flag_bits & 0x1:
        raise Refused("encrypted", f"The archive is locked with a password ({shown}). Make it again without one.")
    if name in seen:
        raise Refused("duplicate_member", f"The archive holds {shown} twice. Make it again.")
    seen.add(name)
    return name


def _inflate(archive: zipfile.ZipFile, member: zipfile.ZipInfo, max_bytes: int) -> bytes:
    """The member's bytes, counted as they come."""
    parts, total = [], 0
    with archive.open(member) as file:
        while part := file.read(1 << 20):
            parts.append(part)
            total += len(part)
            ratio = total / max(1, member.compress_size)
            if total > max_bytes or (total > RATIO_COUNTS_FROM and ratio > MAX_RATIO):
                raise Refused("zip_bomb", f"{printable(member.filename)} unpacks to more than may be handed in.")
    return b"".join(parts)
