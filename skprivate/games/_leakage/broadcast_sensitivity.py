# SPDX-License-Identifier: BSD-3-Clause
"""Sensitivity of a player's broadcasts to its private vector, whatever is observed, and rounding."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from ..._typing import FloatArray, IndexArray
from ...exceptions import PrivacyUnboundedError
from .._games.sets import Box, Unconstrained
from .._plan import Algorithm, BroadcastMechanism

# Sensitivity of a player's broadcasts to its private vector, whatever is observed: three kinds of bounds.

# Differences at once, so that intermediate arrays stay below 32 MB.
_ENTRIES_AT_ONCE = 4_000_000
# The largest value of a norm on a box is searched over so many dimensions at most: 2^(n - 1) corners.
_CORNER_DIMS = 12
# Bounds that are no norms take one recursion per kind of player; beyond so many kinds one bounds them all.
_MOST_KINDS = 1000


class Distance(ABC):
    """Bound on ``sum_k |v_i^k - v_i'^k|_1 / M_k`` of one player by its private vectors, for all observations.

    Attributes
    ----------
    exact : bool
        Whether it is attained, independently of what is observed.
    separable : bool
        Whether it equals ``rates @ |r - r'|``.
    rates : ndarray of shape (n_dims,)
        It is at most ``rates @ |r - r'|``; infinite where only "the same or not" counts.
    ceiling : float
        It is at most this, whatever the private vectors.
    allowance : float
        Added for two different secrets: the grid of the noise, and rounding.
    """

    exact: bool
    separable: bool
    rates: FloatArray
    ceiling: float
    allowance: float

    def without_allowance(self) -> Self:
        """Return the same without allowance."""
        return replace(self, allowance=0.0)  # type: ignore[type-var]  # of all kinds, which are dataclasses

    @abstractmethod
    def of(self, differences: FloatArray) -> FloatArray:
        """Return the bound for the rows r - r', without the allowance; differences of shape (m, n_dims)."""

    def between(self, types: FloatArray) -> FloatArray:
        """Return the bounds between all rows of shape (m, n_dims), with the allowance off the diagonal."""
        m = len(types)
        first, second = np.triu_indices(m, 1)
        table = np.zeros((m, m))
        table[first, second] = self.of(types[first] - types[second]) + self.allowance
        return table + table.T

    @abstractmethod
    def largest(self, widths: FloatArray) -> tuple[float, bool]:
        """Return a bound over a box with sides of these lengths, and whether it is attained."""


@dataclass(frozen=True, eq=False)
class NormDistance(Distance):
    """``sum_k |Phi_k (r - r')|_1 / M_k``: independent of the observations, hence attained.

    With the same broadcasts o, let E_k (r - r') and Phi_k (r - r') be the differences of the strategies and
    of the estimates; both vanish at k = 0, where strategies are public. Without projection an affine
    pseudo-gradient gives, o cancelling, the step ``d_k = -l_k (P E_k + Q Phi_k + I)``, and
    ``E_{k+1} = E_k + d_k``. "ye" sets the estimate to a function of o plus the step: ``Phi_{k+1} = d_k``;
    "wang_nedic" adds the step and a function of o to the estimate: ``Phi_{k+1} = Phi_k + d_k = E_{k+1}``.
    """

    rates: FloatArray
    separable: bool
    allowance: float
    mechanism: BroadcastMechanism
    P: FloatArray
    Q: FloatArray
    exact = True
    ceiling = np.inf

    @cached_property
    def _rows(self) -> FloatArray:
        """All rows of all Phi_k / M_k: the norm is the L1 norm of their product with r - r'."""
        if self.separable:
            return np.diag(self.rates)
        matrices = phi_matrices(self.P, self.Q, self.mechanism.steps, self.mechanism.algorithm)
        rows = [phi / scale for phi, scale in zip(matrices, self.mechanism.noise_scales, strict=True)]
        return np.concatenate(rows)

    def of(self, differences: FloatArray) -> FloatArray:
        """Return the norms of the rows; infinite where the recursion overflows."""
        size = max(1, _ENTRIES_AT_ONCE // max(1, len(self._rows)))
        parts = [differences[i : i + size] for i in range(0, len(differences), size)]
        with np.errstate(over="ignore", invalid="ignore"):
            norms = [np.abs(self._rows @ part.T).sum(axis=0) for part in parts]
        values = np.concatenate([np.zeros(0), *norms])
        return np.where(differences.any(axis=1), np.nan_to_num(values, nan=np.inf, posinf=np.inf), 0.0)

    def largest(self, widths: FloatArray) -> tuple[float, bool]:
        """Return the largest norm on a box: a convex function is largest at a corner."""
        widths = np.where(self.rates > 0, widths, 0.0)
        if not np.isfinite(widths).all():
            return np.inf, True
        if self.separable or len(widths) > _CORNER_DIMS:
            return float(self.rates @ widths) + self.allowance, self.separable
        # r and -r have the same norm: the first sign is free.
        signs = 1.0 - 2.0 * (np.arange(2 ** (len(widths) - 1))[:, None] >> np.arange(len(widths)) & 1)
        return float(self.of(signs * widths).max()) + self.allowance, True


@dataclass(frozen=True, eq=False)
class L1Distance(Distance):
    """An increasing function of |r - r'|_1 for a private constant part r with projection or clipping.

    Notes
    -----
    Let e_k bound the L1 distance of the strategies and t = |r - r'|_1; G = P + Q and |.| is the L1 norm, for
    matrices the largest column sum. In "wang_nedic" the estimates differ as the strategies do, since both
    start equal and gain the same difference every round. So, without clipping, the points to be projected
    differ by ``(I - l G)(x - x') - l (r - r')``, and the projection multiplies by `expansion` at most:

        e_{k+1} <= expansion (|I - l G| e_k + l t), and <= diameter after a projection.

    Clipping F to c F with ``c = min(1, C / |F|)`` bounds every step, ``e_{k+1} <= expansion (e_k + 2 C l)``,
    but |I - l G| may then contract no more. Write, with |F| >= |F'| and so c <= c',
    ``c F - c' F' = c (F - F') + (c - c') F'``, where

        |(c - c') F'| <= |F| - |F'| <= |F - F'|

    (both clipped: C (1 / |F'| - 1 / |F|) |F'| = C (|F| - |F'|) / |F|; F alone: (1 - C / |F|) |F'| and
    |F'| <= C). The first part moves by a convex function of c in [0, 1], so at most by that of c = 0 or 1:

        e_{k+1} <= expansion (max(e_k, |I - l G| e_k + l t) + l (|G| e_k + t)),

    the last summand being 0 in one dimension, where c F - c' F' is between 0 and F - F'. In "ye", which does
    not project, both parts together are at most twice |F - F'| (once in one dimension), so the estimates
    differ by ``l min(2 C, 2 (|P| e_k + |Q| Delta(k) + t))`` and e_{k+1} by that more than e_k. All bounds
    increase in e_k, so that the least of them may be taken in every round; without the limits C and
    `diameter` they are proportional to t, which gives the rates. Stacks of P and Q stand for any of them.
    """

    allowance: float
    mechanism: BroadcastMechanism
    P: FloatArray
    Q: FloatArray
    exact = False
    separable = False

    @cached_property
    def rates(self) -> FloatArray:  # type: ignore[override]
        return np.full(self.mechanism.n_dims, self._sum(np.ones(1), with_limits=False)[0])

    @cached_property
    def ceiling(self) -> float:  # type: ignore[override]
        return constant_bound(self.mechanism)

    def of(self, differences: FloatArray) -> FloatArray:
        """Return the bounds for the rows."""
        lengths, back = np.unique(np.abs(differences).sum(axis=1), return_inverse=True)
        return self._sum(lengths, with_limits=True)[back]

    def largest(self, widths: FloatArray) -> tuple[float, bool]:
        """Return the bound for the corner of a box."""
        finite = np.isfinite(widths).all()
        return (float(self.of(widths[None])[0]) if finite else self.ceiling) + self.allowance, False

    def _sum(self, lengths: FloatArray, *, with_limits: bool) -> FloatArray:
        recursion = self._ye if self.mechanism.algorithm == "ye" else self._wang_nedic
        rounds = recursion(lengths, with_limits)
        with np.errstate(over="ignore"):
            return np.asarray(sum(map(np.divide, rounds, self.mechanism.noise_scales.tolist())))

    def _wang_nedic(self, lengths: FloatArray, with_limits: bool) -> Iterator[FloatArray]:
        mechanism, distance = self.mechanism, np.zeros_like(lengths)
        clip, size, scalar = mechanism.clip_norm, induced_norm(self.P + self.Q), mechanism.n_dims == 1
        expansion, diameter = mechanism.constraint.expansion, mechanism.constraint.diameter
        shrinks = contractions(self.P + self.Q, mechanism.steps)
        for step, contraction in zip(mechanism.steps.tolist(), shrinks, strict=True):
            yield distance
            moved = contraction * distance + step * lengths
            if clip is not None:
                moved = np.maximum(distance, moved) + (0.0 if scalar else step * (size * distance + lengths))
                moved = np.minimum(moved, distance + 2 * clip * step) if with_limits else moved
            distance = expansion * moved
            if with_limits:
                distance = np.minimum(diameter, distance)

    def _ye(self, lengths: FloatArray, with_limits: bool) -> Iterator[FloatArray]:
        mechanism, distance, change = self.mechanism, np.zeros_like(lengths), np.zeros_like(lengths)
        own, shared = induced_norm(self.P), induced_norm(self.Q)
        factor = 1.0 if mechanism.n_dims == 1 else 2.0
        most = 2 * mechanism.clip_norm if with_limits and mechanism.clip_norm is not None else np.inf
        for step in mechanism.steps:
            yield change
            change = step * np.minimum(most, factor * (own * distance + shared * change + lengths))
            distance = distance + change


@dataclass(frozen=True, eq=False)
class ConstantDistance(Distance):
    """One bound for all different secrets: nothing but the clipping norm or the set's diameter is used."""

    ceiling: float
    rates: FloatArray
    allowance: float
    exact = False
    separable = False

    def of(self, differences: FloatArray) -> FloatArray:
        """Return the ceiling for all rows but zeros."""
        return np.where(differences.any(axis=1), self.ceiling, 0.0)

    def between(self, types: FloatArray) -> FloatArray:
        """Return the ceiling off the diagonal: equal vectors may stand for different functions."""
        return (self.ceiling + self.allowance) * (1.0 - np.eye(len(types)))

    def largest(self, widths: FloatArray) -> tuple[float, bool]:
        """Return the ceiling: the box does not bound the functions."""
        return self.ceiling + self.allowance, False


def phi_matrices(
    P: FloatArray, Q: FloatArray, steps: FloatArray, algorithm: Algorithm
) -> Iterator[FloatArray]:
    """Yield Phi_k of `NormDistance` for k = 0, 1, ..., one per step; P and Q of shape (..., n, n)."""
    identity = np.eye(P.shape[-1])
    strategies = estimates = np.zeros(np.broadcast_shapes(P.shape, Q.shape))
    with np.errstate(over="ignore", invalid="ignore"):
        for step in steps:
            yield estimates
            change = -step * (P @ strategies + Q @ estimates + identity)
            strategies = strategies + change
            estimates = change if algorithm == "ye" else strategies


def constant_bound(mechanism: BroadcastMechanism, *, rounded: bool = False) -> float:
    """Return the bound of `ConstantDistance`: infinite if neither clipping nor a set bounds the broadcasts.

    A clipped "ye" moves an estimate by at most C l from a function of the observations, so that two differ
    by ``2 C l_{k-1}``. In "wang_nedic" they differ as the strategies do: by at most
    ``e_{k+1} <= expansion (e_k + 2 C l_k)`` as every step is at most C l_k long, and by no more than the
    diameter after a projection. `rounded` adds what double arithmetic does.
    """
    diameter, clip, total, distance = mechanism.constraint.diameter, mechanism.clip_norm, 0.0, 0.0
    rounds = zip(mechanism.steps, mechanism.noise_scales, constant_rounding(mechanism), strict=True)
    for step, scale, added in rounds:
        total += distance / scale
        before, after = added if rounded else (0.0, 0.0)
        if mechanism.algorithm == "ye":
            distance = np.inf if clip is None else 2 * clip * step
        elif clip is None:
            distance = diameter + after
        else:
            moved = mechanism.constraint.expansion * (distance + 2 * clip * step + before)
            distance = min(diameter, moved) + after
    return float(total)


def player_distances(mechanism: BroadcastMechanism) -> tuple[list[Distance], IndexArray]:
    """Return the distances of all kinds of players, and the kind of every player.

    Parameters
    ----------
    mechanism : BroadcastMechanism
        Of the run.

    Returns
    -------
    distances : list of Distance
        One per distinct pair (P_i, Q_i).
    kinds : ndarray of shape (n_players,)
        Index of every player's distance.

    Raises
    ------
    ValueError
        If the noise of a round is not positive and finite.
    PrivacyUnboundedError
        If nothing bounds what is broadcast.
    """
    scales = mechanism.noise_scales
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        raise ValueError(
            "noise_scale must be positive and finite in every round: without noise there is no guarantee."
        )
    grid = mechanism.n_dims * float((mechanism.allowance / scales).sum())
    if mechanism.private != {"r"} or mechanism.P is None or mechanism.Q is None:
        ceiling = constant_bound(mechanism)
        if np.isinf(ceiling):
            raise PrivacyUnboundedError(
                "nothing bounds how far a player's secret moves its broadcasts: set clip_norm, or use "
                '"wang_nedic" with bounded strategies, or make P and Q public.'
            )
        allowance = grid + constant_bound(mechanism, rounded=True) - ceiling
        distance = ConstantDistance(ceiling, np.full(mechanism.n_dims, np.inf), allowance)
        return [distance], np.zeros(mechanism.n_players, dtype=np.intp)
    P, Q, kinds = _distinct_matrices(mechanism, mechanism.P, mechanism.Q)
    # Once for all kinds: it is small.
    allowance = grid + affine_rounding(mechanism, *((P, Q) if len(P) > 1 else (P[0], Q[0])))
    unprojected = mechanism.algorithm == "ye" or isinstance(mechanism.constraint, Unconstrained)
    if mechanism.clip_norm is None and unprojected:
        return _norm_distances(mechanism, P, Q, allowance), kinds
    if len(P) > _MOST_KINDS:
        return [L1Distance(allowance, mechanism, P, Q)], np.zeros_like(kinds)
    return [L1Distance(allowance, mechanism, *pair) for pair in zip(P, Q, strict=True)], kinds


def _norm_distances(
    mechanism: BroadcastMechanism, P: FloatArray, Q: FloatArray, allowance: float
) -> list[Distance]:
    """The distances of all kinds, their rates in one pass and without storing any Phi_k."""
    n = mechanism.n_dims
    rates, mixed = np.zeros((len(P), n)), np.zeros(len(P), dtype=bool)
    matrices = phi_matrices(P, Q, mechanism.steps, mechanism.algorithm)
    with np.errstate(over="ignore", invalid="ignore"):
        for phi, scale in zip(matrices, mechanism.noise_scales, strict=True):
            rates += np.abs(phi).sum(axis=1) / scale
            mixed |= (phi[:, ~np.eye(n, dtype=bool)] != 0).any(axis=1)
    rates = np.nan_to_num(rates, nan=np.inf, posinf=np.inf)
    return [
        NormDistance(rates[kind], not mixed[kind], allowance, mechanism, P[kind], Q[kind])
        for kind in range(len(P))
    ]


def _distinct_matrices(
    mechanism: BroadcastMechanism, P: FloatArray, Q: FloatArray
) -> tuple[FloatArray, FloatArray, IndexArray]:
    """Distinct pairs (P_i, Q_i), stacked, and the index of every player's pair."""
    n, n_players = mechanism.n_dims, mechanism.n_players
    if P.ndim == 2 and Q.ndim == 2:
        return P[None], Q[None], np.zeros(n_players, dtype=np.intp)
    stacks = [np.broadcast_to(matrix, (n_players, n, n)).reshape(n_players, -1) for matrix in (P, Q)]
    pairs, kinds = np.unique(np.hstack(stacks), axis=0, return_inverse=True)
    P, Q = pairs.reshape(-1, 2, n, n).swapaxes(0, 1)
    return P, Q, kinds.reshape(-1)


# Bounds on what rounding in double arithmetic adds to the sensitivity of the broadcasts.

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
    `PlayerStates`). So a run on doubles is compared with exact arithmetic that has the same public parts. Two
    runs differ by at most the exact bound plus twice the error e_k of one. Let u = 2^-53; L = n `limit`
    bounds the start, r and the public parts, in L1. With X, V and D bounds on a strategy, an estimate and a
    pseudo-gradient P x + Q v + r, rounding in the latter is at most ``(n + 3) u D``: products of n terms, the
    estimate's sum, two more sums. Clipping at most doubles a difference (see `L1Distance`) and rounds by ``(6
    n + 6) u C`` itself. The move and the sum with x round by ``2 u l D + u X``: in all eta_k. A projection
    onto other sets than a box rounds by psi_k, a few n u of what it is about. Errors travel as differences
    do: with f_k = |I - l G| ("wang_nedic"; with clipping as there)

        e_{k+1} <= expansion (f_k e_k + eta_k) + psi_k;

    without clipping also with f_k and e_k in L2, where a projection expands nothing, times sqrt(n). In "ye",
    strategies err by a_k and estimates, the last moves, by e_k:

        e_{k+1} <= l (|P| a_k + |Q| e_k) + eta_k,   a_{k+1} <= |I - l P| a_k + l |Q| e_k + eta_k.

    After a projection no two strategies are further apart than the diameter and 2 psi_k.
    """
    if mechanism.limit == 0:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        errors = (
            _ye_rounding(mechanism, P, Q)
            if mechanism.algorithm == "ye"
            else _wang_nedic_rounding(mechanism, P, Q)
        )
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


def _wang_nedic_rounding(mechanism: BroadcastMechanism, P: FloatArray, Q: FloatArray) -> Iterator[float]:
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


def _ye_rounding(mechanism: BroadcastMechanism, P: FloatArray, Q: FloatArray) -> Iterator[float]:
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
