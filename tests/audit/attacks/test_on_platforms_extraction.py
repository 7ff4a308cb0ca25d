# SPDX-License-Identifier: BSD-3-Clause
"""Model extraction: units, what the copy learns from, and that the platform stays as it was."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from skprivate.audit import ModelExtractionAttack
from skprivate.collaborative import (
    BSTDAggregator,
    CollaborativeRegressor,
    LocalAverageRegressor,
    SecureSumAggregator,
)
from skprivate.datasets import make_parties
from skprivate.exceptions import SiteWarning

CUBE = (0, 1)
SITES = list("abcdefgh")
# One site is larger than the others on purpose, and some answer where others have no rows.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*is known by its rank"),
    pytest.mark.filterwarnings("ignore:A prediction rests on few"),
]

SLOPES = np.arange(1.0, 9.0)
SIZES = np.array([30, 60, 90, 30, 30, 30, 30, 30])
#: What a site counts for in the synthesis.
WEIGHTS = SIZES / SIZES.sum()


def rows_of_lines():
    """Rows of eight sites, each on a line of its own, so that a linear copy is exact."""
    rng = np.random.default_rng(0)
    sites = np.repeat(SITES, SIZES)
    X = rng.uniform(size=(len(sites), 2))
    return X, np.repeat(SLOPES, SIZES) * (1 + X[:, 0]), sites


@pytest.fixture(scope="module")
def lines():
    X, y, sites = rows_of_lines()
    aggregator = BSTDAggregator(2, 7, active_rule=None, random_state=0)
    return CollaborativeRegressor(LinearRegression(), aggregator=aggregator).fit(X, y, sites)


@pytest.fixture(scope="module")
def held_out():
    X = np.random.default_rng(1).uniform(size=(50, 2))
    return X, WEIGHTS @ SLOPES * (1 + X[:, 0])


@pytest.fixture(scope="module")
def toy():
    X, y, sites = make_parties(2000, 10, random_state=0)
    local = LocalAverageRegressor(bounds=CUBE)
    platform = CollaborativeRegressor(local, aggregator=BSTDAggregator(2, 6), random_state=0)
    return platform.fit(X, y, sites), *make_parties(300, 1, noise=0, random_state=1)[:2]


def linear_attack(**parameters):
    return ModelExtractionAttack(surrogate=LinearRegression(), random_state=0, **parameters)


@pytest.mark.parametrize("victim", ["a", "b", "c"])
def test_open_answers_give_an_exact_copy(lines, held_out, victim):
    result = linear_attack(victim=victim).run(lines, *held_out, bounds=CUBE)
    assert (result.victim, result.n_queries) == (victim, SIZES[SITES.index(victim)])
    assert result.unprotected.surrogate_rmse < 1e-9
    assert result.unprotected.mse_replaced == pytest.approx(result.mse)
    assert result.unprotected.record_linkage == 100


def test_swapping_hurts_who_takes_the_column_at_its_word(toy):
    platform, X, y = toy
    result = ModelExtractionAttack(random_state=0).run(platform, X, y, bounds=CUBE)
    assert result.victim == 9
    assert result.n_queries == platform.site_sizes_.max()
    assert result.ratio == result.observed.mse_replaced / result.mse
    # Over 20 seeds of the toy 3.0 times and 1.1 times, with standard deviations of .3 and .1.
    assert result.ratio > 1.5 > result.unprotected.mse_replaced / result.mse
    assert result.observed.surrogate_rmse > 2 * result.unprotected.surrogate_rmse
    # Not so who scales it, who looks for the largest share, or who learns from predictions.
    for copied in (result.rescaled, result.ranked, result.predictions):
        assert copied.surrogate_rmse < 0.6 * result.observed.surrogate_rmse
        assert copied.mse_replaced < 1.5 * result.mse
    assert result.observed.record_linkage < 20 < result.unprotected.record_linkage == 100


def test_nothing_is_opened_by_a_secure_sum(held_out):
    pytest.importorskip("cryptography")
    X, y, sites = rows_of_lines()
    platform = CollaborativeRegressor(LinearRegression(), aggregator=SecureSumAggregator()).fit(X, y, sites)
    result = linear_attack().run(platform, *held_out, bounds=CUBE)
    assert result.observed is None
    assert result.rescaled is None
    assert result.ranked is None
    assert result.ratio is None
    assert "nothing is opened, so there is no copy" in str(result)
    assert result.unprotected.surrogate_rmse < 1e-9
    assert result.predictions.surrogate_rmse > 0.1


def test_queries_are_drawn_within_the_bounds_of_each_column(lines):
    X, y, sites = rows_of_lines()
    rows = pd.DataFrame({"age": X[:, 0], "weight": X[:, 1]})
    platform = CollaborativeRegressor(LinearRegression(), aggregator=lines.aggregator_).fit(rows, y, sites)
    surrogate = make_pipeline(MinMaxScaler(), LinearRegression())
    attack = ModelExtractionAttack(surrogate=surrogate, n_queries=200, random_state=0)
    found = attack.run(platform, rows, y, bounds={"weight": (5, 6), "age": (2, 3)})
    # Of 200 uniform draws one is below a tenth of the range but with probability .9^200 < 1e-9.
    scaler = found.unprotected.surrogate[0]
    assert scaler.data_min_ == pytest.approx([2.05, 5.05], abs=0.05)
    assert scaler.data_max_ == pytest.approx([2.95, 5.95], abs=0.05)


def test_queries_scale_the_default_copy(toy):
    platform, X, y = toy
    queries = np.random.default_rng(3).uniform(size=(120, 5))
    attack = ModelExtractionAttack(n_queries=100)
    found = attack.run(platform, X, y, queries=queries).unprotected
    box = (queries[:100].min(axis=0), queries[:100].max(axis=0))
    assert found == attack.run(platform, X, y, queries=queries, bounds=box).unprotected
    # A constant column has no range.
    queries[:, 2] = 0.5
    assert np.isfinite(attack.run(platform, X, y, queries=queries).unprotected.surrogate_rmse)


def test_seeds(lines, held_out):
    runs = [
        ModelExtractionAttack(surrogate=LinearRegression(), random_state=seed).run(
            lines, *held_out, bounds=CUBE
        )
        for seed in (0, 0, 1)
    ]
    assert runs[0] == runs[1] != runs[2]


def test_every_site_must_answer(lines, held_out):
    X, y, sites = rows_of_lines()
    platform = CollaborativeRegressor(
        LinearRegression(), aggregator=lines.aggregator_, on_site_error="drop"
    ).fit(X, y, sites)
    platform.estimators_["b"] = LinearRegression()
    with (
        pytest.warns(SiteWarning),
        pytest.raises(ValueError, match="whose sites all answer"),
    ):
        linear_attack(victim="a").run(platform, *held_out, bounds=CUBE)


@pytest.mark.parametrize(
    ("parameters", "options", "error", "message"),
    [
        ({"victim": "z"}, {"bounds": CUBE}, ValueError, "no site 'z'"),
        ({}, {}, ValueError, "pass queries, or bounds"),
        ({"n_queries": 5}, {"queries": np.zeros((4, 2))}, ValueError, "at least n_queries"),
        ({"n_queries": 0}, {"bounds": CUBE}, ValueError, "n_queries must be at least 1"),
        ({"n_queries": 2.0}, {"bounds": CUBE}, TypeError, "n_queries must be an int"),
        ({}, {"bounds": (1, 0)}, ValueError, "lower must be below upper"),
    ],
)
def test_refusals(lines, held_out, parameters, options, error, message):
    with pytest.raises(error, match=message):
        ModelExtractionAttack(**parameters).run(lines, *held_out, **options)
