# SPDX-License-Identifier: BSD-3-Clause
"""What every platform does with its parts: seeds, refinement, parts of any kind, errors without values."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skprivate import (
    BSTDAggregator,
    CollaborativeClassifier,
    CollaborativeLARRegressor,
    CollaborativeRegressor,
    LocalAverageRegressor,
    SecureSumAggregator,
    TQMATransformer,
)
from skprivate.collaborative import CollaborativeSite
from skprivate.collaborative._platform import _rows_of_sites
from skprivate.datasets import make_parties
from skprivate.exceptions import DisclosureWarning

M = 12
X, Y, SITES = make_parties(600, M, n_features=3, random_state=0)
ASKED = make_parties(20, 1, n_features=3, random_state=1)[0]


class PlainMean(RegressorMixin, BaseEstimator):
    """An aggregator with nothing but fit and predict, which takes no NaN."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        if np.isnan(X).any():
            raise ValueError("NaN")
        return X.mean(axis=1)


def fitted(estimator=None, *parts, **parameters):
    return CollaborativeRegressor(estimator, *parts, **parameters).fit(X, Y, sites=SITES)


class TestSeeds:
    def test_sites_draw_their_own_and_a_fit_can_be_repeated(self):
        first, second = (fitted(RandomForestRegressor(1), random_state=5) for _ in range(2))
        seeds = [model.random_state for model in first.estimators_.values()]
        # Two of thirteen draws of 31 bits agree with a probability of 4e-8.
        assert len({*seeds, first.aggregator_.random_state}) == M + 1
        assert seeds == [model.random_state for model in second.estimators_.values()]
        np.testing.assert_array_equal(first.observe(ASKED), second.observe(ASKED))
        assert (
            first.aggregator_.random_state
            != fitted(LinearRegression(), random_state=6).aggregator_.random_state
        )

    def test_without_one_nothing_is_seeded(self):
        platform = fitted(RandomForestRegressor(1))
        assert platform.aggregator_.random_state is None
        assert {model.random_state for model in platform.estimators_.values()} == {None}

    def test_of_the_parts_stay(self):
        platform = fitted(
            RandomForestRegressor(1, random_state=7), None, BSTDAggregator(random_state=8), random_state=5
        )
        assert platform.aggregator_.random_state == 8
        assert {model.random_state for model in platform.estimators_.values()} == {7}


class TestRefinement:
    def test_reaches_into_pipelines(self):
        platform = fitted(make_pipeline(StandardScaler(), LocalAverageRegressor(bandwidth=0.2)))
        assert {model[-1].refine_to for model in platform.estimators_.values()} == {len(X)}

    def test_to_a_number_that_was_passed_stays(self):
        platform = fitted(LocalAverageRegressor(bandwidth=0.2, refine_to=1000))
        assert {model.refine_to for model in platform.estimators_.values()} == {1000}


class TestPartsOfAnyKind:
    def test_an_aggregator_that_only_predicts(self):
        platform = fitted(LocalAverageRegressor("epanechnikov", bandwidth=0.3), None, PlainMean())
        answers = platform.site_responses(ASKED)
        local = np.column_stack([platform.estimators_[j].predict(ASKED) for j in platform.sites_])
        assert (local == 0).any()
        np.testing.assert_array_equal(answers, local)
        np.testing.assert_array_equal(platform.predict(ASKED), local.mean(axis=1))
        assert platform.disclosure_risk_ == ()
        with pytest.raises(TypeError, match="PlainMean opens no answer"):
            platform.observe(ASKED)

    def test_no_support_is_told_to_an_aggregator_that_asks_for_it(self):
        parts = {"kernel": "epanechnikov", "bandwidth": 0.3, "bounds": (0, 1), "depth": 16}
        platform = CollaborativeLARRegressor(active_rule="support", **parts).fit(X, Y - 1, sites=SITES)
        coarse = platform.query_perturber_.transform(ASKED)
        support = np.column_stack([platform.estimators_[j].support(coarse) for j in platform.sites_])
        local = np.column_stack([platform.estimators_[j].predict(coarse) for j in platform.sites_])
        weight = support * platform.site_sizes_
        assert not support.all()
        assert support.any(axis=1).all()
        expected = (local * weight).sum(axis=1) / weight.sum(axis=1)
        np.testing.assert_allclose(platform.predict(ASKED), expected, atol=1e-12)

    def test_any_transformer_perturbs_queries(self):
        platform = fitted(LocalAverageRegressor(bandwidth=0.2), StandardScaler())
        scaled = StandardScaler().fit(X).transform(ASKED)
        local = [platform.estimators_[j].predict(scaled) for j in platform.sites_]
        np.testing.assert_array_equal(platform.site_responses(ASKED), np.column_stack(local))
        assert len(platform.disclosure_risk_) == 1

    def test_local_averages_beside_other_models(self):
        models = {j: LinearRegression() if j else LocalAverageRegressor(bandwidth=0.2) for j in range(M)}
        platform = fitted(models, TQMATransformer(4, (0, 1)))
        coarse = platform.query_perturber_.transform(ASKED)
        local = [platform.estimators_[j].predict(coarse) for j in platform.sites_]
        np.testing.assert_array_equal(platform.site_responses(ASKED), np.column_stack(local))

    def test_local_averages_beside_a_model_that_wants_names(self):
        frame, asked = (pd.DataFrame(rows, columns=list("abc")) for rows in (X, ASKED))
        by_name = make_pipeline(make_column_transformer(("passthrough", ["b"])), LinearRegression())
        models = {j: by_name if j else LocalAverageRegressor(bandwidth=0.2) for j in range(M)}
        platform = CollaborativeRegressor(models).fit(frame, Y, sites=SITES)
        local = [platform.estimators_[j].predict(asked) for j in platform.sites_]
        np.testing.assert_array_equal(platform.site_responses(asked), np.column_stack(local))

    def test_a_regressor_takes_no_classifiers_and_a_classifier_no_regressors(self):
        labels = Y > 0.3
        with pytest.raises(TypeError, match="estimator must be a regressor"):
            CollaborativeRegressor(LogisticRegression()).fit(X, labels, sites=SITES)
        number = CollaborativeSite("a", LinearRegression().fit(X, Y), 10).announce()
        label = CollaborativeSite("a", LogisticRegression().fit(X, labels), 10).announce()
        for kind, announced in ((CollaborativeRegressor, label), (CollaborativeClassifier, number)):
            with pytest.raises(ValueError, match="classes"):
                kind.from_sites([announced])

    def test_parts_are_cloned(self):
        perturber, aggregator = TQMATransformer(4, (0, 1)), BSTDAggregator()
        fitted(LinearRegression(), perturber, aggregator)
        assert not hasattr(perturber, "n_features_in_")
        assert aggregator.party_sizes is None

    def test_probabilities_of_sites_have_three_axes(self):
        platform = CollaborativeClassifier(LogisticRegression()).fit(X, Y > 0.3, sites=SITES)
        assert platform.site_responses(ASKED).shape == (len(ASKED), M, 2)


class TestMissingValues:
    holes = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.1, np.nan, X)

    def test_one_model_that_takes_none_is_enough_to_refuse(self):
        trees = HistGradientBoostingRegressor(max_iter=2)
        models = {j: trees if j else LinearRegression() for j in range(M)}
        with pytest.raises(ValueError, match="Input X contains NaN"):
            CollaborativeRegressor(models, on_site_error="drop").fit(self.holes, Y, sites=SITES)

    def test_who_takes_them_is_asked_of_the_models_that_answer(self):
        platform = fitted(HistGradientBoostingRegressor(max_iter=2))
        sites = [platform.site(j) for j in platform.sites_]
        here = CollaborativeRegressor.from_sites(sites)
        np.testing.assert_array_equal(here.predict(self.holes[:5]), platform.predict(self.holes[:5]))

    def test_in_the_target_are_an_error_even_where_sites_may_fail(self):
        y = Y.copy()
        y[3] = np.nan
        with pytest.raises(ValueError, match="Input y contains NaN"):
            CollaborativeRegressor(LinearRegression(), on_site_error="drop").fit(X, y, sites=SITES)


class TestSites:
    def test_none_is_one_site(self):
        with pytest.warns(DisclosureWarning):
            platform = CollaborativeRegressor(LinearRegression()).fit(X, Y)
        assert platform.sites_ == [0]
        assert platform.site_sizes_.tolist() == [len(X)]

    @pytest.mark.parametrize("kind", [bool, np.uint8, str, object])
    def test_labels_of_these_types(self, kind):
        platform = CollaborativeRegressor(LinearRegression(), aggregator=PlainMean())
        platform.fit(X, Y, sites=(SITES < 5).astype(np.int8).astype(kind))
        assert platform.sites_ == sorted(kind(j) if kind is not object else j for j in (0, 1))

    def test_rows_of_a_site_keep_their_order(self):
        rows = _rows_of_sites(SITES, len(SITES))
        for name, own in rows.items():
            np.testing.assert_array_equal(own, np.flatnonzero(name == SITES))

    def test_state_stays_at_the_sites(self):
        assert not CollaborativeRegressor.releases_state


class TestQueries:
    def test_an_empty_data_frame(self):
        frame = pd.DataFrame(X, columns=list("abc"))
        platform = CollaborativeRegressor(LinearRegression()).fit(frame, Y, sites=SITES)
        with pytest.raises(ValueError, match="0 sample"):
            platform.predict(frame[:0])

    @pytest.mark.parametrize("method", ["predict", "observe", "site_responses", "ask"])
    def test_no_message_repeats_a_value(self, method):
        asked = ASKED.astype(object)
        asked[0, 0] = "Miss Marple"
        with pytest.raises(ValueError, match="could not convert") as caught:
            getattr(fitted(LocalAverageRegressor(bandwidth=0.2)), method)(asked)
        assert "Marple" not in str(caught.value)

    def test_a_secure_sum_shows_the_operator_nothing(self):
        pytest.importorskip("cryptography")
        with pytest.raises(TypeError, match="SecureSumAggregator opens no answer"):
            fitted(LinearRegression(), None, SecureSumAggregator()).observe(ASKED)


class TestFitAgain:
    def test_a_failed_fit_leaves_the_last_one(self):
        platform = fitted(LinearRegression(), TQMATransformer(4, (0, 1)))
        before = platform.predict(ASKED)
        with pytest.raises(ValueError, match="party_sizes"):
            platform.set_params(aggregator=BSTDAggregator(party_sizes=[1, 2])).fit(
                X[:300], Y[:300], sites=SITES[:300] % 7
            )
        assert platform.sites_ == list(range(M))
        np.testing.assert_array_equal(platform.predict(ASKED), before)

    def test_missing_values_are_those_of_the_new_models(self):
        platform = fitted(LinearRegression()).set_params(estimator=HistGradientBoostingRegressor(max_iter=2))
        platform.fit(TestMissingValues.holes, Y, sites=SITES)
        assert np.isfinite(platform.predict(TestMissingValues.holes)).all()
        platform.set_params(estimator=LinearRegression())
        with pytest.raises(ValueError, match="Input X contains NaN"):
            platform.fit(TestMissingValues.holes, Y, sites=SITES)
