# SPDX-License-Identifier: BSD-3-Clause
"""What doc/deployment.rst says about forged reports: how far one of them moves the estimates."""

import math

import numpy as np
import pytest

from skprivate.randomizers import (
    HadamardRandomizer,
    LaplaceRandomizer,
    SignedLaplaceRandomizer,
    make_randomizer,
)

N_CELLS = 4
K = 2 * N_CELLS


def changes(randomizer):
    """How much each accepted report changes the estimates of all leaves, shape (n_accepted, n_cells)."""
    honest = randomizer.aggregate(randomizer.randomize(np.arange(800) % K, random_state=0))
    before, found = randomizer.estimate(honest, 800), []
    # One byte, or a number of a few bits: every report there is.
    for value in range(256):
        report = np.array([value], dtype=randomizer.report_dtype).reshape(1, *randomizer.report_shape)
        try:
            counts = randomizer.aggregate(report)
        except ValueError:
            continue
        found.append(randomizer.estimate(honest + counts, 801) - before)
    return np.array(found)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
class TestBounds:
    @pytest.mark.parametrize("n_blocks", [1, 2, 4])
    def test_hadamard(self, epsilon, n_blocks):
        found, e = changes(HadamardRandomizer(epsilon, N_CELLS, n_blocks=n_blocks)), math.exp(epsilon)
        assert len(found) == K
        assert np.abs(found).max() == pytest.approx((e + 2 * n_blocks - 1) / (e - 1))
        moved = np.abs(found) > 1e-9
        assert (moved.sum(axis=1) == N_CELLS // n_blocks).all()
        # The one-row attack: a report that moves all leaves of its block the same way.
        assert (found[1] >= -1e-9).all()

    def test_krr(self, epsilon):
        found, e = changes(make_randomizer("krr", epsilon, N_CELLS)), math.exp(epsilon)
        assert len(found) == K
        assert np.abs(found).max() == pytest.approx((e + K - 1) / (e - 1))
        assert ((np.abs(found) > 1e-9).sum(axis=1) == 1).all()

    def test_subset(self, epsilon):
        randomizer = make_randomizer("subset", epsilon, N_CELLS)
        found, e, d = changes(randomizer), math.exp(epsilon), randomizer.subset_size
        # Another number of ones is refused.
        assert len(found) == math.comb(K, d)
        assert np.abs(found).max() == pytest.approx((d * e + K - d) * (K - 1) / (d * (K - d) * (e - 1)))
        assert (np.abs(found) > 1e-9).sum(axis=1).max() == d

    def test_unary(self, epsilon):
        found, e = changes(make_randomizer("unary", epsilon, N_CELLS)), math.exp(epsilon)
        assert len(found) == 2**K
        assert np.abs(found).max() == pytest.approx(2 * (e + 1) / (e - 1))
        assert found.min(axis=1).max() == pytest.approx(2 * (e + 1) / (e - 1))  # every leaf at once


@pytest.mark.parametrize("kind", [LaplaceRandomizer, SignedLaplaceRandomizer])
def test_laplace_has_no_bound(kind):
    randomizer = kind(1.0, N_CELLS)
    report = np.zeros((1, *randomizer.report_shape), dtype=randomizer.report_dtype)
    report.reshape(1, -1)[0, -1] = 2**60
    assert np.abs(randomizer.estimate(randomizer.aggregate(report), 1)).max() > 1e9
