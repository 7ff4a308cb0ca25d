# SPDX-License-Identifier: BSD-3-Clause
"""Monotonicity: of affine games by signs of eigenvalues, of others by pairs of profiles that are tried."""

import numpy as np

from ..._typing import FloatArray
from .equilibrium import Operator
from .sets import ConstraintSet

# Negative eigenvalues above minus this times the largest matrix norm count as rounding.
_ROUNDING = 1e-9
# Scales of the pairs of points at which a user's game is asked whether it is monotone, in diameters or 1.
_PAIR_SCALES = (0.1, 1.0, 10.0)
_PAIRS_PER_SCALE = 8


def is_nonnegative_form(P: FloatArray, Q: FloatArray, n_players: int) -> bool:
    """Return whether ``z -> sum_i z_i' (P_i z_i + Q_i mean z)`` is never negative, up to rounding.

    Parameters
    ----------
    P, Q : ndarray of shape (n, n) or (n_players, n, n)
    n_players : int
    """
    if P.shape[-1] == 0:
        return True
    shift = _ROUNDING * max(_largest_entry(P), _largest_entry(Q), np.finfo(np.float64).tiny)
    if P.ndim == Q.ndim == 2:
        together = _least_eigenvalue(P + Q) >= -shift
        return together and (n_players == 1 or _least_eigenvalue(P) >= -shift)
    return _count_negative(P, Q, n_players, shift) == 0


def trace_weights(Q: FloatArray) -> FloatArray | None:
    """Return weights inverse to the traces of Q, where they are all positive and not the same."""
    if Q.ndim == 2 or Q.shape[-1] == 0:
        return None
    traces = np.trace(Q, axis1=-2, axis2=-1)
    if traces.min() <= 0 or traces.max() <= traces.min() * (1 + _ROUNDING):
        return None
    return float(traces.mean()) / traces


def _count_negative(P: FloatArray, Q: FloatArray, n_players: int, shift: float) -> int:
    """Count the negative eigenvalues of the form's matrix plus shift times the identity.

    The symmetric matrix is S = D + W C W' with D block-diagonal of the symmetric parts of P_i, plus the
    shift, W = [E, R], E a stack of identities, R the stack of the Q_i, and C = [[0, I], [I, 0]] / (2 N). The
    block matrix [[D, W], [W', -C^-1]] has the inertia of D plus that of -C^-1 - W' D^-1 W, and also that
    of -C^-1 plus that of S. C^-1 has n negative eigenvalues and n positive ones; hence the difference below.
    """
    size = P.shape[-1]
    blocks = (P + np.swapaxes(P, -1, -2)) / 2 + shift * np.eye(size)
    blocks, Q = np.broadcast_to(blocks, (n_players, size, size)), np.broadcast_to(Q, (n_players, size, size))
    wide = np.concatenate([np.broadcast_to(np.eye(size), blocks.shape), Q], axis=-1)
    gram = np.einsum("iab,iac->bc", wide, np.linalg.solve(blocks, wide))
    swap = np.zeros((2 * size, 2 * size))
    swap[:size, size:] = swap[size:, :size] = 2.0 * n_players * np.eye(size)
    schur = -swap - (gram + gram.T) / 2
    return _count_negative_eigenvalues(blocks) + _count_negative_eigenvalues(schur) - size


def _count_negative_eigenvalues(matrices: FloatArray) -> int:
    return int((np.linalg.eigvalsh(matrices) < 0).sum())


def _least_eigenvalue(matrix: FloatArray) -> float:
    return float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[0])


def _largest_entry(matrices: FloatArray) -> float:
    return float(np.abs(matrices).max())


def some_pair_is_not_monotone(operator: Operator, constraint: ConstraintSet, start: FloatArray) -> bool:
    """Return whether one of the tried pairs of profiles speaks against monotonicity, by more than rounding.

    Parameters
    ----------
    operator : callable
        From strategies to the pseudo-gradients at them and their mean.
    constraint : ConstraintSet
    start : ndarray of shape (n_players, n_dims)
        The public point that profiles lie around, from a fixed seed.
    """

    def violated(first: FloatArray, second: FloatArray) -> bool:
        second = constraint.project(second)
        rise, step = operator(second) - operator(first), second - first
        return float((rise * step).sum()) < -_ROUNDING * float(np.linalg.norm(rise) * np.linalg.norm(step))

    generator, diameter = np.random.default_rng(0), constraint.diameter
    unit = diameter if 0 < diameter < np.inf else 1.0
    for scale in np.repeat(_PAIR_SCALES, _PAIRS_PER_SCALE) * unit:
        first = constraint.project(start + scale * generator.standard_normal(start.shape))
        steps = scale * generator.standard_normal(start.shape)
        mean = steps.mean(axis=0)
        if any(violated(first, first + step) for step in (steps, steps - mean, steps[:1])):
            return True
    return False
