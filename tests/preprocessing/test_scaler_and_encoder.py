# SPDX-License-Identifier: BSD-3-Clause
"""BoundsScaler and DomainEncoder: what they write, its names, and that they learn nothing."""

import numpy as np
import pandas as pd

from skprivate import BoundsScaler

# Scaling to declared bounds


def test_maps_bounds_to_the_unit_interval_and_clips():
    X = np.array([[0.0, 18.0], [100.0, 98.0], [-5.0, 58.0], [1e300, 1e300]])
    scaled = BoundsScaler(([0, 18], [100, 98])).fit_transform(X)
    np.testing.assert_allclose(scaled, [[0, 0], [1, 1], [0, 0.5], [1, 1]])


def test_the_result_does_not_depend_on_the_rows_of_fit():
    X, scaler = np.random.default_rng(0).normal(size=(50, 3)), BoundsScaler((-3, 3))
    scaled = scaler.transform(X)
    assert vars(scaler) == {"bounds": (-3, 3)}
    np.testing.assert_array_equal(BoundsScaler((-3, 3)).fit(X[:10]).transform(X), scaled)
    np.testing.assert_array_equal(BoundsScaler((-3, 3)).fit(1e6 * X[10:]).transform(X), scaled)


def test_the_widest_and_the_narrowest_bounds():
    scaled = BoundsScaler((-1.7e308, 1.7e308)).fit_transform([[-1.7e308], [0.0], [1.7e308]])
    np.testing.assert_allclose(scaled.ravel(), [0, 0.5, 1])
    assert BoundsScaler((0, 5e-324)).fit_transform([[0.0], [5e-324]]).ravel().tolist() == [0, 1]


def test_bounds_by_name_and_back():
    frame = pd.DataFrame({"dose": [0.0, 5.0], "age": [18.0, 98.0]})
    scaler = BoundsScaler({"age": (18, 98), "dose": (0, 5)}).set_output(transform="pandas")
    scaled = scaler.fit_transform(frame)
    assert list(scaled.columns) == ["dose", "age"]
    np.testing.assert_array_equal(scaled.to_numpy(), [[0, 0], [1, 1]])
    np.testing.assert_allclose(scaler.inverse_transform(scaled), frame)
