# SPDX-License-Identifier: BSD-3-Clause
"""BSTDAggregator: what it predicts, shows, claims and warns about."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from skprivate.collaborative import BSTDAggregator, SecureSumAggregator
from skprivate.collaborative._aggregators import (
    check_party_sizes,
    rank_advantage,
    relative_sizes,
    shares,
    stands_out,
)
from skprivate.exceptions import DisclosureWarning

ORDERS = ("fewest", "random", "top")
RULES = ("box", "support", None, "receiver")


def toy(n=300, m=20, seed=0):
    """Responses with every sign and size, some of them too small to be active; unequal parties."""
    rng = np.random.default_rng(seed)
    responses = rng.normal(size=(n, m)) * rng.choice([1.0, 1e-3, 1e6], size=(n, m))
    return responses, rng.integers(100, 1000, size=m)


# ---------------------------------------------------------------------------------------------------------
# Predictions
# ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [BSTDAggregator, SecureSumAggregator])
@pytest.mark.parametrize("rule", RULES)
def test_tags_say_what_it_takes_and_that_it_learns_nothing_from_y(kind, rule):
    tags = get_tags(kind(active_rule=rule))
    assert not any((tags._skip_test, tags.no_validation, tags.non_deterministic))
    assert tags.regressor_tags.poor_score
    assert not tags.target_tags.required
    assert tags.input_tags.allow_nan is (rule == "support")


# ---------------------------------------------------------------------------------------------------------
# Randomness
# ---------------------------------------------------------------------------------------------------------
def test_a_seed_repeats_and_entropy_does_not():
    X = toy()[0]
    seeded = BSTDAggregator(random_state=0).fit(X)
    np.testing.assert_array_equal(seeded.transform(X), clone(seeded).fit(X).transform(X))
    assert (seeded.transform(X) != BSTDAggregator(random_state=1).fit(X).transform(X)).any()
    fresh = BSTDAggregator().fit(X)
    assert (fresh.transform(X) != fresh.transform(X)).any()


def test_a_generator_gives_one_seed_in_fit():
    X = toy()[0]
    for make in (np.random.default_rng, np.random.RandomState):
        generator = make(3)
        first = BSTDAggregator(random_state=generator).fit(X)
        second = BSTDAggregator(random_state=generator).fit(X)
        np.testing.assert_array_equal(first.transform(X), first.transform(X))
        assert (first.transform(X) != second.transform(X)).any()
        again = BSTDAggregator(random_state=make(3)).fit(X)
        np.testing.assert_array_equal(first.transform(X), again.transform(X))


# ---------------------------------------------------------------------------------------------------------
# What is claimed, and what is not
# ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("m", "lower", "upper", "percent"),
    [
        (20, 2, 10, 20.0),
        (20, 3, 8, 30.0),
        (20, 4, 10, 40.0),
        (12, 2, 8, 100 * 4 / 12),
        (9, 1, 6, 100 * 2 / 9),
    ],
)
def test_the_bound_is_the_proven_one_and_holds(m, lower, upper, percent):
    X = np.random.default_rng(0).normal(size=(2000, m))
    for order in ORDERS:
        aggregator = BSTDAggregator(lower, upper, order=order, active_rule=None, random_state=0).fit(X)
        bound = aggregator.disclosure_risk_.bound["responses to a query"]
        assert bound == pytest.approx(percent)
        kept = 100 * (aggregator.transform(X) == X).mean(axis=1)
        assert kept.max() <= bound + 1e-9


@pytest.mark.parametrize(
    ("m", "lower", "upper", "reasons"),
    [
        (2, 2, 8, ["nothing is swapped"]),
        (1, 1, 5, ["nothing is swapped"]),
        (8, 2, 8, ["cut"]),
        (5, 1, 8, ["cut", "narrow|easy to guess"]),
        (5, 3, 8, ["cut", "middle ranks", "easy to guess"]),
        (20, 2, 5, ["easy to guess"]),
        (15, 8, 14, ["middle ranks"]),
    ],
)
def test_one_warning_says_every_weakness(m, lower, upper, reasons):
    X = np.random.default_rng(0).normal(size=(50, m))
    with pytest.warns(DisclosureWarning) as caught:
        aggregator = BSTDAggregator(lower, upper).fit(X)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    message = str(caught[0].message)
    for reason in reasons:
        assert any(part in message for part in reason.split("|"))
    assert message.count(";") == len(reasons) - 1
    # Not again: the platform predicts often.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aggregator.transform(X)
        aggregator.predict(X)


def test_no_warning_where_the_window_fits():
    BSTDAggregator().fit(np.ones((2, 9)))
    BSTDAggregator(4, 8).fit(np.ones((2, 9)))


# ---------------------------------------------------------------------------------------------------------
# Bad input
# ---------------------------------------------------------------------------------------------------------


# ---------------------------------------------------------------------------------------------------------
# Among scikit-learn's tools
# ---------------------------------------------------------------------------------------------------------


def test_frames_pipelines_pickles_and_workers():
    X = toy()[0]
    names = [f"site{j}" for j in range(20)]
    frame = pd.DataFrame(X, columns=names)
    aggregator = BSTDAggregator(random_state=0).set_output(transform="pandas").fit(frame)
    assert list(aggregator.transform(frame).columns) == names
    shown = aggregator.transform(frame).to_numpy()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(aggregator)).transform(frame), shown)
    jobs = (delayed(aggregator.transform)(frame) for _ in range(2))
    for copy in Parallel(n_jobs=2, prefer="threads")(jobs):
        np.testing.assert_array_equal(copy, shown)
    pipeline = make_pipeline(BSTDAggregator(active_rule=None), BSTDAggregator(active_rule=None)).fit(X)
    np.testing.assert_array_equal(pipeline.predict(X), BSTDAggregator(active_rule=None).fit(X).predict(X))


class TestUnequalParties:
    """What sizes give away, and when `fit` says so."""

    def test_the_advantage_of_one_among_equals_is_one_less_its_inverse_ratio(self):
        for ratio in (1.0, 1.25, 2.0, 3.0, 50.0):
            for n_others in (1, 4, 30):
                sizes = np.append(np.ones(n_others), ratio)
                # The integral's nodes: a 2048th, halved, and scaled by at most m / (m - 1).
                assert rank_advantage(sizes) == pytest.approx(1 - 1 / ratio, abs=5e-4)
                assert rank_advantage(1000 * sizes) == pytest.approx(rank_advantage(sizes), abs=1e-12)

    def test_the_advantage_is_that_of_independent_uniform_responses(self):
        sizes, n = np.array([5.0, 3.0, 2.0, 2.0, 1.0]), 200_000
        shares = sizes * np.random.default_rng(0).uniform(size=(n, 5))
        right = (np.mean(shares.argmax(axis=1) == 0) - 0.2) / 0.8
        # Six standard deviations: a false alarm once in 5e8.
        assert rank_advantage(sizes) == pytest.approx(right, abs=6 * 0.5 / 0.8 / np.sqrt(n) + 5e-4)

    @pytest.mark.parametrize(
        ("groups", "found"),
        [
            ([1, 30, 900], True),
            ([1, 3, 9], False),  # (1 - 9/30) (1 - 10/33), below 1/2 and half a guess
            ([1, 4, 16], True),
            ([1, 1, 900], False),
        ],
    )
    def test_a_middle_stands_out_where_both_sides_are_far(self, groups, found):
        sizes = np.repeat(np.array(groups, dtype=float), [9, 1, 10])
        for order in (sizes, sizes[::-1], 1 / sizes * 1e6):
            assert stands_out(order) == found

    def test_the_ends_stand_out_as_their_advantage_says(self):
        rng = np.random.default_rng(0)
        for _ in range(100):
            sizes = np.sort(rng.lognormal(sigma=rng.uniform(0, 1.5), size=rng.integers(2, 12)))
            ends = max(rank_advantage(sizes), rank_advantage(1 / sizes)) >= 0.5
            assert stands_out(sizes) or not ends
            if len(sizes) == 2:
                assert stands_out(sizes) == ends

    def test_many_parties_of_any_sizes_take_little(self):
        assert stands_out(2.0 ** np.arange(60))
        assert not stands_out(np.arange(1000.0, 3000.0))


def test_sizes_default_to_one_and_need_not_be_whole():
    np.testing.assert_array_equal(check_party_sizes(None, 4), np.ones(4))
    given = np.array([1, 2.5])
    sizes = check_party_sizes(given, 2)
    sizes[0] = 7.0
    assert given.tolist() == [1.0, 2.5], "sizes are copied"
    assert check_party_sizes([1, 2], 2).dtype == np.float64


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
