# SPDX-License-Identifier: BSD-3-Clause
"""The platform: fitting by site, predicting together, sites that fail, searches with routed sites."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
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
    privacy_report,
)
from skprivate.datasets import make_parties
from skprivate.exceptions import (
    DisclosureWarning,
    PrivacyLeakError,
    PrivacyLeakWarning,
    SiteError,
    SiteWarning,
)
from tests.marks import slow

M = 12


@pytest.fixture(scope="module")
def parties():
    return make_parties(1200, M, n_features=3, random_state=0)


@pytest.fixture(scope="module")
def queries():
    X, y, _ = make_parties(40, 1, n_features=3, noise=0, random_state=1)
    return X, y


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


def unprotected(platform, X):
    """The paper's synthesis from local predictions, in NumPy alone."""
    sizes = platform.site_sizes_
    f = np.column_stack([platform.estimators_[site].predict(X) for site in platform.sites_])
    active = np.abs(f) >= 1 / sizes.sum()
    weight = (active * sizes).sum(axis=1)
    return np.where(weight > 0, (f * sizes * active).sum(axis=1) / np.maximum(weight, 1), 0.0)


class TestPrediction:
    def test_equals_the_unswapped_synthesis_of_perturbed_queries(self, parties, queries):
        X, y, sites = parties
        platform = CollaborativeLARRegressor(bounds=(0, 1)).fit(X, y, sites=sites)
        coarse = TQMATransformer(4, (0, 1)).fit_transform(queries[0])
        np.testing.assert_allclose(platform.predict(queries[0]), unprotected(platform, coarse), atol=1e-12)

    def test_batch_equals_rows(self, parties, queries):
        X, y, sites = parties
        platform = CollaborativeLARRegressor(bounds=(0, 1)).fit(X, y, sites=sites)
        rows = [platform.predict(row[None])[0] for row in queries[0]]
        np.testing.assert_allclose(platform.predict(queries[0]), rows, rtol=0, atol=1e-12)

    def test_general_and_preset_are_one(self, parties, queries):
        X, y, sites = parties
        general = CollaborativeRegressor(LocalAverageRegressor(bounds=(0, 1)), TQMATransformer(3, (0, 1)))
        preset = CollaborativeLARRegressor(3, bounds=(0, 1))
        first, second = (model.fit(X, y, sites=sites).predict(queries[0]) for model in (general, preset))
        np.testing.assert_array_equal(first, second)

    def test_bandwidths_are_refined_to_all_rows(self, parties):
        X, y, sites = parties
        platform = CollaborativeRegressor().fit(X, y, sites=sites)
        for site, model in platform.estimators_.items():
            size = np.count_nonzero(sites == site)
            assert model.bandwidth_ == pytest.approx(model.bandwidth_cv_ ** (np.log(len(y)) / np.log(size)))
        assert platform.estimator is None

    def test_training_rows_are_not_perturbed(self, parties):
        X, y, sites = parties
        coarse = CollaborativeRegressor(KNeighborsRegressor(1), TQMATransformer(0, (0, 1)))
        coarse.fit(X, y, sites=sites)
        own = sites == 3
        np.testing.assert_array_equal(coarse.estimators_[3].predict(X[own]), y[own])

    def test_strings_name_sites(self, parties, queries):
        X, y, sites = parties
        names = np.array([f"h{site:02d}" for site in sites])
        first, second = (
            CollaborativeRegressor(LinearRegression()).fit(X, y, sites=labels)
            for labels in (names, names.tolist())
        )
        assert first.sites_ == sorted(set(names.tolist()))
        assert all(type(name) is str for name in first.sites_)
        np.testing.assert_array_equal(first.site_sizes_, np.bincount(sites))
        np.testing.assert_array_equal(first.predict(queries[0]), second.predict(queries[0]))

    def test_observe_shows_swapped_answers_only(self, parties, queries):
        X, y, sites = parties
        platform = CollaborativeRegressor(random_state=0).fit(X, y, sites=sites)
        sizes = platform.site_sizes_
        submitted = platform.site_responses(queries[0]) * sizes / sizes.mean()
        seen = platform.observe(queries[0])
        np.testing.assert_array_equal(np.sort(seen, axis=1), np.sort(submitted, axis=1))
        assert (seen == submitted).mean() < 0.1


class TestLocalModels:
    def test_every_site_its_own_kind(self, parties, queries):
        X, y, sites = parties
        kinds = [
            KNeighborsRegressor(),
            RandomForestRegressor(5, random_state=0),
            HistGradientBoostingRegressor(max_iter=5),
            LocalAverageRegressor("knn"),
        ]
        chosen = {site: kinds[site % 4] for site in range(M)}
        platform = CollaborativeRegressor(chosen).fit(X, y, sites=sites)
        assert [type(m) for m in platform.estimators_.values()] == [type(kinds[s % 4]) for s in range(M)]
        assert platform.score(*queries) > 0.5
        np.testing.assert_allclose(
            platform.predict(queries[0]), unprotected(platform, queries[0]), atol=1e-12
        )

    def test_prefit_models_stay_as_they_are(self, parties, queries):
        X, y, sites = parties
        model = LinearRegression().fit(X, y)
        platform = CollaborativeRegressor(FrozenEstimator(model)).fit(X, y, sites=sites)
        np.testing.assert_allclose(platform.predict(queries[0]), model.predict(queries[0]), atol=1e-12)

    def test_a_site_without_a_model_is_an_error(self, parties):
        X, y, sites = parties
        with pytest.raises(ValueError, match="no model for site 1"):
            CollaborativeRegressor({0: LinearRegression()}).fit(X, y, sites=sites)

    def test_missing_values_reach_models_that_take_them(self, parties):
        X, y, sites = parties
        holes = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.1, np.nan, X)
        platform = CollaborativeRegressor(
            HistGradientBoostingRegressor(max_iter=3), TQMATransformer(4, (0, 1))
        )
        platform.fit(holes, y, sites=sites)
        assert np.isfinite(platform.predict(holes[:5])).all()
        with pytest.raises(ValueError, match="NaN"):
            CollaborativeRegressor().fit(holes, y, sites=sites)

    def test_text_columns_reach_pipelines(self, parties):
        X, y, sites = parties
        frame = pd.DataFrame(X, columns=["age", "weight", "dose"])
        frame["ward"] = np.where(X[:, 0] > 0.5, "north", "south")
        encode = make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough")
        perturber = TQMATransformer(4, {"age": (0, 1)}, ["age"])
        platform = CollaborativeRegressor(make_pipeline(encode, LinearRegression()), perturber)
        platform.fit(frame, y, sites=sites)
        batch = platform.predict(frame[:5])
        rows = [platform.predict(frame[i : i + 1])[0] for i in range(5)]
        np.testing.assert_allclose(batch, rows, atol=1e-12)

    @pytest.mark.parametrize("kernel", ["gaussian", "knn", "epanechnikov"])
    def test_one_row_and_a_constant_target_are_sites(self, kernel, parties, queries):
        X, y, sites = parties
        sites, y = sites.copy(), y.copy()
        y[sites == 0] = 0.3
        sites[np.flatnonzero(sites == 1)[1:]] = 2
        platform = CollaborativeLARRegressor(kernel=kernel, bounds=(0, 1)).fit(X, y, sites=sites)
        assert platform.site_sizes_[1] == 1
        assert np.isfinite(platform.predict(queries[0])).all()

    def test_parallel_fits_and_answers_are_those_of_one_process(self, parties, queries):
        X, y, sites = parties
        one, two = (
            CollaborativeRegressor(RandomForestRegressor(3), n_jobs=jobs, random_state=5)
            for jobs in (None, 2)
        )
        np.testing.assert_array_equal(
            one.fit(X, y, sites=sites).predict(queries[0]), two.fit(X, y, sites=sites).predict(queries[0])
        )


class TestSitesThatFail:
    def models(self, when):
        return {site: Failing(when) if site == 4 else LinearRegression() for site in range(M)}

    @pytest.mark.parametrize("when", ["predict", "nan", "short"])
    def test_is_reported_by_name_and_without_its_rows(self, when, parties, queries):
        X, y, sites = parties
        platform = CollaborativeRegressor(self.models(when)).fit(X, y, sites=sites)
        with pytest.raises(SiteError, match=r"site 4 \(\w+\)") as caught:
            platform.predict(queries[0])
        assert "rows" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None

    @pytest.mark.parametrize("when", ["predict", "nan", "short"])
    def test_dropped_the_synthesis_is_that_of_the_others(self, when, parties, queries):
        X, y, sites = parties
        platform = CollaborativeRegressor(self.models(when), on_site_error="drop").fit(X, y, sites=sites)
        with pytest.warns(SiteWarning, match="site 4") as caught:
            found = platform.predict(queries[0])
        assert caught[0].filename == __file__
        others = CollaborativeRegressor(LinearRegression()).fit(
            X[sites != 4], y[sites != 4], sites=sites[sites != 4]
        )
        np.testing.assert_allclose(found, others.predict(queries[0]), atol=1e-12)

    def test_dropped_the_operator_sees_the_others(self, parties, queries):
        X, y, sites = parties
        platform = CollaborativeRegressor(self.models("predict"), on_site_error="drop").fit(X, y, sites=sites)
        with pytest.warns(SiteWarning, match="site 4"):
            seen = platform.observe(queries[0])
        with pytest.warns(SiteWarning, match="site 4"):
            answers = platform.site_responses(queries[0])
        sizes = np.delete(platform.site_sizes_, 4)
        np.testing.assert_array_equal(np.sort(seen), np.sort(answers * sizes / sizes.mean()))

    def test_a_fit_that_fails(self, parties, queries):
        X, y, sites = parties
        for n_jobs in (None, 2):
            with pytest.raises(ZeroDivisionError) as caught:
                CollaborativeRegressor(self.models("fit"), n_jobs=n_jobs).fit(X, y, sites=sites)
            assert "while fitting the model of site 4" in caught.value.__notes__
        with pytest.warns(SiteWarning, match=r"could not fit: site 4 \(ZeroDivisionError\)") as caught:
            platform = CollaborativeRegressor(self.models("fit"), on_site_error="drop").fit(X, y, sites=sites)
        assert caught[0].filename == __file__
        assert 4 not in platform.sites_
        assert np.isfinite(platform.predict(queries[0])).all()

    def test_nobody_left(self, parties, queries):
        X, y, sites = parties
        with pytest.raises(ZeroDivisionError) as caught:
            CollaborativeRegressor(Failing("fit"), on_site_error="drop").fit(X, y, sites=sites)
        assert caught.value.__notes__ == ["while fitting the model of site 0"]
        platform = CollaborativeRegressor(Failing(), on_site_error="drop").fit(X, y, sites=sites)
        with pytest.raises(SiteError, match="no site could answer: 0"):
            platform.predict(queries[0])


class TestBadInput:
    @pytest.mark.parametrize(
        ("sites", "error", "match"),
        [
            ([0, 1], ValueError, "shape"),
            (np.arange(1200.0), TypeError, "strings or integers"),
            ([None] * 1200, TypeError, "strings or integers"),
            (["a"] * 600 + [1] * 600, TypeError, "one type"),
        ],
    )
    def test_sites(self, sites, error, match, parties):
        with pytest.raises(error, match=match):
            CollaborativeRegressor().fit(*parties[:2], sites=sites)

    def test_wrong_number_of_columns(self, parties, queries):
        X, y, sites = parties
        platform = CollaborativeLARRegressor(bounds=(0, 1)).fit(X, y, sites=sites)
        with pytest.raises(ValueError, match="2 features"):
            platform.predict(queries[0][:, :2])

    def test_bounds_that_do_not_cover_the_data_clip_silently(self, parties, queries):
        X, y, sites = parties
        platform = CollaborativeLARRegressor(bounds=(0.2, 0.8)).fit(X, y, sites=sites)
        clipped = CollaborativeLARRegressor(bounds=(0.2, 0.8)).fit(np.clip(X, 0.2, 0.8), y, sites=sites)
        np.testing.assert_array_equal(platform.predict(queries[0]), clipped.predict(queries[0]))

    def test_a_failed_fit_leaves_the_last_one(self, parties, queries):
        X, y, sites = parties
        platform = CollaborativeLARRegressor(bounds=(0, 1)).fit(X, y, sites=sites)
        before = platform.predict(queries[0])
        with pytest.raises(ValueError, match="p_lower"):
            platform.set_params(p_lower=8, p_upper=2).fit(X, y, sites=sites)
        np.testing.assert_array_equal(platform.predict(queries[0]), before)


class TestContract:
    def test_bounds_read_from_rows_are_a_leak(self, parties):
        X, y, sites = parties
        with pytest.warns(PrivacyLeakWarning) as caught:
            platform = CollaborativeLARRegressor().fit(X, y, sites=sites)
        assert sum(issubclass(w.category, PrivacyLeakWarning) for w in caught) == 1
        assert platform.disclosure_risk_[0].leaks
        with config_context(strict=True):
            with pytest.raises(PrivacyLeakError):
                CollaborativeLARRegressor().fit(X, y, sites=sites)
            travelled = pickle.dumps(CollaborativeLARRegressor())
        with pytest.raises(PrivacyLeakError):
            pickle.loads(travelled).fit(X, y, sites=sites)

    def test_never_an_epsilon_always_the_risks(self, parties):
        X, y, sites = parties
        platform = CollaborativeLARRegressor(bounds=(0, 1)).fit(X, y, sites=sites)
        assert len(platform.disclosure_risk_) == 2
        assert not hasattr(platform, "privacy_spent_")
        assert not privacy_report(platform).private
        assert "epsilon" not in " ".join(map(str, platform.disclosure_risk_)).lower()

    def test_neither_repr_nor_html_shows_rows(self, parties):
        X, y, sites = parties
        y = y.copy()
        y[0] = 0.123456789
        platform = CollaborativeLARRegressor(bounds=(0, 1)).fit(X, y, sites=sites)
        for text in (repr(platform), platform._repr_html_()):
            assert "0.1234567" not in text

    def test_one_site_warns_that_nothing_is_hidden(self, parties):
        with pytest.warns(DisclosureWarning):
            CollaborativeRegressor(LinearRegression()).fit(*parties[:2])

    def test_pickles_and_clones(self, parties, queries):
        X, y, sites = parties
        platform = CollaborativeLARRegressor(bounds=(0, 1)).fit(X, y, sites=sites)
        twin = pickle.loads(pickle.dumps(platform))
        np.testing.assert_array_equal(twin.predict(queries[0]), platform.predict(queries[0]))
        assert clone(platform).get_params() == platform.get_params()

    def test_data_frames(self, parties, queries):
        X, y, sites = parties
        names = ["a", "b", "c"]
        plain = CollaborativeLARRegressor(bounds=(0, 1)).fit(X, y, sites=sites)
        frame = pd.DataFrame(X, columns=names)
        named = CollaborativeLARRegressor(bounds=(0, 1), quasi_identifiers=names)
        named.fit(frame, pd.Series(y), sites=pd.Series(sites))
        asked = pd.DataFrame(queries[0], columns=names)
        np.testing.assert_array_equal(named.predict(asked), plain.predict(queries[0]))
        with pytest.raises(ValueError, match="feature names"):
            named.predict(asked[["c", "b", "a"]])


class TestSearch:
    @pytest.fixture(autouse=True)
    def _routing(self):
        with sklearn.config_context(enable_metadata_routing=True):
            yield

    def test_over_the_preset_s_depth(self, parties):
        X, y, sites = parties
        platform = CollaborativeLARRegressor(bounds=(0, 1)).set_fit_request(sites=True)
        search = GridSearchCV(platform, {"depth": [1, 4]}, cv=3, error_score="raise").fit(X, y, sites=sites)
        assert search.best_params_ == {"depth": 4}
        assert search.best_estimator_.sites_ == list(range(M))

    @pytest.mark.parametrize("n_jobs", [None, slow(2)])
    def test_over_a_part_s_depth(self, n_jobs, parties):
        X, y, sites = parties
        platform = CollaborativeRegressor(
            LocalAverageRegressor("knn", n_neighbors=5), TQMATransformer(bounds=(0, 1))
        ).set_fit_request(sites=True)
        grid = {"query_perturber__depth": [1, 4], "estimator__n_neighbors": [3, 8]}
        search = GridSearchCV(platform, grid, cv=3, n_jobs=n_jobs, error_score="raise")
        search.fit(X, y, sites=sites)
        assert search.best_params_["query_perturber__depth"] == 4

    def test_folds_that_leave_out_whole_sites(self, parties):
        X, y, sites = parties
        models = {site: LinearRegression() for site in range(M)}
        platform = CollaborativeRegressor(models).set_fit_request(sites=True)
        search = GridSearchCV(platform, {"on_site_error": ["raise"]}, cv=GroupKFold(3), error_score="raise")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DisclosureWarning)
            search.fit(X, y, sites=sites, groups=sites)
        assert len(search.best_estimator_.sites_) == M

    def test_in_a_pipeline(self, parties, queries):
        X, y, sites = parties
        platform = CollaborativeRegressor(LinearRegression()).set_fit_request(sites=True)
        pipeline = make_pipeline(TQMATransformer(4, (0, 1), perturb_fit=False), platform)
        pipeline.fit(X, y, sites=sites)
        whole = CollaborativeRegressor(LinearRegression(), TQMATransformer(4, (0, 1))).fit(X, y, sites=sites)
        np.testing.assert_array_equal(pipeline.predict(queries[0]), whole.predict(queries[0]))


def test_the_aggregator_s_own_sizes_stay(parties):
    X, y, sites = parties
    platform = CollaborativeRegressor(LinearRegression(), aggregator=BSTDAggregator(party_sizes=np.ones(M)))
    platform.fit(X, y, sites=sites)
    equal = np.mean([model.predict(X[:1])[0] for model in platform.estimators_.values()])
    assert platform.predict(X[:1])[0] == pytest.approx(equal)


class Hiding:
    """Something that a user adds to one of the parts: it must not be missed on any fast path."""

    HIDDEN = 7.0


class HidingPerturber(Hiding, TQMATransformer):
    def transform(self, X):
        return np.full(np.shape(X), 0.5)


class HidingModel(Hiding, LocalAverageRegressor):
    def predict(self, X):
        return np.full(len(X), self.HIDDEN)


class HidingAggregator(Hiding, BSTDAggregator):
    def predict(self, X):
        return np.full(len(X), self.HIDDEN)


def test_what_subclasses_add_is_not_missed(parties, queries):
    X, y, sites = parties
    asked = queries[0]
    perturbing = CollaborativeRegressor(query_perturber=HidingPerturber(bounds=(0, 1))).fit(X, y, sites=sites)
    plain = CollaborativeRegressor().fit(X, y, sites=sites)
    np.testing.assert_allclose(
        perturbing.predict(asked), plain.predict(np.full(asked.shape, 0.5)), rtol=1e-12
    )
    for parts in ({"estimator": HidingModel()}, {"aggregator": HidingAggregator()}):
        platform = CollaborativeRegressor(**parts).fit(X, y, sites=sites)
        np.testing.assert_array_equal(platform.predict(asked), np.full(len(asked), Hiding.HIDDEN))


@pytest.mark.parametrize(
    ("platform", "name"),
    [
        (CollaborativeLARRegressor(p_lower=0, bounds=(0, 1)), "p_lower"),
        (CollaborativeLARRegressor(active_rule="boxes", bounds=(0, 1)), "active_rule"),
        (CollaborativeLARRegressor(kernel="round", bounds=(0, 1)), "kernel"),
        (CollaborativeLARRegressor(bandwidth=0, bounds=(0, 1)), "bandwidth"),
        (CollaborativeLARRegressor(depth=1.5, bounds=(0, 1)), "depth"),
        (CollaborativeRegressor(aggregator=BSTDAggregator(p_lower=1.5)), "p_lower"),
        (CollaborativeRegressor(KNeighborsRegressor(-3)), "n_neighbors"),
    ],
)
def test_parameters_of_the_parts_are_validated(platform, name, parties):
    X, y, sites = parties
    with pytest.raises(ValueError, match=f"The '{name}' parameter"):
        platform.fit(X, y, sites=sites)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"estimator": "tree"}, "estimator must be .* with fit and predict; got str"),
        ({"estimator": {0: StandardScaler()}}, "estimator must be .*; got StandardScaler"),
        ({"estimator": KNeighborsRegressor}, "not a class.*; got KNeighborsRegressor"),
        ({"query_perturber": LinearRegression()}, "query_perturber must be .* with fit and transform"),
        ({"aggregator": TQMATransformer()}, "aggregator must be .* with fit and predict"),
    ],
)
def test_parts_that_cannot_do_their_work_are_refused_by_fit(parts, message, parties):
    X, y, _ = parties
    with pytest.raises(TypeError, match=message):
        CollaborativeRegressor(**parts).fit(X, y)


@pytest.mark.parametrize("seed", [np.random.default_rng(0), np.random.RandomState(0), np.int64(0)])
def test_every_kind_of_seed_and_of_whole_number(seed, parties, queries):
    X, y, sites = parties
    platform = CollaborativeRegressor(RandomForestRegressor(3), random_state=seed, n_jobs=np.int64(1))
    seeds = {model.random_state for model in platform.fit(X, y, sites=sites).estimators_.values()}
    assert len(seeds) == M
    assert platform.aggregator_.random_state not in {None, *seeds}


def test_nothing_is_observed_before_fit(queries):
    with pytest.raises(NotFittedError):
        CollaborativeRegressor().observe(queries[0])
