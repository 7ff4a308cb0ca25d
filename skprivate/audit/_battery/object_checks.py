# SPDX-License-Identifier: BSD-3-Clause
"""Checks of all that a fit leaves: what the object shows, and what stays in the process and on the disk."""

import contextlib
import gc
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ...accounting import PrivacyLedger
from .._neighbours import AuditCase, domain_of_X, domain_of_y
from .._observation.object_views import views_of_a_fit
from .._observation.object_walk import Leaves, same_leaf
from .._observation.process_state import State, process_state, survivors, watching_files, what_a_fit_changed
from .._search.data_set_walks import Row, filled
from .._search.deadline import Budget
from .limits import NotApplicable
from .message_checks import keeps, tells
from .release_checks import exact_differences, require, some, spent_of
from .replay import Replayed, replayed

# Share of the range of a column at which a value is planted that nothing else has.
_SHARES = 0.3, 0.7
_SYSTEM = random.SystemRandom()
# Processor seconds for other rows, after the first ones.
_SECONDS = {False: 1.0, True: 10.0}
# Fits on either data set after which what is always in one text and never in the other is no chance.
_MOST_FITS = 12
_TOKEN = re.compile(r"[\w.+-]+")


def leaves_the_room(case: AuditCase) -> Any:
    """Return a fitted object that may be published; skips where it stays with its owner."""
    model = case.fit(0)
    if not getattr(model, "releases_state", True):
        raise NotApplicable(
            "releases_state is False: the object holds private rows and is never to be published"
        )
    return model


def check_views(case: AuditCase) -> None:
    """Whatever the object shows (texts, state, names, outputs, properties) is the same for other rows.

    Where the outputs of the noise can be handed out again, they are. Else what is the same in every fit of
    one data set must be so on its neighbours.
    """
    leaves_the_room(case)
    replay = replayed(case)
    if replay is None:
        _compare_views_of_random_fits(case)
        return
    first = replay.views(case.data_sets[0])
    again = replay.views(case.data_sets[0])
    budget = Budget(_SECONDS[case.thorough])
    for data in replay.others():
        if budget.is_spent:
            return
        other = replay.views(data)
        if other is None or first is None or again is None:
            continue
        paths = [path for path in _different(first, other) if path not in set(_different(first, again))]
        require(not paths, f"what is shown tells of private rows: {some(paths)}")
        loose = set(_different(first, again)) & first.keys() & other.keys()
        _compare_texts(replay, data, sorted(path for path in loose if isinstance(first[path], str)))


def _different(one: Leaves, other: Leaves) -> list[str]:
    missing = object()
    paths = one.keys() | other.keys()
    return sorted(path for path in paths if not same_leaf(one.get(path, missing), other.get(path, missing)))


def _compare_texts(replay: Replayed, data: Any, paths: list[str]) -> None:
    """A text that changes from fit to fit, an address in it say, may hold a word that tells."""
    if not paths:
        return
    mine, theirs = (dict.fromkeys(paths) for _ in range(2))
    sides: tuple[tuple[Any, dict[str, Any]], ...] = ((replay.case.data_sets[0], mine), (data, theirs))
    for _ in range(_MOST_FITS):
        for rows, always in sides:
            views = replay.views(rows) or Leaves()
            for path in paths:
                words = set(_TOKEN.findall(str(views.get(path, ""))))
                always[path] = words if always[path] is None else always[path] & words
    told = [path for path in paths if mine[path] != theirs[path]]
    require(not told, f"a word in what is shown tells of private rows: {some(told)}")


def _compare_views_of_random_fits(case: AuditCase) -> None:
    def look(data: Any) -> Leaves:
        return views_of_a_fit(case.fit(data), case.data_sets[0])

    mine = [look(case.data_sets[0]) for _ in range(3)]
    for data in case.data_sets[1:3]:
        found = exact_differences(case, mine, data, look)
        require(not found, f"what is shown tells of private rows: {some(sorted(found))}")


def check_process(case: AuditCase) -> None:
    """A fit changes nothing in its class, its module or the process that depends on private rows."""
    leaves_the_room(case)
    fit = _fitter(case)
    others = [data for data in (*case.unrelated_data_sets, *case.data_sets[1:]) if _is_new(data, case)][:2]
    if not others:
        raise NotApplicable("the case has one data set alone")
    for _ in range(2):
        fit(case.data_sets[0])  # what fills once is full then
    usual = [_changes(case, fit, case.data_sets[0]) for _ in range(2)]
    fresh = [_changes(case, fit, data) for data in others]
    steady = {
        place
        for place in set().union(*usual, *fresh)
        if usual[0].get(place) == usual[1].get(place)
        and all(one.get(place) != usual[0].get(place) for one in fresh)
    }
    require(not steady, f"a fit leaves in the process what depends on private rows: {some(sorted(steady))}")


def _is_new(data: Any, case: AuditCase) -> bool:
    return data is not case.data_sets[0]


def _changes(case: AuditCase, fit: Callable[[Any], Any], data: Any) -> dict[str, Counter[Any]]:
    before: State = process_state(case.estimator)
    fit(data)
    gc.collect()
    return what_a_fit_changed(before, process_state(case.estimator))


def _fitter(case: AuditCase) -> Callable[[Any], Any]:
    """Return what fits with the same noise, where it can be repeated."""
    replay = replayed(case)
    script = None if replay is None else replay.script

    def fit(data: Any) -> Any:
        with contextlib.suppress(Exception):
            return case.record(data, script)[0]
        return None

    return fit


def check_files(case: AuditCase) -> None:
    """A fit writes nothing about private rows to a file, and talks to no network and no other program."""
    leaves_the_room(case)
    fit = _fitter(case)
    written = []
    planted, values = _planted(case)
    fit(case.data_sets[0])
    for data in (case.data_sets[0], case.data_sets[0], planted):
        with watching_files() as files:
            fit(data)
        require(
            not files.elsewhere, f"a fit uses {', '.join(sorted(set(files.elsewhere)))}: nobody can look in"
        )
        written.append(files.contents)
    told = any(keeps(content, values) or tells(content.decode("latin-1"), values) for content in written[2])
    require(not told, "a file that a fit wrote holds a private value")
    # Of files that hold a time, no two are alike.
    depends = len(written[0]) == len(written[1]) != len(written[2]) or any(
        one == again != other for one, again, other in zip(*written, strict=False)
    )
    require(not depends, "a file that a fit wrote depends on private rows")


def _planted(case: AuditCase) -> tuple[Any, list[float]]:
    """Return the data set in which every private row holds values that nothing else has, and these."""
    rows = case.data_sets[0]
    if not (isinstance(rows, dict) and "X" in rows) or np.asarray(rows["X"]).dtype.kind != "f":
        return (case.unrelated_data_sets or case.data_sets)[-1], []
    lower, upper = domain_of_X(case.estimator, np.shape(rows["X"])[1])
    # Other values in every run: one that an earlier run found left behind is not this one's.
    share = _SYSTEM.uniform(*_SHARES)
    X = lower + share * (upper - lower)
    if case.relation == "label":
        return case.data_sets[-1], []
    if rows.get("y") is None or is_classifier(case.estimator) or np.asarray(rows["y"]).dtype.kind != "f":
        return filled(rows, Row(X)), [float(value) for value in X]
    low, *_, high = domain_of_y(case.estimator)
    target = low + share**2 * (high - low)
    return filled(rows, Row(X, target)), [*(float(value) for value in X), target]


def check_nothing_survives(case: AuditCase) -> None:
    """When the fitted object is gone, no private value is left anywhere in the process."""
    leaves_the_room(case)
    if case.relation == "label":
        raise NotApplicable("features are not protected, and a label stands in many places")
    planted, values = _planted(case)
    if not values:
        raise NotApplicable("fit takes no table of floats")
    # Negated: the numbers themselves must not be found here.
    hidden = [-value for value in {values[0], values[-1]}]
    with contextlib.suppress(Exception):
        case.fit(planted)
    del planted, values
    left = survivors(hidden)
    require(not left, f"a private value is left in the process: {some(sorted(set(left)))}")


def check_ledger_entries(case: AuditCase) -> None:
    """What a fit writes into the ledger depends on no private row."""
    spent_of(case.fit(0))
    if not case.has("ledger"):
        raise NotApplicable("has no parameter ledger")
    replay = replayed(case)
    others = case.data_sets[1:2] if replay is None else list(replay.others())[:4]
    first = _entries(case, replay, case.data_sets[0])
    for data in others:
        entries = _entries(case, replay, data)
        require(entries == first, "what a fit writes into the ledger tells of private rows")


def _entries(case: AuditCase, replay: Replayed | None, data: Any) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        ledger = PrivacyLedger(Path(folder, "audit.ledger"))
        case.record(data, None if replay is None else replay.script, ledger=ledger)
        return [repr({**vars(entry), "time": None}) for entry in ledger.entries()]


def check_fit_then_use(case: AuditCase) -> None:
    """``fit_transform`` and ``fit_predict`` give what ``fit`` and then ``transform`` or ``predict`` give."""
    leaves_the_room(case)
    replay = replayed(case)
    if replay is None or "X" not in case.data_sets[0]:
        raise NotApplicable("the noise of two fits cannot be made the same")
    rows = case.data_sets[0]
    for both, use in (("fit_transform", "transform"), ("fit_predict", "predict")):
        if hasattr(case.estimator, both) and hasattr(case.estimator, use):
            direct = replay.call(both, rows)
            model = case.record(rows, replay.script)[0]
            same = same_leaf(np.asarray(direct), np.asarray(getattr(model, use)(rows["X"])))
            require(same, f"{both} gives something else than fit and {use}")


CHECKS: tuple[Callable[[AuditCase], None], ...] = (
    check_views,
    check_process,
    check_files,
    check_nothing_survives,
    check_ledger_entries,
    check_fit_then_use,
)
