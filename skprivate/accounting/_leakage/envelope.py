# SPDX-License-Identifier: BSD-3-Clause
"""Envelope of pointwise maximal leakage: the quantile that holds after any post-processing."""

import math

import numpy as np

from ..._typing import FloatArray

# Of sums, relative to what is summed.
_ROUNDING = 1e-15
_PRECISION = 1e-11  # of e^eps, relative
_MOST_STEPS = 100  # of bisection; about 40 reach the precision


def envelope(ratios: FloatArray, masses: FloatArray, delta: float) -> float:
    """Return the smallest eps with P(l(X -> Z) > eps) <= delta for every post-processing Z of Y, rounded up.

    Parameters
    ----------
    ratios : ndarray of shape (n_inputs, n_outputs)
        P(y | x) / P(y), for possible x and y.
    masses : ndarray of shape (n_outputs,)
        P(y).
    delta : float
        In (0, 1).

    Returns
    -------
    eps : float
        At least the true one, and above it by about 1e-10, as far as the linear programmes are solved.

    Notes
    -----
    Let t = e^eps > 1, r the ratios and Z drawn from P(z | y). A z is bad if for some x
    ``sum_y P(z | y) P(y) (r_x(y) - t) > 0``. Give every bad z to one such x, and let w_x(y) be the sum of
    P(z | y) over the z of x: then sum_x w_x(y) <= 1, ``sum_y w_x(y) P(y) (r_x(y) - t) >= 0`` for every x, and
    the mass of the bad is ``sum w_x(y) P(y)``. So it is at most V(t), the largest such sum over all w.
    V(t) <= delta therefore suffices at t. It is needed at every t' > t too: w that is feasible at t' is a
    post-processing, to one z per x and one for the rest, whose z of positive mass are all bad at t. So the
    infimum of the t with V(t) <= delta is the one sought; it is attained, since P(l > eps) is continuous from
    the right for every Z.

    By duality V(t) is the least of ``D_v(t) = sum_y P(y) max(0, max_x (1 + v_x (r_x(y) - t)))`` over v >= 0.
    Any v proves V <= D_v (weak duality), so what is returned rests on D_v(t) <= delta, computed for the v
    found, and not on the solver's tolerances; those could only cost tightness.
    """
    low, high = 1.0, float(ratios.max())
    for _ in range(_MOST_STEPS):
        if high <= low * (1 + _PRECISION):
            break
        middle = math.sqrt(low * high)
        weights = _dual_weights(ratios, masses, middle)
        if _dual(weights, ratios, masses, middle) <= delta:
            high = _least_proven(weights, ratios, masses, delta, low, middle)
        else:
            low = middle
            if _dual(weights, ratios, masses, high) <= delta:
                high = _least_proven(weights, ratios, masses, delta, middle, high)
    return math.log(high)


def _dual(weights: FloatArray, ratios: FloatArray, masses: FloatArray, t: float) -> float:
    """D_v(t), which no bad mass exceeds, rounded up: what is proven holds for a delta of 1e-15, too."""
    sums = 1 + weights[:, None] * (ratios - t)
    sums += _ROUNDING * (1 + weights[:, None] * (ratios + t))
    return float(masses @ np.maximum(sums.max(axis=0), 0.0)) * (1 + _ROUNDING * len(masses))


def _least_proven(
    weights: FloatArray, ratios: FloatArray, masses: FloatArray, delta: float, low: float, high: float
) -> float:
    """Return the least t of an interval that these weights prove; they prove its upper end."""
    while high > low * (1 + _PRECISION / 4):
        middle = math.sqrt(low * high)
        if _dual(weights, ratios, masses, middle) <= delta:
            high = middle
        else:
            low = middle
    return high


def _dual_weights(ratios: FloatArray, masses: FloatArray, t: float) -> FloatArray:
    """Solve the dual programme: least sum of P(y) m_y with m_y >= 1 + v_x (r_x(y) - t), and m, v >= 0."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    n_inputs, n_outputs = ratios.shape
    entries = np.arange(n_inputs * n_outputs)
    by_input = coo_array((ratios.ravel() - t, (entries, entries // n_outputs)))
    by_output = coo_array((-np.ones(len(entries)), (entries, n_inputs + entries % n_outputs)))
    shape = (len(entries), n_inputs + n_outputs)
    by_input.resize(shape)
    by_output.resize(shape)
    cost = np.concatenate([np.zeros(n_inputs), masses])
    solved = linprog(cost, A_ub=(by_input + by_output).tocsr(), b_ub=-np.ones(len(entries)), method="highs")
    # Without a solution: weights that prove V <= 1 and no more.
    return np.maximum(solved.x[:n_inputs], 0.0) if solved.x is not None else np.zeros(n_inputs)
