# SPDX-License-Identifier: BSD-3-Clause
"""Intervals of a private description hold the population's values as often as they say."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from skprivate import private_describe
from skprivate.domain import TableDomain
from skprivate.evaluation._description.result import noise_factor
from skprivate.evaluation._private_describe import choose_bins

RUNS = 300
# Hits below this count are as rare as 1e-7 where an interval holds with probability 0.9: 235 of 300.
LEAST = int(binom.ppf(1e-7, RUNS, 0.9))
MOST = int(binom.ppf(1 - 1e-7, RUNS, 0.9)) + 1
DOMAIN = TableDomain({"normal": (-40, 40), "constant": (0, 10), "lacking": (-4, 4), "job": ["a", "b"]})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
@pytest.mark.parametrize("options", [{"epsilon": 0.5}, {"epsilon": 5.0}, {"epsilon": 0.5, "delta": 1e-6}])
def test_intervals_hold_the_value_of_the_population(options):
    # Rows and noise have seeds of their own; sixteen counts of hits, each wrong once in ten million.
    rng = np.random.default_rng(17)
    hits = dict.fromkeys(["mean", "constant", "lacking", "share", "missing", "median", "std"], 0)
    n = 1500
    for run in range(RUNS):
        rows = {
            "normal": rng.normal(size=n),
            "constant": np.full(n, 3.3),
            "lacking": np.where(rng.uniform(size=n) < 0.6, np.nan, rng.normal(1, 0.5, size=n)),
            "job": rng.choice(["a", "b"], size=n, p=[0.98, 0.02]),
        }
        told = private_describe(rows, DOMAIN, **options, random_state=run).columns
        found = {
            "mean": (told["normal"].mean, 0),
            "constant": (told["constant"].mean, 3.3),
            "lacking": (told["lacking"].mean, 1),
            "share": (told["job"].levels["b"], 0.02),
            "missing": (told["lacking"].missing, 0.6),
            "median": (told["normal"].quantiles[0.5], 0),
            "std": (told["normal"].std, 1),
        }
        for name, (estimate, value) in found.items():
            hits[name] += estimate.lower - 1e-9 <= value <= estimate.upper + 1e-9
    print(hits)
    assert min(hits.values()) >= LEAST
    # Those that have no bins to allow for are not wider than they need to be.
    assert max(hits["mean"], hits["lacking"]) <= MOST


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
@pytest.mark.parametrize("laplace", [[1.0], [1.0, 1.0], [1.0, 0.3, 0.3], [1.0] * 8])
@pytest.mark.parametrize("normal", [0.0, 0.3, 1.0, 3.0])
def test_the_factor_covers_mixtures_of_normal_and_laplace(confidence, laplace, normal):
    rng = np.random.default_rng(23)
    draws = rng.laplace(size=(200_000, len(laplace))) @ laplace + normal * rng.normal(size=200_000)
    deviation = math.sqrt(2 * np.sum(np.square(laplace)) + normal**2)
    inside = np.mean(np.abs(draws) <= noise_factor(confidence, "laplace") * deviation)
    # Five standard errors: a false alarm in a million.
    assert inside >= confidence - 5 * math.sqrt(confidence * (1 - confidence) / 200_000)


def test_bins_grow_with_rows_and_shrink_with_noise():
    assert choose_bins(28.0, 5_000) == 11
    assert choose_bins(28.0, 50_000) > choose_bins(28.0, 5_000) > choose_bins(280.0, 5_000)
    assert choose_bins(1e9, 5_000) == 2
    assert choose_bins(0.0, 10**9) == 200
    assert choose_bins(28.0, None) == 10
