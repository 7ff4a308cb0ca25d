# SPDX-License-Identifier: BSD-3-Clause
"""Checks that texts, displays, files and the process do not depend on private rows."""

import contextlib
import functools
import gc
import itertools
import os
import random
import re
import struct
import sys
import tempfile
import threading
import types
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .._cases import (
    AuditCase,
    DomainRow,
    domain_of_y,
    numbers_of,
    row_at,
    row_of,
    targets_at,
    unit_of,
    with_all_rows,
    with_unit,
)
from .._observation.fitted_objects import (
    FlatObject,
    differing_paths,
    flatten_object,
    same_value,
    visible_values,
)
from .._observation.recorder import Deadline, captured_output, temporary_patches
from .._observation.source_code import defining_module, own_modules
from .requirements import (
    NotApplicable,
    ReplayedCase,
    has_cells,
    listed,
    pickle_or_none,
    publishable,
    replayed_case,
    require,
    require_cells,
    require_no_exact_differences,
)

# State of an estimator's classes and modules and of the environment, and changes of it by a fit.

State = dict[str, Any]

_INDEX = re.compile(r"\[[^\]]*\]|\{[^}]*\}")


def process_state(estimator: Any) -> State:
    """Return the state of the estimator's classes and modules and of the environment."""
    state: State = {}
    for module in own_modules(estimator):
        members = {name: value for name, value in vars(module).items() if not name.startswith("__")}
        state |= flatten_object(members, f"module {module.__name__}")
        # A class inside a function is not in the namespace of a module.
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
    """Return additions and changes, by the place without positions; for numbers, the differences."""
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


# Search for numbers in all living objects of the process.

# Depth of tuples in tuples, set by hand; the collector lists deeper ones.
_DEEPEST_TUPLE = 6
# Bytes of a double.
_DOUBLE = 8
# Number of objects that are searched together; set by hand.
_AT_ONCE = 1000
# Larger arrays cannot be rows of the battery's data sets.
_LARGEST_ARRAY = 2**20
# Types of most referenced objects: they hold no double, or the collector lists them by themselves.
_NO_DOUBLES = frozenset(
    {str, int, bool, type(None), type, types.FunctionType, types.BuiltinFunctionType, types.CodeType}
    | {types.ModuleType, list, set}
)


def objects_holding(negated: Sequence[float]) -> list[str]:
    """Return the kinds of living objects that hold a number of a row after the row was deleted.

    The search covers all objects that the garbage collector knows, and the arrays, numbers and bytes in them.
    The numbers are passed with the opposite sign, so that this search does not find them itself.
    """
    gc.collect()
    found = []
    packed = [np.float64(-minus).tobytes() for minus in negated]
    holders = [one for one in gc.get_objects() if not (isinstance(one, types.FrameType) or one is packed)]
    for start in range(0, len(holders), _AT_ONCE):
        part = holders[start : start + _AT_ONCE]
        # Most hold no such number. If some do, the objects are searched one by one.
        if _kinds_holding(gc.get_referents(*part), negated, packed, 0):
            for holder in part:
                kinds = _kinds_holding(gc.get_referents(holder), negated, packed, 0)
                found += [f"{kind} in a {type(holder).__name__}" for kind in kinds]
    return found


def _kinds_holding(
    objects: Sequence[Any], negated: Sequence[float], packed: Sequence[bytes], depth: int
) -> list[str]:
    """Return the types of objects that hold a number, including objects in containers that are not listed."""
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


# Records of the files that a thread writes, and of its use of sockets and other programs.

# Largest number of bytes that are read of a written file; set by hand.
_MOST_BYTES = 2**20
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND
_NAMELESS = getattr(os, "O_TMPFILE", 0)
_ELSEWHERE = ("socket.connect", "subprocess.Popen", "os.system", "os.posix_spawn", "os.exec")


class WrittenFiles:
    """Output of a fit: the contents of files, and names of other outputs.

    Attributes
    ----------
    contents : list of bytes
        Contents of the files that were opened for writing, in order. A file is read when it is removed, or at
        the end.
    elsewhere : list of str
        Sockets, processes and files without a name, whose contents cannot be read.
    """

    def __init__(self) -> None:
        self.paths: dict[str, None] = {}
        self.known: set[str] = set()
        self.contents: list[bytes] = []
        self.elsewhere: list[str] = []
        self.owner = threading.get_ident()

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record one event of Python's audit hooks."""
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
        """Read the remaining files."""
        for name in list(self.paths):
            self._read(name)


_LISTENERS: list[WrittenFiles] = []


@functools.cache
def _install_hook() -> None:
    """Install an audit hook, which stays until the process ends; it does nothing without a listener."""

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
    """Record the files that this thread writes, with its own directory for temporary files.

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
        # Compiled code opens files without an audit event.
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file() and str(path) not in files.known:
                files.contents.append(path.read_bytes()[:_MOST_BYTES])


# Search for known values in texts and in bytes.

# Digits that identify a number in a text; set by hand.
_DIGITS = 6


def texts_of_value(value: float | str) -> list[str]:
    """Return the texts that could identify a value, to six digits."""
    if isinstance(value, str):
        return [value]
    digits = f"{Decimal(repr(float(value))):f}"
    start = len(digits) - len(digits.lstrip("-0."))
    # In full, rounded, or cut.
    cut = digits[: start + _DIGITS + ("." in digits[start : start + _DIGITS])]
    return sorted({repr(float(value)), f"{value:.8g}", f"{value:.{_DIGITS}g}", cut})


def bytes_of_value(value: float | str) -> list[bytes]:
    """Return the bytes that could identify a value in a pickle."""
    if isinstance(value, str):
        return [value.encode(), value.encode("utf-16-le"), value.encode("utf-32-le")]
    return [repr(float(value)).encode(), *(struct.pack(order + "d", value) for order in "<>")]


def text_shows_any(text: str, values: list[Any]) -> bool:
    """Return whether a text shows one of the values, to six digits or more."""
    return any(form in text for value in values for form in texts_of_value(value))


def bytes_hold_any(content: bytes, values: list[Any]) -> bool:
    """Return whether bytes hold one of the values in full."""
    return any(form in content for value in values for form in bytes_of_value(value))


# The check that no error, warning, log, text or pickle shows a planted private value.

# A share of the range of a column that ordinary constants do not hit (the golden ratio).
_SHARE = 0.618033988749
# Digits that an ordinary text does not show by chance.
_FAR_SENTINEL = 53918.421773519
_TEXT = "sentinel-5391842"


def check_sentinels(case: AuditCase) -> None:
    """A planted private value is in no error, warning, log, print, text or pickle."""
    rows = case.data_sets[0]
    require_cells(rows)
    for planted, values in _planted_in_one_unit(case, rows):
        with captured_output() as heard:
            model, said = _fit_or_error(case, planted)
            texts = list(said)
            if model is not None:
                html = model._repr_html_() if hasattr(model, "_repr_html_") else ""
                texts += [repr(model), str(getattr(model, "privacy_spent_", "")), str(html)]
        shown = text_shows_any("\n".join([*texts, heard()]), values)
        require(not shown, "a private value in the messages and texts about good rows")
        if model is not None and getattr(model, "releases_state", True):
            held = bytes_hold_any(pickle_or_none(model) or b"", values)
            require(not held, "a private value in the pickle of a fit")
    for spoil, values, planted in _spoiled(case, rows):
        with captured_output() as heard:
            text = "\n".join(_fit_or_error(case, planted)[1])
        require(not text_shows_any(text + heard(), values), f"a private value in the messages about {spoil}")


def _planted_in_one_unit(case: AuditCase, rows: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Yield good rows with a sentinel in the last unit, and the values to search for."""
    width = np.shape(rows["X"])[1]
    only_label = getattr(getattr(case.fit(rows), "privacy_spent_", None), "relation", None) == "label"
    for X in (row_at(case.estimator, width, _SHARE), row_of(case.estimator, width, _FAR_SENTINEL)):
        # With relation "label" features are not protected.
        values: list[Any] = [] if only_label else numbers_of(case.estimator, X)
        changed = rows if only_label else with_unit(rows, X=X)
        y = np.asarray(rows["y"]) if rows.get("y") is not None else None
        if y is not None and y.dtype.kind == "U":
            changed, values = with_unit(changed, y=_TEXT), [*values, _TEXT]
        elif y is not None and y.dtype.kind in "fV" and not is_classifier(case.estimator):
            low, high = domain_of_y(case.estimator)
            target = low + _SHARE**2 * (high - low)
            changed = with_unit(changed, y=targets_at(case.estimator, rows, target)[0])
            values = [*values, target]
        yield changed, values


def _spoiled(case: AuditCase, rows: dict[str, Any]) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    """Yield rows that a fit may refuse, with the values to search for."""
    unit = unit_of(rows)[0]
    X = np.array(rows["X"], dtype=object)
    X[unit, 0] = _TEXT
    yield "text in a cell", [_TEXT], {**rows, "X": X}
    X = np.array(rows["X"])
    X[unit] = _FAR_SENTINEL
    X[unit, -1] = np.nan
    yield "a row with NaN", [_FAR_SENTINEL], {**rows, "X": X}
    X = np.array(rows["X"], dtype=complex if np.asarray(rows["X"]).dtype.kind == "f" else object)
    X[unit] = _FAR_SENTINEL * 1j
    yield "complex numbers", [_FAR_SENTINEL], {**rows, "X": X}
    yield "one column alone", [_FAR_SENTINEL], {**rows, "X": np.full(len(rows["X"]), _FAR_SENTINEL)}
    if rows.get("y") is None or np.asarray(rows["y"]).dtype.names:
        return
    for spoil, value in (("text as a target", _TEXT), ("a far target", _FAR_SENTINEL), ("no number", np.nan)):
        y = np.array(rows["y"], dtype=object)
        y[unit] = value
        yield spoil, [_TEXT, _FAR_SENTINEL], {**rows, "y": y}
    yield "too short a target", [_FAR_SENTINEL], {**rows, "y": np.full(len(rows["X"]) - 1, _FAR_SENTINEL)}


def _fit_or_error(case: AuditCase, rows: dict[str, Any]) -> tuple[Any, list[str]]:
    """Return a fit and its warnings, or None and the messages of the errors."""
    try:
        return case.fit_with_warnings(rows)
    except Exception as error:
        said: list[str] = []
        seen: list[BaseException] = []
        failure: BaseException | None = error
        while failure is not None and not any(failure is one for one in seen):
            seen.append(failure)
            said += [str(failure), repr(failure.args), *getattr(failure, "__notes__", ())]
            # `raise ... from None` hides an error, but it is still accessible.
            failure = failure.__cause__ or failure.__context__
        return None, said


# The check that all visible values of a fitted object are the same for other rows.

# Processor seconds for other rows, after the first ones; set by hand.
_SECONDS = {False: 1.0, True: 10.0}
# Number of fits on either data set, to find words that are always in one text and never in the other.
_MOST_FITS = 12
_TOKEN = re.compile(r"[\w.+-]+")


def check_views(case: AuditCase) -> None:
    """All visible values of the object (texts, state, names, outputs, properties) are equal for other rows.

    If the outputs of the noise can be replayed, they are. Otherwise values that are the same in every fit on
    one data set must be the same on its neighbours.
    """
    publishable(case.fit(0))
    replay = replayed_case(case)
    if replay is None:
        require_no_exact_differences(
            case,
            case.data_sets[1:3],
            lambda data: visible_values(case.fit(data), case.data_sets[0]),
            "visible values depend on private rows",
        )
        return
    first = replay.views(case.data_sets[0])
    again = replay.views(case.data_sets[0])
    deadline = Deadline(_SECONDS[case.thorough])
    for data in replay.others():
        if deadline.has_passed:
            return
        other = replay.views(data)
        if other is None or first is None or again is None:
            continue
        changing = set(differing_paths(first, again))
        paths = [path for path in differing_paths(first, other) if path not in changing]
        require(not paths, f"visible values depend on private rows: {listed(paths)}")
        loose = changing & first.keys() & other.keys()
        _compare_texts(replay, data, sorted(path for path in loose if isinstance(first[path], str)))


def _compare_texts(replay: ReplayedCase, data: Any, paths: list[str]) -> None:
    """Compare texts that change from fit to fit, for example in an address, by their constant words."""
    if not paths:
        return
    mine, theirs = (dict.fromkeys(paths) for _ in range(2))
    sides: tuple[tuple[Any, dict[str, Any]], ...] = ((replay.case.data_sets[0], mine), (data, theirs))
    for _ in range(_MOST_FITS):
        for rows, always in sides:
            views = replay.views(rows) or FlatObject()
            for path in paths:
                words = set(_TOKEN.findall(str(views.get(path, ""))))
                always[path] = words if always[path] is None else always[path] & words
    shown = [path for path in paths if mine[path] != theirs[path]]
    require(not shown, f"a word in a visible text depends on private rows: {listed(shown)}")


# Checks of traces of a fit in the process and on the disk.

# Range of shares of a column's range, for planted values that nothing else has.
_SHARES = 0.3, 0.7
_SYSTEM = random.SystemRandom()


def check_process(case: AuditCase) -> None:
    """A fit makes no change in its class, its module or the process that depends on private rows."""
    publishable(case.fit(0))
    fit = _repeatable_fit(case)
    given = (*case.unrelated_data_sets, *case.data_sets[1:])
    others = [data for data in given if data is not case.data_sets[0]][:2]
    if not others:
        raise NotApplicable("the case has only one data set")
    for _ in range(2):
        fit(case.data_sets[0])  # fills caches
    states: list[State] = [process_state(case.estimator)]
    for data in (case.data_sets[0], case.data_sets[0], *others):
        fit(data)
        gc.collect()
        states.append(process_state(case.estimator))
    usual, fresh = (
        [changes_by_place(*pair) for pair in itertools.pairwise(part)] for part in (states[:3], states[2:])
    )
    steady = {
        place
        for place in set().union(*usual, *fresh)
        if usual[0].get(place) == usual[1].get(place)
        and all(one.get(place) != usual[0].get(place) for one in fresh)
    }
    require(not steady, f"a fit leaves traces of private rows in the process: {listed(sorted(steady))}")


def _repeatable_fit(case: AuditCase) -> Callable[[Any], Any]:
    """Return a function that fits with the same noise, if that can be repeated."""
    replay = replayed_case(case)
    given_outputs = None if replay is None else replay.given_outputs

    def fit(data: Any) -> Any:
        with contextlib.suppress(Exception):
            return case.record(data, given_outputs)[0]
        return None

    return fit


def check_files(case: AuditCase) -> None:
    """A fit writes nothing about private rows to a file, and uses no network and no other program."""
    publishable(case.fit(0))
    fit = _repeatable_fit(case)
    written = []
    planted, values = _planted_everywhere(case)
    fit(case.data_sets[0])
    for data in (case.data_sets[0], case.data_sets[0], planted):
        with watched_files() as files:
            fit(data)
        elsewhere = ", ".join(sorted(set(files.elsewhere)))
        require(not elsewhere, f"a fit uses {elsewhere}, which cannot be checked")
        written.append(files.contents)
    shown = any(
        bytes_hold_any(content, values) or text_shows_any(content.decode("latin-1"), values)
        for content in written[2]
    )
    require(not shown, "a file that a fit wrote holds a private value")
    # Files that hold a time always differ.
    depends = len(written[0]) == len(written[1]) != len(written[2]) or any(
        one == again != other for one, again, other in zip(*written, strict=False)
    )
    require(not depends, "a file that a fit wrote depends on private rows")


def _planted_everywhere(case: AuditCase) -> tuple[Any, list[float]]:
    """Return the data set with unique values in every private row, and these values."""
    rows = case.data_sets[0]
    if not has_cells(rows):
        return (case.unrelated_data_sets or case.data_sets)[-1], []
    if case.relation == "label":
        return case.data_sets[-1], []
    # Every run has other values, so that values left by an earlier run are not found.
    share = _SYSTEM.uniform(*_SHARES)
    X = row_at(case.estimator, np.shape(rows["X"])[1], share)
    values = numbers_of(case.estimator, X)
    if rows.get("y") is None or is_classifier(case.estimator) or np.asarray(rows["y"]).dtype.kind not in "fV":
        return with_all_rows(rows, DomainRow(X)), values
    low, *_, high = domain_of_y(case.estimator)
    target = low + share**2 * (high - low)
    return with_all_rows(rows, DomainRow(X, targets_at(case.estimator, rows, target)[0])), [*values, target]


def check_nothing_survives(case: AuditCase) -> None:
    """After the fitted object is deleted, no private value is left anywhere in the process."""
    publishable(case.fit(0))
    if case.relation == "label":
        raise NotApplicable("features are not protected, and a label may be in many places")
    planted, values = _planted_everywhere(case)
    if not values:
        raise NotApplicable("fit takes no table of floats, or of cells")
    # Negated, so that the search does not find the numbers here.
    hidden = [-value for value in {values[0], values[-1]}]
    with contextlib.suppress(Exception):
        case.fit(planted)
    del planted, values
    left = objects_holding(hidden)
    require(not left, f"a private value is left in the process: {listed(sorted(set(left)))}")
