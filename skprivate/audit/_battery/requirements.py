# SPDX-License-Identifier: BSD-3-Clause
"""What checks require of an estimator: facts that must hold, statements to read, and when to skip a check."""

import pickle
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest import SkipTest

import numpy as np

from ...base import StatelessMixin
from ...utils._public_module import reason_against
from .._cases.case import AuditCase
from .._observation.flat_objects import FlatObject, differing_paths, fitted_state
from .._search.search import SearchResult, search_neighbours

# A right estimator fails a check that repeats random fits with a probability below this.
FALSE_ALARM = 1e-9


def require(fact: Any, message: str) -> None:
    """Fail a check, with a message that shows no value of the data."""
    if not fact:
        raise AssertionError(message)


def name_of(case: AuditCase) -> str:
    """Return the estimator's class."""
    return type(case.estimator).__name__


def spent_of(model: Any) -> Any:
    """Return the statement of a fitted estimator; skips a check that needs one where there is none."""
    spent = getattr(model, "privacy_spent_", None)
    if spent is None and hasattr(model, "disclosure_risk_"):
        raise NotApplicable("states a disclosure risk and no epsilon: it is not differentially private")
    if spent is None and makes_no_claim(model):
        raise NotApplicable(
            "claims no privacy: it learns nothing from rows, or holds them and must not leave"
        )
    if spent is None:
        raise NotApplicable("has no privacy_spent_, see check_privacy_spent")
    return spent


def has_cells(rows: Any) -> bool:
    """Whether arguments of ``fit`` hold a table of floats, or of cells of several types."""
    return isinstance(rows, dict) and "X" in rows and np.asarray(rows["X"]).dtype.kind in "fO"


def makes_no_claim(model: Any) -> bool:
    """Whether an estimator promises by itself to learn nothing, or says that it holds rows."""
    stays = getattr(model, "releases_state", True) is False and not hasattr(model, "privacy_spent_")
    return stays or (isinstance(model, StatelessMixin) and reason_against(model, "StatelessMixin") is None)


@dataclass(frozen=True)
class Claim:
    """What is claimed of a fit: as stated, or, where nothing is stated, as asked for."""

    epsilon: Fraction | float
    rho: Fraction | None = None
    delta: float = 0.0


def claim_of_fit(case: AuditCase, model: Any) -> Claim:
    """Return what a fit claims; skips where no epsilon is claimed."""
    spent = getattr(model, "privacy_spent_", None)
    if spent is None and case.has("epsilon"):
        asked = case.estimator.get_params(deep=False)
        return Claim(asked["epsilon"], delta=float(asked.get("delta") or 0.0))
    spent = spent_of(model)
    return Claim(spent.epsilon, getattr(spent, "rho", None), float(getattr(spent, "delta", 0.0)))


def published_state(case: AuditCase, model: Any) -> FlatObject:
    """Return everything that leaves: the fitted object, or, where that stays, what the case names."""
    if not getattr(model, "releases_state", True):
        if case.released is not None:
            return FlatObject({"released": np.asarray(case.released(model))})
        raise NotApplicable(
            "releases_state is False: the object holds private rows and is never to be published"
        )
    return fitted_state(model)


def recorded_search(case: AuditCase) -> SearchResult:
    """Return what fits on neighbours with the same outputs showed; skips where they cannot be handed out."""
    if not case.can_be_recorded:
        raise NotApplicable("keeps the best of several draws, so what is recorded is not what is released")
    found = search_neighbours(case)
    if found.drawn_in_other_threads:
        raise NotApplicable("noise was drawn in other threads, where it is not recorded")
    if found.pair is None and not found.differing_releases:
        raise NotApplicable("no noise came from skprivate's mechanisms, so outputs cannot be recorded")
    if found.noise_is_added_elsewhere:
        raise NotApplicable("its mechanisms are handed nothing private, so what is released is not recorded")
    return found


def pickle_or_none(value: Any) -> bytes | None:
    """Return a pickle; None of what has none: a class of a function, or a lock inside."""
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


def listed(paths: list[str]) -> str:
    """Return a few paths, and how many there are."""
    more = f" and {len(paths) - 5} more" if len(paths) > 5 else ""
    return ", ".join(paths[:5]) + more


class NotApplicable(SkipTest):
    """A check does not apply; what estimators raise themselves is no reason to skip one."""

    status = "skipped"


class TooWeakToTell(NotApplicable):
    """The data or the noise are such that a right estimator could fail; the message says what is enough."""

    status = "too weak"


def randomised_fit(case: AuditCase) -> Any:
    """Return a fitted model; skips where fits are not meant to be random."""
    model = case.fit(0)
    claim_of_fit(case, model)
    mine = published_state(case, model)
    if case.unrelated_data_sets and not any(
        differing_paths(mine, published_state(case, case.fit(d))) for d in case.unrelated_data_sets
    ):
        raise NotApplicable("releases the same, whatever the rows are: there is nothing to hide")
    return model


def publishable_fit(case: AuditCase) -> Any:
    """Return a fitted object that may be published; skips where it stays with its owner."""
    model = case.fit(0)
    if not getattr(model, "releases_state", True):
        raise NotApplicable(
            "releases_state is False: the object holds private rows and is never to be published"
        )
    return model
