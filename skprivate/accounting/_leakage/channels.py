# SPDX-License-Identifier: BSD-3-Clause
"""Finite channels and priors: checks, descriptions, and the joint channel of several releases."""

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
