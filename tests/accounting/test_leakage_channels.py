# SPDX-License-Identifier: BSD-3-Clause
"""Channels of several reports, and the envelope: the leakage that no post-processing passes."""

import itertools
import math

import numpy as np
import pytest

from skprivate.accounting import joint_channel, pml_guarantee, pointwise_maximal_leakage


def partitions(items):
    if not items:
        yield []
        return
    first, *rest = items
    for partition in partitions(rest):
        yield [[first], *partition]
        for i in range(len(partition)):
            yield [*partition[:i], [first, *partition[i]], *partition[i + 1 :]]


def tail(channel, prior, delta):
    """Smallest eps with P(leakage > eps) <= delta, of the channel as it is."""
    masses, leakage = prior @ channel, pointwise_maximal_leakage(channel, prior)
    return min(eps for eps in [0.0, *leakage] if masses[leakage > eps + 1e-12].sum() <= delta)


PRIOR = [0.44, 0.44, 0.12]
FIRST = [[0, 1], [0.5, 0.5], [0.5, 0.5]]
SECOND = [[0.5, 0.5], [0, 1], [0.5, 0.5]]


def test_leakages_do_not_add_up():
    first, second = pml_guarantee(FIRST, PRIOR), pml_guarantee(SECOND, PRIOR)
    joint = pml_guarantee(joint_channel(FIRST, SECOND), PRIOR)
    assert (round(first, 3), round(second, 3), round(joint, 3)) == (0.580, 0.580, 2.120)
    assert joint > first + second


def test_joint_channel_is_the_product_of_its_parts():
    rng = np.random.default_rng(0)
    parts = [rng.dirichlet(np.ones(k), 3) for k in (2, 3, 4)]
    joint = joint_channel(*parts)
    assert joint.shape == (3, 24)
    for x, (i, j, k) in itertools.product(range(3), np.ndindex(2, 3, 4)):
        product = parts[0][x, i] * parts[1][x, j] * parts[2][x, k]
        assert joint[x, (i * 3 + j) * 4 + k] == pytest.approx(product)


def test_envelope_of_a_tiny_delta_is_not_below_what_a_rarer_output_leaks():
    # Output 1 has probability 5e-14 and leaks log 2.
    channel = [[1 - 1e-13, 1e-13], [1.0, 0.0]]
    assert pml_guarantee(channel, [0.5, 0.5], "envelope", delta=1e-15) >= math.log(2) * (1 - 1e-9)


@pytest.mark.parametrize("delta", [0.05, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_envelope_dominates_every_merge_of_outputs(seed, delta):
    rng = np.random.default_rng(seed)
    channel, prior = rng.dirichlet(np.full(6, 0.7), 3), rng.dirichlet(np.ones(3))
    bound = pml_guarantee(channel, prior, "envelope", delta)
    assert bound <= pml_guarantee(channel, prior) + 1e-9
    for blocks in partitions(list(range(6))):
        merged = np.stack([channel[:, block].sum(axis=1) for block in blocks], axis=1)
        assert tail(merged, prior, delta) <= bound + 1e-9
