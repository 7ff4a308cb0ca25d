# SPDX-License-Identifier: BSD-3-Clause
"""What checks share: requirements, statements, comparisons of repeated fits, and replays of a fit."""

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
from .._cases import AuditCase, n_rows_of
from .._observation.fitted_objects import (
    FlatObject,
    differing_paths,
    fitted_state,
    same_value,
    visible_values,
)
from .._observation.recorder import frozen_randomness, record_releases
from .._search import Outputs, SearchResult, search_neighbours

# What checks require of an estimator: facts that must hold, statements to read, and when to skip a check.

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
    if spent is not None:
        return spent
    if hasattr(model, "disclosure_risk_"):
        raise NotApplicable("states a disclosure risk and no epsilon: it is not differentially private")
    if makes_no_claim(model):
        raise NotApplicable(
            "claims no privacy: it learns nothing from rows, or holds them and must not leave"
        )
    raise NotApplicable("has no privacy_spent_, see check_privacy_spent")


def require_cells(rows: Any) -> None:
    """Skip a check of arguments of ``fit`` that hold no table of floats, or of cells of several types."""
    if not has_cells(rows):
        raise NotApplicable("fit takes no table of floats, or of cells")


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
    if not getattr(model, "releases_state", True) and case.released is not None:
        return FlatObject({"released": np.asarray(case.released(model))})
    return fitted_state(publishable(model))


def recorded_claim(case: AuditCase) -> Any:
    """Return the statement of a fit with recorded noise; skips where either is missing."""
    claim = spent_of(case.fit(0))
    recorded_search(case)
    return claim


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
        differing_paths(mine, published_of_fit(case, data)) for data in case.unrelated_data_sets
    ):
        raise NotApplicable("releases the same, whatever the rows are: there is nothing to hide")
    return model


def publishable(model: Any) -> Any:
    """Return a fitted object that may be published; skips where it stays with its owner."""
    if not getattr(model, "releases_state", True):
        raise NotApplicable(
            "releases_state is False: the object holds private rows and is never to be published"
        )
    return model


# Comparisons of repeated fits: values that follow from the data set alone, and values that noise changes.

# Fits on a data set, and returns what is compared.
ReadState = Callable[[Any], FlatObject]
# Fits that repeat one data set, at most; and those in which it is tried whether chance shows.
_MOST_REPEATS, _FEW_REPEATS = 2000, 100
# Fits in which a noisy number may stay the same: noise that is 0 with probability 2/5 does so in 1e-8.
_MOST_EQUAL = 20


def require_no_exact_differences(
    case: AuditCase, data_sets: Iterable[Any], look: ReadState, message: str
) -> None:
    """Fail where a value never changes on one data set, and never on another one, and differs."""
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
    """Return the suspects that stay the same on either data set."""
    missing = object()
    claim = getattr(case.fit(0), "privacy_spent_", case.estimator)
    # Fits of either data set after which chance is ruled out.
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
    """Return everything that leaves after a fit on a data set."""
    return published_state(case, case.fit(data))


def noisy_paths(case: AuditCase, model: Any) -> list[str]:
    """Return the paths of a fitted object that change between fits of the same rows.

    Little noise on integers often repeats itself: two fits alone would miss it.
    """
    mine = published_state(case, model)
    others = (published_of_fit(case, 0) for _ in range(_MOST_EQUAL))
    changing = {path for other in others for path in differing_paths(mine, other)}
    return [path for path in mine if path in changing]


# Fits that are handed the outputs of one fit, for checks that compare whole objects.

# Data sets of chains with which whole objects are compared, beside those of the case.
_MOST_SAMPLES = {False: 6, True: 40}


@dataclass(frozen=True, eq=False)
class ReplayedCase:
    """A case with the outputs of its first fit."""

    case: AuditCase
    given_outputs: Outputs

    def views(self, data: Any) -> FlatObject | None:
        """Return all that a fit shows; None if it fails."""
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
        """Return what a method of an unfitted copy returns, which is to fit."""
        with frozen_randomness(), (self.case.recorder or record_releases)(self.given_outputs):
            arguments = [rows[name] for name in ("X", "y") if name in rows]
            rest = {name: value for name, value in rows.items() if name not in ("X", "y")}
            return getattr(self.case.make(), method)(*arguments, **rest)


def replayed_case(case: AuditCase) -> ReplayedCase | None:
    """Return the case with the outputs of its first fit; None where they cannot be handed out."""
    found = search_neighbours(case)
    if (
        found.pair is None
        or found.drawn_in_other_threads
        or found.differing_releases
        or found.noise_is_added_elsewhere
    ):
        return None
    return ReplayedCase(case, case.record(case.data_sets[0])[1].outputs)
