# SPDX-License-Identifier: BSD-3-Clause
"""Intervals of a private description hold the population's values as often as they say."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from skprivate import private_describe
from skprivate.domain import TableDomain
from skprivate.evaluation._counts import NoisyTables, plan_noise
from skprivate.evaluation._description.estimates import noise_factor, table_counts
from skprivate.evaluation._private_describe import choose_bins, choose_tree

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


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize(("branches", "n_levels"), [(4, 1), (3, 3)])
def test_counts_of_a_tree_are_those_of_least_squares(branches, n_levels, public):
    rng = np.random.default_rng(branches + public)
    noise = plan_noise([n_levels, 1], 1.0)
    n_leaves = branches**n_levels
    # Unknown are the counts of leaves and of missing values, and of the two cells of another table.
    design = [
        np.hstack([np.kron(np.eye(size), np.ones((1, n_leaves // size))), np.zeros((size, 1))])
        for size in branches ** np.arange(1, n_levels + 1)
    ]
    design = [np.vstack([one, np.eye(n_leaves + 1)[-1:]]) for one in design]
    sizes = [len(one) for one in design]
    design = np.block(
        [[np.vstack(design), np.zeros((sum(sizes), 2))], [np.zeros((2, n_leaves + 1)), np.eye(2)]]
    )
    observed = 50 * rng.normal(size=len(design))
    precision = design.T / np.repeat(noise.stds, [*sizes, 2]) ** 2
    # The second table has as many rows as the first, and both have 30, where that is public.
    tied = np.vstack([np.r_[np.ones(n_leaves + 1), -1, -1], np.r_[np.ones(n_leaves + 1), 0, 0]])[: 1 + public]
    equations = np.block([[precision @ design, tied.T], [tied, np.zeros((len(tied), len(tied)))]])
    inverse = np.linalg.inv(equations)
    best = inverse @ np.r_[precision @ observed, [0.0, 30.0][: 1 + public]]
    covariance = inverse[: n_leaves + 1, : n_leaves + 1]

    tables = np.split(observed, np.cumsum([*sizes, 2])[:-1])
    released = NoisyTables(tables, 30 if public else None, noise, None)
    _, (counts, _) = table_counts(released, [n_levels, 1], [True, False], 0.9)
    np.testing.assert_allclose(counts.cells, best[: n_leaves + 1], rtol=1e-6, atol=1e-6)
    first, second = rng.normal(size=(2, n_leaves + 1))
    assert counts.noise(first, second) == pytest.approx(first @ covariance @ second, rel=1e-5)
    # Rows up to a leaf, less a share of all known ones.
    weights = np.tril(np.ones((n_leaves - 1, n_leaves + 1))) - 0.3
    weights[:, -1] = 0
    excess, variances = counts.below(0.3)
    np.testing.assert_allclose(excess, weights @ counts.cells, atol=1e-6)
    np.testing.assert_allclose(variances, np.diag(weights @ covariance @ weights.T), rtol=1e-5)


def test_quartiles_of_wide_bounds_and_of_zeros():
    rng = np.random.default_rng(3)
    rows = {"income": 30_000 * np.exp(0.8 * rng.normal(size=20_000))}
    rows["cost"] = np.where(rng.random(20_000) < 0.9, 0.0, rows["income"])
    domain = TableDomain({"income": (0, 500_000), "cost": (0, 500_000)})
    told = private_describe(rows, domain, 2.0, random_state=0).columns
    assert [one.value for one in told["cost"].quantiles.values()] == [0, 0, 0]
    median = told["income"].quantiles[0.5]
    # The 90 % interval of the rows alone is 700 wide; 64 bins had one of 23,000.
    assert median.lower < 30_000 < median.upper < median.lower + 1_400


def test_a_tree_is_as_fine_as_the_noise_allows():
    found = [choose_tree(std, "laplace", 20_000, 2**16) for std in (0.7, 2.8, 28.0, 280.0)]
    assert [tree.n_points for tree in found] == [16**4, 8**5, 8**3, 6]
    assert choose_tree(0.7, "laplace", 20_000, 5_000).n_points == 16**3
