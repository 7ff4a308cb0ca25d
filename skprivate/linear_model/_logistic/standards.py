# SPDX-License-Identifier: BSD-3-Clause
"""Standards of columns and base rates, from the noisy moments by label."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from ..._typing import FloatArray
from ...rounds._plans._logits.label_moments import LabelMomentsPlan
from ...utils._public_module import public_module
from .._moments.noise_scale import NoiseScales
from .sensitivity import LogisticNeighbours

# A column is divided by this power of its variance: 1/2 spends the noise evenly over the columns that there
# are, 0 on those that vary most. Between 1/4 and 1/2 log losses differ by 1 %, on the tables on which it was
# chosen (`schedule`); tables with skewed and with binary columns alone had no part in the choice.
_POWER = 0.375
# Least variance, of bounds 1000 times too wide.
_LEAST_VARIANCE = 1e-6
# Squared radius over the mean of squared norms: rows beyond it count for less.
_ROOM = 1.5
# Mean of |z| over the root of the mean of z^2: .8 of normal columns, 1 of evenly divided binary ones.
_MEAN_MAGNITUDE = 0.9


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class Standards:
    """How columns are standardised; made of released values.

    Attributes
    ----------
    n_rows : float
        Number of rows, or its estimate.
    rates : ndarray of shape (n_labels,)
        Base rates of the classes, above 0.
    center, scale : ndarray of shape (n_features,)
        In the cube or the ball of the grid.
    variances : ndarray of shape (n_features + 1,)
        Of the standardised columns, the constant's 1 first.
    radius : float
    center_std : float
        Standard deviation of the noise of a centre.
    """

    n_rows: float
    rates: FloatArray
    center: FloatArray
    scale: FloatArray
    variances: FloatArray
    radius: float
    center_std: float


def read_standards(
    plan: LabelMomentsPlan,
    noise: NoiseScales,
    released: Any,
    n_rows: int | None,
    neighbours: LogisticNeighbours,
) -> Standards:
    """Return the standards that released label moments tell."""
    k, d = plan.n_labels, plan.grid.n_features
    values, std = released.astype(np.float64), noise.std
    unit = 2.0**plan.grid.exponent
    n = float(n_rows) if n_rows is not None else max(float(values[:k].sum()), float(std[0]), 1.0)
    means, mean_error = values[k : k + d] / unit / n, float(std[k]) / unit / n
    squares, square_error = values[k + d :] / unit**2 / n, float(std[-1]) / unit**2 / n
    center = np.clip(means, -1.0, 1.0)
    # A variance below what noise alone makes is not known.
    least = np.maximum(np.hypot(square_error, 2 * np.abs(center) * mean_error), _LEAST_VARIANCE)
    variance = np.clip(squares - center**2, np.minimum(least, 1.0), 1.0)
    scale = variance**_POWER
    variances = np.append(1.0, variance / scale**2)
    if neighbours.mechanism == "gaussian":
        radius = sqrt(_ROOM * variances.sum())
    else:
        radius = sqrt(_ROOM) * (1.0 + _MEAN_MAGNITUDE * np.sqrt(variances[1:]).sum())
    rates = _shrunk_rates(values[:k] / n, float(std[0]) / n)
    return Standards(n, rates, center, scale, variances, float(radius), mean_error)


def _shrunk_rates(rates: FloatArray, error: float) -> FloatArray:
    """Draw noisy rates to even ones as far as noise demands, in James and Stein's manner."""
    even = 1.0 / len(rates)
    spread = float(((rates - even) ** 2).sum())
    kept = max(0.0, 1.0 - (len(rates) - 1) * error**2 / spread) if spread else 0.0
    rates = np.maximum(even + kept * (rates - even), min(max(error, 1e-9), even))
    shares: FloatArray = rates / rates.sum()
    return shares
