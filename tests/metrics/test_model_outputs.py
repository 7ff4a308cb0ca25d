# SPDX-License-Identifier: BSD-3-Clause
"""No row moves the prediction of another by a last bit: attacks on exact counts, and known models."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn._loss.loss import HalfPoissonLoss
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skprivate import DPTreeClassifier, LabelPrivateClassifier, PrivateGridSearch, config_context
from skprivate import private_evaluate as evaluate
from skprivate.ensemble._public_scores import PublicScores
from skprivate.evaluation import _counts
from skprivate.evaluation._private_evaluate import _predicted_labels as predicted_labels
from skprivate.metrics._model_outputs import ask_at_once, is_same_in_any_table, probabilities, rows_alone
from skprivate.model_selection._scoring import BalancedAccuracy, ScoringRows, accuracy, row_scores
from tests.marks import slow_unless

N_COLUMNS = 20
pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")


def on_the_edge(n_rows=40):
    """A linear model of large coefficients, and rows whose scores are 0 but for rounding."""
    rng = np.random.default_rng(0)
    model = LogisticRegression().fit(rng.normal(size=(50, N_COLUMNS)), np.arange(50) % 2)
    model.coef_, model.intercept_ = 1000 * rng.normal(size=(1, N_COLUMNS)), np.zeros(1)
    X, slopes = rng.normal(size=(n_rows, N_COLUMNS)), model.coef_[0]
    for _ in range(4):
        X[:, -1] -= X @ slopes / slopes[-1]
    return model, X


@pytest.fixture
def exact_counts(monkeypatch):
    """What `private_evaluate` would release without noise."""
    seen = []

    def keep(self, counts, entropy, *_):
        seen.append(counts)
        return counts.astype(float)

    monkeypatch.setattr(_counts.CountsNoise, "randomize", keep)

    def count(*arguments, **options):
        seen.clear()
        with config_context(allow_seeds=True):
            evaluate(*arguments, 50.0, n_bins=[0.5], random_state=0, **options)
        return seen[0]

    return count


def test_a_row_or_a_person_moves_its_own_counts_alone(exact_counts):
    """A row that is added moves one; a person who is replaced by one with six rows more, two."""
    model, X = on_the_edge()
    y = np.zeros(len(X), dtype=int)
    counts = [exact_counts(model, X[:n], y[:n], relation="add-remove") for n in range(1, len(X))]
    assert max(np.abs(np.diff(counts, axis=0)).sum(axis=1)) == 1
    for n in range(1, len(X) - 7):
        groups = [np.minimum(np.arange(size), n) for size in (n + 1, n + 7)]
        here, there = (exact_counts(model, X[: len(ids)], y[: len(ids)], groups=ids) for ids in groups)
        assert np.abs(here - there).sum() <= 2


def test_a_text_in_a_list_of_rows_moves_its_own_count(exact_counts):
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier())
    model.fit(np.array([["a"], ["b"]], dtype=object), [0, 1])
    numbers = [[1]] * 40
    with config_context(strict=True):
        counts = [exact_counts(model, [*numbers, [last]], [0] * 41) for last in (1, "a")]
    assert np.abs(np.subtract(*counts)).sum() <= 2


def test_scores_and_tables_of_a_search_stay_as_they_are_when_rows_come(monkeypatch):
    seen = []
    masses = ScoringRows.masses
    monkeypatch.setattr(ScoringRows, "masses", lambda *given: seen.append(given[1]) or masses(*given))
    model, X = on_the_edge()
    y = np.zeros(len(X), dtype=int)
    steps = row_scores(accuracy, model, X, y)
    for n in range(1, len(X)):
        np.testing.assert_array_equal(row_scores(accuracy, model, X[:n], y[:n]), steps[:n])
        rows = ScoringRows(X[:n], y[:n], np.zeros(n, dtype=np.intp), 1, 10)
        rows.score(BalancedAccuracy(), model, np.random.default_rng(0))
    for cells in seen:
        np.testing.assert_array_equal(cells, seen[-1][: len(cells)])


@pytest.mark.parametrize("labels", [True, False])
def test_scores_that_boosting_starts_from_stay_as_they_are_when_rows_come(labels):
    model, X = on_the_edge()
    scores = PublicScores(model, N_COLUMNS, np.zeros(1), np.arange(2))
    if not labels:
        line = LinearRegression().fit(X, X[:, 0])
        line.coef_, line.intercept_ = model.coef_[0], 0.0
        scores = PublicScores(line, N_COLUMNS, np.zeros(1), half=1e-9)
    found = scores.augment_private(X, strict=False)
    for n in range(1, len(X)):
        assert scores.augment_private(X[:n], strict=False).tobytes() == found[:n].tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_])
def test_rows_of_an_array_come_at_one_aligned_place(dtype):
    X = np.arange(12).reshape(4, 3).astype(dtype)
    places, rows = zip(*((row.ctypes.data, row.copy()) for row in rows_alone(X)), strict=True)
    assert len(set(places)) == 1
    assert places[0] % 64 == 0
    np.testing.assert_array_equal(np.concatenate(rows), X)
    assert rows[0].dtype == dtype


def test_rows_of_other_tables_come_as_such_tables():
    X = np.eye(3)
    for table in (csr_array(X), X.tolist(), X.astype(object)):
        rows = [row.toarray() if hasattr(row, "toarray") else np.array(row) for row in rows_alone(table)]
        np.testing.assert_array_equal(np.concatenate(rows).astype(float), X)


def columns(*steps):
    return ColumnTransformer([(f"step{number}", step, [number]) for number, step in enumerate(steps)])


KNOWN = {
    "forest": RandomForestClassifier(20, n_jobs=2, random_state=0),
    "more trees": ExtraTreesRegressor(20, n_jobs=2, random_state=0),
    "tree": DecisionTreeClassifier(max_depth=4),
    "boosting": HistGradientBoostingClassifier(max_iter=20),
    "boosting of numbers": HistGradientBoostingRegressor(max_iter=20),
    "scaled": make_pipeline(MinMaxScaler(), StandardScaler(), RandomForestClassifier(5, random_state=0)),
    "columns": make_pipeline(
        columns(StandardScaler(), OneHotEncoder(), OrdinalEncoder()),
        HistGradientBoostingClassifier(max_iter=20),
    ),
}


@pytest.mark.parametrize("name", slow_unless(KNOWN.keys() - {"more trees"}, KNOWN))
def test_known_models_give_the_same_bits_in_tables_of_any_size(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    X[:, 1:] = np.floor(X[:, 1:])
    model = clone(KNOWN[name]).fit(X, X[:, 0] + rng.normal(size=100) > 0)
    assert is_same_in_any_table(model)

    def ask(rows):
        if hasattr(model, "predict_proba"):
            return probabilities(model, rows, 2, strict=False)
        return np.asarray(model.predict(rows))

    alone = np.concatenate([ask(row) for row in rows_alone(X)])
    for n in range(1, len(X), 1 if name in ("tree", "boosting of numbers") else 7):
        assert ask(X[:n]).tobytes() == alone[:n].tobytes()


def test_models_that_are_not_known_are_asked_row_by_row():
    class Own(DecisionTreeClassifier):
        pass

    changed = DecisionTreeClassifier()
    changed.predict = lambda X: np.zeros(len(X))
    three = HistGradientBoostingClassifier(max_iter=1).fit(np.arange(6.0)[:, None], [0, 1, 2] * 2)
    for model in (
        *(
            LogisticRegression(),
            Own(),
            changed,
            three,
            object(),
            HistGradientBoostingRegressor(loss="poisson"),
            HistGradientBoostingRegressor(loss=HalfPoissonLoss()),
        ),
        make_pipeline(StandardScaler(), LinearRegression()),
        LabelPrivateClassifier(LinearRegression()),
        DPTreeClassifier(public_model=LogisticRegression()),
        PrivateGridSearch(make_pipeline(DPTreeClassifier()), {"dptreeclassifier": [Own()]}),
    ):
        assert not is_same_in_any_table(model)
    for model in (LabelPrivateClassifier(), DPTreeClassifier(), PrivateGridSearch(DPTreeClassifier(), {})):
        assert is_same_in_any_table(model)


def test_a_table_that_a_known_model_fails_on_is_asked_row_by_row_in_strict_mode():
    encoded = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier())
    model = encoded.fit(np.array([["a"], ["b"]], dtype=object), [0, 1])
    table = np.array([["b"], ["unknown"], ["a"]], dtype=object)
    assert predicted_labels(model, table, [0, 1], strict=True).tolist() == [1, 0, 0]
    with pytest.raises(ValueError, match="kept back"):
        predicted_labels(model, table, [0, 1], strict=False)


LINEAR = {
    "two classes": LogisticRegression(C=1e6),
    "three classes": LogisticRegression(C=1e6),
    "numbers": Ridge(),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression(C=1e6)),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_models_are_asked_about_tables_whose_rows_do_not_matter(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    y = np.digitize(X[:, 0], [-0.4, 0.4]) if name == "three classes" else (X[:, 0] > 0).astype(int)
    model = clone(LINEAR[name]).fit(X, y)
    for method in ("predict",) if name == "numbers" else ("predict", "predict_proba"):
        ask = ask_at_once(model, method)
        whole = ask(X)
        np.testing.assert_allclose(whole, getattr(model, method)(X), rtol=1e-9, atol=1e-12)
        for size in (1, 2, 3, 7, 64, 299):
            assert np.array_equal(ask(X[:size]), whole[:size])
            assert np.array_equal(ask(np.asfortranarray(X[-size:])), whole[-size:])
        if name != "scaled":
            assert np.array_equal(ask(csr_array(X)), whole)


def test_other_formulas_are_asked_row_by_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))

    class Changed(LogisticRegression):
        pass

    assert ask_at_once(Changed().fit(X, X[:, 0] > 0), "predict_proba") is None
    assert ask_at_once(Ridge(positive=True).fit(X, X[:, 0]), "predict") is not None
    assert ask_at_once(make_pipeline(PCA(), Ridge()).fit(X, X[:, 0]), "predict") is None
    other = LogisticRegression().fit(X, X[:, 0] > 0)
    other.predict_proba = lambda X: np.full((len(X), 2), 0.5)
    assert ask_at_once(other, "predict_proba") is None
