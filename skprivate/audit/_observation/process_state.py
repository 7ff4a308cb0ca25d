# SPDX-License-Identifier: BSD-3-Clause
"""What a fit leaves in the process and on the disk, beside the fitted object."""

import contextlib
import functools
import gc
import os
import re
import sys
import tempfile
import threading
import types
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .defining_modules import defining_module
from .line_trace import own_modules
from .object_walk import leaves, same_leaf
from .patches import replacements

State = dict[str, Any]

# What a file that a fit wrote is read of, at most.
_MOST_BYTES = 2**20
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND
_NAMELESS = getattr(os, "O_TMPFILE", 0)
_ELSEWHERE = ("socket.connect", "subprocess.Popen", "os.system", "os.posix_spawn", "os.exec")
# Of tuples in tuples; deeper ones the collector lists.
_DEEPEST = 6
# Bytes of a double.
_DOUBLE = 8
_INDEX = re.compile(r"\[[^\]]*\]|\{[^}]*\}")


def process_state(estimator: Any) -> State:
    """Return what stands in the estimator's classes and modules, and in the environment."""
    state: State = {}
    for module in own_modules(estimator):
        members = {name: value for name, value in vars(module).items() if not name.startswith("__")}
        state |= leaves(members, f"module {module.__name__}")
        for cls in members.values():
            if isinstance(cls, type) and defining_module(cls) == module.__name__:
                data = {name: value for name, value in vars(cls).items() if not _is_plain_code(value)}
                state |= leaves(data, f"class {cls.__name__}")
    state |= leaves(dict(os.environ), "environment")
    state |= leaves([thread.name for thread in threading.enumerate()], "names of threads")
    state["working directory"] = os.getcwd()
    return state


def _is_plain_code(value: Any) -> bool:
    function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    if isinstance(function, types.FunctionType):
        return function.__closure__ is None and not function.__defaults__ and not function.__kwdefaults__
    return isinstance(function, types.GetSetDescriptorType | types.MemberDescriptorType)


def what_a_fit_changed(before: State, after: State) -> dict[str, Counter[Any]]:
    """Return what was added or changed, by the place without positions: numbers by how much they changed."""
    changed: dict[str, Counter[Any]] = {}
    missing = object()
    for path in before.keys() | after.keys():
        old, new = before.get(path, missing), after.get(path, missing)
        if old is missing or new is missing or not same_leaf(old, new):
            place = _INDEX.sub("[]", path)
            changed.setdefault(place, Counter())[_change(old, new, missing)] += 1
    return changed


def _change(old: Any, new: Any, missing: object) -> Any:
    if new is missing:
        return "gone"
    number = isinstance(new, int | float | np.number) and not isinstance(new, bool)
    if number and isinstance(old, int | float | np.number) and not isinstance(old, bool):
        return repr(new - old)
    return repr(new.tobytes() if isinstance(new, np.ndarray) else new)


class Files:
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


_LISTENERS: list[Files] = []


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
def watching_files() -> Iterator[Files]:
    """Take down what this thread writes, in a directory for temporary files of its own.

    Yields
    ------
    files : Files
    """
    _install()
    with tempfile.TemporaryDirectory() as folder:
        files = Files()
        with replacements() as undo:
            undo.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
            tempfile.tempdir = folder
            undo.callback(_LISTENERS.remove, files)
            _LISTENERS.append(files)
            yield files
        files.close()
        _add_what_lies_in(Path(folder), files)


def _add_what_lies_in(folder: Path, files: Files) -> None:
    """Compiled code opens files without telling."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and str(path) not in files.known:
            files.contents.append(path.read_bytes()[:_MOST_BYTES])


def survivors(negated: Sequence[float]) -> list[str]:
    """Return the kinds of living objects that hold a number: what is left of a row when all else was deleted.

    Looked at are all objects that the garbage collector knows, and the arrays, numbers and bytes in them. The
    numbers are handed over with the other sign, so that they are not found here.
    """
    gc.collect()
    found = []
    packed = [np.float64(-minus).tobytes() for minus in negated]
    for holder in gc.get_objects():
        if isinstance(holder, types.FrameType) or holder is packed:
            continue
        for held in _held_by(holder, 0):
            if _holds(held, negated, packed):
                found.append(f"{type(held).__name__} in a {type(holder).__name__}")
    return found


def _held_by(holder: Any, depth: int) -> Iterator[Any]:
    """Yield what an object refers to, through containers that the collector does not list."""
    for held in gc.get_referents(holder):
        if type(held) in (tuple, dict) and not gc.is_tracked(held) and depth < _DEEPEST:
            yield from _held_by(held, depth + 1)
        else:
            yield held


def _holds(held: Any, negated: Sequence[float], packed: Sequence[bytes]) -> bool:
    kind = type(held)
    if kind is float or kind is np.float64:
        return -held in negated
    if kind is bytes or kind is bytearray:
        return len(held) >= _DOUBLE and any(one in held for one in packed)
    if isinstance(held, np.ndarray) and held.dtype == np.float64 and held.size < _MOST_BYTES:
        return bool(np.isin(-held, negated).any())
    return False
