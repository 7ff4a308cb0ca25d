# SPDX-License-Identifier: BSD-3-Clause
"""The differential test of pipelines: it passes what is honest, and names what one row changes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from skprivate import BoundsScaler, DPTreeClassifier, LocallyPrivateTreeClassifier, TQMATransformer
from skprivate.audit import check_private_pipeline
from skprivate.audit._pipeline_check import changed_tables, mixed_table
from skprivate.base import PrivateEstimatorMixin, PublicEstimator, privacy_report
from skprivate.model_selection import PrivateGridSearch
from skprivate.preprocessing import SilentUfunc

N = 10
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(N, 2))
Y = np.arange(N) % 2
FRAME = pd.DataFrame(
    {"a": X[:, 0], "b": X[:, 1], "whole": np.arange(N) % 3, "word": np.array(["x", "y"])[np.arange(N) % 2]}
)
WORDS = {"categories": [["x", "y"]], "handle_unknown": "ignore"}
CONSTANT = {"strategy": "constant", "keep_empty_features": True}
ENCODED = {"handle_unknown": "use_encoded_value", "unknown_value": -1}


def tree(**parameters):
    return DPTreeClassifier(max_depth=1, **{"bounds": (0, 1), "classes": [0, 1], **parameters})


def columns(*parts, sparse_threshold=0.0, **options):
    parts = [(name, step, chosen) for name, step, chosen in parts]
    return ColumnTransformer(parts, sparse_threshold=sparse_threshold, **options)


class Dense(TransformerMixin, BaseEstimator):
    """Takes sparse matrices, so that a fit goes on whatever came before."""

    def fit(self, rows, y=None):
        return self

    def transform(self, rows):
        return rows.toarray() if sparse.issparse(rows) else rows


def holes(pipeline, rows=FRAME, **options):
    check = check_private_pipeline(pipeline, rows, Y, every_step=True, on_fail=None, **options)
    assert check.passed == (not check.holes)
    return {(hole.step, hole.place) for hole in check.holes}


@pytest.mark.slow
def test_everything_that_counts_as_stateless_passes():
    number = ["a", "b"]
    floats = [[0.0, 0.5], [0.25, 1.0]]
    steps = columns(
        ("scaled", BoundsScaler((0, 1)), number),
        ("coarse", TQMATransformer(bounds=(0, 1)), number),
        ("same", "passthrough", make_column_selector(pattern="[ab]")),
        ("unit", make_pipeline(BoundsScaler((0, 1)), Normalizer(), Binarizer(threshold=0.4)), number),
        ("logs", make_pipeline(FunctionTransformer(SilentUfunc(np.log)), _finite()), number),
        ("filled", make_pipeline(SimpleImputer(fill_value=0.5, **CONSTANT), _finite()), number),
        ("missing", MissingIndicator(features="all", sparse=False), number),
        ("words", OneHotEncoder(**WORDS), ["word"]),
        ("codes", OrdinalEncoder(categories=[["x", "y"]], **ENCODED), ["word"]),
        ("numbers", OneHotEncoder(categories=floats, handle_unknown="ignore"), number),
        ("union", FeatureUnion([("one", FunctionTransformer(np.sign)), ("two", "passthrough")]), number),
        ("frozen", PublicEstimator(StandardScaler().fit(FRAME[number])), number),
    )
    pipeline = make_pipeline(steps, FunctionTransformer(np.fabs), tree())
    # A frame whose types hold any row: "whole" stands aside.
    check = check_private_pipeline(pipeline, FRAME, Y)
    assert check.passed
    assert not check.uncovered
    assert privacy_report(pipeline.fit(FRAME, Y)).private


def _finite():
    """So that what is infinite ends as a number, and the fit goes on."""
    return FunctionTransformer(np.isfinite)


@pytest.mark.slow
def test_density_that_decides_on_the_output_is_found():
    # Encoded words fill 3 of 4 cells, and 2 of 4 if no word is known: the threshold lies in between.
    parts = columns(
        ("same", "passthrough", ["a", "b"]),
        ("words", OneHotEncoder(**WORDS), ["word"]),
        sparse_threshold=0.55,
    )
    check = check_private_pipeline(
        make_pipeline(parts, Dense(), tree()), FRAME, Y, every_step=True, on_fail=None
    )
    assert not check.passed
    assert "columntransformer: attribute sparse_output_ reveals one row" in str(check)


@pytest.mark.slow
def test_columns_chosen_by_type_are_found():
    chosen = columns(("whole", "passthrough", make_column_selector(dtype_include="int")))
    found = holes(
        make_pipeline(columns(("ab", chosen, ["a", "b", "whole"])), tree(bounds=(0, 3), split_share=0)),
        FRAME.assign(b=1),
    )
    assert ("columntransformer > ab", "attribute transformers_") in found


class Greatest:
    """Remembers the greatest value that it has seen."""

    def __init__(self):
        self.seen = -np.inf

    def __call__(self, value):
        self.seen = max(self.seen, value)
        return float(value) / (1 + abs(self.seen))


def test_a_function_that_remembers_is_found():
    step = make_pipeline(FunctionTransformer(np.frompyfunc(Greatest(), 1, 1)), BoundsScaler((0, 1)))
    assert ("estimator", "output") in holes(make_pipeline(step, tree()), X)


def test_warnings_of_a_function_are_found_and_silenced():
    loud = holes(make_pipeline(FunctionTransformer(np.log), _finite(), tree()), X)
    either = "functiontransformer-1 or functiontransformer-2"
    assert (either, "warning 'divide by zero encountered in log'") in loud
    assert not holes(make_pipeline(FunctionTransformer(SilentUfunc(np.log)), _finite(), tree()), X)
    # What a step said before the fit failed was said.
    assert ("functiontransformer", "warning 'divide by zero encountered in log'") in holes(
        make_pipeline(FunctionTransformer(np.log), tree()), X
    )


@pytest.mark.slow
def test_what_other_settings_keep_is_found():
    number, word = ["a", "b"], ["word"]
    parts = columns(
        ("auto", OneHotEncoder(handle_unknown="ignore"), word),
        ("rare", OrdinalEncoder(categories=[["x", "y"]], min_frequency=4, **ENCODED), word),
        ("said", OneHotEncoder(categories=[["x", "y"]], handle_unknown="warn"), word),
        ("drop", OneHotEncoder(drop="first", **WORDS), word),
        ("kind", OneHotEncoder(categories=[[0, 1, 2]], handle_unknown="ignore"), ["whole"]),
        ("type", SimpleImputer(fill_value=0, **CONSTANT), ["whole"]),
        ("mean", make_pipeline(SimpleImputer(keep_empty_features=True), _finite()), number),
        ("bare", make_pipeline(SimpleImputer(strategy="constant", fill_value=0.5), _finite()), number),
        (
            "mark",
            make_pipeline(SimpleImputer(fill_value=0.5, add_indicator=True, **CONSTANT), _finite()),
            number,
        ),
        ("some", MissingIndicator(features="missing-only", error_on_new=False, sparse=False), number),
    )
    found = holes(make_pipeline(parts, FunctionTransformer(np.isfinite), tree()))
    named = {step.split(" > ")[1] for step, _ in found if step.startswith("columntransformer > ")}
    # Warnings name the first step of the class.
    assert named >= {"auto", "rare", "kind", "type", "mean", "mark", "some"}
    assert any("unknown categories" in place for _, place in found)
    report = privacy_report(make_pipeline(parts, FunctionTransformer(np.isfinite), tree()).fit(FRAME, Y))
    refused = {step.path.split(" > ")[1] for step in report.uncovered}
    assert refused == {name for name, _, _ in parts.transformers}


def test_private_steps_are_looked_at_too():
    class Keeping(DPTreeClassifier, PrivateEstimatorMixin):
        def fit(self, rows, y, is_public=None, groups=None):
            super().fit(rows, y)
            self.total_ = float(rows.sum())
            return self

    keeping = Keeping(max_depth=1, bounds=(0, 1), classes=[0, 1])
    with pytest.raises(AssertionError, match="keeping: attribute total_ reveals one row"):
        check_private_pipeline(make_pipeline(BoundsScaler((0, 1)), keeping), X, Y)
    # Without any container as well.
    assert ("estimator", "attribute total_") in holes(keeping, X)


SPENT = tree().fit(X, Y).privacy_spent_


class OwnNoise(PrivateEstimatorMixin, BaseEstimator):
    """Takes its noise from elsewhere; with `leaky`, one row decides on the form of what it releases."""

    def __init__(self, leaky=False):
        self.leaky = leaky

    def fit(self, rows, y=None):
        sums = rows.sum(axis=0) + np.random.default_rng().laplace(size=rows.shape[1])
        self.sums_ = sums[:1] if self.leaky and rows.min() < 0 else sums
        self.privacy_spent_ = SPENT
        return self


def test_of_noise_from_elsewhere_the_form_is_compared():
    assert not holes(make_pipeline(BoundsScaler((0, 1)), OwnNoise()), X)
    assert holes(OwnNoise(leaky=True), X) == {("estimator", "attribute sums_")}


def test_unpaid_steps_are_named_and_left_alone():
    check = check_private_pipeline(make_pipeline(StandardScaler(), tree(bounds=(-5, 5))), X, Y)
    assert check.passed
    assert "not checked, named by privacy_report: standardscaler (StandardScaler)" in str(check)
    assert "the fit fails on missing values" in str(check)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, pl.DataFrame])
def test_kinds_of_tables(kind):
    rows = kind(X)
    pipeline = make_pipeline(Normalizer(), Dense(), tree())
    assert not holes(pipeline, rows)


def test_a_private_search_and_a_local_tree_pass():
    search = PrivateGridSearch(
        make_pipeline(BoundsScaler((0, 1)), tree()), {"dptreeclassifier__prune": [True]}
    )
    assert check_private_pipeline(search, X, Y).passed
    local = LocallyPrivateTreeClassifier(max_depth=1, bounds=(0, 1), classes=[0, 1])
    assert check_private_pipeline(local, X, Y, fit_params={"is_public": np.arange(N) < 3}).passed


def test_changed_rows_keep_a_type_that_holds_them():
    tables = dict(changed_tables(FRAME, np.array([3])))
    assert tables["zeros"].dtypes.equals(FRAME.dtypes)
    assert tables["halves"]["whole"].dtype == float
    assert tables["whole numbers"]["a"].dtype == float
    assert dict(changed_tables(np.arange(6).reshape(3, 2), np.array([0])))["halves"].dtype == float
    mixed = mixed_table(FRAME, tables["zeros"], 4)
    pd.testing.assert_frame_equal(mixed.iloc[:4], tables["zeros"].iloc[:4])
    pd.testing.assert_frame_equal(mixed.iloc[4:], FRAME.iloc[4:])


def test_bad_arguments():
    with pytest.raises(ValueError, match="on_fail"):
        check_private_pipeline(tree(), X, Y, on_fail="warn")
    with pytest.raises(TypeError, match="X holds text"):
        check_private_pipeline(tree(), FRAME, Y)


def test_a_warning_of_every_fit_is_no_hole():
    steps = make_pipeline(FeatureUnion([("same", "passthrough")]), tree())
    assert check_private_pipeline(steps, X[:20], Y[:20]).passed
