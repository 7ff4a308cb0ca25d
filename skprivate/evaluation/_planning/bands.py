# SPDX-License-Identifier: BSD-3-Clause
"""Bands of planned scores, and what they recommend."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import norm, t

from ..._typing import FloatArray
from ...utils._public_module import public_module

#: Nine studies of ten should end in the band, if all assumptions hold.
COVERAGE = 0.9


@public_module("skprivate.evaluation")
@dataclass(frozen=True)
class PlannedScore:
    """What is expected at one epsilon.

    Attributes
    ----------
    epsilon : float
    score : float
        Expected of a fit to n private rows, on other rows; greater is better.
    lower, upper : float
        Band of one such fit.
    repeats : int
        Fits that this was computed from.
    gain, gain_lower, gain_upper, gain_error : float or None
        By how much it passes a model of the public rows alone, with the band of the difference, and the
        standard error of its expectation: both are fitted to rows of the same worlds, so that it is narrower
        than that of the score. None without public rows.

    See Also
    --------
    plan_study : Returns one for each epsilon.

    Notes
    -----
    **Privacy.** It holds nothing of private rows: there were none.

    Examples
    --------
    >>> from skprivate.evaluation import PlannedScore
    >>> PlannedScore(epsilon=1.0, score=0.89, lower=0.87, upper=0.91, repeats=8).gain is None
    True
    """

    epsilon: float
    score: float
    lower: float
    upper: float
    repeats: int
    gain: float | None = None
    gain_lower: float | None = None
    gain_upper: float | None = None
    gain_error: float | None = None


@dataclass(frozen=True)
class Shift:
    """What is added to scores, because the estimator does better or worse on public rows than in the worlds.

    Attributes
    ----------
    amount : float
    error : float
        Standard error of the score on public rows, by sampling.
    """

    amount: float = 0.0
    error: float = 0.0

    @classmethod
    def measured(cls, real: FloatArray, in_worlds: FloatArray, deviations: FloatArray, base: float) -> Self:
        """Return the difference of scores on folds of public rows and in worlds.

        None is known where the estimator learnt nothing in some of them: so few rows may be too few for it at
        any epsilon, and tell nothing of n.
        """
        if np.isclose(np.r_[real, in_worlds], base, rtol=0, atol=1e-9).any():
            return cls()
        error = float(real.std(ddof=1) / np.sqrt(len(real)))
        return cls(float(real.mean()) - band_of(in_worlds, deviations)[0], error)


def plan_score(
    epsilon: Any,
    scores: FloatArray,
    alone: FloatArray,
    deviations: FloatArray,
    shift: Shift,
    shift_alone: float,
    limits: tuple[float, float],
) -> PlannedScore:
    """Return what scores tell of an epsilon.

    Parameters
    ----------
    epsilon : float
    scores, alone, deviations : ndarray of shape (n_repeats,)
        Of the fits; of the public rows alone (NaN where there are none); standard errors of the strength.
    shift : Shift
    shift_alone : float
        The same of the public rows alone.
    limits : (least, greatest)
        Values that the score can take.
    """
    centre, lower, upper = (float(np.clip(end, *limits)) for end in band_of(scores, deviations, shift)[:3])
    head = float(epsilon), centre, lower, upper, len(scores)
    if np.isnan(alone).any():
        return PlannedScore(*head)
    # Both are measured on the same public rows, whose sampling errors are shared.
    return PlannedScore(*head, *band_of(scores - alone, deviations, Shift(shift.amount - shift_alone)))


def band_of(
    scores: FloatArray, deviations: FloatArray, shift: Shift | None = None
) -> tuple[float, float, float, float]:
    """Return centre, lower and upper end of scores, and the standard error of the centre.

    Each score is from a world that is some standard errors from the expected strength. It is a line in that
    deviation: its slope is what the size of the public sample costs, and what is left is noise, rows and the
    model of labels.
    """
    shift = Shift() if shift is None else shift
    n = len(scores)
    design = np.column_stack([np.ones(n), deviations]) if np.ptp(deviations) > 0 else np.ones((n, 1))
    coefficients = np.linalg.lstsq(design, scores, rcond=None)[0]
    freedom = n - design.shape[1]
    residual = float(np.sum((scores - design @ coefficients) ** 2)) / freedom
    slope = abs(float(coefficients[1])) if len(coefficients) > 1 else 0.0
    # The shift is measured on few rows and holds for many only if its cause stays: half of it is its error.
    # Both scores are of the same public rows, so that their sampling errors do not add up.
    error = float(np.hypot(max(slope, shift.error), shift.amount / 2))
    level = (1 + COVERAGE) / 2
    half = float(np.hypot(norm.ppf(level) * error, t.ppf(level, freedom) * np.sqrt(residual * (1 + 1 / n))))
    centre = float(coefficients[0]) + shift.amount
    return centre, centre - half, centre + half, float(np.hypot(error, np.sqrt(residual / n)))


def recommend(rows: Sequence[PlannedScore], alone: float | None, base: float, name: str) -> tuple[str, str]:
    """Return "go", "no-go" or "cannot say", and the reason in words.

    Parameters
    ----------
    rows : sequence of PlannedScore
        By rising epsilon.
    alone : float or None
        Score of the public rows alone.
    base : float
        Score of a constant.
    name : str
        Of the score.
    """
    first = len(rows)
    while first and _passes(rows[first - 1], base):
        first -= 1
    best = max(rows, key=lambda row: row.score)
    shown = rows[first] if first < len(rows) else best
    figures = f"expected {name} {shown.score:.3g} (band {shown.lower:.3g} to {shown.upper:.3g})"
    against = f"{base:.3g} of the base rate"
    if alone is not None and shown.gain is not None:
        against = (
            f"{alone:.3g} of public rows alone, a gain of {shown.gain:.2g} (band {shown.gain_lower:.2g} to "
            f"{shown.gain_upper:.2g})"
        )
    if first < len(rows):
        return "go", f"go at epsilon >= {shown.epsilon:g}: {figures} against {against}"
    if all(_fails(row, base) for row in rows):
        return "no-go", (
            f"no-go: at no epsilon is a gain expected over what is there already; at epsilon "
            f"{shown.epsilon:g}, {figures} against {against}"
        )
    return "cannot say", (
        f"cannot say: the band holds what is there already; at epsilon {shown.epsilon:g}, {figures} against "
        f"{against}"
    )


def _passes(row: PlannedScore, base: float) -> bool:
    return row.lower > base and (row.gain_lower is None or row.gain_lower > 0)


def _fails(row: PlannedScore, base: float) -> bool:
    if row.gain is None or row.gain_error is None:
        return row.upper <= base
    return row.gain + norm.ppf((1 + COVERAGE) / 2) * row.gain_error <= 0
