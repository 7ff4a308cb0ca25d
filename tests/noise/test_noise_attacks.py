# SPDX-License-Identifier: BSD-3-Clause
"""Attacks that float noise fails and ours must not, and an audit that must catch half the noise."""

import math
from fractions import Fraction

import numpy as np
import pytest

from skprivate.noise import DiscreteLaplaceMechanism
from skprivate.noise._rounding import grid_exponent, quantise

EPSILON = Fraction(1, 10)
TRIALS = 200_000


def release_floats(answer, generator):
    return answer + generator.laplace(scale=float(1 / EPSILON), size=TRIALS)


def release_grid(answer, generator):
    k = grid_exponent(1, EPSILON)
    mechanism = DiscreteLaplaceMechanism(EPSILON, 2**k)
    values = quantise(np.full(TRIALS, answer), k, 0.0, 1.0)
    return np.ldexp(mechanism.randomize(values, generator).astype(np.float64), -k)


def has_low_bits(released):
    """1 + noise is always a multiple of 2^-53, noise alone is not when it is small."""
    return np.ldexp(released, 53) != np.floor(np.ldexp(released, 53))


def is_out_of_reach_of_zero(released):
    """No uniform number on the 2^-53 grid gives this value as noise, so the answer was not 0."""
    scale = float(1 / EPSILON)
    nearest = np.rint(np.ldexp(np.exp(-np.abs(released) / scale), 53))
    candidates = np.clip(nearest[:, None] + np.arange(-2, 3), 1, 2.0**53)
    # math.log is the C library's, as in numpy's generators; numpy.log may differ in the last bit.
    logs = np.fromiter(map(math.log, np.ldexp(candidates, -53).flat), dtype=np.float64)
    return (scale * logs.reshape(candidates.shape) != -np.abs(released)[:, None]).all(axis=1)


@pytest.mark.parametrize(("event", "likely"), [(has_low_bits, 0.0), (is_out_of_reach_of_zero, 1.0)])
def test_float_attacks_tell_floats_apart_and_not_the_grid(epsilon_lower_bound, event, likely) -> None:
    bounds = {}
    for release in (release_floats, release_grid):
        generator = np.random.default_rng(11)
        hits = [int(event(release(answer, generator)).sum()) for answer in (likely, 1.0 - likely)]
        bounds[release] = epsilon_lower_bound(*hits, TRIALS)
        print(f"{event.__name__}, {release.__name__}: {hits}, epsilon >= {bounds[release]:.3f}")
    assert bounds[release_floats] >= 5
    # On the grid both events have the same frequency up to 3 %: 0.1 is more than 10 standard errors away.
    assert bounds[release_grid] <= EPSILON


def test_the_audit_catches_half_the_noise_and_passes_the_right_one(epsilon_lower_bound) -> None:
    right = DiscreteLaplaceMechanism(1.5, 3000)
    half = DiscreteLaplaceMechanism.from_scale(right.scale // 2, 3000)
    bounds = {}
    for name, mechanism in (("right", right), ("half", half)):
        generator = np.random.default_rng(12)
        hits = [
            int((mechanism.randomize(np.full(20_000, answer), generator) >= 3000).sum())
            for answer in (3000, 0)
        ]
        # The event has the pair's full loss; at this confidence the right noise fails once in 1e7 runs.
        bounds[name] = epsilon_lower_bound(*hits, 20_000, confidence=1 - 1e-7)
        print(f"{name} noise: {hits}, epsilon >= {bounds[name]:.3f}")
    assert right.epsilon == Fraction(3, 2)
    assert bounds["right"] <= 1.5 < bounds["half"]
