# SPDX-License-Identifier: BSD-3-Clause
"""Data frames of pandas and polars in every estimator: the same results, names checked and handed on."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import FeatureUnion, make_pipeline

from skprivate import BoundsScaler, PrivateGridSearch, PrivateNashSolver, PrivateRandomizedSearch
from tests.catalogue import INSTANCES, ONE_OF_EACH, arguments, public_estimators
from tests.marks import needs_names_of_polars

N = 120
NAMES = ["age", "dose", "years"]
BOUNDS = {name: (-1, 1) for name in NAMES}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
LIBRARIES = ["pandas", pytest.param("polars", marks=needs_names_of_polars)]
COLUMNS = {"pandas": pd.Series, "polars": pl.Series}
#: One of each class but the solver, whose input is a game; and classes that are words.
NAMED = [name for name in ONE_OF_EACH if name not in ("players", "pipeline")]
NAMED += ["tree, three classes, hadamard", "central, three classes"]
TRANSFORMERS = ["bounds scaler", "domain encoder", "tqma", "swapping"]
WITH_EPSILON = [
    name
    for name in NAMED
    if INSTANCES[name].beside is None and "epsilon" in INSTANCES[name].estimator.get_params()
]
X = arguments(INSTANCES["sev"], N, 3)["X"]
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::skprivate.exceptions.{name}Warning")
    for name in ("Utility", "Disclosure", "PrivacyLeak")
]


def named(name):
    """The instance with bounds by name, and noise that can be repeated."""
    estimator = clone(INSTANCES[name].estimator)
    changes = {}
    for key in estimator.get_params(deep=True):
        own_name = key.rpartition("__")[2]
        if own_name in ("bounds", "bounds_X"):
            changes[key] = BOUNDS
        elif own_name == "random_state":
            changes[key] = 0
    return estimator.set_params(**changes)


def unnamed(estimator):
    """The same, with bounds by position: arrays have no names."""
    changes = {name: (-1, 1) for name, value in estimator.get_params(deep=True).items() if value == BOUNDS}
    return clone(estimator).set_params(**changes)


def fit(name, estimator, rows, column=np.asarray):
    given = arguments(INSTANCES[name], N, 3)
    beside = {key: column(value) for key, value in given.items() if key != "X"}
    return estimator.fit(rows, **beside)


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


def test_every_transformer_is_here():
    searches = {PrivateGridSearch, PrivateRandomizedSearch}
    transformers = {one for one in public_estimators() if hasattr(one, "transform")} - searches
    assert {type(INSTANCES[name].estimator) for name in TRANSFORMERS} == transformers
    assert {type(INSTANCES[name].estimator) for name in NAMED} == public_estimators() - {PrivateNashSolver}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", NAMED)
class TestEveryEstimator:
    def test_the_same_as_from_arrays(self, name, library):
        """Rows, targets, sites and the like in a frame's own columns; queries too."""
        frame, column = FRAMES[library](dict(zip(NAMES, X.T, strict=True))), COLUMNS[library]
        plain = fit(name, unnamed(named(name)), X)
        fitted = fit(name, named(name), frame, column)
        assert fitted.feature_names_in_.tolist() == NAMES
        assert fitted.n_features_in_ == 3
        for expected, found in zip(answers(plain, X), answers(fitted, frame), strict=True):
            assert_same(found, expected)

    def test_names_are_checked(self, name, library):
        frame = FRAMES[library](dict(zip(NAMES, X.T, strict=True)))
        fitted = fit(name, named(name), frame)
        method = fitted.predict if hasattr(fitted, "predict") else fitted.transform
        with pytest.raises(ValueError, match="feature names"):
            method(frame[NAMES[::-1]])
        with pytest.raises(ValueError, match="feature names"):
            method(FRAMES[library](dict(zip(["Age", *NAMES[1:]], X.T, strict=True))))
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            method(X)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", TRANSFORMERS)
class TestTransformers:
    def test_frames_out(self, name, library):
        frame = FRAMES[library](dict(zip(NAMES, X.T, strict=True)))
        plain = named(name).fit(frame).set_output(transform="default").transform(frame)
        changed = named(name).fit(frame).set_output(transform=library)
        out = changed.transform(frame)
        assert isinstance(out, FRAMES[library])
        assert list(out.columns) == changed.get_feature_names_out().tolist()
        assert_same(np.asarray(out), np.asarray(plain))

    def test_names_out(self, name, library):
        frame = FRAMES[library](dict(zip(NAMES, X.T, strict=True)))
        assert named(name).fit(frame).get_feature_names_out().tolist() == NAMES
        assert unnamed(named(name)).fit(X).get_feature_names_out().tolist() == ["x0", "x1", "x2"]

    def test_frames_between_steps(self, name, library):
        """Names pass a pipeline, a column transformer and a union, and are what bounds go by."""
        frame = FRAMES[library](dict(zip(NAMES, X.T, strict=True)))
        pipeline = make_pipeline(named(name), named("normal")).set_output(transform=library)
        assert fit("normal", pipeline, frame)[-1].feature_names_in_.tolist() == NAMES
        assert pipeline.predict(frame).shape == (N,)
        columns = ColumnTransformer(
            [("part", named(name).set_params(**part_of(named(name))), ["dose", "age"])],
            remainder="passthrough",
            verbose_feature_names_out=False,
        ).set_output(transform=library)
        out = columns.fit_transform(frame)
        assert isinstance(out, FRAMES[library])
        assert list(out.columns) == ["dose", "age", "years"]
        union = FeatureUnion([("one", named(name)), ("two", named(name))])
        out = union.set_output(transform=library).fit_transform(frame)
        assert list(out.columns) == [f"{part}__{column}" for part in ("one", "two") for column in NAMES]


def part_of(transformer):
    bounds = {name: (-1, 1) for name in ("dose", "age")}
    return {"bounds": bounds} if "bounds" in transformer.get_params() else {}


@pytest.mark.parametrize(
    "library", ["pandas", pytest.param("polars", marks=[needs_names_of_polars, pytest.mark.slow])]
)
@pytest.mark.parametrize("name", WITH_EPSILON)
class TestSearches:
    def test_searches_and_splits(self, name, library):
        frame = FRAMES[library](dict(zip(NAMES, X.T, strict=True)))
        y = COLUMNS[library](arguments(INSTANCES[name], N, 3)["y"])
        search = GridSearchCV(named(name), {"epsilon": [1.0, 2.0]}, cv=2).fit(frame, y)
        assert search.feature_names_in_.tolist() == NAMES
        assert search.predict(frame).shape == (N,)
        assert cross_val_predict(named(name), frame, y, cv=2).shape == (N,)

    def test_private_searches(self, name, library):
        frame = FRAMES[library](dict(zip(NAMES, X.T, strict=True)))
        estimator = named(name)
        pipeline = make_pipeline(BoundsScaler(BOUNDS), estimator).set_output(transform=library)
        grid = {f"{type(estimator).__name__.lower()}__epsilon": [1.0, 2.0]}
        search = fit(name, PrivateGridSearch(pipeline, grid, random_state=0), frame, COLUMNS[library])
        assert search.feature_names_in_.tolist() == NAMES
        assert search.best_estimator_[-1].feature_names_in_.tolist() == NAMES
        plain = make_pipeline(BoundsScaler((-1, 1)), unnamed(estimator))
        expected = fit(name, PrivateGridSearch(plain, grid, random_state=0), X)
        assert_same(search.predict(frame), expected.predict(X))


@pytest.mark.parametrize("library", LIBRARIES)
def test_censored_targets_in_a_frame(library):
    """Two columns, event and time: in a fit, a plain search and a private one."""
    rows = FRAMES[library](dict(zip(NAMES, X.T, strict=True)))
    array = arguments(INSTANCES["aft, censored"], N, 3)["y"]
    frame = FRAMES[library]({field: array[field] for field in ("event", "time")})
    model = named("aft, censored")
    from_frame, plain = clone(model).fit(rows, frame), unnamed(model).fit(X, array)
    np.testing.assert_array_equal(from_frame.coef_, plain.coef_)
    assert_same(from_frame.predict(rows), plain.predict(X))
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
