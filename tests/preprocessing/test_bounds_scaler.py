# SPDX-License-Identifier: BSD-3-Clause
"""BoundsScaler: stateless, clipping, scikit-learn's checks."""

import numpy as np
import pandas as pd
import pytest

import skprivate
from skprivate import BoundsScaler


def test_maps_bounds_to_the_unit_interval_and_clips():
    X = np.array([[0.0, 18.0], [100.0, 98.0], [-5.0, 58.0], [1e300, 1e300]])
    scaled = BoundsScaler(([0, 18], [100, 98])).fit_transform(X)
    np.testing.assert_allclose(scaled, [[0, 0], [1, 1], [0, 0.5], [1, 1]])


def test_result_does_not_depend_on_the_rows_of_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    first = BoundsScaler((-3, 3)).fit(X[:10]).transform(X)
    second = BoundsScaler((-3, 3)).fit(1e6 * X[10:]).transform(X)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, BoundsScaler((-3, 3)).transform(X))


def test_huge_bounds_do_not_overflow():
    scaled = BoundsScaler((-1.7e308, 1.7e308)).fit_transform([[-1.7e308], [0.0], [1.7e308]])
    np.testing.assert_allclose(scaled.ravel(), [0, 0.5, 1])


def test_the_narrowest_bounds():
    assert BoundsScaler((0, 5e-324)).fit_transform([[0.0], [5e-324]]).ravel().tolist() == [0, 1]


def test_inverse_returns_values_inside_the_bounds():
    X = np.random.default_rng(1).uniform([0, 18], [100, 98], size=(100, 2))
    scaler = BoundsScaler(([0, 18], [100, 98])).fit(X)
    np.testing.assert_allclose(scaler.inverse_transform(scaler.transform(X)), X)


def test_bounds_by_column_name():
    frame = pd.DataFrame({"dose": [0.0, 5.0], "age": [18.0, 98.0]})
    scaler = BoundsScaler({"age": (18, 98), "dose": (0, 5)}).set_output(transform="pandas")
    scaled = scaler.fit_transform(frame)
    assert list(scaled.columns) == ["dose", "age"]
    np.testing.assert_array_equal(scaled.to_numpy(), [[0, 0], [1, 1]])


def test_transform_remembers_nothing():
    scaler = BoundsScaler((0, 2))
    assert scaler.transform([[1.0]]).tolist() == [[0.5]]
    assert scaler.transform([[1.0, 2.0]]).tolist() == [[0.5, 1.0]]
    assert vars(scaler) == {"bounds": (0, 2)}


def test_inverse_takes_what_transform_gave():
    frame = pd.DataFrame({"dose": [0.0, 5.0], "age": [18.0, 98.0]})
    scaler = BoundsScaler({"age": (18, 98), "dose": (0, 5)}).fit(frame)
    np.testing.assert_allclose(scaler.inverse_transform(scaler.transform(frame)), frame)
    with pytest.raises(ValueError, match="columns"):
        scaler.inverse_transform([[0.5]])


def test_bad_bounds():
    with pytest.raises(ValueError, match="lower must be below upper"):
        BoundsScaler((1, 0)).fit([[1.0]])


@pytest.mark.parametrize("strict", [False, True])
def test_no_cell_is_an_error_of_its_own(strict):
    cells = [["text"], [None], [np.inf], [-(10**400)], ["3"]]
    with skprivate.config_context(strict=strict):
        scaled = BoundsScaler((0, 4)).fit_transform(cells)
    none, high, low = (0.5, 1, 0) if strict else (np.nan, np.nan, np.nan)
    np.testing.assert_array_equal(scaled, [[none], [none], [high], [low], [0.75]])
