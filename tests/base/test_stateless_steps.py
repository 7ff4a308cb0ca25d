# SPDX-License-Identifier: BSD-3-Clause
"""Which steps of a pipeline are known to learn nothing from rows, and the reasons against the others."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
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

from skprivate import BoundsScaler, DPTreeClassifier, PrivacyLedger, TQMATransformer, config_context
from skprivate.base import PublicEstimator
from skprivate.base._pipeline_report import reads_rows
from skprivate.base._stateless_steps import _NEVER_WARN, _UFUNCS, holds_any_row
from skprivate.exceptions import PrivacyLeakError, PrivacyLeakWarning
from skprivate.model_selection import PrivateGridSearch
from skprivate.preprocessing import SilentUfunc
from skprivate.utils._compat import ProgressBar
from tests.marks import needs_callbacks

X = np.random.default_rng(0).uniform(size=(200, 2))
Y = np.arange(200) % 2
WORDS = {"categories": [["x", "y"]], "handle_unknown": "ignore"}
CONSTANT = {"strategy": "constant", "fill_value": 0.0, "keep_empty_features": True}
SCALED = ("scaled", BoundsScaler((0, 1)), [0])
HASHED = make_pipeline(FeatureHasher(), FunctionTransformer())


def tree(**parameters):
    return DPTreeClassifier(max_depth=1, **{"bounds": (0, 1), "classes": [0, 1], **parameters})


def columns(*parts, **options):
    return ColumnTransformer(list(parts), **options)


def chosen(selector):
    return columns(("same", "passthrough", selector), sparse_threshold=0)


def patched(step):
    step.transform = lambda rows: rows - rows.mean(axis=0)
    return step


def with_fit_transform(step):
    """A pipeline takes it, though the class has none."""
    step.fit_transform = lambda rows, y=None: rows - rows.mean(axis=0)
    return step


def rebound(function):
    function.ufunc = np.frompyfunc(float, 1, 1)
    return function


@pytest.mark.parametrize(
    "step",
    [
        *(Binarizer(), Normalizer(), Normalizer("max"), FeatureHasher(), HashingVectorizer()),
        *(FunctionTransformer(), FunctionTransformer(np.isnan), FunctionTransformer(SilentUfunc(np.log))),
        FunctionTransformer(np.sign, np.square, check_inverse=False, feature_names_out="one-to-one"),
        *(OneHotEncoder(**WORDS), OneHotEncoder(sparse_output=False, **WORDS)),
        OneHotEncoder(categories=[["x"]], handle_unknown="infrequent_if_exist"),
        OrdinalEncoder(categories=[["x"]], handle_unknown="use_encoded_value", unknown_value=-1),
        *(SimpleImputer(**CONSTANT), SimpleImputer(**{**CONSTANT, "fill_value": "none"})),
        *(MissingIndicator(features="all"), MissingIndicator(features="all", sparse=True)),
        PublicEstimator(StandardScaler().fit(X)),
        chosen(["a"]),
        chosen(make_column_selector(pattern="^a")),
        chosen(make_column_selector()),
        # No step takes and returns a sparse matrix, so nothing can be sparse.
        columns(SCALED, ("same", "passthrough", [1])),
        columns(SCALED, remainder="passthrough"),
        columns(("both", make_pipeline(BoundsScaler((0, 1)), FunctionTransformer(np.fabs)), [0, 1])),
        columns(("words", OneHotEncoder(sparse_output=False, **WORDS), ["word"]), remainder="passthrough"),
        columns(("coarse", TQMATransformer(bounds=(0, 1)), [0]), ("inner", chosen(["a"]), ["a"])),
        columns(
            SCALED, ("inner", FeatureUnion([("one", "passthrough"), ("two", BoundsScaler((0, 1)))]), [1])
        ),
        columns(("words", OneHotEncoder(**WORDS), ["word"]), sparse_threshold=0),
    ],
)
def test_known_to_learn_nothing(step):
    assert reads_rows(step) is None


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (Normalizer("l1"), "overflow"),
        (patched(Normalizer()), "methods of its own"),
        (patched(BoundsScaler((0, 1))), "methods of its own"),
        (patched(FeatureUnion([("one", "passthrough")])), "methods of its own"),
        (HashingVectorizer(tokenizer=str.split), "code of its user"),
        (HashingVectorizer(strip_accents=str.lower), "code of its user"),
        (HashingVectorizer(input="filename"), "files"),
        (FunctionTransformer(np.frompyfunc(float, 1, 1)), "all rows at once"),
        (FunctionTransformer(np.vectorize(float)), "all rows at once"),
        (FunctionTransformer(np.matmul), "all rows at once"),
        (FunctionTransformer(np.modf), "all rows at once"),
        (FunctionTransformer(np.rint, kw_args={"where": True}), "all rows at once"),
        (FunctionTransformer(SilentUfunc(np.log), kw_args={"where": True}), "all rows at once"),
        (FunctionTransformer(np.log), r"pass SilentUfunc\(np.log\)"),
        (FunctionTransformer(np.rint), r"pass SilentUfunc\(np.rint\)"),
        (FunctionTransformer(np.rint, feature_names_out=lambda self, names: names), "names its columns"),
        (FunctionTransformer(np.rint, np.rint), "inverse"),
        (OneHotEncoder(handle_unknown="ignore"), "categories were read"),
        (OneHotEncoder(categories=[["x"]]), "fails on a row"),
        (OneHotEncoder(categories=[["x"]], handle_unknown="warn"), "warns"),
        (OneHotEncoder(drop="if_binary", **WORDS), "warns"),
        (OneHotEncoder(min_frequency=2, **WORDS), "counts the rows"),
        (OneHotEncoder(max_categories=2, **WORDS), "counts the rows"),
        (OneHotEncoder(feature_name_combiner=lambda name, one: name, **WORDS), "names its columns"),
        (OrdinalEncoder(categories=[["x"]]), "fails on a row"),
        (SimpleImputer(), "without spending budget"),
        (SimpleImputer(**{**CONSTANT, "fill_value": None}), "pass fill_value"),
        (SimpleImputer(**{**CONSTANT, "keep_empty_features": False}), "keep_empty_features"),
        (SimpleImputer(**CONSTANT, add_indicator=True), "add_indicator"),
        (MissingIndicator(), 'features="all"'),
        (FrozenEstimator(StandardScaler().fit(X)), "see PublicEstimator"),
        (chosen(make_column_selector(dtype_include="int")), "types of the columns"),
        (chosen(make_column_selector("a", dtype_exclude="int")), "types of the columns"),
        (with_fit_transform(PublicEstimator(StandardScaler().fit(X))), "methods of its own"),
        (FunctionTransformer(rebound(SilentUfunc(np.log))), "all rows at once"),
        (columns(SCALED, transformer_weights={"scaled": 2.0}), "weights warn"),
        (FeatureUnion([("one", "passthrough")], transformer_weights={"one": 2.0}), "weights warn"),
        (chosen(lambda rows: [0]), "a function of the rows"),
        (columns(SCALED, verbose_feature_names_out=lambda step, name: name), "names its columns"),
        (columns(("same", "passthrough", [0])), "sparse_threshold=0"),
        (columns(SCALED, ("words", OneHotEncoder(**WORDS), ["word"])), "sparse_threshold=0"),
        (columns(SCALED, ("unit", Normalizer(), [1])), "sparse_threshold=0"),
        (columns(SCALED, ("hash", HASHED, [1])), "sparse_threshold"),
        (columns(("none", SCALED[1], [False]), ("same", "passthrough", [True])), "sparse_threshold=0"),
        (columns(("none", BoundsScaler((0, 1)), []), ("same", "passthrough", [0])), "sparse_threshold=0"),
        (columns(("indicator", MissingIndicator(features="all"), [0])), "sparse_threshold=0"),
    ],
)
def test_reasons_against_a_step(step, reason):
    with pytest.raises(AssertionError, match=reason):
        assert reads_rows(step) is None, reads_rows(step)


@needs_callbacks
def test_callbacks_may_keep_rows_but_for_a_progress_bar():
    from sklearn.callback import ScoringMonitor

    steps = make_pipeline(BoundsScaler((0, 1)))
    assert reads_rows(steps.set_callbacks(ProgressBar())) is None
    assert "callbacks" in reads_rows(steps.set_callbacks(ScoringMonitor(scoring="accuracy")))


def test_a_memory_keeps_rows(tmp_path):
    steps = BoundsScaler((0, 1)), BoundsScaler((0, 1))
    assert reads_rows(make_pipeline(*steps)) is None
    assert "memory keeps" in reads_rows(make_pipeline(*steps, memory=str(tmp_path)))


def test_functions_that_never_warn_do_not():
    values = np.array([0.0, -0.0, 1, -1.5, 5e-324, -1e-310, 1.7e308, -1.7e308, np.nan, np.inf, -np.inf] * 3)
    signaling = np.full(9, 0x7FF0000000000001, dtype=np.uint64).view(np.float64)
    with np.errstate(all="raise"):
        for ufunc in _UFUNCS:
            if ufunc.__name__ in _NEVER_WARN:
                ufunc(signaling)
                for start in range(9):  # whatever the alignment of a loop
                    ufunc(values[start:])
                    ufunc(np.arange(-9, 9 + start))
    with pytest.raises(TypeError, match="NumPy's own"):
        SilentUfunc(np.frompyfunc(float, 1, 1))


class TestTypes:
    """A fitted step keeps the type of its table, into which one row may not have fitted."""

    steps = (SimpleImputer(**{**CONSTANT, "fill_value": 0}),)
    steps += (OneHotEncoder(categories=[[0, 1], [0, 1]], handle_unknown="ignore"),)

    @pytest.mark.parametrize("step", steps)
    def test_integers_and_floats(self, step):
        whole = np.zeros((4, 2), dtype=int)
        for table in (whole, pd.DataFrame(whole), whole.astype(np.float32)):
            assert "keeps the type" in reads_rows(clone(step).fit(table))
        for table in (whole.astype(float), whole.astype(object), pd.DataFrame(whole.astype(float))):
            assert reads_rows(clone(step).fit(table)) is None

    def test_words_stay_objects_whatever_the_rows(self):
        encoder = OneHotEncoder(**WORDS)
        for words in ([["x"], ["z"]], np.array([["x"], ["zzz"]]), pd.DataFrame({"w": ["x", None]})):
            assert reads_rows(clone(encoder).fit(words)) is None
        assert reads_rows(encoder, any_row_fits=False) is None
        # Digits are read as numbers where all rows are numbers.
        digits = OneHotEncoder(categories=[["0", "1"]], handle_unknown="ignore")
        assert "keeps the type" in reads_rows(digits, any_row_fits=False)

    @pytest.mark.parametrize(
        ("table", "fits"),
        [
            (X, True),
            (X.astype(np.float32), False),
            (np.array([["a"]]), True),
            (X > 0.5, False),
            (pd.DataFrame({"a": [0.5], "b": ["x"]}), True),
            (pd.DataFrame({"a": [0.5], "b": [1]}), False),
            (pd.DataFrame({"a": pd.Categorical(["x"])}), False),
            ([[1, 2]], False),
            ([[0.5, 1.5]], False),
        ],
    )
    def test_tables_that_hold_any_row(self, table, fits):
        assert holds_any_row(table) == fits

    def test_a_search_says_so_before_it_charges(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "ledger")
        pipe = make_pipeline(SimpleImputer(**{**CONSTANT, "fill_value": 0}), tree(bounds=(0, 9)))
        search = PrivateGridSearch(pipe, {"dptreeclassifier__prune": [True]}, ledger=ledger)
        whole = np.arange(400).reshape(200, 2) % 10
        with config_context(strict=True), pytest.raises(PrivacyLeakError, match="keeps the type"):
            search.fit(whole, Y)
        assert not ledger.entries()
        with pytest.warns(PrivacyLeakWarning, match="keeps the type"):
            assert not search.fit(whole, Y).privacy_spent_.private
        assert search.fit(whole.astype(float), Y).privacy_spent_.private


@pytest.mark.parametrize(
    ("learns", "later", "reason"),
    [
        (OneHotEncoder(), OneHotEncoder(categories=[[0.0, 1.0]] * 2, handle_unknown="ignore"), "categories"),
        (OneHotEncoder(categories=[[0.0], [0.0]], handle_unknown="ignore"), OneHotEncoder(), "categories"),
        (SimpleImputer(), SimpleImputer(**CONSTANT), "constants"),
    ],
)
def test_parameters_that_are_set_after_the_fit_do_not_hide_it(learns, later, reason):
    step = clone(learns).fit(np.round(X, 1)).set_params(**later.get_params())
    assert reason in reads_rows(step)


class KeepsWhatItMeets(int):
    """Is compared with all rows by scikit-learn, which takes it for a number."""

    __array_ufunc__ = None
    __hash__ = int.__hash__

    def __eq__(self, other):
        self.rows = other
        return np.asarray(other) == int(self)


class Word(str):
    def __eq__(self, other):
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@pytest.mark.parametrize(
    "step",
    [
        SimpleImputer(missing_values=KeepsWhatItMeets(7), **CONSTANT),
        MissingIndicator(missing_values=KeepsWhatItMeets(7), features="all"),
        OneHotEncoder(categories=[[Word("a")]], handle_unknown="ignore"),
        OneHotEncoder(categories=[np.array([Word("a")], dtype=object)], handle_unknown="ignore"),
        OneHotEncoder(categories=[pd.Index([Word("a")], dtype=object)], handle_unknown="ignore"),
    ],
)
def test_a_parameter_of_a_class_of_others_may_keep_rows(step):
    assert "may do anything with what it is compared with" in reads_rows(step)


def test_a_silent_function_whose_class_was_written_into_is_not_believed(monkeypatch):
    step = FunctionTransformer(SilentUfunc(np.log))
    assert reads_rows(step) is None
    monkeypatch.setattr(SilentUfunc, "__call__", lambda self, X: X)
    assert "was changed after its definition" in reads_rows(step)
