# SPDX-License-Identifier: BSD-3-Clause
"""Rényi divergences of single runs against sums over all outputs."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp

from skprivate.accounting._composition.compose import _ORDERS, Amount, _divergence, round_up


def discrete_laplace_divergence(shift, scale, order):
    """Rényi divergence of discrete Laplace noise around 0 from the same around `shift`."""
    k = np.arange(-60 * scale, 60 * scale + shift + 1)
    normaliser = np.log(np.tanh(1 / (2 * scale)))
    logs = [normaliser - np.abs(k - centre) / scale for centre in (0, shift)]
    return logsumexp(order * logs[0] - (order - 1) * logs[1]) / (order - 1)


@pytest.mark.parametrize(("shift", "scale"), [(1, 1), (2, 2), (1, 4), (8, 8), (100, 100), (150, 100)])
def test_no_divergence_of_laplace_noise_is_understated(shift, scale):
    amount = Amount(Fraction(shift, scale), Fraction(0), shift=shift, scale=Fraction(scale))
    stated = _divergence(amount)
    for order in (1.01, 1.5, 2.0, 8.0, 64.0):
        place = int(np.searchsorted(_ORDERS, order))
        exact = discrete_laplace_divergence(shift, scale, _ORDERS[place])
        # On fine grids little is lost, too.
        assert exact <= stated[place] <= (1.1 if shift >= 100 else 3) * exact


@pytest.mark.parametrize("amount", [Fraction(k, 7 * 10**6) for k in range(1, 40)] + [Fraction(1, 2)])
def test_a_float_is_the_next_one_that_is_not_below(amount):
    number = round_up(amount)
    assert np.nextafter(number, 0.0) < amount <= number
