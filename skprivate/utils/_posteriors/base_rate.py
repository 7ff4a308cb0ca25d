# SPDX-License-Identifier: BSD-3-Clause
"""Shares of the classes in the whole tree, from noisy counts."""

from dataclasses import dataclass

import numpy as np

from ..._typing import FloatArray, IntArray
from ...utils._public_module import public_module
from .truncated_normal import truncated_mean

# Least variance of a share p between the populations of public and of private rows, in units of p (1 - p): of
# two equally frequent classes the standard deviation is .05, as much as in census.
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

    They are that of private rows, by what was released, that of public rows, which may be of another
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
        Variance of a row's share, as a part of that of a label: below 1 where rows are shared out.

    Returns
    -------
    base : BaseRate
    """
    even, n_rows = 1.0 / len(by_label), max(n_rows, 1)
    n_public = 0.0 if public is None else float(public.sum())
    private = even + (by_label - by_label.mean()) / n_rows
    # A guess of the shares, for their sampling; a rare class of public rows has some of its own.
    guess = np.clip(private, 0.0, 1.0)
    if public is not None and n_public:
        guess = (public + 1.0) / (n_public + len(by_label))
    spread = variance * guess * (1 - guess)
    # Of a share under equally probable base rates (a flat Dirichlet distribution).
    prior = even * (1 - even) / (len(by_label) + 1)
    own = 1.0 / (noise * (1 - even) / n_rows**2 + spread / n_rows + variance / (n_rows + 2.0) ** 2)
    precision, total = own + 1.0 / prior, own * private + even / prior
    if public is not None and n_public:
        sampling = spread / n_public + variance / (n_public + 2.0) ** 2
        # What noise and sampling do not explain of their difference is how far the populations are apart.
        explained = _CONTRADICTION**2 * (1.0 / own + sampling)
        apart = float(np.mean((public / n_public - private) ** 2 - explained))
        theirs = 1.0 / (sampling + np.maximum(spread * _OTHER_POPULATION, apart))
        precision, total = precision + theirs, total + theirs * public / n_public
    shares = truncated_mean(total / precision, np.sqrt(1.0 / precision))
    return BaseRate(shares / shares.sum(), 1.0 / precision)


def pool_base_rates(first: BaseRate, second: BaseRate) -> BaseRate:
    """Return the mean of two independent estimates, each weighted by what it is worth."""
    precision = 1.0 / first.variances + 1.0 / second.variances
    shares = (first.shares / first.variances + second.shares / second.variances) / precision
    return BaseRate(shares / shares.sum(), 1.0 / precision)
