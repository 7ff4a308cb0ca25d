# SPDX-License-Identifier: BSD-3-Clause
"""Checks that texts, displays, files and the process do not depend on private rows."""

import contextlib
import gc
import itertools
import random
import re
from collections.abc import Callable, Iterator
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
from .._observation.controlled_runs import Deadline
from .._observation.fitted_objects import FlatObject, differing_paths, visible_values
from .._observation.process import (
    State,
    bytes_hold_any,
    changes_by_place,
    objects_holding,
    process_state,
    text_shows_any,
    watched_files,
)
from .._observation.recorder import captured_output
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
