# SPDX-License-Identifier: BSD-3-Clause
"""In strict mode no cell, label, target, group, weight or mark of one row makes a fit fail, or warn."""

import datetime
import pickle
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from skprivate import (
    BoundsScaler,
    DPBoostingClassifier,
    DPBoostingRegressor,
    DPLogisticLLSRegressor,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPSEVRegressor,
    DPTreeClassifier,
    DPTreeRegressor,
    LocallyPrivateTreeClassifier,
    LocallyPrivateTreeRegressor,
    MomentAccumulator,
    config_context,
)
from skprivate.exceptions import UtilityWarning
from skprivate.model_selection import PrivateGridSearch
from skprivate.model_selection._scoring import row_scores
from skprivate.preprocessing import estimate_bounds
from skprivate.rounds._rows import replace_target
from skprivate.utils._tables import numbers_of, within_bounds


class Malicious:
    """Raises whatever it is asked."""

    def __float__(self):
        raise RuntimeError("secret")

    __eq__ = __hash__ = __bool__ = __len__ = __str__ = __float__


HOSTILE = [
    *(np.inf, -np.inf, np.nan, 1e308, -1e308, -1.0, 0.0, np.float32(1), True, np.True_),
    *(
        10**400,
        -(10**400),
        Fraction(10**400),
        Decimal("sNaN"),
        Decimal("Infinity"),
        1 + 2j,
        np.longdouble("1e4000"),
    ),
    *(None, pd.NA, pd.NaT, "text", "", "nan", "1_0", b"\xff", "\udc80", object(), Malicious()),
    *([1, 2], (1.0,), {}, np.ones(2), np.ones(80), datetime.date(2020, 1, 1), np.datetime64("2020-01-01")),
    *(np.timedelta64(3, "D"), pd.Timestamp(0)),
]
RNG = np.random.default_rng(0)
N = 2 * len(HOSTILE) + 6
X = RNG.uniform(size=(N, 2))
LABELS = (X[:, 0] > 0.5).astype(int)
TIMES = 1 + X[:, 0]
PUBLIC = np.arange(N) > N - 9
GROUPS = np.arange(N) // 2


def search(estimator, **grid):
    return PrivateGridSearch(estimator, grid)


TREES = {
    "boosting": DPBoostingClassifier(bounds=(0, 1), classes=[0, 1]),
    "central": DPTreeClassifier(bounds=(0, 1), classes=[0, 1]),
    "local": LocallyPrivateTreeClassifier(bounds=(0, 1), classes=[0, 1]),
    "label": LocallyPrivateTreeClassifier(bounds=(0, 1), classes=[0, 1], protect="label"),
    "pipeline": make_pipeline(BoundsScaler((0, 1)), DPTreeClassifier(bounds=(0, 1), classes=[0, 1])),
    "search": search(DPTreeClassifier(bounds=(0, 1), classes=[0, 1]), max_depth=[1, 2]),
    "search, pipeline": search(
        make_pipeline(BoundsScaler((0, 1)), DPTreeClassifier(bounds=(0, 1), classes=[0, 1])),
        dptreeclassifier__max_depth=[1, 2],
    ),
}
LIFE = {
    "weibull": DPLogLocationScaleRegressor(bounds_X=(0, 1), bounds_y=(1, 2)),
    "lognormal, gaussian": DPLogLocationScaleRegressor(
        distribution="lognormal", bounds_X=(0, 1), bounds_y=(1, 2), mechanism="gaussian", delta=1e-6
    ),
    "x_norm": DPLogLocationScaleRegressor(distribution="loglogistic", x_norm=1.0, bounds_y=(1, 2)),
    "boosting, numbers": DPBoostingRegressor(bounds_X=(0, 1), bounds_y=(1, 2)),
    "central, numbers": DPTreeRegressor(bounds_X=(0, 1), bounds_y=(1, 2)),
    "local, numbers": LocallyPrivateTreeRegressor(bounds_X=(0, 1), bounds_y=(1, 2)),
    "sev": DPSEVRegressor(bounds_X=(0, 1), bounds_y=(1, 2), relation="add-remove"),
    "logistic": DPLogisticLLSRegressor(bounds_X=([0, 0], [1, 2]), bounds_y=(1, 2)),
    "normal, search": search(DPNormalLLSRegressor(bounds_X=(0, 1), bounds_y=(1, 2)), method=["moments"]),
}


def said(call):
    """Run a call in strict mode, and return what it warned of; utility is told from released values alone."""
    with config_context(strict=True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in caught if one.category is not UtilityWarning]


def hostile(column):
    """Return a column as objects, in which every second cell is one of the hostile values."""
    cells = np.array(column, dtype=object)
    for row, value in enumerate(HOSTILE):
        cells[2 * row] = value
    return cells


def typed_tables():
    """Return an array and a frame of objects, with hostile cells in one column: refused by their types."""
    cells = np.array(X, dtype=object)
    for row, cell in enumerate(hostile(X[:, 1])):
        cells[row, 1] = cell
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Series(list(cells[:, 1]), dtype=object)})
    return [cells, frame]


def tables():
    """Return X as a list and as numbers, with hostile cells in one column."""
    floats = X.copy()
    floats[:3, 1] = np.inf, -np.inf, np.nan
    return [typed_tables()[0].tolist(), floats]


def columns(values):
    """Return a column with hostile cells, as an array and as a list."""
    return [hostile(values), hostile(values).tolist()]


@pytest.mark.parametrize("name", [*TREES, *LIFE])
def test_cells_of_x(name):
    model, y = (TREES[name], LABELS) if name in TREES else (LIFE[name], TIMES)
    for table in tables():
        assert said(lambda table=table: model.fit(table, y)) == []
    for table in typed_tables():
        with pytest.raises(TypeError, match=r"TableDomain\(") as told:
            said(lambda table=table: model.fit(table, y))
        assert (told.value.__context__, "secret" in str(told.value)) == (None, False)


@pytest.mark.parametrize("name", TREES)
def test_labels(name):
    for y in columns(LABELS):
        assert said(lambda y=y: TREES[name].fit(X, y)) == []


@pytest.mark.parametrize("name", LIFE)
def test_targets(name):
    for y in columns(TIMES):
        assert said(lambda y=y: LIFE[name].fit(X, y)) == []


@pytest.mark.parametrize("name", ["weibull", "lognormal, gaussian"])
def test_censored_targets(name):
    model = clone(LIFE[name]).set_params(max_iter=1)
    seen = np.arange(N) % 2 == 0
    y = pd.DataFrame({"event": seen, "time": TIMES})
    for column in ("event", "time"):
        frame = y.assign(**{column: pd.Series(list(hostile(y[column])), dtype=object)})
        assert said(lambda y=frame: model.fit(X, y)) == []
    pairs = np.array(list(zip(seen, TIMES, strict=True)), dtype=[("event", bool), ("time", float)])
    pairs["time"][:7] = np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, 5e-324
    assert said(lambda: model.fit(X, pairs)) == []


@pytest.mark.parametrize("name", ["central", "search", "weibull"])
def test_groups_and_marks(name):
    model, y = (TREES[name], LABELS) if name in TREES else (LIFE[name], TIMES)
    for groups in columns(GROUPS):
        assert said(lambda groups=groups: model.fit(X, y, groups=groups)) == []
    for mask in columns(PUBLIC) if name != "weibull" else ():
        assert said(lambda mask=mask: model.fit(X, y, is_public=mask)) == []


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
@pytest.mark.parametrize("name", ["weibull", "logistic"])
def test_huge_finite_cells_of_predictions_with_intervals(name):
    model = clone(LIFE[name]).fit(X, TIMES)
    rows = np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 0.0]]) * 1e308
    band = {"return_interval": True}
    for ask in (
        lambda: model.predict_quantile(rows, 0.1, **band),
        lambda: model.predict_quantile_bound(rows, 0.1),
        lambda: model.predict_survival_function(rows, return_array=True, **band),
        lambda: model.predict_cumulative_hazard_function(rows, return_array=True, **band),
    ):
        assert said(ask) == []


def test_estimated_bounds():
    for table in (*tables(), hostile(TIMES).tolist()):
        assert said(lambda table=table: estimate_bounds(table, 1.0)) == []


def test_batches():
    def add(table, y, weights=None):
        moments = MomentAccumulator((0, 1), (1, 2), max_rows=100, max_sample_weight=2.0, target="y")
        moments.update(table, y, sample_weight=weights)

    for table in tables():
        assert said(lambda table=table: add(table, TIMES)) == []
    frame = pd.DataFrame({"a": X[:, 0], "y": pd.Series(list(hostile(TIMES)), dtype=object)})
    assert said(lambda: add(frame, None)) == []
    for column in columns(TIMES):
        assert said(lambda column=column: add(X, column)) == []
        assert said(lambda column=column: add(X, TIMES, column)) == []


def test_a_scorer_that_fails_on_one_row_counts_it_as_0():
    def scorer(model, rows, y):
        if (rows[:, 1] > 5).any():
            raise KeyError("secret")
        # As linear algebra, it depends on the size of the table in the last digits.
        return rows[:, 0] / len(rows)

    table = X.copy()
    table[-1, 1] = 7.0
    with config_context(strict=True):
        alone = row_scores(scorer, None, X, LABELS)
        beside = row_scores(scorer, None, table, LABELS)
        assert not row_scores(scorer, None, np.full_like(X, 9.0), LABELS).any()
        PrivateGridSearch(TREES["central"], {"max_depth": [1]}, scoring=scorer, validation_fraction=0.9).fit(
            table, LABELS
        )
    np.testing.assert_array_equal(beside, np.append(alone[:-1], 0))
    with pytest.raises(KeyError):
        row_scores(scorer, None, table, LABELS)


def test_public_reasons_still_make_a_fit_fail():
    tree, life = TREES["central"], LIFE["weibull"]
    masked = np.ma.MaskedArray(X, mask=np.zeros(X.shape, dtype=bool))
    dates = pd.DataFrame({"a": X[:, 0], "b": pd.date_range("2020-01-01", periods=N)})
    with config_context(strict=True):
        for model, table, y in (
            (tree, masked, LABELS),
            (tree, dates, LABELS),
            (tree, X * 1j, LABELS),
            (tree, X[:, 0], LABELS),
            (tree, X, LABELS[:-1]),
            (tree, X[:0], LABELS[:0]),
            (tree, X, None),
            (tree, [[1.0], [1.0, 2.0]], [0, 1]),
            (life, dates, TIMES),
            (life, X, np.array(["2020-01-01"] * N, dtype="M8[D]")),
            (life, X, X),
            (life, X, pd.DataFrame({"event": LABELS, "time": TIMES})),
        ):
            with pytest.raises((TypeError, ValueError)):
                model.fit(table, y)


def test_what_cannot_be_used_is_replaced_by_public_values():
    values = numbers_of([["1.5", 10**400], [None, -(10**400)], [object(), "-inf"]])
    np.testing.assert_array_equal(values, [[1.5, np.inf], [np.nan, -np.inf], [np.nan, -np.inf]])
    np.testing.assert_array_equal(within_bounds(values, [0, 1], [4, 3]), [[1.5, 3], [2, 1], [2, 1]])
    np.testing.assert_array_equal(within_bounds(np.array([np.nan]), -1.7e308, 1.7e308), [0.0])


def put(column, values):
    """Return a column with other values at its end."""
    cells = np.array(column, dtype=object)
    cells[-len(values) :] = values
    return cells


def test_fits_take_these_values():
    tree = clone(TREES["central"]).set_params(max_depth=3, random_state=0)
    life = clone(LIFE["weibull"]).set_params(random_state=0)
    rows, placed = X.copy(), X.copy()
    rows[-3:, 1], placed[-3:, 1] = [np.nan, np.inf, -np.inf], [0.5, 1, 0]
    odd, public = put(LABELS, [[1], None, "1"]), put(LABELS, [0, 0, 0])
    times, bounded = put(TIMES, [None, -5.0, np.inf]), put(TIMES, [2**0.5, 1.0, 2.0])
    seen, ended = np.ones(N, dtype=bool), put(np.ones(N, dtype=bool), [False] * 3)
    censored = pd.DataFrame({"event": put(seen, [True, None, 1]), "time": put(TIMES, [np.nan, 1.5, 1.6])})
    # An event that is not known says nothing: the row is censored at the lower bound.
    unseen = pd.DataFrame({"event": ended.astype(bool), "time": put(TIMES, [1.0] * 3).astype(float)})
    with config_context(strict=True, allow_seeds=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", UtilityWarning)
        for model, first, second in (
            (tree, (rows, odd), (placed, public)),
            (life, (rows, times), (placed, bounded)),
            (life, (rows, censored), (placed, unseen)),
        ):
            fits = [clone(model).fit(*given) for given in (first, second)]
            released = [getattr(fit, "report_counts_", None) for fit in fits]
            if model is life:
                released = [np.append(fit.coef_, (fit.intercept_, fit.scale_)) for fit in fits]
            np.testing.assert_array_equal(*released)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_outside_strict_mode_they_are_errors(value):
    for model, y in ((TREES["central"], LABELS), (LIFE["weibull"], TIMES), (LIFE["x_norm"], TIMES)):
        with pytest.raises(ValueError, match=r"NaN|inf"):
            model.fit(np.where(np.arange(2 * N).reshape(N, 2) == 3, value, X), y)


@pytest.mark.parametrize("copied", [False, True], ids=["itself", "a clone"])
def test_strict_pickles_stay_strict_in_every_step(copied):
    with config_context(strict=True):
        pickled = pickle.dumps(TREES["pipeline"])
    pipeline = pickle.loads(pickled)
    table = X.copy()
    table[0, 1] = np.nan
    (clone(pipeline) if copied else pipeline).fit(table, LABELS)


@pytest.mark.parametrize("cell", [7, [7, 8], [], None, [[1]]], ids=["bare", "long", "empty", "none", "deep"])
def test_a_row_of_a_column_of_lists_tells_nothing_of_the_others(cell):
    table, labels = [cell], [1, 0, 1]
    with config_context(strict=True):
        read = TREES["central"].read_labels([*table, *([label] for label in labels)], 4)
        target = replace_target([*table, *([float(label)] for label in labels)], (0.0, 9.0), False)
    assert list(read[1:]) == labels
    assert list(target.time_on_model_scale[1:]) == labels
