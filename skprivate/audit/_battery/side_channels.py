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


# The check that no error, warning, log, text or pickle shows a private value that was planted.

# A share of the range of a column that no honest constant hits.
_SHARE = 0.618033988749
# Digits that no honest text shows by chance.
_FAR_SENTINEL = 53918.421773519
_TEXT = "sentinel-5391842"


def check_sentinels(case: AuditCase) -> None:
    """A private value that is planted stands in no error, warning, log, print, text or pickle."""
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
        require(not shown, "a private value in what is said about good rows")
        if model is not None and getattr(model, "releases_state", True):
            held = bytes_hold_any(pickle_or_none(model) or b"", values)
            require(not held, "a private value in the pickle of a fit")
    for spoil, values, planted in _spoiled(case, rows):
        with captured_output() as heard:
            text = "\n".join(_fit_or_error(case, planted)[1])
        require(not text_shows_any(text + heard(), values), f"a private value in what is said about {spoil}")


def _planted_in_one_unit(case: AuditCase, rows: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Yield good rows with a sentinel in the last unit, and what to look for."""
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
    """Yield rows that a fit refuses, or might."""
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
    """Return a fit and its warnings, or None and what the errors say."""
    try:
        return case.fit_with_warnings(rows)
    except Exception as error:
        said: list[str] = []
        seen: list[BaseException] = []
        failure: BaseException | None = error
        while failure is not None and not any(failure is one for one in seen):
            seen.append(failure)
            said += [str(failure), repr(failure.args), *getattr(failure, "__notes__", ())]
            # What `raise ... from None` hides is still there for who looks.
            failure = failure.__cause__ or failure.__context__
        return None, said


# The check that all that a fitted object shows is the same for other rows.

# Processor seconds for other rows, after the first ones.
_SECONDS = {False: 1.0, True: 10.0}
# Fits on either data set after which what is always in one text and never in the other is no chance.
_MOST_FITS = 12
_TOKEN = re.compile(r"[\w.+-]+")


def check_views(case: AuditCase) -> None:
    """Whatever the object shows (texts, state, names, outputs, properties) is the same for other rows.

    Where the outputs of the noise can be handed out again, they are. Else what is the same in every fit of
    one data set must be so on its neighbours.
    """
    publishable(case.fit(0))
    replay = replayed_case(case)
    if replay is None:
        require_no_exact_differences(
            case,
            case.data_sets[1:3],
            lambda data: visible_values(case.fit(data), case.data_sets[0]),
            "what is shown depends on private rows",
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
        require(not paths, f"what is shown depends on private rows: {listed(paths)}")
        loose = changing & first.keys() & other.keys()
        _compare_texts(replay, data, sorted(path for path in loose if isinstance(first[path], str)))


def _compare_texts(replay: ReplayedCase, data: Any, paths: list[str]) -> None:
    """A text that changes from fit to fit, an address in it say, may hold a word that depends on the rows."""
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
    require(not shown, f"a word in what is shown depends on private rows: {listed(shown)}")


# Checks of what a fit leaves in the process and on the disk.

# Share of the range of a column at which a value is planted that nothing else has.
_SHARES = 0.3, 0.7
_SYSTEM = random.SystemRandom()


def check_process(case: AuditCase) -> None:
    """A fit changes nothing in its class, its module or the process that depends on private rows."""
    publishable(case.fit(0))
    fit = _repeatable_fit(case)
    given = (*case.unrelated_data_sets, *case.data_sets[1:])
    others = [data for data in given if data is not case.data_sets[0]][:2]
    if not others:
        raise NotApplicable("the case has one data set alone")
    for _ in range(2):
        fit(case.data_sets[0])  # what fills once is full then
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
    require(not steady, f"a fit leaves in the process what depends on private rows: {listed(sorted(steady))}")


def _repeatable_fit(case: AuditCase) -> Callable[[Any], Any]:
    """Return what fits with the same noise, where it can be repeated."""
    replay = replayed_case(case)
    given_outputs = None if replay is None else replay.given_outputs

    def fit(data: Any) -> Any:
        with contextlib.suppress(Exception):
            return case.record(data, given_outputs)[0]
        return None

    return fit


def check_files(case: AuditCase) -> None:
    """A fit writes nothing about private rows to a file, and talks to no network and no other program."""
    publishable(case.fit(0))
    fit = _repeatable_fit(case)
    written = []
    planted, values = _planted_everywhere(case)
    fit(case.data_sets[0])
    for data in (case.data_sets[0], case.data_sets[0], planted):
        with watched_files() as files:
            fit(data)
        elsewhere = ", ".join(sorted(set(files.elsewhere)))
        require(not elsewhere, f"a fit uses {elsewhere}: nobody can look in")
        written.append(files.contents)
    shown = any(
        bytes_hold_any(content, values) or text_shows_any(content.decode("latin-1"), values)
        for content in written[2]
    )
    require(not shown, "a file that a fit wrote holds a private value")
    # Of files that hold a time, no two are alike.
    depends = len(written[0]) == len(written[1]) != len(written[2]) or any(
        one == again != other for one, again, other in zip(*written, strict=False)
    )
    require(not depends, "a file that a fit wrote depends on private rows")


def _planted_everywhere(case: AuditCase) -> tuple[Any, list[float]]:
    """Return the data set in which every private row holds values that nothing else has, and these."""
    rows = case.data_sets[0]
    if not has_cells(rows):
        return (case.unrelated_data_sets or case.data_sets)[-1], []
    if case.relation == "label":
        return case.data_sets[-1], []
    # Other values in every run: one that an earlier run found left behind is not this one's.
    share = _SYSTEM.uniform(*_SHARES)
    X = row_at(case.estimator, np.shape(rows["X"])[1], share)
    values = numbers_of(case.estimator, X)
    if rows.get("y") is None or is_classifier(case.estimator) or np.asarray(rows["y"]).dtype.kind not in "fV":
        return with_all_rows(rows, DomainRow(X)), values
    low, *_, high = domain_of_y(case.estimator)
    target = low + share**2 * (high - low)
    return with_all_rows(rows, DomainRow(X, targets_at(case.estimator, rows, target)[0])), [*values, target]


def check_nothing_survives(case: AuditCase) -> None:
    """When the fitted object is gone, no private value is left anywhere in the process."""
    publishable(case.fit(0))
    if case.relation == "label":
        raise NotApplicable("features are not protected, and a label stands in many places")
    planted, values = _planted_everywhere(case)
    if not values:
        raise NotApplicable("fit takes no table of floats, or of cells")
    # Negated: the numbers themselves must not be found here.
    hidden = [-value for value in {values[0], values[-1]}]
    with contextlib.suppress(Exception):
        case.fit(planted)
    del planted, values
    left = objects_holding(hidden)
    require(not left, f"a private value is left in the process: {listed(sorted(set(left)))}")
