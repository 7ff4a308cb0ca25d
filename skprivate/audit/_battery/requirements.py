# SPDX-License-Identifier: BSD-3-Clause
"""Shared parts of checks: requirements, statements, comparisons of repeated fits, and replays of a fit."""

import math
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest import SkipTest

import numpy as np

from ...base import StatelessMixin
from ...utils._public_module import reason_against
from .._cases import AuditCase, fit_with, n_rows_of
from .._observation.fitted_objects import (
    FlatObject,
    differing_paths,
    fitted_state,
    same_value,
    visible_values,
)
from .._observation.recorder import frozen_randomness, record_releases
from .._search import Outputs, SearchResult, search_neighbours

# Requirements of checks: facts that must hold, statements to read, and reasons to skip a check.

# A right estimator fails a check of repeated random fits with a probability below this; set by hand.
FALSE_ALARM = 1e-9


def require(fact: Any, message: str) -> None:
    """Fail a check, with a message that shows no value of the data."""
    if not fact:
        raise AssertionError(message)


def name_of(case: AuditCase) -> str:
    """Return the estimator's class."""
    return type(case.estimator).__name__


def spent_of(model: Any) -> Any:
    """Return the statement of a fitted estimator; skip the check if there is none."""
    spent = getattr(model, "privacy_spent_", None)
    if spent is not None:
        return spent
    if hasattr(model, "disclosure_risk_"):
        raise NotApplicable("states a disclosure risk and no epsilon: it is not differentially private")
    if makes_no_claim(model):
        raise NotApplicable(
            "claims no privacy: it learns nothing from rows, or holds them and must not be published"
        )
    raise NotApplicable("has no privacy_spent_, see check_privacy_spent")


def require_cells(rows: Any) -> None:
    """Skip the check if the arguments of ``fit`` hold no table of floats or of cells of several types."""
    if not has_cells(rows):
        raise NotApplicable("fit takes no table of floats, or of cells")


def has_cells(rows: Any) -> bool:
    """Return whether arguments of ``fit`` hold a table of floats, or of cells of several types."""
    return isinstance(rows, dict) and "X" in rows and np.asarray(rows["X"]).dtype.kind in "fO"


def makes_no_claim(model: Any) -> bool:
    """Return whether an estimator declares that it learns nothing, or that it holds rows."""
    stays = getattr(model, "releases_state", True) is False and not hasattr(model, "privacy_spent_")
    return stays or (isinstance(model, StatelessMixin) and reason_against(model, "StatelessMixin") is None)


@dataclass(frozen=True)
class Claim:
    """The claim of a fit: as stated, or as requested if nothing is stated."""

    epsilon: Fraction | float
    rho: Fraction | None = None
    delta: float = 0.0


def claim_of_fit(case: AuditCase, model: Any) -> Claim:
    """Return the claim of a fit; skip the check if no epsilon is claimed."""
    spent = getattr(model, "privacy_spent_", None)
    if spent is None and case.has("epsilon"):
        asked = case.estimator.get_params(deep=False)
        return Claim(asked["epsilon"], delta=float(asked.get("delta") or 0.0))
    spent = spent_of(model)
    return Claim(spent.epsilon, getattr(spent, "rho", None), float(getattr(spent, "delta", 0.0)))


def published_state(case: AuditCase, model: Any) -> FlatObject:
    """Return all released values: the fitted object, or `released` of the case if the object stays."""
    if not getattr(model, "releases_state", True) and case.released is not None:
        return FlatObject({"released": np.asarray(case.released(model))})
    return fitted_state(publishable(model))


def recorded_claim(case: AuditCase) -> Any:
    """Return the statement of a fit with recorded noise; skip the check if either is missing."""
    claim = spent_of(case.fit(0))
    recorded_search(case)
    return claim


def recorded_search(case: AuditCase) -> SearchResult:
    """Return the result of fits on neighbours with the same outputs; skip if outputs cannot be replayed."""
    if not case.can_be_recorded:
        raise NotApplicable("keeps the best of several draws, so the recorded draws are not the releases")
    found = search_neighbours(case)
    if found.drawn_in_other_threads:
        raise NotApplicable("noise was drawn in other threads, where it is not recorded")
    if found.pair is None and not found.differing_releases:
        raise NotApplicable("no noise came from skprivate's mechanisms, so outputs cannot be recorded")
    if found.noise_is_added_elsewhere:
        raise NotApplicable("its mechanisms receive nothing private, so its releases are not recorded")
    return found


def pickle_or_none(value: Any) -> bytes | None:
    """Return a pickle; None if there is none, as for a class inside a function, or an object with a lock."""
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


def listed(paths: list[str]) -> str:
    """Return the first paths, and the number of the others."""
    more = f" and {len(paths) - 5} more" if len(paths) > 5 else ""
    return ", ".join(paths[:5]) + more


class NotApplicable(SkipTest):
    """A check does not apply. A SkipTest that an estimator raises itself is no reason to skip a check."""

    status = "skipped"


class TooWeakToTell(NotApplicable):
    """With these data or this noise a right estimator could fail; the message names what would be enough."""

    status = "too weak"


def randomised_fit(case: AuditCase) -> Any:
    """Return a fitted model; skip the check if fits need not be random."""
    model = case.fit(0)
    claim_of_fit(case, model)
    mine = published_state(case, model)
    if case.unrelated_data_sets and not any(
        differing_paths(mine, published_of_fit(case, data)) for data in case.unrelated_data_sets
    ):
        raise NotApplicable("releases the same values for all rows: there is nothing to protect")
    return model


def publishable(model: Any) -> Any:
    """Return a fitted object that may be published; skip the check if it stays with its owner."""
    if not getattr(model, "releases_state", True):
        raise NotApplicable(
            "releases_state is False: the object holds private rows and must never be published"
        )
    return model


# Comparisons of repeated fits: values that depend on the data set alone, and values that noise changes.

# A function that fits on a data set and returns the values to compare.
ReadState = Callable[[Any], FlatObject]
# Largest number of repeated fits on one data set; and number of fits if even these cannot rule out chance.
# Both are set by hand.
_MOST_REPEATS, _FEW_REPEATS = 2000, 100
# Number of fits to find noisy numbers: noise that is 0 with probability 2/5 is always 0 with 1e-8.
_MOST_EQUAL = 20


def require_no_exact_differences(
    case: AuditCase, data_sets: Iterable[Any], look: ReadState, message: str
) -> None:
    """Fail if a value never changes on one data set, never changes on another one, and differs."""
    mine, *again = (look(case.data_sets[0]) for _ in range(3))
    changing = {path for one in again for path in differing_paths(mine, one) if path in mine}
    for data in data_sets:
        other = look(data)
        suspects = set(differing_paths(mine, other)) - changing
        found = _confirm(case, data, suspects, (mine, other), look) if suspects else suspects
        require(not found, f"{message}: {listed(sorted(found))}")


def _confirm(
    case: AuditCase, data: Any, suspects: set[str], first: tuple[FlatObject, FlatObject], look: ReadState
) -> set[str]:
    """Return the suspects that do not change on either data set."""
    missing = object()
    claim = getattr(case.fit(0), "privacy_spent_", case.estimator)
    # Number of fits on either data set that rules out chance.
    stay = -math.expm1(-float(getattr(claim, "epsilon", 1.0)))
    needed = math.ceil(math.log(FALSE_ALARM) / math.log(stay)) if stay < 1 else math.inf
    for _ in range(int(needed) if needed <= _MOST_REPEATS else _FEW_REPEATS):
        for rows, before in zip((case.data_sets[0], data), first, strict=True):
            now = look(rows)
            suspects = {p for p in suspects if same_value(now.get(p, missing), before.get(p, missing))}
        if not suspects:
            return suspects
    if needed > _MOST_REPEATS:
        raise TooWeakToTell(
            "at this epsilon values may stay the same in thousands of fits by chance: choose epsilon 1.5"
        )
    return suspects


def published_of_fit(case: AuditCase, data: Any) -> FlatObject:
    """Return all released values of a fit on a data set."""
    return published_state(case, case.fit(data))


def noisy_paths(case: AuditCase, model: Any) -> list[str]:
    """Return the paths of a fitted object that change between fits of the same rows.

    Little noise on integers often repeats itself: two fits alone would miss it.
    """
    mine = published_state(case, model)
    others = (published_of_fit(case, 0) for _ in range(_MOST_EQUAL))
    changing = {path for other in others for path in differing_paths(mine, other)}
    return [path for path in mine if path in changing]


# Fits that receive the outputs of one fit, for checks that compare whole objects.

# Number of data sets of chains for comparisons of whole objects, in addition to the case's; set by hand.
_MOST_SAMPLES = {False: 6, True: 40}


@dataclass(frozen=True, eq=False)
class ReplayedCase:
    """A case with the outputs of its first fit."""

    case: AuditCase
    given_outputs: Outputs

    def views(self, data: Any) -> FlatObject | None:
        """Return all visible values of a fit; None if it fails."""
        try:
            with frozen_randomness():
                model = self.case.record(data, self.given_outputs)[0]
        except Exception:
            return None
        with frozen_randomness():
            return visible_values(model, self.case.data_sets[0])

    def others(self) -> Iterator[Any]:
        """Yield other data sets: of the case, of unrelated rows, and of chains of neighbours."""
        case = self.case
        yield from (*case.unrelated_data_sets, *case.data_sets[1:])
        size = n_rows_of(case.data_sets[0])
        sampled = search_neighbours(case).sampled_data_sets[: _MOST_SAMPLES[case.thorough]]
        yield from (data for data in sampled if n_rows_of(data) == size or case.relation == "add-remove")

    def call(self, method: str, rows: Any) -> Any:
        """Return the result of a method that fits an unfitted copy."""
        with frozen_randomness(), (self.case.recorder or record_releases)(self.given_outputs):
            return fit_with(self.case.make(), rows, method)


def replayed_case(case: AuditCase) -> ReplayedCase | None:
    """Return the case with the outputs of its first fit; None if they cannot be replayed."""
    try:
        found = recorded_search(case)
    except NotApplicable:
        return None
    return None if found.differing_releases else ReplayedCase(case, case.record(case.data_sets[0])[1].outputs)
