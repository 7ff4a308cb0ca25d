# SPDX-License-Identifier: BSD-3-Clause
"""Probabilities: arithmetic with the same bits for a row in any table, and posterior means of shares."""

import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy.special import erfcx

from .._typing import FloatArray, IntArray
from ..utils._public_module import public_module
from ._row_kernels import add_dot_products, add_products

# Arithmetic of predictions whose result for a row has the same bits alone and in any table.
#
# An operation of IEEE 754 on each cell rounds in the same way wherever the cell is, and the kernels add up
# row by row. A matrix product may differ: BLAS chooses the order of its sums by the shape. So may
# exponentials and logarithms of NumPy: vectorised code may round otherwise than the code for the remaining
# cells. Those of SciPy are computed cell by cell.


def products(X: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return ``X @ slopes``, the columns added in their order; slopes have one or two dimensions."""
    rows, factors = (np.ascontiguousarray(one, dtype=np.float64) for one in (X, slopes))
    found = np.zeros((len(rows), *factors.shape[1:]))
    (add_products if factors.ndim == 2 else add_dot_products)(rows, factors, found)
    return found


def exp(values: FloatArray) -> FloatArray:
    """Return exponentials, as the inverse of the Box-Cox transform with parameter 0."""
    return special.inv_boxcox(values, 0.0)


def log(values: FloatArray) -> FloatArray:
    """Return natural logarithms; minus infinity for 0."""
    return special.xlogy(1.0, values)


def row_totals(parts: FloatArray) -> FloatArray:
    """Return the sum over the last axis, which stays, in the order of its entries."""
    found = np.zeros((*parts.shape[:-1], 1))
    for number in range(parts.shape[-1]):
        found += parts[..., number : number + 1]
    return found


def row_maxima(parts: FloatArray) -> FloatArray:
    """Return the largest entry of the last axis, which stays; for few entries NumPy is slow."""
    return functools.reduce(np.maximum, [parts[..., k : k + 1] for k in range(parts.shape[-1])])


def log_softmax(logits: FloatArray) -> FloatArray:
    """Return logarithms of shares that are in proportion to the exponentials of logits, by row."""
    below = logits - row_maxima(logits)
    return below - log(row_totals(exp(below)))


def softmax(logits: FloatArray) -> FloatArray:
    """Return shares in proportion to the exponentials of logits, by row."""
    odds = exp(logits - row_maxima(logits))
    return odds / row_totals(odds)


# Means of normal distributions that are cut off at 0 and 1.

# Standard deviations of the centre from [0, 1], and scales, beyond which the density is exponential to a
# relative 1e-7, while the exact formula loses as many digits.
_FARTHEST = _WIDEST = 1e4
# Rate below which the mean of an exponential density on [0, 1] is linear in the rate, to 1e-10.
_FLAT = 1e-3


def truncated_mean(center: FloatArray, scale: FloatArray | float) -> FloatArray:
    """Return the mean of a normal distribution within [0, 1]: between 0 and 1, and never 0 or 1."""
    upper = center > 0.5
    # By symmetry the centre is in the lower half, and the far end is too far to lose digits.
    middle = np.where(upper, 1.0 - center, center)
    scale = np.broadcast_to(scale, middle.shape)
    exponential = (middle < -_FARTHEST * scale) | (scale > _WIDEST)
    # At an unbounded rate the mean is at the end.
    with np.errstate(over="ignore"):
        mean = np.where(
            exponential,
            _exponential_mean(np.where(exponential, -middle / scale / scale, 0.0)),
            _normal_mean(np.where(exponential, 0.5, middle), np.where(exponential, 1.0, scale)),
        )
    mean = np.clip(mean, 1e-12, 0.5)
    return np.where(upper, 1.0 - mean, mean)


def _normal_mean(middle: FloatArray, scale: FloatArray) -> FloatArray:
    low, high = -middle / scale, (1.0 - middle) / scale
    # The density at the far end, in units of that at the near one.
    log_far = -(0.5 - middle) / scale / scale
    mass = _mills_ratio(low) - np.exp(log_far) * _mills_ratio(high)
    return scale * (-np.expm1(log_far) / mass - low)


def _mills_ratio(x: FloatArray) -> FloatArray:
    """Return the mass of the standard normal distribution above x, in units of its density at x."""
    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))


def _exponential_mean(rate: FloatArray) -> FloatArray:
    """Return the mean of a density proportional to exp(-rate x) on [0, 1], for rates above -1."""
    flat = np.abs(rate) < _FLAT
    steep = np.where(flat, 1.0, rate)
    # Beyond 700 the far end has no mass.
    exact = 1.0 / steep - 1.0 / np.expm1(np.minimum(steep, 700.0))
    return np.where(flat, 0.5 - rate / 12, exact)


# Shares of the classes in the whole tree, from noisy counts.

# Least variance of a share p between the populations of public and of private rows, in units of p (1 - p).
# For two equally frequent classes the standard deviation is 0.05, as much as in census.
_OTHER_POPULATION = 0.01
# Standard errors by which the release contradicts the shares of public rows: 3 in 1,000 by chance.
_CONTRADICTION = 3.0


@public_module("skprivate.tree")
@dataclass(frozen=True, eq=False)
class BaseRate:
    """Estimated shares of the classes in the whole tree.

    Attributes
    ----------
    shares : ndarray of shape (n_labels,)
        Above 0, with sum 1.
    variances : ndarray of shape (n_labels,)
        Of the shares as estimates.
    """

    shares: FloatArray
    variances: FloatArray


def estimate_base_rate(
    by_label: FloatArray,
    n_rows: int,
    noise: float,
    public: IntArray | FloatArray | None = None,
    variance: float = 1.0,
) -> BaseRate:
    """Return the shares of the classes: means of normal estimates by their variances.

    These are the estimate of private rows, by released values, that of public rows, which may be of another
    population, and a prior around equal shares.

    Parameters
    ----------
    by_label : ndarray of shape (n_labels,)
        Estimates of the private rows by label.
    n_rows : int
        Number of private rows.
    noise : float
        Noise variance of one of these estimates.
    public : ndarray of shape (n_labels,), default=None
        Public rows by label.
    variance : float, default=1.0
        Variance of a row's share, as a part of that of a label: below 1 if rows are shared out.

    Returns
    -------
    base : BaseRate
    """
    even, n_rows = 1.0 / len(by_label), max(n_rows, 1)
    n_public = 0.0 if public is None else float(public.sum())
    private = even + (by_label - by_label.mean()) / n_rows
    # A guess of the shares, for their sampling variance; a rare class of public rows has some variance too.
    guess = np.clip(private, 0.0, 1.0)
    if public is not None and n_public:
        guess = (public + 1.0) / (n_public + len(by_label))
    spread = variance * guess * (1 - guess)
    # Variance of a share under equally probable base rates (a flat Dirichlet distribution).
    prior = even * (1 - even) / (len(by_label) + 1)
    own = 1.0 / (noise * (1 - even) / n_rows**2 + spread / n_rows + variance / (n_rows + 2.0) ** 2)
    precision, total = own + 1.0 / prior, own * private + even / prior
    if public is not None and n_public:
        sampling = spread / n_public + variance / (n_public + 2.0) ** 2
        # The part of their difference that noise and sampling do not explain is between the populations.
        explained = _CONTRADICTION**2 * (1.0 / own + sampling)
        apart = float(np.mean((public / n_public - private) ** 2 - explained))
        theirs = 1.0 / (sampling + np.maximum(spread * _OTHER_POPULATION, apart))
        precision, total = precision + theirs, total + theirs * public / n_public
    shares = truncated_mean(total / precision, np.sqrt(1.0 / precision))
    return BaseRate(shares / shares.sum(), 1.0 / precision)


def pool_base_rates(first: BaseRate, second: BaseRate) -> BaseRate:
    """Return the mean of two independent estimates, each weighted by its precision."""
    precision = 1.0 / first.variances + 1.0 / second.variances
    shares = (first.shares / first.variances + second.shares / second.variances) / precision
    return BaseRate(shares / shares.sum(), 1.0 / precision)
