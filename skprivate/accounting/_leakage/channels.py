# SPDX-License-Identifier: BSD-3-Clause
"""Finite channels and priors, and the envelope of pointwise maximal leakage."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import FloatArray

# What rows and priors may be off a sum of 1.
TOLERANCE = 1e-9
_MOST_OUTPUTS = 10**7  # entries of a joint channel: 80 MB
# Priors of more values are described by their range.
_MOST_LISTED = 4


def joint_channel(*channels: ArrayLike) -> FloatArray:
    """Return the channel of several releases about one secret, drawn independently of each other given it.

    Leakages about one secret do not add up under a fixed prior: what several releases leak together is the
    leakage of their joint channel.

    Parameters
    ----------
    *channels : array-like of shape (n_inputs, n_outputs_i)
        At least one; every row sums to 1.

    Returns
    -------
    channel : ndarray of shape (n_inputs, n_outputs_1 * n_outputs_2 * ...)
        The output (y_1, y_2, ...) stands in C order: the last one runs fastest.

    Raises
    ------
    TypeError, ValueError
        There is no channel, one is no channel, they differ in the number of inputs, or the joint channel
        would have more than 10^7 entries.

    See Also
    --------
    pml_from_ldp : A bound for any number of releases with known local epsilons, by their sum.

    Notes
    -----
    **Privacy**: a function of public things alone. Releases that share randomness are not independent given
    the secret, and this is not their channel.

    Examples
    --------
    The first release never shows its output 0 for the first value, the second one never for the second value.
    Each leaks .580 nats at most; together they can leave the third value alone, and leak 2.120.

    >>> from skprivate.accounting import joint_channel, pml_guarantee
    >>> prior = [0.44, 0.44, 0.12]
    >>> first = [[0, 1], [0.5, 0.5], [0.5, 0.5]]
    >>> second = [[0.5, 0.5], [0, 1], [0.5, 0.5]]
    >>> [round(pml_guarantee(channel, prior), 3) for channel in (first, second)]
    [0.58, 0.58]
    >>> round(pml_guarantee(joint_channel(first, second), prior), 3)
    2.12
    """
    if not channels:
        raise ValueError("joint_channel needs at least one channel.")
    joint, *others = (check_channel(channel) for channel in channels)
    for other in others:
        if len(other) != len(joint):
            raise ValueError("channels about one secret must have the same number of inputs.")
        if joint.size * other.shape[1] > _MOST_OUTPUTS:
            raise ValueError("the joint channel would have more than 10^7 entries; use pml_from_ldp.")
        joint = (joint[:, :, None] * other[:, None, :]).reshape(len(joint), -1)
    return joint


def check_channel(channel: ArrayLike) -> FloatArray:
    """Return a matrix of conditional probabilities as float64; rows are inputs and sum to 1."""
    matrix = as_numbers(channel, "channel")
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(f"channel must have shape (n_inputs, n_outputs), got {matrix.shape}.")
    _check_probabilities(matrix, "every row of channel")
    return matrix


def as_numbers(values: Any, name: str, what: str = "probabilities") -> FloatArray:
    """Return numbers as float64; refuse what holds none."""
    try:
        array = np.asarray(values)
        # Fractions come as objects; text would be parsed.
        if array.dtype.kind in "iufO":
            return array.astype(np.float64)
    except TypeError:
        raise TypeError(f"{name} must hold {what}, and nothing else.") from None
    except (ValueError, OverflowError):
        raise ValueError(f"{name} must be an array of {what} that floats can hold.") from None
    raise TypeError(f"{name} must hold {what}, not {array.dtype}.")


def check_prior(prior: ArrayLike, *, shapes: tuple[tuple[int, ...], ...] | None = None) -> FloatArray:
    """Return probabilities as a flat float64 array that sums to 1; `shapes` lists what is accepted."""
    array = as_numbers(prior, "prior")
    if shapes is not None and array.shape not in shapes:
        raise ValueError(f"prior must have shape {' or '.join(map(str, shapes))}, got {array.shape}.")
    if shapes is None and (array.ndim != 1 or not array.size):
        raise ValueError(f"prior must be one-dimensional and not empty, got shape {array.shape}.")
    flat = array.reshape(1, -1)
    _check_probabilities(flat, "prior")
    return flat[0] / flat[0].sum()


def on_support(channel: ArrayLike, prior: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the rows of the channel of inputs that are possible, and their probabilities."""
    matrix = check_channel(channel)
    probabilities = check_prior(prior, shapes=((len(matrix),),))
    possible = probabilities > 0
    return matrix[possible], probabilities[possible]


def minus_log(mean: Any, missing: Any) -> FloatArray:
    """Return -log(mean) for mean = 1 - missing, both sums of positive terms, and never below 0.

    Near 1 the sum of what is missing has digits that the mean has lost; near 0 it is the mean.
    """
    mean, missing = np.asarray(mean, dtype=np.float64), np.asarray(missing, dtype=np.float64)
    with np.errstate(divide="ignore"):
        small = -np.log(np.where(missing < 0.5, 1.0, mean))
    return np.maximum(np.where(missing < 0.5, -np.log1p(-np.minimum(missing, 0.5)), small), 0.0)


def describe_prior(probabilities: FloatArray) -> str:
    """Return a finite prior in a few words."""
    possible = np.sort(probabilities[probabilities > 0])[::-1]
    if len(possible) == 1:
        return "one certain value"
    # A prior that sums to 1 up to rounding is still uniform.
    if np.allclose(possible, possible[0], rtol=1e-9, atol=0):
        return f"{len(possible)} equally likely values"
    if len(possible) <= _MOST_LISTED:
        *first, last = (f"{probability:.4g}" for probability in possible)
        return f"{len(possible)} values with probabilities {', '.join(first)} and {last}"
    return f"{len(possible)} values with probabilities from {possible[-1]:.3g} to {possible[0]:.3g}"


def _check_probabilities(rows: FloatArray, name: str) -> None:
    if not np.isfinite(rows).all() or (rows < 0).any():
        raise ValueError(f"{name} must hold probabilities: finite, and at least 0.")
    if np.abs(rows.sum(axis=1) - 1).max() > TOLERANCE:
        raise ValueError(f"{name} must sum to 1 (within 1e-9).")


# Envelope of pointwise maximal leakage: the quantile that holds after any post-processing.

# Of sums, relative to what is summed.
_SUM_ERROR = 1e-15
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
    sums += _SUM_ERROR * (1 + weights[:, None] * (ratios + t))
    return float(masses @ np.maximum(sums.max(axis=0), 0.0)) * (1 + _SUM_ERROR * len(masses))


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
