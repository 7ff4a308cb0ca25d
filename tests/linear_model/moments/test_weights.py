# SPDX-License-Identifier: BSD-3-Clause
from fractions import Fraction

import pytest

from skprivate.linear_model._moments.released_moments import (
    MomentWeights,
    l1_moments,
    moment_weights,
    squared_l2_moments,
)

DIMENSIONS = (1, 2, 3, 10, 30, 200)


def noise(weights):
    """Noise of features' products, of products with the target and of the target's sum."""
    if weights.norm_order == 2:
        size = float(squared_l2_moments(weights, "replace-one")) ** 0.5
    else:
        size = float(l1_moments(weights, "replace-one"))
    a, m = weights.target, weights.features
    return size / m**2, size / (a * m), size / a


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_cube_weighs_the_target_twice(d, mechanism):
    assert moment_weights(d, mechanism, None) == MomentWeights(2, 1, d)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_l2_ball_does_not_depend_on_the_number_of_features(d):
    weights = moment_weights(d, "gaussian", 2)
    assert (weights.target, weights.features, weights.norm_order) == (3, 3, 2)
    assert weights.squared_l2 == Fraction(19)


@pytest.mark.parametrize(("d", "features"), [(1, 2), (2, 3), (3, 4), (4, 4), (9, 6), (10, 7), (200, 29)])
def test_l1_ball_weighs_features_by_the_root_of_their_number(d, features):
    weights = moment_weights(d, "laplace", 1)
    assert (weights.target, weights.features, weights.norm_order) == (3, features, 1)
    assert weights.features_l1 == features


@pytest.mark.parametrize(("mechanism", "order"), [("laplace", 2), ("gaussian", 1)])
def test_each_mechanism_has_one_norm(mechanism, order):
    with pytest.raises(ValueError, match="norm"):
        moment_weights(3, mechanism, order)


@pytest.mark.parametrize("d", [3, 10, 30])
@pytest.mark.parametrize(("mechanism", "order"), [("laplace", 1), ("gaussian", 2)])
def test_ball_beats_equal_weights(d, mechanism, order):
    """Unit slopes of unit features, |y| <= 4 sqrt(d), scaled: their norm multiplies the squares' noise."""
    slope = 0.25 * (d if order == 1 else d**0.5)

    def error(weights):
        squares, cross, mean = noise(weights)
        return cross**2 + (slope * squares) ** 2 + (mean / (d**1.5 if order == 1 else d)) ** 2

    assert error(moment_weights(d, mechanism, order)) < 0.9 * error(MomentWeights(1, 1, d, order))


@pytest.mark.parametrize("d", DIMENSIONS)
def test_cube_takes_little_from_the_features_for_a_finer_target(d):
    one, ours = noise(MomentWeights(1, 1, d)), noise(moment_weights(d, "laplace", None))
    assert ours[1] < one[1]
    assert ours[0] <= one[0] * ((d + 3) / (d + 2)) ** 2 * (1 + 1e-12)
