# SPDX-License-Identifier: BSD-3-Clause
"""Queries with exact Laplace noise, whose leakage under priors with a floor is found by brute force."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from skprivate._typing import FloatArray
from skprivate.accounting import pml_laplace_query

_INTERIOR_PRIORS = 50
_MARGIN = 2  # of outcomes beyond the range; further ones have the ratios of its ends


@dataclass(frozen=True)
class Case:
    """A secret of a few values, queries on it, and what an outcome's probability is."""

    scales: FloatArray
    values: FloatArray
    floors: FloatArray
    log_channel: FloatArray

    @property
    def formula(self) -> float:
        """The supremum as the package computes it."""
        return pml_laplace_query(self.scales, self.values, self.floors)

    @property
    def epsilon(self) -> float:
        """The largest distance of two values."""
        return float((np.abs(self.values[:, None] - self.values) / self.scales).sum(axis=2).max())

    def largest_leakage(self, priors: FloatArray) -> float:
        """Return the largest ``log max_x P(y | x) / P(y)`` of outcomes on the grid and of these priors."""
        most = self.log_channel.max(axis=0)
        return max(float((most - logsumexp(self.log_channel.T, b=p, axis=1)).max()) for p in priors)

    def vertices(self) -> FloatArray:
        """Return the priors with one probability above its floor."""
        return self.floors + (1 - self.floors.sum()) * np.eye(len(self.floors))

    def interior_priors(self, rng: np.random.Generator) -> FloatArray:
        """Return random priors with these floors."""
        shares = rng.dirichlet(np.full(len(self.floors), 0.5), _INTERIOR_PRIORS)
        return self.floors + (1 - self.floors.sum()) * shares


def grid(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return all integer vectors of a box and its margin."""
    sides = (range(int(a) - _MARGIN, int(b) + _MARGIN + 1) for a, b in zip(low, high, strict=True))
    return np.array(list(itertools.product(*sides)), dtype=np.float64)


def log_noise(noise: FloatArray, scales: FloatArray) -> FloatArray:
    """Return the logarithm of the probability of discrete Laplace noises, over the last axis."""
    return (np.log(np.tanh(0.5 / scales)) - np.abs(noise) / scales).sum(axis=-1)


def fixed_others(values: FloatArray, scales: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The outcome is the person's contribution and noise."""
    outcomes = grid(values.min(axis=0), values.max(axis=0))
    return log_noise(outcomes - values[:, None], scales)


def independent_others(values: FloatArray, scales: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Others add a random vector to it."""
    sums = rng.integers(0, 3, (3, values.shape[1])).astype(np.float64)
    weights = rng.dirichlet(np.ones(len(sums)))
    outcomes = grid(values.min(axis=0), values.max(axis=0) + 2)
    given_others = log_noise(outcomes - values[:, None] - sums[:, None, None], scales)
    return logsumexp(given_others, b=weights[:, None, None], axis=0)


def two_rounds(values: FloatArray, scales: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The first outcome draws the sign and the offset of the second query: distances stay what they are."""
    firsts = grid(values.min(axis=0)[:1], values.max(axis=0)[:1])[:, 0]
    signs, offsets = rng.choice([-1, 1], len(firsts)), rng.integers(-5, 6, len(firsts))
    channels = []
    for first, sign, offset in zip(firsts, signs, offsets, strict=True):
        second = sign * values[:, 1] + offset
        seconds = grid(second.min(keepdims=True), second.max(keepdims=True))[:, 0]
        pairs = np.column_stack([np.full(len(seconds), first), seconds])
        centres = np.column_stack([values[:, 0], second])
        channels.append(log_noise(pairs - centres[:, None], scales))
    return np.concatenate(channels, axis=1)


def one_count(rng: np.random.Generator, m: int) -> FloatArray:
    return rng.permutation(np.arange(m) % 2)[:, None]


def leaf_counts(rng: np.random.Generator, m: int) -> FloatArray:
    n_leaves = int(rng.integers(2, m + 1))
    return np.eye(n_leaves)[rng.permutation(np.arange(m) % n_leaves)]


def moments(rng: np.random.Generator, m: int) -> FloatArray:
    x = rng.choice(np.arange(-2, 3), m, replace=False)
    return np.column_stack([x, x * x])


def sums(rng: np.random.Generator, m: int) -> FloatArray:
    while True:
        values = rng.integers(0, 4, (m, rng.integers(1, 4)))
        if np.ptp(values, axis=0).any():
            return values


def two_sums(rng: np.random.Generator, m: int) -> FloatArray:
    return np.column_stack([rng.permutation(5)[:m], rng.integers(0, 4, m)])


Values = Callable[[np.random.Generator, int], FloatArray]
Channel = Callable[[FloatArray, FloatArray, np.random.Generator], FloatArray]
KINDS: dict[str, tuple[Values, Channel]] = {
    "one count": (one_count, fixed_others),
    "leaf counts": (leaf_counts, fixed_others),
    "leaf counts, others random": (leaf_counts, independent_others),
    "moments": (moments, fixed_others),
    "several sums": (sums, fixed_others),
    "two rounds": (two_sums, two_rounds),
}


def draw_case(rng: np.random.Generator, kind: str) -> Case:
    """Return a random case: 2 to 5 values, one floor for all of them or one each, one scale or several."""
    m = int(rng.integers(2, 6))
    draw_values, channel = KINDS[kind]
    values = draw_values(rng, m).astype(np.float64)
    scales = rng.uniform(0.3, 6, values.shape[1] if rng.random() < 0.5 else 1) * np.ones(values.shape[1])
    floors = rng.uniform(0.02, 1) * (rng.dirichlet(np.ones(m)) if rng.random() < 0.5 else np.full(m, 1 / m))
    return Case(scales, values, floors, channel(values, scales, rng))
