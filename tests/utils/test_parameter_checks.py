# SPDX-License-Identifier: BSD-3-Clause
"""Parameters that every estimator shares."""

from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest

from skprivate.utils import check_bounds, check_epsilon, check_row_mask


@pytest.mark.parametrize(
    ("epsilon", "exact"),
    [
        (0.1, Fraction(0.1)),
        (Fraction(1, 3), Fraction(1, 3)),
        (2, Fraction(2)),
        (np.float32(0.5), Fraction(1, 2)),
    ],
)
def test_epsilon_is_exact(epsilon, exact):
    assert check_epsilon(epsilon) == exact
    assert isinstance(check_epsilon(epsilon), Fraction)


@pytest.mark.parametrize("epsilon", [0, -1, 0.0, Fraction(0), Fraction(-1, 2), np.inf, -np.inf, np.nan])
def test_epsilon_out_of_range(epsilon):
    with pytest.raises(ValueError, match="epsilon must be"):
        check_epsilon(epsilon)


@pytest.mark.parametrize("epsilon", [True, "1", None, 1j, [1.0]])
def test_epsilon_of_another_type(epsilon):
    with pytest.raises(TypeError, match="epsilon must be an int, a float or a Fraction"):
        check_epsilon(epsilon)


@pytest.mark.parametrize(
    ("bounds", "lower", "upper"),
    [
        ((0, 1), [0, 0], [1, 1]),
        ([np.array([0, 18]), 99], [0, 18], [99, 99]),
        (np.array([[0.0, 1.0], [2.0, 3.0]]), [0, 1], [2, 3]),
        ({"age": (18, 99), "dose": (0, 5)}, [0, 18], [5, 99]),
        ({0: (0, 5), "age": (18, 99)}, [0, 18], [5, 99]),
        ({np.int64(1): (18, 99), 0: (0, 5)}, [0, 18], [5, 99]),
        (MappingProxyType({"age": (18, 99), "dose": (0, 5)}), [0, 18], [5, 99]),
        ((pd.Series({"age": 18, "dose": 0}), pd.Series({"age": 99, "dose": 5})), [0, 18], [5, 99]),
        ((0, pd.Series([5, 99])), [0, 0], [5, 99]),
    ],
)
def test_bounds_in_every_form(bounds, lower, upper):
    found = check_bounds(bounds, 2, ["dose", "age"])
    np.testing.assert_array_equal(found, [lower, upper])


@pytest.mark.parametrize(
    ("bounds", "match"),
    [
        ((1, 1), "lower must be below upper"),
        (([0, 2], [1, 1]), "column 1"),
        ((0, np.inf), "finite"),
        ((np.nan, 1), "finite"),
        (([0, 0, 0], 1), "one value per column"),
        (([[0]], 1), "one value per column"),
        ({"dose": (0, 1)}, "'age' has no bounds"),
        ({"dose": (0, 1), "height": (0, 1)}, "no column 'height'"),
        ({"dose": (0, 1), 5: (0, 1)}, "no column 5"),
        ({"dose": (0, 1), -1: (0, 1)}, "no column -1"),
        ([(0, 1), (0, 50)], "for a pair per column"),
        ({"dose": (0, 1), 0: (0, 1), "age": (0, 1)}, "given twice"),
    ],
)
def test_bounds_refused(bounds, match):
    with pytest.raises(ValueError, match=match):
        check_bounds(bounds, 2, ["dose", "age"])


@pytest.mark.parametrize(
    "bounds", [3, "01", (0,), (0, 1, 2), ("a", "b"), ("0", "1"), {0, 1}, {"dose": 3, "age": (0, 1)}]
)
def test_bounds_of_another_type(bounds):
    with pytest.raises(TypeError, match="bounds must"):
        check_bounds(bounds, 2, ["dose", "age"])


@pytest.mark.parametrize("mask", [[True, False, True], np.array([True, False, True], dtype=object)])
def test_mask_forms(mask):
    np.testing.assert_array_equal(check_row_mask(mask, 3), [True, False, True])


def test_a_masked_mask_is_refused():
    with pytest.raises(TypeError, match="masked"):
        check_row_mask(np.ma.array([True, True, True], mask=[False, True, False]), 3)


def test_long_doubles_are_taken_at_their_own_value():
    tenth = np.longdouble(1) / 10
    assert check_epsilon(tenth) == Fraction(*tenth.as_integer_ratio())


def test_no_mask_marks_nothing():
    assert not check_row_mask(None, 4).any()


@pytest.mark.parametrize("mask", [[1, 0, 1], [0, 2], ["a", "b", "c"], [0.0, 1.0, 1.0], [True, None, False]])
def test_mask_refused(mask):
    with pytest.raises((TypeError, ValueError), match="is_public must"):
        check_row_mask(mask, 3)


@pytest.mark.parametrize("mask", [[True], True, [[True], [False], [True]]])
def test_mask_of_wrong_shape(mask):
    with pytest.raises(ValueError, match="is_public must have shape"):
        check_row_mask(mask, 3)
