# SPDX-License-Identifier: BSD-3-Clause
"""Bounds on what rounding in double arithmetic adds to the sensitivity of the broadcasts."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .._broadcast_mechanism import BroadcastMechanism
from .._games.sets import Box, Unconstrained

FloatArray = NDArray[np.float64]

_UNIT = 2.0**-53
# Products of roundings, and sizes that are rounded themselves.
_SECOND_ORDER = 1.01


def induced_norm(matrices: FloatArray) -> float:
    """Return the L1 norm of a matrix, the largest column sum; of a stack, the largest of all."""
    return float(np.abs(matrices).sum(axis=-2).max())


def contractions(matrices: FloatArray, steps: FloatArray) -> list[float]:
    """Return the L1 norms of I - l G for all steps l; of a stack of matrices G, the largest."""
    if matrices.shape[-1] == 1:
        low, high = float(matrices.min()), float(matrices.max())
        return list(np.maximum(np.abs(1 - steps * low), np.abs(1 - steps * high)).tolist())
    identity = np.eye(matrices.shape[-1])
    return [induced_norm(identity - step * matrices) for step in steps]


def affine_rounding(mechanism: BroadcastMechanism, P: FloatArray, Q: FloatArray) -> float:
    """Return what rounding adds to ``sum_k |v_i^k - v_i'^k|_1 / M_k``, with P and Q public.

    Parameters
    ----------
    mechanism : BroadcastMechanism
        With a `limit`; without one arithmetic counts as exact.
    P, Q : ndarray of shape (n_dims, n_dims) or (n_kinds, n_dims, n_dims)
        The matrices of one kind of players, or of several: a bound for the worst.

    Returns
    -------
    added : float

    Notes
    -----
    Two runs with the same broadcasts have the same public parts of estimates, bit for bit (see
    `PlayerStates`). So a run on doubles is compared with exact arithmetic that has the same public parts, and
    two runs differ by at most the exact bound and twice the error e_k of one. Let u = 2^-53; L = n `limit`
    bounds the start, r and the public parts, in L1. With X, V and D bounds on a strategy, an estimate and a
    pseudo-gradient P x + Q v + r, rounding in the latter is at most ``(n + 3) u D``: products of n terms, the
    estimate's sum, two more sums. Clipping at most doubles a difference (see `L1Distance`) and rounds by
    ``(6 n + 6) u C`` itself. The move and the sum with x round by ``2 u l D + u X``: in all eta_k. A
    projection onto other sets than a box rounds by psi_k, a few n u of what it is about. Errors travel as
    differences do: with f_k = |I - l G| ("wang_nedic"; with clipping as there)

        e_{k+1} <= expansion (f_k e_k + eta_k) + psi_k;

    without clipping also with f_k and e_k in L2, where a projection expands nothing, times sqrt(n). In "ye",
    strategies err by a_k and estimates, the last moves, by e_k:

        e_{k+1} <= l (|P| a_k + |Q| e_k) + eta_k,   a_{k+1} <= |I - l P| a_k + l |Q| e_k + eta_k.

    After a projection no two strategies are further apart than the diameter and 2 psi_k.
    """
    if mechanism.limit == 0:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        errors = _ye(mechanism, P, Q) if mechanism.algorithm == "ye" else _wang_nedic(mechanism, P, Q)
        total = 2 * _SECOND_ORDER * sum(map(np.divide, errors, mechanism.noise_scales.tolist()))
    return float(np.nan_to_num(total, nan=np.inf))


def constant_rounding(mechanism: BroadcastMechanism) -> Iterator[tuple[float, float]]:
    """Yield for every round what rounding adds to |x - x'|_1 before the projection, and after it.

    For pseudo-gradients of which nothing is public. Clipping leaves room for the rounding of the move (see
    `clip_rows`); the sum of strategy and move rounds by ``u (X + l C)``.
    """
    start = size = mechanism.n_dims * mechanism.limit
    clip = np.inf if mechanism.clip_norm is None else mechanism.clip_norm
    for step in mechanism.steps.tolist():
        moved = size + step * clip
        within = 2 * _SECOND_ORDER * _projection_error(mechanism)
        yield (2 * _SECOND_ORDER * _UNIT * 3 * moved, within) if mechanism.limit else (0.0, 0.0)
        size = _projected_size(mechanism, start, moved)


def _wang_nedic(mechanism: BroadcastMechanism, P: FloatArray, Q: FloatArray) -> Iterator[float]:
    constraint, n, inside = mechanism.constraint, mechanism.n_dims, _projection_error(mechanism)
    # In L2 a projection expands nothing; norms of many matrices take too long there.
    in_l2 = constraint.expansion > 1 and mechanism.clip_norm is None and (P + Q).ndim == 2
    expansion, unit = (1.0, np.sqrt(n)) if in_l2 else (constraint.expansion, 1.0)
    joint, error, identity = P + Q, 0.0, np.eye(n)
    shrinks, size = contractions(joint, mechanism.steps), induced_norm(joint)
    for (step, eta, moved), shrink in zip(_round_sizes(mechanism, P, Q), shrinks, strict=True):
        yield min(unit * error, constraint.diameter / 2 + inside)
        if in_l2:
            shrink = float(np.linalg.norm(identity - step * joint, 2))
        elif mechanism.clip_norm is not None:
            shrink = max(1.0, shrink) + (step * size if n > 1 else 0.0)
        exact = isinstance(constraint, Box | Unconstrained)
        error = expansion * (shrink * error + eta) + (0.0 if exact else inside + 2 * _UNIT * moved)


def _ye(mechanism: BroadcastMechanism, P: FloatArray, Q: FloatArray) -> Iterator[float]:
    own, shared, strategies, estimates = induced_norm(P), induced_norm(Q), 0.0, 0.0
    doubled = 2.0 if mechanism.clip_norm is not None and mechanism.n_dims > 1 else 1.0
    for (step, eta, _), shrink in zip(
        _round_sizes(mechanism, P, Q), contractions(P, mechanism.steps), strict=True
    ):
        yield estimates
        change = doubled * step * (own * strategies + shared * estimates)
        if mechanism.clip_norm is None:
            strategies = shrink * strategies + step * shared * estimates + eta
        else:
            strategies += change + eta
        estimates = change + eta


def _round_sizes(
    mechanism: BroadcastMechanism, P: FloatArray, Q: FloatArray
) -> Iterator[tuple[float, float, float]]:
    """Yield the step, eta_k and the size of what is projected, for every round."""
    n, own, shared = mechanism.n_dims, induced_norm(P), induced_norm(Q)
    start = size = n * mechanism.limit
    following, last = mechanism.algorithm == "wang_nedic", 0.0
    shrinks = contractions(P + Q if following else P, mechanism.steps)
    for step, shrink in zip(mechanism.steps.tolist(), shrinks, strict=True):
        estimate = start + (size if following else last)
        gradient = own * size + shared * estimate + start
        rounded = (n + 3) * _UNIT * gradient
        moved = shrink * size + step * (shared * (start if following else estimate) + start)
        if mechanism.clip_norm is not None:
            gradient = min(gradient, mechanism.clip_norm)
            rounded, moved = 2 * rounded + 6 * (n + 1) * _UNIT * gradient, size + step * gradient
        yield step, step * rounded + _UNIT * (2 * step * gradient + size), moved
        size, last = _projected_size(mechanism, start, moved), step * gradient


def _projected_size(mechanism: BroadcastMechanism, start: float, moved: float) -> float:
    """Size of a strategy after the projection of what has this size; the start is in the set."""
    if mechanism.algorithm == "ye" or isinstance(mechanism.constraint, Unconstrained):
        return moved
    return min(
        start + mechanism.constraint.diameter, mechanism.constraint.expansion * (moved + start) + start
    )


def _projection_error(mechanism: BroadcastMechanism) -> float:
    """How far rounding may take a projection out of a bounded set, and what it adds within."""
    diameter = mechanism.constraint.diameter
    return 8 * (mechanism.n_dims + 1) * _UNIT * diameter if np.isfinite(diameter) else 0.0
