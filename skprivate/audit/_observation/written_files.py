# SPDX-License-Identifier: BSD-3-Clause
"""Records which files a thread writes, and what it sends to sockets and other programs."""

import contextlib
import functools
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .patches import temporary_patches

# What a file that a fit wrote is read of, at most.
_MOST_BYTES = 2**20
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND
_NAMELESS = getattr(os, "O_TMPFILE", 0)
_ELSEWHERE = ("socket.connect", "subprocess.Popen", "os.system", "os.posix_spawn", "os.exec")


class WrittenFiles:
    """What a fit wrote, as far as it can be looked at: contents by name, and what went elsewhere.

    Attributes
    ----------
    contents : list of bytes
        Of the files that were opened for writing, in order; read when they are removed, or at the end.
    elsewhere : list of str
        Sockets, processes and files without a name, into which nobody can look.
    """

    def __init__(self) -> None:
        self.paths: dict[str, None] = {}
        self.known: set[str] = set()
        self.contents: list[bytes] = []
        self.elsewhere: list[str] = []
        self.owner = threading.get_ident()

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take down one event of Python's audit hooks."""
        if event == "open":
            self._opened(*arguments)
        elif event in ("os.remove", "os.rename"):
            self._read(self._name(arguments[0]))
        elif event.startswith(_ELSEWHERE):
            self.elsewhere.append(event)

    def _opened(self, path: Any, mode: Any, flags: Any) -> None:
        flags = int(flags or 0)
        writes = bool(set(mode or "") & set("wax+")) or bool(flags & _WRITES)
        if not writes or isinstance(path, int):
            return
        name = self._name(path)
        if _NAMELESS and flags & _NAMELESS == _NAMELESS:
            self.elsewhere.append("a file without a name")
        elif (
            not os.path.isdir(name) and not name.endswith((".pyc", os.devnull)) and "__pycache__" not in name
        ):
            self.paths[name] = None

    @staticmethod
    def _name(path: Any) -> str:
        return (
            os.path.abspath(os.fsdecode(path)) if isinstance(path, str | bytes | os.PathLike) else str(path)
        )

    def _read(self, name: str) -> None:
        if name in self.paths:
            del self.paths[name]
            self.known.add(name)
            with contextlib.suppress(OSError), open(name, "rb") as file:
                self.contents.append(file.read(_MOST_BYTES))

    def close(self) -> None:
        """Read the files that are left."""
        for name in list(self.paths):
            self._read(name)


_LISTENERS: list[WrittenFiles] = []


@functools.cache
def _install() -> None:
    """Hooks of this kind stay for as long as the process runs: this one sleeps unless someone listens."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if _LISTENERS and threading.get_ident() == _LISTENERS[-1].owner:
            listener = _LISTENERS.pop()
            try:
                listener.note(event, arguments)
            finally:
                _LISTENERS.append(listener)

    sys.addaudithook(hook)


@contextlib.contextmanager
def watched_files() -> Iterator[WrittenFiles]:
    """Take down what this thread writes, in a directory for temporary files of its own.

    Yields
    ------
    files : WrittenFiles
    """
    _install()
    with tempfile.TemporaryDirectory() as folder:
        files = WrittenFiles()
        with temporary_patches() as undo:
            undo.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
            tempfile.tempdir = folder
            undo.callback(_LISTENERS.remove, files)
            _LISTENERS.append(files)
            yield files
        files.close()
        _add_what_lies_in(Path(folder), files)


def _add_what_lies_in(folder: Path, files: WrittenFiles) -> None:
    """Compiled code opens files without telling."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and str(path) not in files.known:
            files.contents.append(path.read_bytes()[:_MOST_BYTES])
