# SPDX-License-Identifier: BSD-3-Clause
"""Checks of what a fitted estimator states: what was spent, numbers of rows, unpaid steps."""

from collections.abc import Iterator
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ....base import PrivateEstimatorMixin, privacy_report
from ..._cases.case import AuditCase, fit_quietly
from ..._cases.domain import declared
from ..._cases.units import is_column, private_rows, unit_of
from ..._observation.flat_objects import FlatObject
from ..comparisons import exact_differences
from ..requirements import (
    NotApplicable,
    claim_of_fit,
    listed,
    makes_no_claim,
    name_of,
    published_state,
    require,
)

# What a number of rows in privacy_spent_.unprotected is; NumPy's, where the statement is not ours.
_NUMBERS = (int, np.integer)


def check_privacy_spent(case: AuditCase) -> None:
    """The fitted estimator says what it spent, or which risk is left, and claims no more than was asked."""
    model = case.fit(0)
    spent: Any = getattr(model, "privacy_spent_", None)
    if hasattr(model, "disclosure_risk_") or makes_no_claim(model):
        require(spent is None, "a disclosure risk, or no claim at all, and an epsilon contradict each other")
        return
    require(spent is not None, f"{name_of(case)} has no privacy_spent_: nothing says what a fit spent")
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
        require(spent.relation == asked_relation, "privacy_spent_ states another relation than was asked for")


def check_number_of_rows(case: AuditCase) -> None:
    """Where one more row shows, ``privacy_spent_.unprotected`` declares the number; else it shows nowhere."""
    rows = case.data_sets[0]
    if "X" not in rows:
        raise NotApplicable("fit takes no rows")
    model = case.fit(0)
    claim_of_fit(case, model)
    spent = getattr(model, "privacy_spent_", None)
    stated = {value for value in getattr(spent, "unprotected", {}).values() if isinstance(value, _NUMBERS)}
    known = {len(rows["X"]), int(private_rows(rows).sum()), n_units(rows)}
    if known & stated and getattr(spent, "relation", None) != "add-remove":
        return

    def look(data: Any) -> FlatObject:
        return published_state(case, case.fit(data))

    mine = [look(rows) for _ in range(3)]
    paths = exact_differences(case, mine, with_one_more(rows), look)
    require(not paths, f"shows the number of rows and does not declare it: {listed(sorted(paths))}")


def n_units(rows: dict[str, Any]) -> int:
    """Number of private units."""
    private = private_rows(rows)
    return len(np.unique(np.asarray(rows["groups"])[private])) if "groups" in rows else int(private.sum())


def with_one_more(rows: dict[str, Any]) -> dict[str, Any]:
    """Return the data set with one more unit, like the last one."""
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
    """Nothing inside the fitted object read rows without paying; in front of it, it is named."""
    model = case.fit(0)
    if not getattr(model, "releases_state", True):
        raise NotApplicable("releases_state is False: privacy_report says that it holds rows")
    report = privacy_report(model)
    unpaid = [str(step) for step in report.unpaid if step.path != "estimator"]
    inner = [f"{name} ({type(one).__name__})" for name, one in fitted_inside(model)]
    require(not unpaid, f"steps that read rows without paying: {'; '.join(unpaid)}")
    require(not inner, f"estimators inside that read rows without paying: {', '.join(inner)}")
    rows = {name: value for name, value in case.data_sets[0].items() if name in ("X", "y")}
    # Cells must stay cells.
    numbers = np.asarray(rows["X"]).dtype.kind != "O"
    step = StandardScaler() if numbers else SimpleImputer(strategy="most_frequent")
    behind = fit_quietly(Pipeline([("step", step), ("model", case.make())]), rows)
    named = {step.estimator for step in privacy_report(behind).unpaid}
    front = type(step).__name__
    require(front in named, f"a {front} in front is not named by privacy_report")


def fitted_inside(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield fitted estimators on a private one that are neither private nor known to learn nothing."""
    if not isinstance(model, PrivateEstimatorMixin):
        return
    for name, value in vars(model).items():
        if isinstance(value, BaseEstimator) and name.endswith("_") and privacy_report(value).unpaid:
            yield name, value
