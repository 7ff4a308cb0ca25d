# SPDX-License-Identifier: BSD-3-Clause
"""Bands of planned scores, and what they recommend."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
    """

    epsilon: float
    score: float
    lower: float
    upper: float
    repeats: int


def band_of(
    epsilon: Any, scores: FloatArray, deviations: FloatArray, ceiling: float | None = None
) -> PlannedScore:
    """Return the band of scores, each from a world that is some standard errors from the expected one.

    The score is a line in the deviation. Its slope is what the size of the public sample costs; what is left
    is noise, rows and the model of labels.
    """
    n = len(scores)
    design = np.column_stack([np.ones(n), deviations]) if np.ptp(deviations) > 0 else np.ones((n, 1))
    coefficients = np.linalg.lstsq(design, scores, rcond=None)[0]
    freedom = n - design.shape[1]
    residual = float(np.sum((scores - design @ coefficients) ** 2)) / freedom
    level = (1 + COVERAGE) / 2
    slope = coefficients[1] if len(coefficients) > 1 else 0.0
    half = np.hypot(norm.ppf(level) * slope, t.ppf(level, freedom) * np.sqrt(residual * (1 + 1 / n)))
    score = float(coefficients[0])
    upper = score + half if ceiling is None else min(score + half, max(ceiling, score))
    return PlannedScore(float(epsilon), score, float(score - half), float(upper), n)


def recommend(
    rows: Sequence[PlannedScore], alone: float | None, base: float, name: str
) -> tuple[str, str]:
    """Return "go", "no-go" or "cannot say", and the reason in words."""
    reference = base if alone is None else max(alone, base)
    of_what = "public rows alone" if alone is not None and alone >= base else "the base rate"
    ordered = sorted(rows, key=lambda row: row.epsilon)
    best = max(ordered, key=lambda row: row.score)
    first = len(ordered)
    while first and ordered[first - 1].lower > reference:
        first -= 1
    if first < len(ordered):
        row = ordered[first]
        return "go", (
            f"go at epsilon >= {row.epsilon:g}: expected {name} {row.score:.3g} "
            f"(band {row.lower:.3g} to {row.upper:.3g}) against {reference:.3g} of {of_what}"
        )
    shown = f"{best.lower:.3g} to {best.upper:.3g} at epsilon {best.epsilon:g}"
    if all(row.upper <= reference for row in ordered):
        return "no-go", (
            f"no-go: the band of {name} ({shown}) does not pass what {of_what} give, {reference:.3g}".replace(
                "the base rate give", "the base rate gives"
            )
        )
    return "cannot say", (
        f"cannot say: the band of {name} ({shown}) holds what {of_what} "
        f"{'give' if of_what.startswith('public') else 'gives'}, {reference:.3g}"
    )
