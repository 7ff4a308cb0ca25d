# SPDX-License-Identifier: BSD-3-Clause
"""Model extraction: units, what the copy learns from, and that the platform stays as it was."""

import numpy as np
import pandas as pd
import polars as pl
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
from skprivate.exceptions import DisclosureWarning, SiteWarning
from skprivate.preprocessing import TQMATransformer

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


def test_the_copy_replaces_the_victim_alone(lines, held_out):
    X, y = held_out
    result = linear_attack(victim="a").run(lines, X, y, bounds=CUBE)
    # A copy of the platform answers for the victim as the platform does.
    assert result.mse == pytest.approx(0, abs=1e-20)
    off = (WEIGHTS @ SLOPES - SLOPES[0]) * (1 + X[:, 0])
    assert result.predictions.surrogate_rmse == pytest.approx(np.sqrt(np.mean(off**2)))
    assert result.predictions.mse_replaced == pytest.approx(np.mean((WEIGHTS[0] * off) ** 2))
    assert result.predictions.record_linkage is None


def test_the_column_is_read_in_units_of_the_answers(lines, held_out):
    X, y = held_out
    attack = linear_attack(victim="b")
    queries = np.random.default_rng(2).uniform(size=(60, 2))
    result = attack.run(lines, X, y, queries=queries)
    copied = LinearRegression().fit(queries, lines.observe(queries)[:, 1] / (8 * WEIGHTS[1]))
    off = copied.predict(X) - SLOPES[1] * (1 + X[:, 0])
    assert result.observed.surrogate_rmse == pytest.approx(np.sqrt(np.mean(off**2)))
    assert result.observed.mse_replaced == pytest.approx(np.mean((WEIGHTS[1] * off) ** 2))


@pytest.mark.parametrize("victim", SITES)
def test_who_knows_the_rank_undoes_the_swap(lines, held_out, victim):
    # Each site's share has the same rank in every query.
    result = linear_attack(victim=victim).run(lines, *held_out, bounds=CUBE)
    assert result.ranked.surrogate_rmse < 1e-9 < 0.1 < result.observed.surrogate_rmse
    assert result.ranked.record_linkage is None


def test_who_knows_the_sizes_reads_it_in_units_of_the_others(lines, held_out):
    result = linear_attack(victim="c").run(lines, *held_out, bounds=CUBE)
    observed, rescaled = (
        copied.surrogate.predict(held_out[0]) for copied in (result.observed, result.rescaled)
    )
    assert rescaled == pytest.approx(90 / (240 / 7) * observed)


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


def test_the_platform_stays_as_it_was(toy):
    platform, X, y = toy
    before, models = platform.predict(X), dict(platform.estimators_)
    ModelExtractionAttack(0, n_queries=40, random_state=0).run(platform, X, y, bounds=CUBE)
    assert platform.estimators_ == models
    assert (platform.predict(X) == before).all()


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


def test_the_copy_learns_from_queries_as_they_leave(lines, held_out):
    X, y, sites = rows_of_lines()
    perturber = TQMATransformer(1, bounds={0: CUBE}, quasi_identifiers=[0])
    platform = CollaborativeRegressor(LinearRegression(), perturber, lines.aggregator_).fit(X, y, sites)
    # Sites answer to midpoints .25 and .75, and the operator knows these: the copy is exact again.
    result = linear_attack(victim="a").run(platform, *held_out, bounds=CUBE)
    assert result.unprotected.surrogate_rmse < 1e-9


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames(frame, lines, held_out):
    X, y, sites = rows_of_lines()
    asked = frame({"age": held_out[0][:, 0], "weight": held_out[0][:, 1]})
    rows = frame({"age": X[:, 0], "weight": X[:, 1]})
    platform = CollaborativeRegressor(LinearRegression(), aggregator=lines.aggregator_).fit(rows, y, sites)
    bounds = {"weight": CUBE, "age": CUBE}
    result = linear_attack().run(platform, asked, held_out[1], bounds=bounds)
    assert result.unprotected.surrogate_rmse < 1e-9
    assert linear_attack(n_queries=20).run(platform, asked, held_out[1], queries=rows).n_queries == 20


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


def test_a_site_without_support_submits_nothing(toy):
    X, y, sites = make_parties(300, 10, random_state=0)
    local = LocalAverageRegressor("partition", bandwidth=0.4, bounds=CUBE)
    swap = BSTDAggregator(2, 7, active_rule="support", random_state=0)
    platform = CollaborativeRegressor(local, aggregator=swap).fit(X, y, sites)
    assert np.isnan(platform.site_responses(toy[1])).any()
    result = ModelExtractionAttack(random_state=0).run(platform, *toy[1:], bounds=CUBE)
    for copied in (result.observed, result.ranked, result.predictions, result.unprotected):
        assert np.isfinite(copied.mse_replaced)
        assert np.isfinite(copied.surrogate_rmse)


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


def test_text(lines, held_out):
    shown = str(linear_attack(victim="a").run(lines, *held_out, bounds=CUBE)).splitlines()
    assert shown[0] == "model extraction of site 'a' by 30 fake queries"
    assert shown[-1].startswith("victim's answers in the open")
    assert shown[-1].endswith("100 %")
    assert len(shown) == 8


def test_a_platform_of_one_site(held_out):
    X, y, _ = rows_of_lines()
    with pytest.warns(DisclosureWarning):
        found = linear_attack().run(
            CollaborativeRegressor(LinearRegression()).fit(X, y), *held_out, bounds=CUBE
        )
    assert found.observed == found.rescaled == found.unprotected
    assert found.ranked.surrogate_rmse == found.observed.surrogate_rmse


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
