# SPDX-License-Identifier: BSD-3-Clause
"""What a client reports of its label: the exact law, unbiased targets, and their variance."""

import decimal
from fractions import Fraction

import numpy as np
import pytest

from skprivate.label_privacy import ClassReporter, NumberReporter
from skprivate.noise._rounding import WORD

EPSILONS = [0.1, 0.5, 1.0, 4.0, Fraction(1, 3)]


def law_of_report(reporter, own):
    """Exact probability of every report under one label."""
    n_classes = len(reporter.classes)
    truth = Fraction(reporter.randomizer.threshold, WORD)
    lie = (1 - truth) / (n_classes - 1)
    return [truth if report == own else lie for report in range(n_classes)]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("n_classes", [2, 3, 10])
class TestClasses:
    def test_labels_of_neighbours_differ_by_epsilon_at_most(self, n_classes, epsilon):
        reporter = ClassReporter(epsilon, range(n_classes))
        laws = [law_of_report(reporter, own) for own in range(n_classes)]
        worst = max(max(column) / min(column) for column in zip(*laws, strict=True))
        with decimal.localcontext(prec=60):
            loss = (decimal.Decimal(worst.numerator) / worst.denominator).ln()
            claimed = decimal.Decimal(reporter.epsilon.numerator) / reporter.epsilon.denominator
            assert claimed - decimal.Decimal("1e-12") < loss <= claimed

    def test_targets_are_unbiased_and_have_the_stated_variance(self, n_classes, epsilon):
        reporter = ClassReporter(epsilon, range(n_classes))
        targets = reporter.targets(np.arange(n_classes))
        exact = reporter.exact_targets(np.arange(n_classes))
        excess = np.zeros(targets.shape[1])
        for own in range(n_classes):
            law = np.array(law_of_report(reporter, own), dtype=float)
            np.testing.assert_allclose(law @ targets, exact[own], atol=1e-9)
            excess += (law @ np.square(targets - exact[own])) / n_classes
        np.testing.assert_allclose(excess, reporter.noise_variance, rtol=1e-9)


def test_frequencies_of_reports():
    """Of 200,000 reports of each label; 6 standard deviations, three cells of three labels: below 1e-7."""
    reporter = ClassReporter(1.0, ["a", "b", "c"])
    for own, label in enumerate(reporter.classes):
        reports = reporter.randomize([label] * 200_000, random_state=own)
        law = np.array(law_of_report(reporter, own), dtype=float)
        error = np.abs(np.bincount(reports, minlength=3) / 200_000 - law)
        assert (error < 6 * np.sqrt(law * (1 - law) / 200_000)).all()


@pytest.mark.parametrize("bounds", [(0, 1), (-1e134, 1e134), (1e6, 1e6 + 1e-3), (-5.0, 1e-300)])
@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 7.0])
class TestNumbers:
    def test_any_two_targets_are_within_the_sensitivity(self, bounds, epsilon):
        reporter = NumberReporter(epsilon, bounds)
        low, high = bounds
        hostile = [low, high, -np.inf, np.inf, np.nan, 1e308, -1e308, low / 2 + high / 2, None, "text"]
        steps = reporter.encode(hostile)
        assert np.ptp(steps) <= reporter.mechanism.sensitivity
        assert steps[0] == 0
        assert steps[1] == reporter.mechanism.sensitivity
        assert Fraction(reporter.mechanism.sensitivity, reporter.mechanism.scale) == reporter.epsilon
        assert reporter.epsilon <= Fraction(epsilon)


def test_noisy_numbers_are_unbiased_with_the_stated_variance():
    """Of 200,000 reports: 6 standard errors of a mean, and of a variance of kurtosis 6."""
    reporter = NumberReporter(0.5, (10.0, 20.0))
    targets = reporter.targets(reporter.randomize(np.full(200_000, 13.0), random_state=0))[:, 0]
    assert abs(targets.mean() - 13) < 6 * np.sqrt(reporter.noise_variance / 200_000)
    assert targets.var() == pytest.approx(reporter.noise_variance, rel=6 * np.sqrt(5 / 200_000))
    assert reporter.noise_variance == pytest.approx(2 * (10 / 0.5) ** 2, rel=1e-6)
