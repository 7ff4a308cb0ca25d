# SPDX-License-Identifier: BSD-3-Clause
"""Sizes, activity and shares, as every aggregator uses them."""

import numpy as np
import pytest
from sklearn.base import clone

from skprivate.collaborative import BSTDAggregator, SecureSumAggregator
from skprivate.collaborative._aggregators import check_party_sizes, relative_sizes, shares, validate_responses
from skprivate.exceptions import UtilityWarning


def test_sizes_default_to_one_and_need_not_be_whole():
    np.testing.assert_array_equal(check_party_sizes(None, 4), np.ones(4))
    sizes = check_party_sizes([1, 2.5], 2)
    assert sizes.dtype == np.float64
    assert sizes.tolist() == [1.0, 2.5]


def test_sizes_are_copied():
    sizes = np.array([1.0, 2.0])
    check_party_sizes(sizes, 2)[0] = 7.0
    assert sizes[0] == 1.0


@pytest.mark.parametrize(
    ("sizes", "error", "message"),
    [
        ([1, 2], ValueError, "shape"),
        ([[1, 2, 3]], ValueError, "shape"),
        (5.0, ValueError, "shape"),
        ([1, 2, 0], ValueError, "greater than 0"),
        ([1, 2, -3], ValueError, "greater than 0"),
        ([1, 2, np.nan], ValueError, "finite"),
        ([1, 2, np.inf], ValueError, "finite"),
        ([1e308, 1e308, 1e308], ValueError, "sum"),
        (["a", "b", "c"], TypeError, "numbers"),
        ([True, True, False], TypeError, "numbers"),
    ],
)
def test_bad_sizes(sizes, error, message):
    with np.errstate(over="ignore"), pytest.raises(error, match=message):
        check_party_sizes(sizes, 3)


def test_equal_parties_keep_their_responses_bit_for_bit():
    # 0.1 * 49 / 49 is not 0.1.
    np.testing.assert_array_equal(relative_sizes(np.full(49, 0.1)), np.ones(49))
    assert relative_sizes(np.array([1.0, 3.0])).tolist() == [0.5, 1.5]


def test_box_decides_by_the_response_and_the_total():
    sizes = np.array([1.0, 2.0, 5.0])
    responses = np.array([[0.125, -0.125, 0.1249], [0.0, -1.0, 3.0]])
    values, active = shares(responses, sizes, "box")
    # The same as abs(a_j) >= n_j / n^2 for a_j = n_j f_j / n.
    np.testing.assert_array_equal(active, np.abs(responses * sizes / 8) >= sizes / 64)
    np.testing.assert_array_equal(active, [[True, True, False], [False, True, True]])
    np.testing.assert_array_equal(values, [[0.125, -0.25, 0.0], [0.0, -2.0, 15.0]])


def test_a_total_of_its_own():
    responses = np.array([[0.3, 0.6]])
    np.testing.assert_array_equal(shares(responses, np.ones(2), "box")[1], [[False, True]])
    np.testing.assert_array_equal(shares(responses, np.ones(2), "box", total=4.0)[1], [[True, True]])


def test_support_is_an_answer():
    values, active = shares(np.array([[np.nan, 0.0, 2.0]]), np.array([3.0, 4.0, 5.0]), "support")
    assert active.tolist() == [[False, True, True]]
    assert values.tolist() == [[0.0, 0.0, 10.0]]


@pytest.mark.parametrize("rule", [None, "receiver"])
def test_all_count_where_nothing_is_decided_before(rule):
    values, active = shares(np.array([[0.0, 1e-9]]), np.array([3.0, 4.0]), rule)
    assert active.all()
    assert values.tolist() == [[0.0, 4e-9]]


def test_responses_become_rows_of_doubles():
    responses = validate_responses(
        BSTDAggregator(), np.asfortranarray(np.ones((3, 4), dtype=np.float32)), reset=True
    )
    assert responses.flags.c_contiguous
    assert responses.dtype == np.float64


@pytest.mark.parametrize("y", [[1.0, 2.0], [[1.0, 2.0, 3.0]], [1.0, np.nan, 2.0], [1.0, 2.0, np.inf]])
def test_y_is_checked_where_it_is_given(y):
    with pytest.raises(ValueError, match=r"inconsistent|1d|should be|NaN|infinity"):
        validate_responses(BSTDAggregator(), np.ones((3, 4)), y, reset=True)


@pytest.mark.parametrize("aggregator", [BSTDAggregator(1, 6), SecureSumAggregator()])
@pytest.mark.parametrize("n_parties", [1, 2, 3])
@pytest.mark.filterwarnings("ignore::skprivate.exceptions.DisclosureWarning")
def test_a_prediction_that_rests_on_nobody_is_announced_for_any_number_of_parties(aggregator, n_parties):
    fitted = clone(aggregator).fit(np.ones((1, n_parties)))
    with pytest.warns(UtilityWarning, match="where nobody is active it is zero"):
        assert fitted.predict(np.full((1, n_parties), np.nan)).tolist() == [0.0]
