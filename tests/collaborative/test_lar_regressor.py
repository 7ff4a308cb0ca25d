# SPDX-License-Identifier: BSD-3-Clause
"""The preset hands every parameter to the part that it is of."""

import numpy as np
import pytest

from skprivate import CollaborativeLARRegressor
from skprivate.datasets import make_parties

X, Y, SITES = make_parties(600, 14, n_features=3, random_state=0)


@pytest.mark.parametrize(
    ("part", "parameters", "own"),
    [
        ("query_perturber_", {"depth": 3, "bounds": (0, 1), "quasi_identifiers": [1]}, {}),
        ("aggregator_", {"p_lower": 3, "p_upper": 7, "order": "random", "active_rule": None}, {}),
        ("estimators_", {"kernel": "laplace", "bandwidth": 0.3, "bounds": (0, 2)}, {"refine_to": len(X)}),
        ("estimators_", {"kernel": "knn", "n_neighbors": 3}, {"bandwidth": "cv", "n_jobs": None}),
    ],
)
def test_parameters_reach_their_part(part, parameters, own):
    platform = CollaborativeLARRegressor(**{"bounds": (0, 1), **parameters}).fit(X, Y, sites=SITES)
    found = getattr(platform, part)
    found = found[0] if part == "estimators_" else found
    assert {**parameters, **own}.items() <= found.get_params().items()


def test_only_quasi_identifiers_are_coarsened():
    platform = CollaborativeLARRegressor(2, bounds=(0, 1), quasi_identifiers=[1]).fit(X, Y, sites=SITES)
    asked = platform.query_perturber_.transform(X)
    np.testing.assert_array_equal(asked[:, [0, 2]], X[:, [0, 2]])
    assert len(np.unique(asked[:, 1])) == 4
