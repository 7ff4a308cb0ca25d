# SPDX-License-Identifier: BSD-3-Clause
"""Checks that repeat whole fits: values without noise, and a lower bound on epsilon from what fits leave."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._cases.case import AuditCase
from ..._epsilon import audit_epsilon, epsilon_lower_bound
from ..._observation.flat_objects import FlatObject, flatten_object
from ..._search.black_box import furthest_pair
from ..._search.deadline import Deadline
from ..._search.search import search_neighbours
from ..comparisons import exact_differences, noisy_paths
from ..requirements import Claim, NotApplicable, TooWeakToTell, claim_of_fit, listed, published_state, require
from .noise import CONFIDENCE, worst_fits

# Of one fit: more of them slow the audit, and hide one another.
_MOST_VALUES = 256
# Its square is still finite, and so is a sum of those.
_LARGEST = 1e120
# Below it no half of the noise could be noticed.
LEAST_TRIALS = 100
# Processor seconds for whole fits.
_SECONDS = {False: 8.0, True: 25.0}


def check_only_released_values_differ(case: AuditCase) -> None:
    """Nothing that is the same in every fit of one data set is different on its neighbour.

    Of a mechanism that is epsilon-DP, the probability that k fits on one data set all give v and k fits on a
    neighbour all give other things, always the same, is at most (1 - e^-epsilon)^k.
    """

    def look(data: Any) -> FlatObject:
        return published_state(case, case.fit(data))

    mine = [look(case.data_sets[0]) for _ in range(3)]
    # What is recorded was compared on many more, with the same outputs.
    known = search_neighbours(case).pair is not None and not case.thorough
    last = len(case.data_sets) - 1
    some_of_them = sorted({min(1, last), (last + 1) // 2, last} - {0})
    for data in (case.data_sets[k] for k in (some_of_them if known else range(1, last + 1))):
        found = exact_differences(case, mine, data, look)
        require(not found, f"exact functions of private rows: {listed(sorted(found))}")


def check_epsilon_of_whole_fits(case: AuditCase) -> None:
    """What whole fits on two neighbours leave on the object tells no more than is claimed."""
    claim = claim_of_fit(case, case.fit(0))
    if claim.rho is not None:
        raise NotApplicable("claims rho: check_epsilon_audit compares it with the noise itself")
    if case.n_trials < LEAST_TRIALS:
        raise NotApplicable(f"the case asks for fewer than {LEAST_TRIALS} fits (n_trials)")
    if not case.thorough and was_recorded(case):
        raise NotApplicable(
            "the noise was recorded and is audited itself, and the rest of the object was compared: whole "
            "fits are counted too if the battery is thorough"
        )
    pair, predicted = pair_to_fit(case, claim)
    here, there = whole_fits(case, pair)
    audit = audit_epsilon(here, there, predicted=predicted, confidence=CONFIDENCE, delta=claim.delta)
    require(audit.passed, str(audit))
    if not _could_refute(len(here), float(predicted)):
        raise TooWeakToTell(
            f"{len(here)} fits show no noise of half the scale: let there be more (n_trials, thorough), or "
            "choose an epsilon near 1.5"
        )


def _could_refute(n_trials: int, predicted: float) -> bool:
    """Whether noise of half the scale would have been refuted, by an event of probability one half."""
    counted = n_trials - n_trials // 3
    hits = counted // 2, math.ceil(counted / 2 * math.exp(-2 * predicted))
    return epsilon_lower_bound(*hits, counted, CONFIDENCE) > predicted


def was_recorded(case: AuditCase) -> bool:
    """Whether the losses of neighbours are known exactly."""
    found = search_neighbours(case)
    return found.pair is not None and not found.noise_is_added_elsewhere


def whole_fits(case: AuditCase, pair: tuple[Any, Any]) -> list[NDArray[np.float64]]:
    """Return what many fits on two neighbours released."""
    read = _reader(case, case.fit(0))
    # One generator for all fits, so that a run can be repeated; of the kind that every estimator takes.
    state = np.random.RandomState(11) if case.has("random_state") else None
    fits: list[list[Any]] = [[], []]
    deadline = Deadline(_SECONDS[case.thorough])
    while len(fits[0]) < case.n_trials and not deadline.has_passed:
        for side, data in zip(fits, pair, strict=True):
            side.append(read(case.fit(data, random_state=state)))
    if len(fits[0]) < LEAST_TRIALS:
        raise TooWeakToTell(f"fits are too slow: {len(fits[0])} of {LEAST_TRIALS} in the time that there is")
    if len({len(vector) for vector in fits[0] + fits[1]}) != 1:
        # How many numbers there are is released too.
        return [np.array([[len(vector)] for vector in side], dtype=np.float64) for side in fits]
    return [np.array(vectors) for vectors in fits]


def pair_to_fit(case: AuditCase, claim: Claim) -> tuple[tuple[Any, Any], Any]:
    """Return the pair with the greatest predicted loss, and that loss; the claim if nothing is recorded."""
    try:
        first, second = worst_fits(case)
    except NotApplicable:
        return furthest_pair(case, _reader(case, case.fit(0))), claim.epsilon
    # A loss beyond the claim is what the audit has to show.
    return (first.data, second.data), min(search_neighbours(case).loss, claim.epsilon)


def _reader(case: AuditCase, model: Any) -> Callable[[Any], NDArray[np.float64]]:
    """Return what turns a fitted object into the numbers on it that are not the same in every fit."""
    if case.released is not None:
        released = case.released
        return lambda fitted: _as_vector([released(fitted)])
    paths = set(noisy_paths(case, model))
    names = sorted({re.split(r"[.\[{]", path)[0] for path in paths})

    def read(fitted: Any) -> NDArray[np.float64]:
        found = [flatten_object(getattr(fitted, name, None), name) for name in names]
        return _as_vector([leaf for part in found for path, leaf in part.items() if path in paths])

    return read


def _as_vector(values: list[Any]) -> NDArray[np.float64]:
    numbers = [np.ravel(value) for value in values if np.asarray(value).dtype.kind in "iufb"]
    flat = np.concatenate(numbers).astype(np.float64)[:_MOST_VALUES] if numbers else np.zeros(1)
    # Squares of what is compared must be finite.
    return np.clip(np.nan_to_num(flat), -_LARGEST, _LARGEST)
