# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the low bits of released numbers, which tell what noise in floating point hides."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._cases.case import AuditCase
from ..._epsilon import audit_epsilon, low_bits
from ..._observation.recorder import Recording
from ..._search.privacy_loss import as_epsilon_or_rho
from ..comparisons import noisy_paths
from ..requirements import NotApplicable, claim_of_fit, published_state, require
from .noise import CONFIDENCE, fresh_outputs, worst_recorded_pair
from .whole_fits import LEAST_TRIALS, pair_to_fit, whole_fits

# A float off the grid shows in the first; several in case that one is 0.
_GRID_FITS = 12


def released_values(case: AuditCase, model: Any, recording: Recording) -> NDArray[Any]:
    """Return what one fit released, as one vector; skips where nobody knows."""
    if case.released is not None:
        return np.ravel(np.asarray(case.released(model)))
    if recording.releases:
        return np.concatenate([np.ravel(release.output) for release in recording.releases])
    noisy = noisy_paths(case, model)
    mine = published_state(case, model)
    numbers = [np.ravel(mine[path]) for path in noisy if np.asarray(mine[path]).dtype.kind in "iuf"]
    if not numbers:
        raise NotApplicable(
            "nothing numeric on the fitted object varies; name what is released with `released`"
        )
    return np.concatenate(numbers)


def check_released_values_on_grid(case: AuditCase) -> None:
    """Released numbers are integers, or multiples of one power of two that is far above their last bits."""
    fits = [case.record(0, seed=seed) for seed in range(_GRID_FITS)]
    values = [released_values(case, *fit) for fit in fits]
    if all(one.dtype.kind in "iub" for one in values):
        return
    require(
        on_grid(np.concatenate([one.astype(np.float64) for one in values])),
        "released numbers are floats off any grid: their low bits can tell what the noise hides",
    )


def on_grid(values: NDArray[np.float64]) -> bool:
    """Whether floats are multiples of one power of two of which the largest has less than 2^52."""
    finite = values[np.isfinite(values) & (values != 0)]
    if not len(finite):
        return True
    return int(np.frexp(finite)[1].max()) - int(low_bits(finite).min()) < 52


def check_low_bits(case: AuditCase) -> None:
    """The lowest bits of released numbers tell neighbours apart no better than the pair's loss allows."""
    claim = claim_of_fit(case, case.fit(0))
    if claim.rho is not None:
        raise NotApplicable("claims rho: check_released_values_on_grid looks at the bits")
    try:
        pair, _ = worst_recorded_pair(case)
        values = [fresh_outputs(mine, theirs) for mine, theirs in (pair, pair[::-1])]
        predicted = as_epsilon_or_rho(pair[0].loss(pair[1]), False)
    except NotApplicable:
        if case.n_trials < LEAST_TRIALS:
            raise
        places, predicted = pair_to_fit(case, claim)
        values = whole_fits(case, places)
    bits = [low_bits(one).reshape(len(one), -1).min(axis=1) for one in values]
    audit = audit_epsilon(
        *bits, predicted=predicted, categorical=True, confidence=CONFIDENCE, delta=claim.delta
    )
    require(audit.passed, f"low bits: {audit}")
