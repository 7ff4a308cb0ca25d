# SPDX-License-Identifier: BSD-3-Clause
"""The platform: fitting by site, predicting together, parts of any kind, sites that fail, searches."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skprivate import (
    BSTDAggregator,
    CollaborativeLARRegressor,
    CollaborativeRegressor,
    LocalAverageRegressor,
    TQMATransformer,
    config_context,
)
from skprivate.collaborative._platform import _rows_of_sites
from skprivate.datasets import make_parties
from skprivate.exceptions import (
    DisclosureWarning,
    PrivacyLeakError,
    PrivacyLeakWarning,
    SiteError,
    SiteWarning,
)

M = 12
X, Y, SITES = make_parties(600, M, n_features=3, random_state=0)
ASKED, TRUTH, _ = make_parties(20, 1, n_features=3, noise=0, random_state=1)
HOLES = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.1, np.nan, X)
NAMES = ["age", "weight", "dose"]
FRAME, FRAME_ASKED = (pd.DataFrame(rows, columns=NAMES) for rows in (X, ASKED))


def fitted(estimator=None, *parts, **parameters):
    return CollaborativeRegressor(estimator, *parts, **parameters).fit(X, Y, sites=SITES)


@pytest.fixture(scope="module")
def preset():
    return CollaborativeLARRegressor(bounds=(0, 1)).fit(X, Y, sites=SITES)


def local_answers(platform, rows):
    return np.column_stack([platform.estimators_[site].predict(rows) for site in platform.sites_])


def unprotected(platform, rows):
    """The synthesis from local predictions, in NumPy alone."""
    return np.average(local_answers(platform, rows), axis=1, weights=platform.site_sizes_)


class TestPrediction:
    def test_the_aggregator_s_own_sizes_stay(self):
        platform = fitted(LinearRegression(), aggregator=BSTDAggregator(party_sizes=np.ones(M)))
        np.testing.assert_allclose(platform.predict(ASKED), local_answers(platform, ASKED).mean(axis=1))


class TestSites:
    def test_without_labels_there_is_one_and_nothing_is_hidden(self):
        with pytest.warns(DisclosureWarning):
            platform = CollaborativeRegressor(LinearRegression()).fit(X, Y)
        assert platform.sites_ == [0]
        assert platform.site_sizes_.tolist() == [len(X)]

    def test_rows_of_a_site_keep_their_order(self):
        for name, own in _rows_of_sites(SITES, len(SITES)).items():
            np.testing.assert_array_equal(own, np.flatnonzero(name == SITES))

    @pytest.mark.parametrize("kernel", ["gaussian", "knn", "epanechnikov"])
    def test_one_row_and_a_constant_target_are_sites(self, kernel):
        sites, y = SITES.copy(), Y.copy()
        y[sites == 0] = 0.3
        sites[np.flatnonzero(sites == 1)[1:]] = 2
        platform = CollaborativeLARRegressor(kernel=kernel, bounds=(0, 1)).fit(X, y, sites=sites)
        assert platform.site_sizes_[1] == 1
        assert np.isfinite(platform.predict(ASKED)).all()


class TestSeeds:
    @pytest.mark.parametrize("seed", [5, np.random.default_rng(0), np.random.RandomState(0), np.int64(0)])
    def test_sites_draw_their_own(self, seed):
        platform = fitted(RandomForestRegressor(1), random_state=seed, n_jobs=np.int64(1))
        seeds = {model.random_state for model in platform.estimators_.values()}
        # Two of thirteen draws of 31 bits agree with a probability of 4e-8.
        assert len({*seeds, platform.aggregator_.random_state}) == M + 1
        assert None not in seeds

    def test_a_fit_can_be_repeated_in_any_number_of_workers(self):
        with joblib.parallel_config(backend="threading"):
            first, second = (fitted(RandomForestRegressor(1), random_state=5, n_jobs=jobs) for jobs in (1, 2))
        for found in ("observe", "predict"):
            np.testing.assert_array_equal(getattr(first, found)(ASKED), getattr(second, found)(ASKED))
        other = fitted(LinearRegression(), random_state=6)
        assert first.aggregator_.random_state != other.aggregator_.random_state

    def test_without_one_nothing_is_seeded_and_those_of_the_parts_stay(self):
        for given, random_state, left in ((None, None, None), (7, 5, 7)):
            parts = RandomForestRegressor(1, random_state=given), None, BSTDAggregator(random_state=given)
            platform = fitted(*parts, random_state=random_state)
            assert platform.aggregator_.random_state == left
            assert {model.random_state for model in platform.estimators_.values()} == {left}


class TestRefinement:
    def test_bandwidths_are_refined_to_all_rows(self):
        platform = fitted()
        for site, model in platform.estimators_.items():
            size = np.count_nonzero(site == SITES)
            assert model.bandwidth_ == pytest.approx(model.bandwidth_cv_ ** (np.log(len(Y)) / np.log(size)))
        assert platform.estimator is None

    def test_reaches_into_pipelines_and_a_number_that_was_passed_stays(self):
        platform = fitted(make_pipeline(StandardScaler(), LocalAverageRegressor(bandwidth=0.2)))
        assert {model[-1].refine_to for model in platform.estimators_.values()} == {len(X)}
        platform = fitted(LocalAverageRegressor(bandwidth=0.2, refine_to=1000))
        assert {model.refine_to for model in platform.estimators_.values()} == {1000}


class PlainMean(RegressorMixin, BaseEstimator):
    """An aggregator with nothing but fit and predict, which takes no NaN."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        assert not np.isnan(X).any()
        return X.mean(axis=1)


class HidingPerturber(TQMATransformer):
    def transform(self, X):
        return np.full(np.shape(X), 0.5)


class HidingModel(LocalAverageRegressor):
    def predict(self, X):
        return np.full(len(X), 7.0)


class HidingAggregator(BSTDAggregator):
    def predict(self, X):
        return np.full(len(X), 7.0)


class TestPartsOfAnyKind:
    def test_every_site_its_own_kind(self):
        kinds = [
            KNeighborsRegressor(),
            RandomForestRegressor(5, random_state=0),
            HistGradientBoostingRegressor(max_iter=5),
            LocalAverageRegressor("knn"),
        ]
        platform = fitted({site: kinds[site % 4] for site in range(M)})
        assert [type(m) for m in platform.estimators_.values()] == [type(kinds[s % 4]) for s in range(M)]
        assert platform.score(ASKED, TRUTH) > 0.4
        np.testing.assert_allclose(platform.predict(ASKED), unprotected(platform, ASKED), atol=1e-12)

    def test_prefit_models_stay_as_they_are(self):
        model = LinearRegression().fit(X, Y)
        np.testing.assert_allclose(fitted(FrozenEstimator(model)).predict(ASKED), model.predict(ASKED))

    def test_text_columns_reach_pipelines(self):
        frame = FRAME.assign(ward=np.where(X[:, 0] > 0.5, "north", "south"))
        encode = make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough")
        perturber = TQMATransformer(4, {"age": (0, 1)}, ["age"])
        platform = CollaborativeRegressor(make_pipeline(encode, LinearRegression()), perturber)
        platform.fit(frame, Y, sites=SITES)
        rows = [platform.predict(frame[i : i + 1])[0] for i in range(5)]
        np.testing.assert_allclose(platform.predict(frame[:5]), rows, atol=1e-12)

    def test_an_aggregator_that_only_predicts(self):
        platform = fitted(LocalAverageRegressor("epanechnikov", bandwidth=0.3), None, PlainMean())
        local = local_answers(platform, ASKED)
        assert (local == 0).any()
        np.testing.assert_array_equal(platform.site_responses(ASKED), local)
        np.testing.assert_array_equal(platform.predict(ASKED), local.mean(axis=1))
        assert platform.disclosure_risk_ == ()
        with pytest.raises(TypeError, match="PlainMean opens no answer"):
            platform.observe(ASKED)

    @pytest.mark.parametrize("perturber", [StandardScaler(), TQMATransformer(4, (0, 1))])
    def test_local_averages_beside_other_models_and_any_transformer_of_queries(self, perturber):
        models = {j: LinearRegression() if j else LocalAverageRegressor(bandwidth=0.2) for j in range(M)}
        platform = fitted(models, perturber)
        asked = clone(perturber).fit(X).transform(ASKED)
        np.testing.assert_array_equal(platform.site_responses(ASKED), local_answers(platform, asked))
        assert len(platform.disclosure_risk_) == 1 + isinstance(perturber, TQMATransformer)

    def test_what_subclasses_add_is_not_missed(self):
        perturbing = fitted(query_perturber=HidingPerturber(bounds=(0, 1)))
        expected = fitted().predict(np.full(ASKED.shape, 0.5))
        np.testing.assert_allclose(perturbing.predict(ASKED), expected, rtol=1e-12)
        for parts in ({"estimator": HidingModel()}, {"aggregator": HidingAggregator()}):
            np.testing.assert_array_equal(fitted(**parts).predict(ASKED), np.full(len(ASKED), 7.0))


class TestMissingValues:
    def test_reach_models_that_take_them_and_only_those(self):
        trees = HistGradientBoostingRegressor(max_iter=2)
        platform = CollaborativeRegressor(trees, TQMATransformer(4, (0, 1))).fit(HOLES, Y, sites=SITES)
        assert np.isfinite(platform.predict(HOLES[:5])).all()
        for models in ({j: trees if j else LinearRegression() for j in range(M)}, LinearRegression()):
            # Of the new models, not of the ones before.
            with pytest.raises(ValueError, match="Input X contains NaN"):
                platform.set_params(estimator=models, on_site_error="drop").fit(HOLES, Y, sites=SITES)


class Failing(RegressorMixin, BaseEstimator):
    """Fails when it is asked, or when it is fitted, with its rows in the message."""

    def __init__(self, when="predict"):
        self.when = when

    def fit(self, X, y):
        if self.when == "fit":
            raise ZeroDivisionError(f"rows {y.tolist()}")
        self.rows_ = y
        return self

    def predict(self, X):
        if self.when == "nan":
            return np.full(len(X), np.nan)
        if self.when == "short":
            return np.zeros(len(X) + 1)
        raise ZeroDivisionError(f"rows {self.rows_.tolist()}")


class TestSitesThatFail:
    def models(self, when):
        return {site: Failing(when) if site == 4 else LinearRegression() for site in range(M)}

    @pytest.mark.parametrize("when", ["predict", "nan", "short"])
    def test_are_reported_by_name_and_without_rows_or_dropped(self, when):
        platform = fitted(self.models(when))
        with pytest.raises(SiteError, match=r"site 4 \(\w+\)") as caught:
            platform.predict(ASKED)
        assert "rows" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        platform.set_params(on_site_error="drop")
        with pytest.warns(SiteWarning, match="site 4") as warned:
            found = platform.predict(ASKED)
        assert warned[0].filename == __file__
        rest = SITES != 4
        others = CollaborativeRegressor(LinearRegression()).fit(X[rest], Y[rest], sites=SITES[rest])
        np.testing.assert_allclose(found, others.predict(ASKED), atol=1e-12)

    def test_nobody_left(self):
        with pytest.raises(ZeroDivisionError) as caught:
            fitted(Failing("fit"), on_site_error="drop")
        assert caught.value.__notes__ == ["while fitting the model of site 0"]
        with pytest.raises(SiteError, match="no site could answer: 0"):
            fitted(Failing(), on_site_error="drop").predict(ASKED)

    def test_a_failed_fit_leaves_the_last_one(self):
        platform = fitted(LinearRegression(), TQMATransformer(4, (0, 1)))
        before = platform.predict(ASKED)
        with pytest.raises(ValueError, match="party_sizes"):
            platform.set_params(aggregator=BSTDAggregator(party_sizes=[1, 2])).fit(X, Y, sites=SITES % 7)
        assert platform.sites_ == list(range(M))
        np.testing.assert_array_equal(platform.predict(ASKED), before)


class TestContract:
    def test_bounds_read_from_rows_are_a_leak(self):
        with pytest.warns(PrivacyLeakWarning) as caught:
            platform = CollaborativeLARRegressor().fit(X, Y, sites=SITES)
        assert sum(issubclass(w.category, PrivacyLeakWarning) for w in caught) == 1
        assert platform.disclosure_risk_[0].leaks
        with config_context(strict=True):
            with pytest.raises(PrivacyLeakError):
                CollaborativeLARRegressor().fit(X, Y, sites=SITES)
            travelled = pickle.dumps(CollaborativeLARRegressor())
        with pytest.raises(PrivacyLeakError):
            pickle.loads(travelled).fit(X, Y, sites=SITES)

    def test_pickles_and_clones(self, preset):
        twin = pickle.loads(pickle.dumps(preset))
        np.testing.assert_array_equal(twin.predict(ASKED), preset.predict(ASKED))
        assert clone(preset).get_params() == preset.get_params()
