# SPDX-License-Identifier: BSD-3-Clause
"""Data frames of pandas and polars in every estimator: the same results, names checked and handed on."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import FeatureUnion, make_pipeline

import skprivate
from skprivate import (
    BoundsScaler,
    BSTDAggregator,
    CollaborativeClassifier,
    CollaborativeLARRegressor,
    CollaborativeRegressor,
    DPLogisticLLSRegressor,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPSEVRegressor,
    DPTreeClassifier,
    LocallyPrivateTreeClassifier,
    PrivateGridSearch,
    PrivateNashSolver,
    PrivateRandomizedSearch,
    SecureSumAggregator,
    TQMATransformer,
)
from skprivate.collaborative import LocalAverageRegressor

RNG = np.random.default_rng(0)
N = 120
NAMES = ["age", "dose", "years"]
X = RNG.uniform(-1, 1, (N, 3))
LABELS = np.where(X[:, 0] > 0, "yes", "no")
TARGET = X[:, 0] + RNG.normal(scale=0.1, size=N)
SITES = np.arange(N) % 6
BOUNDS = {name: (-1, 1) for name in NAMES}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
COLUMNS = {"pandas": pd.Series, "polars": pl.Series}

TREE = {"bounds": BOUNDS, "classes": ["no", "yes"], "max_depth": 2, "random_state": 0}
LLS = {"bounds_X": BOUNDS, "bounds_y": (-2, 2), "random_state": 0}
TREES = {"max_depth": [1, 2]}
SEARCH = {"random_state": 0}

PREDICTORS = [
    LocallyPrivateTreeClassifier(**TREE),
    DPTreeClassifier(**TREE),
    DPSEVRegressor(**LLS),
    DPLogisticLLSRegressor(**LLS),
    DPNormalLLSRegressor(**LLS),
    DPLogLocationScaleRegressor(distribution="sev", **LLS),
    LocalAverageRegressor(bounds=(-1, 1)),
    SecureSumAggregator(),
    BSTDAggregator(random_state=0),
    CollaborativeRegressor(),
    CollaborativeLARRegressor(bounds=BOUNDS),
    CollaborativeClassifier(),
    PrivateGridSearch(DPTreeClassifier(**TREE), TREES, **SEARCH),
    PrivateRandomizedSearch(DPTreeClassifier(**TREE), TREES, 2, **SEARCH),
]
TRANSFORMERS = [BoundsScaler(BOUNDS), TQMATransformer(2, BOUNDS), BSTDAggregator(random_state=0)]
ALL = [*PREDICTORS, *TRANSFORMERS[:2]]
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::skprivate.exceptions.{name}Warning")
    for name in ("Utility", "Disclosure", "PrivacyLeak")
]


def name_of(value):
    return type(value).__name__ if isinstance(value, BaseEstimator) else str(value)


def unnamed(estimator):
    """The same, with bounds by position: arrays have no names."""
    changes = {name: (-1, 1) for name, value in estimator.get_params(deep=True).items() if value is BOUNDS}
    return clone(estimator).set_params(**changes)


def target_of(estimator):
    return LABELS if is_classifier(estimator) else TARGET


def fit(estimator, rows, y, sites=SITES):
    collaborative = type(estimator).__name__.startswith("Collaborative")
    return estimator.fit(rows, y, **({"sites": sites} if collaborative else {}))


def answers(fitted, rows):
    names = ("predict", "predict_proba", "predict_interval")
    names = [name for name in names if hasattr(fitted, name)] or ["transform"]
    return [np.asarray(getattr(fitted, name)(rows)) for name in names]


def assert_same(found, expected):
    """A frame's rows may lie otherwise in memory, and sums of them differ by rounding."""
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)
    else:
        np.testing.assert_array_equal(found, expected)


def test_every_estimator_is_here():
    classes = {getattr(skprivate, name) for name in skprivate.__all__}
    estimators = {one for one in classes if inspect.isclass(one) and issubclass(one, BaseEstimator)}
    assert {type(one) for one in ALL} == estimators - {PrivateNashSolver}
    searches = {PrivateGridSearch, PrivateRandomizedSearch}
    transformers = {one for one in estimators if hasattr(one, "transform")} - searches
    assert {type(one) for one in TRANSFORMERS} == transformers


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("estimator", ALL, ids=name_of)
class TestEveryEstimator:
    def test_the_same_as_from_arrays(self, estimator, library):
        """Rows, targets and sites in a frame's own columns; queries too."""
        frame, column = FRAMES[library](dict(zip(NAMES, X.T, strict=True))), COLUMNS[library]
        y = target_of(estimator)
        plain = fit(unnamed(estimator), X, y)
        named = fit(clone(estimator), frame, column(y), column(SITES))
        assert named.feature_names_in_.tolist() == NAMES
        assert named.n_features_in_ == 3
        for expected, found in zip(answers(plain, X), answers(named, frame), strict=True):
            assert_same(found, expected)

    def test_names_are_checked(self, estimator, library):
        frame = FRAMES[library](dict(zip(NAMES, X.T, strict=True)))
        fitted = fit(clone(estimator), frame, target_of(estimator))
        method = fitted.predict if hasattr(fitted, "predict") else fitted.transform
        with pytest.raises(ValueError, match="feature names"):
            method(frame[NAMES[::-1]])
        with pytest.raises(ValueError, match="feature names"):
            method(FRAMES[library](dict(zip(["Age", *NAMES[1:]], X.T, strict=True))))
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            method(X)


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=name_of)
class TestTransformers:
    def test_frames_out(self, transformer, library):
        frame = FRAMES[library](dict(zip(NAMES, X.T, strict=True)))
        plain = clone(transformer).fit(frame).set_output(transform="default").transform(frame)
        changed = clone(transformer).fit(frame).set_output(transform=library)
        out = changed.transform(frame)
        assert isinstance(out, FRAMES[library])
        assert list(out.columns) == changed.get_feature_names_out().tolist()
        assert_same(np.asarray(out), np.asarray(plain))

    def test_names_out(self, transformer, library):
        frame = FRAMES[library](dict(zip(NAMES, X.T, strict=True)))
        assert clone(transformer).fit(frame).get_feature_names_out().tolist() == NAMES
        assert unnamed(transformer).fit(X).get_feature_names_out().tolist() == ["x0", "x1", "x2"]

    def test_frames_between_steps(self, transformer, library):
        """Names pass a pipeline, a column transformer and a union, and are what bounds go by."""
        frame = FRAMES[library](dict(zip(NAMES, X.T, strict=True)))
        model = DPNormalLLSRegressor(**LLS)
        pipeline = make_pipeline(clone(transformer), model).set_output(transform=library)
        assert pipeline.fit(frame, TARGET)[-1].feature_names_in_.tolist() == NAMES
        assert pipeline.predict(frame).shape == (N,)
        columns = ColumnTransformer(
            [("part", clone(transformer).set_params(**part_of(transformer)), ["dose", "age"])],
            remainder="passthrough",
            verbose_feature_names_out=False,
        ).set_output(transform=library)
        out = columns.fit_transform(frame)
        assert isinstance(out, FRAMES[library])
        assert list(out.columns) == ["dose", "age", "years"]
        union = FeatureUnion([("one", clone(transformer)), ("two", clone(transformer))])
        out = union.set_output(transform=library).fit_transform(frame)
        assert list(out.columns) == [f"{part}__{name}" for part in ("one", "two") for name in NAMES]


def part_of(transformer):
    bounds = {name: (-1, 1) for name in ("dose", "age")}
    return {"bounds": bounds} if "bounds" in transformer.get_params() else {}


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize(
    "estimator", [one for one in PREDICTORS if "epsilon" in one.get_params()], ids=name_of
)
class TestSearches:
    def test_searches_and_splits(self, estimator, library):
        frame, column = FRAMES[library](dict(zip(NAMES, X.T, strict=True))), COLUMNS[library]
        y = column(target_of(estimator))
        search = GridSearchCV(estimator, {"epsilon": [1.0, 2.0]}, cv=2).fit(frame, y)
        assert search.feature_names_in_.tolist() == NAMES
        assert search.predict(frame).shape == (N,)
        assert cross_val_predict(estimator, frame, y, cv=2).shape == (N,)

    def test_private_searches(self, estimator, library):
        frame, column = FRAMES[library](dict(zip(NAMES, X.T, strict=True))), COLUMNS[library]
        y = target_of(estimator)
        pipeline = make_pipeline(BoundsScaler(BOUNDS), estimator).set_output(transform=library)
        grid = {f"{type(estimator).__name__.lower()}__epsilon": [1.0, 2.0]}
        search = PrivateGridSearch(pipeline, grid, random_state=0).fit(frame, column(y))
        assert search.feature_names_in_.tolist() == NAMES
        assert search.best_estimator_[-1].feature_names_in_.tolist() == NAMES
        plain = make_pipeline(BoundsScaler((-1, 1)), unnamed(estimator))
        expected = PrivateGridSearch(plain, grid, random_state=0).fit(X, y)
        assert_same(search.predict(frame), expected.predict(X))


@pytest.mark.parametrize("library", FRAMES)
def test_censored_targets_in_a_frame(library):
    """Two columns, event and time: in a fit, a plain search and a private one."""
    rows = FRAMES[library](dict(zip(NAMES, X.T, strict=True)))
    life = {"event": RNG.random(N) < 0.5, "time": np.exp(X[:, 0])}
    frame = FRAMES[library](life)
    array = np.array(list(zip(*life.values(), strict=True)), dtype=[("event", bool), ("time", float)])
    model = DPLogLocationScaleRegressor(max_iter=3, **{**LLS, "bounds_y": (0.1, 10)})
    named, plain = clone(model).fit(rows, frame), unnamed(model).fit(X, array)
    np.testing.assert_array_equal(named.coef_, plain.coef_)
    assert_same(named.predict(rows), plain.predict(X))
    grid = {"epsilon": [1.0, 2.0]}
    assert GridSearchCV(model, grid, cv=2).fit(rows, frame).best_params_.keys() == grid.keys()

    def score(fitted, X, y):
        assert type(y) is type(frame)
        return np.ones(len(y))

    found = PrivateGridSearch(model, grid, scoring=score, random_state=0).fit(rows, frame)
    assert 0 <= found.best_estimator_.event_share_ <= 1
    beside = PrivateGridSearch(unnamed(model), grid, scoring=score, random_state=0).fit(X, frame)
    np.testing.assert_array_equal(beside.best_estimator_.coef_, found.best_estimator_.coef_)
    with pytest.raises(ValueError, match="censored targets have no score by name"):
        PrivateGridSearch(model, grid, random_state=0).fit(rows, frame)
