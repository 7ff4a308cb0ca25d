# SPDX-License-Identifier: BSD-3-Clause
"""The paper's reports: sensitivity by fuzzing the integers before noise, unbiased, stated variance."""

import numpy as np
import pytest

from skprivate.randomizers import LaplaceRandomizer


@pytest.mark.parametrize("epsilon", [1e3, 1e6, 1e100])
def test_a_huge_epsilon_does_not_wrap(epsilon):
    randomizer = LaplaceRandomizer(epsilon, 2)
    counts = randomizer.simulate(np.full(200_000, 3))
    # At epsilon 1000 the standard deviation is 6.
    np.testing.assert_allclose(randomizer.estimate(counts, 200_000), [0, 200_000], atol=60)


def test_the_least_epsilon():
    randomizer = LaplaceRandomizer(4e-12, 2)
    assert randomizer.simulate(np.zeros(50_000, dtype=int), 0).shape == (2, 2)
