# SPDX-License-Identifier: BSD-3-Clause
"""Checks of what a fit leaves in the process and on the disk."""

import contextlib
import gc
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..._cases.case import AuditCase
from ..._cases.domain import domain_of_y, numbers_of, row_at, targets_at
from ..._observation.known_values import bytes_hold_any, text_shows_any
from ..._observation.living_objects import objects_holding
from ..._observation.process_state import State, changes_by_place, process_state
from ..._observation.written_files import watched_files
from ..._search.neighbour_chains import DomainRow, with_all_rows
from ..replay import replayed_case
from ..requirements import NotApplicable, has_cells, listed, publishable_fit, require

# Share of the range of a column at which a value is planted that nothing else has.
_SHARES = 0.3, 0.7
_SYSTEM = random.SystemRandom()


def check_process(case: AuditCase) -> None:
    """A fit changes nothing in its class, its module or the process that depends on private rows."""
    publishable_fit(case)
    fit = _repeatable_fit(case)
    others = [
        data for data in (*case.unrelated_data_sets, *case.data_sets[1:]) if data is not case.data_sets[0]
    ][:2]
    if not others:
        raise NotApplicable("the case has one data set alone")
    for _ in range(2):
        fit(case.data_sets[0])  # what fills once is full then
    usual = [_changes_of_process(case, fit, case.data_sets[0]) for _ in range(2)]
    fresh = [_changes_of_process(case, fit, data) for data in others]
    steady = {
        place
        for place in set().union(*usual, *fresh)
        if usual[0].get(place) == usual[1].get(place)
        and all(one.get(place) != usual[0].get(place) for one in fresh)
    }
    require(not steady, f"a fit leaves in the process what depends on private rows: {listed(sorted(steady))}")


def _changes_of_process(case: AuditCase, fit: Callable[[Any], Any], data: Any) -> dict[str, Counter[Any]]:
    before: State = process_state(case.estimator)
    fit(data)
    gc.collect()
    return changes_by_place(before, process_state(case.estimator))


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
    publishable_fit(case)
    fit = _repeatable_fit(case)
    written = []
    planted, values = _planted(case)
    fit(case.data_sets[0])
    for data in (case.data_sets[0], case.data_sets[0], planted):
        with watched_files() as files:
            fit(data)
        require(
            not files.elsewhere, f"a fit uses {', '.join(sorted(set(files.elsewhere)))}: nobody can look in"
        )
        written.append(files.contents)
    told = any(
        bytes_hold_any(content, values) or text_shows_any(content.decode("latin-1"), values)
        for content in written[2]
    )
    require(not told, "a file that a fit wrote holds a private value")
    # Of files that hold a time, no two are alike.
    depends = len(written[0]) == len(written[1]) != len(written[2]) or any(
        one == again != other for one, again, other in zip(*written, strict=False)
    )
    require(not depends, "a file that a fit wrote depends on private rows")


def _planted(case: AuditCase) -> tuple[Any, list[float]]:
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
    publishable_fit(case)
    if case.relation == "label":
        raise NotApplicable("features are not protected, and a label stands in many places")
    planted, values = _planted(case)
    if not values:
        raise NotApplicable("fit takes no table of floats, or of cells")
    # Negated: the numbers themselves must not be found here.
    hidden = [-value for value in {values[0], values[-1]}]
    with contextlib.suppress(Exception):
        case.fit(planted)
    del planted, values
    left = objects_holding(hidden)
    require(not left, f"a private value is left in the process: {listed(sorted(set(left)))}")
