# SPDX-License-Identifier: BSD-3-Clause
"""TQMATransformer: exact cells, the share that keeps its place, columns of every kind, leaks."""

import datetime
import math
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_selector

import skprivate
from skprivate.exceptions import PrivacyLeakError, PrivacyLeakWarning
from skprivate.preprocessing import TQMATransformer
from tests.marks import slow

MU = 1e-3
finite = st.floats(allow_nan=False, allow_infinity=False)
moderate = st.floats(-1e6, 1e6)


def fitted(depth=4, bounds=(0.0, 1.0)):
    return TQMATransformer(depth, bounds).fit(np.zeros((1, 1)))


def coarsened(transformer, values):
    return transformer.transform(np.asarray(values, dtype=float)[:, None]).ravel()


def exact_cell(value, lower, upper, depth):
    """The cell of the definition, in exact arithmetic: number, both ends."""
    lower, upper = Fraction(lower), Fraction(upper)
    width = (upper - lower) / 2**depth
    clipped = min(max(Fraction(value), lower), upper)
    cell = min((clipped - lower) // width, 2**depth - 1)
    return cell, lower + cell * width, lower + (cell + 1) * width


# --- the definition ---------------------------------------------------------------------------------------


@given(
    bounds=st.tuples(moderate, moderate) | st.tuples(finite, finite),
    depth=st.integers(0, 7),
    share=st.floats(-0.25, 1.25),
)
@settings(deadline=None)
def test_cells_are_exact(bounds, depth, share):
    lower, upper = min(bounds), max(bounds)
    if lower == upper:
        return
    transformer = fitted(depth, (lower, upper))
    # A value somewhere, the floats around an edge, both ends.
    width = (Fraction(upper) - Fraction(lower)) / 2**depth
    near = float(Fraction(lower) + (round(share * 2**depth) % 2**depth) * width)
    inside = float(Fraction(lower) + Fraction(share) * 2**depth * width) if 0 <= share <= 1 else near
    around = math.nextafter(near, -math.inf), math.nextafter(near, math.inf)
    values = np.array([inside, near, *around, lower, upper])
    values = values[np.isfinite(values)]
    result = coarsened(transformer, values)
    for value, centre in zip(values, result, strict=True):
        cell, start, end = exact_cell(value, lower, upper, depth)
        assert start <= Fraction(centre) <= end
        assert exact_cell(centre, lower, upper, depth)[0] == cell
        clipped = Fraction(min(max(value, lower), upper))
        assert abs(clipped - Fraction(centre)) <= (end - start) / 2 + Fraction(np.spacing(abs(centre)))
        assert abs(Fraction(centre) - (start + end) / 2) <= Fraction(np.spacing(abs(centre)))
    assert (result >= lower).all()
    assert (result <= upper).all()
    np.testing.assert_array_equal(coarsened(transformer, result), result)


@given(values=st.lists(finite, min_size=2, max_size=20), depth=st.integers(0, 10))
def test_order_is_kept(values, depth):
    result = coarsened(fitted(depth, (-50.0, 1e5)), np.sort(values))
    assert (np.diff(result) >= 0).all()


@given(st.randoms(use_true_random=False), st.integers(1, 30))
def test_every_row_is_coarsened_alone(random, n):
    rng = np.random.default_rng(random.randrange(2**32))
    X = rng.normal(size=(n, 3))
    transformer = TQMATransformer([1, 6], (-2, 2), [2, 0]).fit(X)
    whole, order = transformer.transform(X), rng.permutation(n)
    np.testing.assert_array_equal(transformer.transform(X[order]), whole[order])
    np.testing.assert_array_equal(np.vstack([transformer.transform(row[None]) for row in X]), whole)
    np.testing.assert_array_equal(transformer._perturb(X), whole)


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 4, 6, slow(16)])
def test_coarsening_twice_is_once_in_a_range_of_few_floats(depth):
    # Ranges of 1 to 9 floats across a power of two, where spacing changes.
    for centre in (1.0, -1.0, 0.75):
        floats = [centre]
        for _ in range(4):
            floats = [np.nextafter(floats[0], -9), *floats, np.nextafter(floats[-1], 9)]
        for low, high in ((0, 8), (2, 8), (3, 5), (4, 5), (2, 4)):
            transformer = fitted(depth, (floats[low], floats[high]))
            once = coarsened(transformer, floats)
            np.testing.assert_array_equal(coarsened(transformer, once), once)
            assert floats[low] <= once.min() <= once.max() <= floats[high]


# --- correct orientation ----------------------------------------------------------------------------------


def test_proposition_1_is_an_equality_in_a_simulation():
    n, lower, upper = 400_000, -3.0, 17.0
    values = np.random.default_rng(0).uniform(lower, upper, n)
    mu = MU * (upper - lower)
    for depth in range(1, 9):
        transformer = fitted(depth, (lower, upper))
        share = np.mean(np.abs(coarsened(transformer, values) - values) <= 2 * mu)
        truth = transformer.disclosure_risk_.bound["x0"] / 100
        assert truth == pytest.approx(min(1.0, 0.004 * 2**depth))
        # Within six standard deviations, but for a probability of 2e-9 over the choice of the seed.
        assert abs(share - truth) <= 6 * np.sqrt(truth * (1 - truth) / n)


# --- parameters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "positions"),
    [
        (None, [0, 1, 2]),
        (1, [1]),
        (-1, [2]),
        ("weight", [1]),
        (["weight", "age"], [1, 0]),
        (np.array([2, 0]), [2, 0]),
        (slice(1, None), [1, 2]),
        ([False, True, True], [1, 2]),
        (make_column_selector(pattern="a"), [0]),
        ([], []),
    ],
)
def test_columns_may_be_named_in_every_way(choice, positions):
    X = pd.DataFrame({"age": [30.0], "weight": [80.0], "dose": [3.0]})
    transformer = TQMATransformer(2, (0, 80), choice)
    out = transformer.fit(X).transform(X)
    assert transformer.quasi_identifiers_.tolist() == positions
    expected = X.to_numpy().copy()
    expected[:, positions] = np.array([[30.0, 70.0, 10.0]])[:, positions]
    np.testing.assert_array_equal(out, expected)


def test_a_range_or_a_depth_per_column():
    X = np.array([[1.0, 1.0, 1.0]])
    for bounds in ({2: (0, 16), 0: (0, 8)}, ([0, 5, 0], [8, 6, 16])):
        for depth in ([1, 3], {0: 3, 2: 1}):
            out = TQMATransformer(depth, bounds, [2, 0]).fit_transform(X)
            assert out.tolist() == [[1.5, 1.0, 4.0]]
    both = TQMATransformer(1, {"b": (0, 4), "a": (0, 8), "c": (0, 1)}, ["b"])
    assert both.fit_transform(pd.DataFrame({"a": [1.0], "b": [1.0], "c": [1.0]})).to_numpy().tolist() == [
        [1.0, 1.0, 1.0]
    ]
    assert both.bounds_[1].tolist() == [4.0]


# --- input ------------------------------------------------------------------------------------------------


def people(library):
    columns = {
        "age": [20, 41, None],
        "name": ["Ann", "Bob", "Cid"],
        "seen": [datetime.datetime(2020, 1, day) for day in (1, 2, 3)],
        "weight": [50.5, 80.0, 400.0],
        "smoker": [True, False, True],
    }
    return library.DataFrame(columns)


@pytest.mark.parametrize("dtype", ["int64", ">f8", "bool"])
def test_arrays_of_numbers_become_float64(dtype):
    X = np.array([[1, 0], [0, 1]], dtype=dtype)
    out = TQMATransformer(1, (0, 1), [0]).fit_transform(X)
    assert out.dtype == np.float64
    assert out.tolist() == [[0.75, 0.0], [0.25, 1.0]]


def test_nothing_is_written_into_x():
    X = np.random.default_rng(0).uniform(size=(4, 2))
    before = X.copy()
    X.flags.writeable = False
    transformer = TQMATransformer(bounds=(0, 1), perturb_fit=False)
    outs = transformer.fit_transform(X), transformer.transform(X), transformer._perturb(X)
    np.testing.assert_array_equal(X, before)
    assert not any(np.shares_memory(out, X) for out in outs)
    assert TQMATransformer(bounds=(0, 1), quasi_identifiers=[]).fit_transform(X) is not X


# --- leaks ------------------------------------------------------------------------------------------------


def test_missing_bounds_are_a_leak_announced_once():
    X = np.array([[0.0, np.nan], [8.0, 5.0], [2.0, 5.0]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        transformer = TQMATransformer(1).fit(X)
        out = transformer.transform(X)
    assert [warning.category for warning in caught] == [PrivacyLeakWarning]
    assert "bounds of X were read from the rows" in str(caught[0].message)
    np.testing.assert_array_equal(out, [[2, np.nan], [6, 5], [2, 5]])
    # A column without width hides nothing; all is said in the risk.
    assert transformer.disclosure_risk_.bound["x1"] == 100.0
    assert transformer.transform([[9.0, -7.0]]).tolist() == [[6.0, 5.0]]
    assert transformer.disclosure_risk_.leaks == ("bounds of X were read from the rows",)


def test_a_function_of_the_rows_is_a_leak_and_a_selector_by_name_is_not():
    X = people(pd)

    def chooser(rows):
        return rows.columns[[0]].tolist()

    with pytest.warns(PrivacyLeakWarning, match="a function of the rows chose"):
        assert TQMATransformer(bounds=(0, 1), quasi_identifiers=chooser).fit(X).disclosure_risk_.leaks
    # One row can change a type, and so what is selected.
    by_type = make_column_selector(dtype_include="number")
    with pytest.warns(PrivacyLeakWarning, match="the types of the columns chose"):
        assert TQMATransformer(bounds=(0, 1), quasi_identifiers=by_type).fit(X).disclosure_risk_.leaks
    selector = make_column_selector("age|weight")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        transformer = TQMATransformer(bounds={0: (0, 1), 3: (0, 1)}, quasi_identifiers=selector).fit(X)
    assert transformer.quasi_identifiers_.tolist() == [0, 3]


def test_strict_mode_refuses_and_travels_with_a_pickle():
    X = np.zeros((2, 1))
    with skprivate.config_context(strict=True):
        with pytest.raises(PrivacyLeakError):
            TQMATransformer().fit(X)
        TQMATransformer(bounds=(0, 1)).fit(X)
        travelled = pickle.loads(pickle.dumps(TQMATransformer()))
    for estimator in (travelled, clone(travelled)):
        with pytest.raises(PrivacyLeakError):
            estimator.fit(X)


# --- inside other estimators ------------------------------------------------------------------------------


def test_text_is_read_in_a_single_cell():
    transformer = TQMATransformer(1, bounds=(0, 8), quasi_identifiers=[0])
    for cell, found in (("7", 6.0), (b"7", 6.0), ("seven", np.nan), (np.inf, 6.0), (-(10**400), 2.0)):
        for table in ([[cell, "1"]], np.array([[cell, "1"]], dtype=object)):
            np.testing.assert_array_equal(transformer.fit_transform(table)[0, 0], found)


def test_an_array_after_a_fit_to_names_is_warned_of():
    transformer = TQMATransformer(bounds=(0, 1)).fit(pd.DataFrame({"a": [0.0], "b": [1.0]}))
    with pytest.warns(UserWarning, match="valid feature names"):
        transformer.transform(np.zeros((1, 2)))


def test_a_pickle_coarsens_alike():
    X = np.random.default_rng(0).uniform(size=(5, 2))
    transformer = TQMATransformer([2, 3], (0, 1)).fit(X)
    twin = pickle.loads(pickle.dumps(transformer))
    np.testing.assert_array_equal(twin.transform(X), transformer.transform(X))
    assert twin.disclosure_risk_ == transformer.disclosure_risk_


def test_rounded_lattice_points_fall_where_the_real_numbers_do():
    # Half of the points lie a little below the edge that they are meant to be.
    lower, upper, depth = 0.1, 0.8, 6
    points = [lower + j * (upper - lower) / 2**depth for j in range(2**depth + 1)]
    expected = [exact_cell(point, lower, upper, depth)[0] for point in points]
    centres = coarsened(fitted(depth, (lower, upper)), points)
    assert [exact_cell(centre, lower, upper, depth)[0] for centre in centres] == expected
    # The rounded formula would not do.
    naive = np.floor((np.array(points) - lower) / ((upper - lower) / 2**depth)).clip(0, 2**depth - 1)
    assert naive.tolist() != expected
