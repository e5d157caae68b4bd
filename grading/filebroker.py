"""The embedded broker: messages as files in the data folder, so that one machine needs no service.

Kombu's own file transport, with what it leaves open closed: a message appears whole or not at all, is taken within its
folder instead of by way of /tmp, and a file that is no message is dropped instead of ending the worker.
"""

import json
import os
import secrets
import time
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import filesystem


class Channel(filesystem.Channel):
    """Messages are `<time>_<random>.<queue>.msg`; a leading dot marks one on its way in or out."""

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]  # two bases differ
        name = f"{time.time_ns():020}_{secrets.token_hex(8)}.{queue}.msg"
        folder = Path(self.data_folder_out)
        hidden = folder / f".{name}"
        with open(hidden, "w", encoding="utf-8", opener=_private) as file:
            file.write(json.dumps(payload))
        hidden.rename(folder / name)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        folder = Path(self.data_folder_in)
        ending = f".{queue}.msg"
        for name in sorted(os.listdir(folder)):
            if not name.endswith(ending) or name.startswith("."):
                continue
            taken = folder / f".taken-{name}"
            try:
                (folder / name).rename(taken)
            except FileNotFoundError:
                continue  # another worker was quicker
            try:
                return json.loads(taken.read_text(encoding="utf-8"))
            except ValueError:
                continue
            finally:
                taken.unlink()
        raise Empty


class Transport(filesystem.Transport):
    """What `filesystem://` means to Rooflab."""

    Channel = Channel


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
