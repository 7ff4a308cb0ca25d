# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the privacy ledger: what is charged, when, and what is written."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from joblib import parallel_config
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from ....accounting import PrivacyLedger
from ....exceptions import BudgetExceededError
from ..._cases.case import AuditCase, fit_quietly, fit_with
from ..._observation.flat_objects import differing_paths, fitted_state
from ..._observation.recorder import record_releases
from ..replay import ReplayedCase, replayed_case
from ..requirements import NotApplicable, TooWeakToTell, require, spent_of

_FOLDS = 2


@contextmanager
def ledger_of(case: AuditCase, **options: Any) -> Iterator[PrivacyLedger]:
    """Yield a ledger in a folder of its own; skips where the estimator takes none."""
    spent_of(case.fit(0))
    if not case.has("ledger"):
        raise NotApplicable("has no parameter ledger")
    with tempfile.TemporaryDirectory() as folder:
        yield PrivacyLedger(Path(folder, "audit.ledger"), **options)


def check_refit_spends_again(case: AuditCase) -> None:
    """Every fit of one object is charged, before noise is drawn; a refusal changes nothing."""
    with ledger_of(case) as ledger:
        model = case.make(ledger=ledger)
        cost = case.fit(0, model).privacy_spent_.epsilon
        require(ledger.spent()[0] == cost, "the ledger was not charged what privacy_spent_ states")
        case.fit(0, model)
        require(ledger.spent()[0] == 2 * cost, "fitting again is not charged: an unpaid refit")
    with ledger_of(case, epsilon=cost, delta=model.privacy_spent_.delta) as ledger:
        model = case.fit(0, case.make(ledger=ledger))
        before = fitted_state(model)
        try:
            with (case.recorder or record_releases)(None) as recording:
                case.fit(0, model)
        except BudgetExceededError:
            require(not recording.calls, "noise was drawn before the ledger was asked")
            require(not differing_paths(before, fitted_state(model)), "a refused fit changed the object")
            return
    raise AssertionError("a fit beyond the ledger's ceiling went through")


def check_partial_fit_spends(case: AuditCase) -> None:
    """Every call of ``partial_fit`` that draws noise is charged."""
    rows = case.data_sets[0]
    with ledger_of(case) as ledger:
        if not hasattr(case.estimator, "partial_fit"):
            raise NotApplicable("has no partial_fit")
        model = case.make(ledger=ledger)
        for call in range(1, 3):
            with (case.recorder or record_releases)(None) as recording:
                fit_with(model, rows, "partial_fit")
            paid = len(ledger.entries()) == call
            require(paid or not recording.calls, "partial_fit draws noise that is not charged")


def check_ledger_total(case: AuditCase) -> None:
    """A ledger counts every fit of clones, pipelines and searches, in threads and in other processes."""
    rows = {name: value for name, value in case.data_sets[0].items() if name in ("X", "y")}
    if "X" not in rows:
        raise NotApplicable("fit takes no rows")
    for wrap in (clone, lambda model: Pipeline([("rows", FunctionTransformer()), ("model", model)])):
        with ledger_of(case) as ledger:
            fit_quietly(wrap(case.make(ledger=ledger)), rows)
            require(len(ledger.entries()) == 1, "a clone or a pipeline is not charged")
    if not hasattr(case.estimator, "score"):
        return
    if len(rows["X"]) < _FOLDS:
        raise TooWeakToTell(f"a search takes {_FOLDS} rows or more")
    for backend in ("threading", "loky"):
        with ledger_of(case) as ledger, parallel_config(backend=backend):
            search = GridSearchCV(case.make(ledger=ledger), {"ledger": [ledger]}, cv=_FOLDS, n_jobs=2)
            fit_quietly(search, rows)
            cost = search.best_estimator_.privacy_spent_.epsilon
            entries = ledger.entries()
            require(len(entries) == 3, f"a search of 3 fits wrote {len(entries)} entries ({backend})")
            require(sum(entry.epsilon for entry in entries) == 3 * cost, "a search was not charged in full")


def check_ledger_entries(case: AuditCase) -> None:
    """What a fit writes into the ledger depends on no private row."""
    spent_of(case.fit(0))
    if not case.has("ledger"):
        raise NotApplicable("has no parameter ledger")
    replay = replayed_case(case)
    others = case.data_sets[1:2] if replay is None else list(replay.others())[:4]
    first = _entries(case, replay, case.data_sets[0])
    for data in others:
        entries = _entries(case, replay, data)
        require(entries == first, "what a fit writes into the ledger tells of private rows")


def _entries(case: AuditCase, replay: ReplayedCase | None, data: Any) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        ledger = PrivacyLedger(Path(folder, "audit.ledger"))
        case.record(data, None if replay is None else replay.given_outputs, ledger=ledger)
        return [repr({**vars(entry), "time": None}) for entry in ledger.entries()]
