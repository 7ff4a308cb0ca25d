# SPDX-License-Identifier: BSD-3-Clause
"""Parameters that every estimator shares, and the privacy unit: groups, and the rows that represent them."""

from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest

from skprivate.noise import check_entropy
from skprivate.utils import check_bounds, check_epsilon, check_row_mask, number_groups, select_rows

LONG = np.longdouble(1) / 10


@pytest.mark.parametrize(
    ("epsilon", "exact"),
    [
        (0.1, Fraction(0.1)),
        (Fraction(1, 3), Fraction(1, 3)),
        (2, Fraction(2)),
        (np.float32(0.5), Fraction(1, 2)),
        (LONG, Fraction(*LONG.as_integer_ratio())),
    ],
)
def test_epsilon_is_exact(epsilon, exact):
    assert check_epsilon(epsilon) == exact
    assert isinstance(check_epsilon(epsilon), Fraction)


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


@pytest.mark.parametrize("mask", [[True, False, True], np.array([True, False, True], dtype=object)])
def test_mask_forms(mask):
    np.testing.assert_array_equal(check_row_mask(mask, 3), [True, False, True])
    assert not check_row_mask(None, 4).any()


ALL = np.ones(6, dtype=bool)


@pytest.mark.parametrize(
    "groups",
    [
        [7, 3, 7, 3, 3, 1],
        np.array(["b", "a", "b", "a", "a", "c"]),
        ["b", 1, "b", 1.0, 1, "c"],
        pd.Series(["b", "a", "b", "a", "a", "c"], dtype="category"),
        pd.Series([7, 3, 7, 3, 3, 1], dtype="Int64"),
        [frozenset(letter) for letter in "babaac"],
        np.array([7, 3, 7, 3, 3, 1], dtype="datetime64[D]"),
        pd.Series([(1, 2), (3, 4), (1, 2), (3, 4), (3, 4), (5, 6)]),
    ],
    ids=lambda groups: type(groups).__name__,
)
def test_equal_groups_share_a_number(groups):
    codes = number_groups(groups, ALL)
    assert sorted(set(codes)) == [0, 1, 2]
    assert [codes[0] == codes[2], codes[1] == codes[3] == codes[4]] == [True, True]


def test_public_rows_need_none():
    private = np.array([True, False, True, True, False, True])
    groups = ["a", None, "b", "a", float("nan"), "b"]
    assert number_groups(groups, private).tolist() == [0, 1, 0, 1]
    assert number_groups(None, private) is None


def test_a_refusal_shows_no_group():
    with pytest.raises(TypeError, match="hashable") as caught:
        number_groups(pd.Series([["secret"]] * 6), ALL)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_at_most_so_many_rows_of_a_group_are_selected_each_from_its_own():
    codes = np.random.default_rng(1).integers(0, 20, size=300)
    codes[:20] = np.arange(20)
    for cap in (1, 2, 50):
        kept = select_rows(codes, cap, check_entropy(3).random_bytes)
        np.testing.assert_array_equal(np.bincount(codes[kept]), np.minimum(np.bincount(codes), cap))
        assert len(set(kept)) == len(kept)


def test_every_row_of_a_group_has_the_same_chance():
    # 20,000 draws among 5 rows; chi-square with 4 degrees of freedom above 33.4: probability 1e-6.
    codes = np.repeat(np.arange(20_000), 5)
    kept = select_rows(codes, 1, check_entropy(4).random_bytes)
    seen = np.bincount(kept % 5, minlength=5)
    assert np.sum((seen - 4000) ** 2 / 4000) < 33.4


def test_every_bit_of_a_key_counts():
    # Two rows of a group whose keys differ in one bit of 64: the smaller key stays.
    for bit in range(64):
        keys = np.array([2**bit, 0, 0, 2**bit], dtype=np.uint64)
        assert select_rows(np.array([0, 0, 1, 1]), 1, lambda n: keys.tobytes()[:n]).tolist() == [1, 2]  # noqa: B023
