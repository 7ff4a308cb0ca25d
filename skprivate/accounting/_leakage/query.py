# SPDX-License-Identifier: BSD-3-Clause
"""Leakage of a query with Laplace noise to every adversary whose prior has a floor."""

from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._typing import FloatArray
from .channels import TOLERANCE, as_numbers, minus_log

_ROUNDING = Fraction(1, 10**12)  # of a scale: what the leakage may be off by, beside the rounding of floats


def pml_laplace_query(
    scale: float | Fraction | ArrayLike, values: ArrayLike, p_min: float | Fraction | ArrayLike
) -> float:
    """Return the largest leakage of queries with Laplace noise, over all priors with a floor.

    Parameters
    ----------
    scale : float, Fraction or array-like of shape (n_queries,)
        Of the noise of every query, or of each, above 0. Noises are independent.
    values : array-like of shape (n_values,) or (n_values, n_queries)
        What the queries return for every possible value of the secret, in the units of `scale`: of sums, what
        the person adds to them, rounded to a grid if the sums are; of counts of leaves, one 1. Rows may be
        equal.
    p_min : float, Fraction or array-like of shape (n_values,)
        Floor of the prior: the least probability of every possible value, or of each, above 0. Floors that
        add up to 1 leave one prior.

    Returns
    -------
    eps : float
        In nats: the supremum of pointwise maximal leakage over these priors and all outcomes, to the rounding
        of floats. It is attained. It is below epsilon, the largest distance of two values, unless that is 0.

    Raises
    ------
    TypeError, ValueError
        A scale is not above 0, a value is not finite or is an integer or Fraction that floats cannot hold
        within 1e-12 scales, shapes do not fit, a floor is not above 0, or no prior has these floors: they add
        up to more than 1.

    See Also
    --------
    pml_from_ldp : The bound for every mechanism of some epsilon, this one among them.
    pml_laplace : One number with Laplace noise under one prior, continuous ones among them.

    Notes
    -----
    Let ``d(x, a) = sum_i |q_i(x) - q_i(a)| / scale_i`` be the distance of two values of the secret, c_x the
    floors, and f = 1 - sum_x c_x what they leave free. The supremum is the largest of

    ``-log(sum_x c_x exp(-d(x, a)) + f exp(-max_x d(x, a)))``

    over the values a. Proof: given an outcome y let a have the largest P(y | a), and let r_x be
    P(y | x) / P(y | a). Under a prior p the leakage of y is -log sum_x p_x r_x. The sum is linear in p, so it
    is least at a vertex of the priors: all at their floors, and f on the least r_x. By the triangle
    inequality ``r_x >= exp(-d(x, a))``, with equality for all x at once at the outcome y = q(a), which is
    most probable under a. So nothing exceeds the formula, and an outcome q(a) attains it.

    They are integers if the values are: exact noise on integers (`DiscreteLaplaceMechanism`), whose P(y | x)
    is proportional to ``exp(-sum_i |y_i - q_i(x)| / scale_i)`` as well, leaks the same.

    It is at most ``pml_from_ldp(epsilon, p_min)``, and as much if one value is at the distance epsilon of all
    others: counts of leaves, one value in each. The worst a need not be at an end of the range.

    **Privacy**: a function of public things alone. The secret is one person's record. The others' records are
    fixed, or independent of it under the prior: then this is an upper bound. It says nothing if they tell of
    the person's. Several releases about one person are one release of all their queries: stack the columns;
    the leakages of each do not add up. Where earlier outcomes choose a query, the formula with the largest
    distances over the choices is an upper bound, and so is `pml_from_ldp` of the sum of epsilons.

    Proof: :doc:`/proofs/leakage`.

    Examples
    --------
    A person is in one of four leaves, in each with a probability of at least .05. Counts with noise of scale
    2 are 1-differentially private:

    >>> import numpy as np
    >>> from skprivate.accounting import pml_from_ldp, pml_laplace_query
    >>> round(pml_laplace_query(2, np.eye(4), 0.05), 3), round(pml_from_ldp(1, 0.05), 3)
    (0.918, 0.918)

    Sums of a person's number and of its square, with noises of their own:

    >>> x = np.linspace(-1, 1, 5)
    >>> sums = np.column_stack([x, x**2])
    >>> round(pml_laplace_query([4, 2], sums, 0.15), 3), round(pml_from_ldp(3 / 4, 0.15), 3)
    (0.525, 0.595)
    """
    points, scales = _points_and_scales(values, scale)
    floors = _floors(p_min, len(points))
    free = max(0.0, 1 - float(floors.sum()))
    worst = 0.0
    for point in points:
        # A distance beyond all floats is infinite, and its value of probability 0.
        with np.errstate(over="ignore"):
            distances = (np.abs(points - point) / scales).sum(axis=1)
        farthest = distances.max()
        mean = floors @ np.exp(-distances) + free * np.exp(-farthest)
        missing = -floors @ np.expm1(-distances) - free * np.expm1(-farthest)
        worst = max(worst, min(float(minus_log(mean, missing)), float(farthest)))
    return worst


def _points_and_scales(values: ArrayLike, scale: ArrayLike | Fraction) -> tuple[FloatArray, FloatArray]:
    points = as_numbers(values, "values", "numbers")
    if points.ndim not in (1, 2) or not points.size:
        raise ValueError(
            f"values must have shape (n_values,) or (n_values, n_queries), not empty; got {points.shape}."
        )
    points = points.reshape(len(points), -1)
    if not np.isfinite(points).all():
        raise ValueError("values must be finite.")
    scales = as_numbers(scale, "scale", "numbers")
    if scales.shape not in ((), points.shape[1:]):
        raise ValueError(f"scale must be one number or one of each of {points.shape[1]} queries.")
    if not np.isfinite(scales).all() or not (scales > 0).all():
        raise ValueError("scale must be finite and above 0.")
    _check_rounding(np.asarray(values).reshape(points.shape), points, scales)
    return points, scales


def _check_rounding(values: NDArray[Any], points: FloatArray, scales: FloatArray) -> None:
    """Refuse numbers that conversion to floats moves: their distances would be too small."""
    if values.dtype.kind == "f":
        return
    widths = np.broadcast_to(scales, points.shape)
    for value, point, width in zip(values.flat, points.flat, widths.flat, strict=True):
        if not isinstance(value, Fraction | Integral):
            continue
        # Integers of numpy would overflow.
        exact = value if isinstance(value, Fraction) else Fraction(int(value))
        if abs(exact - Fraction(float(point))) > _ROUNDING * Fraction(float(width)):
            raise ValueError(
                "values: floats cannot hold one of the numbers within 1e-12 scales. Only distances matter: "
                "subtract one of the values from all."
            )


def _floors(p_min: ArrayLike | Fraction, n_values: int) -> FloatArray:
    """Return the floor of every value, all above 0; those of 1 within rounding add up to 1."""
    given = as_numbers(p_min, "p_min", "probabilities")
    if given.shape not in ((), (n_values,)):
        raise ValueError(f"p_min must be one number or one of each of {n_values} values.")
    floors = np.broadcast_to(given, n_values)
    if not np.isfinite(floors).all() or not (floors > 0).all():
        raise ValueError("p_min must be finite and above 0.")
    total = float(floors.sum())
    if total > 1 + TOLERANCE:
        raise ValueError(f"p_min: floors of {n_values} values that add up to {total:.6g} leave no prior.")
    return floors / max(1.0, total)
