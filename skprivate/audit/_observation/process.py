# SPDX-License-Identifier: BSD-3-Clause
"""What a fit leaves in the process and on the disk: modules, living objects, files, known values."""

import contextlib
import functools
import gc
import os
import re
import struct
import sys
import tempfile
import threading
import types
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from .controlled_runs import temporary_patches
from .fitted_objects import flatten_object, same_value
from .source_code import defining_module, own_modules

# What stands in an estimator's classes and modules, and in the environment, and what a fit changes there.

State = dict[str, Any]

_INDEX = re.compile(r"\[[^\]]*\]|\{[^}]*\}")


def process_state(estimator: Any) -> State:
    """Return what stands in the estimator's classes and modules, and in the environment."""
    state: State = {}
    for module in own_modules(estimator):
        members = {name: value for name, value in vars(module).items() if not name.startswith("__")}
        state |= flatten_object(members, f"module {module.__name__}")
        # A class of a function stands in no module.
        for cls in (*members.values(), *type(estimator).__mro__):
            if isinstance(cls, type) and defining_module(cls) == module.__name__:
                data = {name: value for name, value in vars(cls).items() if not _is_plain_code(value)}
                state |= flatten_object(data, f"class {cls.__name__}")
    state |= flatten_object(dict(os.environ), "environment")
    state |= flatten_object([thread.name for thread in threading.enumerate()], "names of threads")
    state["working directory"] = os.getcwd()
    return state


def _is_plain_code(value: Any) -> bool:
    function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    if isinstance(function, types.FunctionType):
        return not (
            function.__closure__ or function.__defaults__ or function.__kwdefaults__ or vars(function)
        )
    return isinstance(function, types.GetSetDescriptorType | types.MemberDescriptorType)


def changes_by_place(before: State, after: State) -> dict[str, Counter[Any]]:
    """Return what was added or changed, by the place without positions: numbers by how much they changed."""
    changed: dict[str, Counter[Any]] = {}
    missing = object()
    for path in before.keys() | after.keys():
        old, new = before.get(path, missing), after.get(path, missing)
        if old is missing or new is missing or not same_value(old, new):
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


# Finds numbers in all objects that are alive in the process.

# Of tuples in tuples; deeper ones the collector lists.
_DEEPEST_TUPLE = 6
# Bytes of a double.
_DOUBLE = 8
# Objects that are looked into together.
_AT_ONCE = 1000
# Larger arrays are no rows of the battery's data sets.
_LARGEST_ARRAY = 2**20
# Most of what objects refer to: it holds no double, or the collector lists it by itself.
_NO_DOUBLES = frozenset(
    {str, int, bool, type(None), type, types.FunctionType, types.BuiltinFunctionType, types.CodeType}
    | {types.ModuleType, list, set}
)


def objects_holding(negated: Sequence[float]) -> list[str]:
    """Return the kinds of living objects that hold a number: what is left of a row when all else was deleted.

    Looked at are all objects that the garbage collector knows, and the arrays, numbers and bytes in them. The
    numbers are handed over with the other sign, so that they are not found here.
    """
    gc.collect()
    found = []
    packed = [np.float64(-minus).tobytes() for minus in negated]
    holders = [one for one in gc.get_objects() if not (isinstance(one, types.FrameType) or one is packed)]
    for start in range(0, len(holders), _AT_ONCE):
        part = holders[start : start + _AT_ONCE]
        # Most hold nothing of the kind: one by one where something does.
        if _kinds_holding(gc.get_referents(*part), negated, packed, 0):
            for holder in part:
                kinds = _kinds_holding(gc.get_referents(holder), negated, packed, 0)
                found += [f"{kind} in a {type(holder).__name__}" for kind in kinds]
    return found


def _kinds_holding(
    objects: Sequence[Any], negated: Sequence[float], packed: Sequence[bytes], depth: int
) -> list[str]:
    """Return the types of objects that hold a number, and of those in containers that nobody lists."""
    found = []
    for held in (one for one in objects if type(one) not in _NO_DOUBLES):
        kind = type(held)
        if kind is tuple or kind is dict:
            if not gc.is_tracked(held) and depth < _DEEPEST_TUPLE:
                found += _kinds_holding(gc.get_referents(held), negated, packed, depth + 1)
        elif _holds(held, negated, packed):
            found.append(kind.__name__)
    return found


def _holds(held: Any, negated: Sequence[float], packed: Sequence[bytes]) -> bool:
    kind = type(held)
    if kind is float or kind is np.float64:
        return -held in negated
    if kind is bytes or kind is bytearray:
        return len(held) >= _DOUBLE and any(one in held for one in packed)
    if isinstance(held, np.ndarray) and held.size < _LARGEST_ARRAY:
        if held.dtype == object:
            return any(type(cell) is float and -cell in negated for cell in held.flat)
        return held.dtype == np.float64 and bool(np.isin(-held, negated).any())
    return False


# Records which files a thread writes, and what it sends to sockets and other programs.

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
def _install_hook() -> None:
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
    _install_hook()
    with tempfile.TemporaryDirectory() as folder:
        files = WrittenFiles()
        with temporary_patches() as undo:
            undo.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
            tempfile.tempdir = folder
            undo.callback(_LISTENERS.remove, files)
            _LISTENERS.append(files)
            yield files
        files.close()
        # Compiled code opens files without telling.
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file() and str(path) not in files.known:
                files.contents.append(path.read_bytes()[:_MOST_BYTES])


# Finds known values in texts and in bytes.

# By which a number is known again in a text.
_DIGITS = 6


def texts_of_value(value: float | str) -> list[str]:
    """Return the texts by which a value could be known again, to six digits."""
    if isinstance(value, str):
        return [value]
    digits = f"{Decimal(repr(float(value))):f}"
    start = len(digits) - len(digits.lstrip("-0."))
    # Printed in full, or rounded, or cut.
    cut = digits[: start + _DIGITS + ("." in digits[start : start + _DIGITS])]
    return sorted({repr(float(value)), f"{value:.8g}", f"{value:.{_DIGITS}g}", cut})


def bytes_of_value(value: float | str) -> list[bytes]:
    """Return the bytes by which a value could be known again in a pickle."""
    if isinstance(value, str):
        return [value.encode(), value.encode("utf-16-le"), value.encode("utf-32-le")]
    return [repr(float(value)).encode(), *(struct.pack(order + "d", value) for order in "<>")]


def text_shows_any(text: str, values: list[Any]) -> bool:
    """Whether a text shows one of the values, to six digits or more."""
    return any(form in text for value in values for form in texts_of_value(value))


def bytes_hold_any(content: bytes, values: list[Any]) -> bool:
    """Whether bytes hold one of the values in full."""
    return any(form in content for value in values for form in bytes_of_value(value))
