# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the statements of a fitted estimator and of the charges of a ledger."""

import functools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.base import BaseEstimator, clone
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ...accounting import PrivacyLedger
from ...base import PrivateEstimatorMixin, privacy_report
from ...exceptions import BudgetExceededError
from .._cases import AuditCase, declared, fit_quietly, fit_with, is_column, private_rows, unit_of
from .._observation.fitted_objects import differing_paths, fitted_state
from .._observation.recorder import record_releases
from .requirements import (
    NotApplicable,
    ReplayedCase,
    TooWeakToTell,
    claim_of_fit,
    makes_no_claim,
    name_of,
    published_of_fit,
    replayed_case,
    require,
    require_no_exact_differences,
    spent_of,
)

# Checks of the statements of a fitted estimator: spent budget, numbers of rows, uncovered steps.

# Types of a number of rows in privacy_spent_.unprotected; statements of third parties may have NumPy's.
_NUMBERS = (int, np.integer)


def check_privacy_spent(case: AuditCase) -> None:
    """The fitted estimator states its spent budget or its remaining risk, within the request."""
    model = case.fit(0)
    spent: Any = getattr(model, "privacy_spent_", None)
    if hasattr(model, "disclosure_risk_") or makes_no_claim(model):
        require(spent is None, "a disclosure risk, or no claim at all, and an epsilon contradict each other")
        return
    require(spent is not None, f"{name_of(case)} has no privacy_spent_: nothing states the spent budget")
    for field in ("epsilon", "delta", "relation", "unit", "deployment", "claim", "reasons", "unprotected"):
        require(hasattr(spent, field), f"privacy_spent_ has no {field}")
    require(spent.claim == "dp", "a fit with its domain declared and no seed does not claim to be private")
    if case.has("epsilon"):
        asked = Fraction(case.estimator.epsilon)
        require(0 < spent.epsilon <= asked, "privacy_spent_.epsilon exceeds the request")
    asked_delta = declared(case.estimator, "delta")
    if isinstance(asked_delta, Real):
        require(spent.delta <= asked_delta, "privacy_spent_.delta exceeds the request")
    asked_relation = declared(case.estimator, "relation")
    if isinstance(asked_relation, str):
        require(spent.relation == asked_relation, "privacy_spent_ states another relation than requested")


def check_number_of_rows(case: AuditCase) -> None:
    """The number of rows shows nowhere, unless ``privacy_spent_.unprotected`` declares it."""
    rows = case.data_sets[0]
    if "X" not in rows:
        raise NotApplicable("fit takes no rows")
    model = case.fit(0)
    claim_of_fit(case, model)
    spent = getattr(model, "privacy_spent_", None)
    stated = {value for value in getattr(spent, "unprotected", {}).values() if isinstance(value, _NUMBERS)}
    private = private_rows(rows)
    known = {len(rows["X"]), int(private.sum())}
    if "groups" in rows:
        known.add(len(np.unique(np.asarray(rows["groups"])[private])))
    if known & stated and getattr(spent, "relation", None) != "add-remove":
        return

    look = functools.partial(published_of_fit, case)
    message = "shows the number of rows and does not declare it"
    require_no_exact_differences(case, [with_one_more(rows)], look, message)


def with_one_more(rows: dict[str, Any]) -> dict[str, Any]:
    """Return the data set with one more unit, equal to the last one."""
    unit = unit_of(rows)
    longer = {}
    for name, value in rows.items():
        if not is_column(value, rows):
            longer[name] = value
            continue
        column = np.asarray(value)
        more = column[unit]
        if name == "groups":
            more = np.full(len(unit), np.max(column) + 1) if column.dtype.kind in "iuf" else more
        longer[name] = np.concatenate([column, more])
    return longer


def check_pipeline_steps(case: AuditCase) -> None:
    """No step inside the fitted object read rows outside the budget; a step in front of it is reported."""
    model = case.fit(0)
    if not getattr(model, "releases_state", True):
        raise NotApplicable("releases_state is False: privacy_report reports that it holds rows")
    report = privacy_report(model)
    uncovered = [str(step) for step in report.uncovered if step.path != "estimator"]
    # Fitted estimators inside a private one that are neither private nor known to learn nothing.
    inside = vars(model).items() if isinstance(model, PrivateEstimatorMixin) else ()
    inner = [
        f"{name} ({type(one).__name__})"
        for name, one in inside
        if isinstance(one, BaseEstimator) and name.endswith("_") and privacy_report(one).uncovered
    ]
    require(not uncovered, f"steps that read rows outside the budget: {'; '.join(uncovered)}")
    require(not inner, f"inner estimators that read rows outside the budget: {', '.join(inner)}")
    rows = {name: value for name, value in case.data_sets[0].items() if name in ("X", "y")}
    # Cells must stay cells.
    numbers = np.asarray(rows["X"]).dtype.kind != "O"
    step = StandardScaler() if numbers else SimpleImputer(strategy="most_frequent")
    behind = fit_quietly(Pipeline([("step", step), ("model", case.make())]), rows)
    named = {step.estimator for step in privacy_report(behind).uncovered}
    front = type(step).__name__
    require(front in named, f"a {front} in front is not named by privacy_report")


# Checks of the privacy ledger: its charges, their times and its entries.

# The fewest that a search can have.
_FOLDS = 2


@contextmanager
def ledger_of(case: AuditCase, **options: Any) -> Iterator[PrivacyLedger]:
    """Yield a ledger in its own folder; skip the check if the estimator takes no ledger."""
    _require_ledger(case)
    with tempfile.TemporaryDirectory() as folder:
        yield PrivacyLedger(Path(folder, "audit.ledger"), **options)


def _require_ledger(case: AuditCase) -> None:
    spent_of(case.fit(0))
    if not case.has("ledger"):
        raise NotApplicable("has no parameter ledger")


def check_refit_spends_again(case: AuditCase) -> None:
    """Every fit of one object is charged, before noise is drawn; a refusal changes nothing."""
    with ledger_of(case) as ledger:
        model = case.make(ledger=ledger)
        cost = case.fit(0, model).privacy_spent_.epsilon
        require(ledger.spent()[0] == cost, "the ledger was not charged what privacy_spent_ states")
        case.fit(0, model)
        require(ledger.spent()[0] == 2 * cost, "fitting again is not charged")
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
            charged = len(ledger.entries()) == call
            require(charged or not recording.calls, "partial_fit draws noise that is not charged")


def check_ledger_total(case: AuditCase) -> None:
    """A ledger counts all fits of clones, pipelines and searches, in threads and in other processes."""
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
    """The entry of a fit in the ledger depends on no private row."""
    _require_ledger(case)
    replay = replayed_case(case)
    others = case.data_sets[1:2] if replay is None else list(replay.others())[:4]
    first = _entries(case, replay, case.data_sets[0])
    for data in others:
        entries = _entries(case, replay, data)
        require(entries == first, "the entry of a fit in the ledger depends on private rows")


def _entries(case: AuditCase, replay: ReplayedCase | None, data: Any) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        ledger = PrivacyLedger(Path(folder, "audit.ledger"))
        case.record(data, None if replay is None else replay.given_outputs, ledger=ledger)
        return [repr({**vars(entry), "time": None}) for entry in ledger.entries()]
