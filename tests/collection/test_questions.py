# SPDX-License-Identifier: BSD-3-Clause
"""Targets of a question: positions of labels, and numbers that are clipped and rounded at random."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from skprivate.collection import TreeClient
from skprivate.randomizers import KRRRandomizer, LabelRandomizer
from tests.collection.studies import draw, number_specification

# A lie has a probability below 1e-25.
SHARP = KRRRandomizer(60.0, 1, 5)


@pytest.mark.parametrize("value", [10, 10.0, np.float32(10), np.int8(10), Fraction(10), 1e308, 10**300])
def test_numbers_beyond_the_bounds_are_clipped(value):
    for number, level in ((value, 4), (-value, 0)):
        assert TreeClient(number_specification(SHARP)).randomize([0.5, 0.5], number)[0] == level


def test_numbers_far_beyond_narrow_bounds_do_not_overflow():
    specification = number_specification(SHARP, bounds_y=(1.0, 1.0 + 1e-9))
    for number, level in ((1e308, 4), (-1e308, 0)):
        assert TreeClient(specification).randomize([0.5, 0.5], number)[0] == level
        assert draw(specification, [[0.5, 0.5]], [number]).item() == level


def test_a_client_rounds_once():
    specification = number_specification(KRRRandomizer(60.0, 1, 2))
    clients = [TreeClient(specification) for _ in range(64)]
    first = [client.randomize([0.5, 0.5], 5.0)[0] for client in clients]
    # Fair coins, which differ but for a probability of 2^-63; asked again, none is thrown again.
    assert set(first) == {0, 1}
    assert [client.randomize([0.5, 0.5], 9.0)[0] for client in clients] == first


def probabilities_of(share, epsilon, levels):
    """Probabilities of the reports of k-ary randomised response on a share that is rounded at random."""
    place = share * (levels - 1)
    rounded = np.maximum(1 - np.abs(np.arange(levels) - place), 0)
    truth = np.exp(epsilon) / (np.exp(epsilon) + levels - 1)
    return rounded * truth + (1 - rounded) * (1 - truth) / (levels - 1)


@pytest.mark.statistical
@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.6, 1.0])
@pytest.mark.parametrize("kind", [KRRRandomizer, LabelRandomizer])
def test_reports_have_their_exact_distribution(kind, share):
    specification = number_specification(kind(1.5, 1, 5), bounds_y=(-20.0, 60.0))
    n = 200_000
    reports = draw(specification, np.full((n, 2), 0.5), np.full(n, -20 + 80 * share), protect="label")
    found = np.bincount(reports.ravel().astype(np.int64), minlength=5)
    expected = n * probabilities_of(share, 1.5, 5)
    # False alarms: 1e-7 of all seeds.
    assert np.sum((found - expected) ** 2 / expected) < chi2.isf(1e-7, df=4)


@pytest.mark.statistical
def test_reports_of_devices_have_the_same_distribution():
    specification, n = number_specification(KRRRandomizer(1.0, 1, 2)), 4000
    told = sum(TreeClient(specification).randomize([0.5, 0.5], 2.0)[0] for _ in range(n))
    p = probabilities_of(0.2, 1.0, 2)[1]
    # 7 standard deviations: below 3e-12.
    assert abs(told / n - p) < 7 * np.sqrt(p * (1 - p) / n)


def test_reports_about_different_numbers_are_within_the_factor():
    for levels in (2, 5, 9):
        laws = np.array([probabilities_of(share, 1.0, levels) for share in np.linspace(0, 1, 41)])
        assert (laws.max(axis=0) / laws.min(axis=0)).max() <= np.e * (1 + 1e-12)
