# SPDX-License-Identifier: BSD-3-Clause
"""Randomised response on categories and on labels: epsilon by enumeration, frequencies, variance."""

import decimal
import math
from fractions import Fraction

import numpy as np
import pytest

from skprivate.noise import check_entropy
from skprivate.noise._stream_kernels import WordStream
from skprivate.randomizers import KRRRandomizer, LabelRandomizer
from skprivate.randomizers._report_kernels import randomize_response

WORD = 2**64


def answers(randomizer, category, threshold, n=4000):
    """What the kernel can send for one category with this threshold."""
    out = np.empty(n, dtype=np.uint16)
    with WordStream(check_entropy(7), 1000) as stream:
        randomize_response(np.full(n, category), randomizer.n_answers, threshold, stream, out)
    return set(out.tolist())


def enumerate_probabilities(randomizer, category):
    """Exact probability of every report under a category, from what the kernel sends as truth and as lie."""
    told, lied = answers(randomizer, category, WORD - 1), answers(randomizer, category, 0)
    assert told == {category}
    assert told.isdisjoint(lied)
    assert len(lied) == randomizer.n_answers - 1
    truth = Fraction(randomizer.threshold, WORD)
    table = dict.fromkeys(range(randomizer.n_categories), Fraction(0))
    table |= dict.fromkeys(lied, (1 - truth) / len(lied)) | {category: truth}
    assert sum(table.values()) == 1
    return list(table.values())


def assert_loss(worst, epsilon):
    with decimal.localcontext(prec=60):
        exact = Fraction(epsilon)
        loss = (decimal.Decimal(worst.numerator) / worst.denominator).ln()
        claimed = decimal.Decimal(exact.numerator) / exact.denominator
        assert loss <= claimed
        assert claimed - loss < decimal.Decimal("1e-12")


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 5.0, Fraction(1, 3)])
@pytest.mark.parametrize(("n_cells", "n_labels"), [(1, 2), (2, 2), (1, 3), (4, 3), (3, 5)])
def test_epsilon_by_enumeration(n_cells, n_labels, epsilon) -> None:
    randomizer = KRRRandomizer(epsilon, n_cells, n_labels)
    table = [enumerate_probabilities(randomizer, k) for k in range(n_cells * n_labels)]
    worst = max(max(column) / min(column) for column in zip(*table, strict=True))
    assert worst == randomizer.odds
    assert_loss(worst, epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("n_labels", [2, 3, 5])
def test_epsilon_of_the_label_by_enumeration(n_labels, epsilon) -> None:
    randomizer = LabelRandomizer(epsilon, 3, n_labels)
    for cell in range(3):
        own = range(cell * n_labels, (cell + 1) * n_labels)
        table = [enumerate_probabilities(randomizer, k) for k in own]
        for report, column in enumerate(zip(*table, strict=True)):
            if report in own:
                assert_loss(max(column) / min(column), epsilon)
            else:
                assert set(column) == {0}, "the cell is sent as it is"


@pytest.mark.parametrize("kind", [KRRRandomizer, LabelRandomizer])
def test_frequencies_are_the_enumerated_probabilities(assert_fits, kind) -> None:
    randomizer = kind(1.0, 4, 3)
    for category in (0, 5, 11):
        reports = randomizer.randomize(np.full(200_000, category), random_state=category)
        expected = np.array([float(p) for p in enumerate_probabilities(randomizer, category)])
        seen = np.bincount(reports, minlength=12)
        assert not seen[expected == 0].any()
        assert_fits(f"{kind.name}, {category}", seen[expected > 0], expected[expected > 0])


@pytest.mark.parametrize(("epsilon", "variance"), [(1, 349), (4, 0.43)])
def test_variance_at_256_cells(epsilon, variance) -> None:
    assert KRRRandomizer(epsilon, 256).variance(1)[0] == pytest.approx(variance, rel=0.01)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), 1, 20, 38, 45, 200])
@pytest.mark.parametrize(("n_cells", "n_labels"), [(1, 2), (2, 3), (4096, 5)])
@pytest.mark.parametrize("kind", [KRRRandomizer, LabelRandomizer])
def test_variance_is_exact_at_any_epsilon(kind, n_cells, n_labels, epsilon) -> None:
    randomizer = kind(epsilon, n_cells, n_labels)
    # An indicator of one answer less that of another: from their probabilities, in fractions.
    own = Fraction(randomizer.threshold, WORD)
    other = (1 - own) / (randomizer.n_answers - 1)
    involved, rest = own + other - (own - other) ** 2, 2 * other
    share = Fraction(2, randomizer.n_answers)
    exact = (share * involved + (1 - share) * rest) / (own - other) ** 2
    if kind is LabelRandomizer:
        exact /= n_cells
    assert randomizer.variance(1)[0] == pytest.approx(float(exact), rel=1e-12)
    assert randomizer.variance(1)[0] > 0


@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_a_label_of_a_known_cell_is_worth_a_signed_coin(epsilon) -> None:
    randomizer = LabelRandomizer(epsilon, 3)
    second_moment = ((math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)) ** 2
    # A signed report of +1 or -1 over its mean, less the square of the label that it estimates; and nothing
    # from the clients of other cells.
    np.testing.assert_allclose(
        randomizer.variance(30, [10, 0, 20]), np.array([10, 0, 20]) * (second_moment - 1)
    )


def test_the_label_alone_gives_the_cells_exactly() -> None:
    randomizer = LabelRandomizer(0.01, 4, 3)
    categories = np.array([0, 1, 2, 2, 9, 11, 11, 5])
    counts = randomizer.aggregate(randomizer.randomize(categories, random_state=1))
    assert randomizer.relation == "label"
    assert randomizer.estimate_cells(counts, 8).tolist() == [4, 1, 0, 3]
    np.testing.assert_allclose(randomizer.estimate(counts, 8).sum(axis=1), [4, 1, 0, 3])


def test_two_bytes_up_to_65536_categories() -> None:
    narrow, wide = KRRRandomizer(1.0, 2**15), KRRRandomizer(1.0, 2**15 + 1)
    assert (narrow.report_dtype, wide.report_dtype) == (np.uint16, np.uint32)
    for randomizer in (narrow, wide):
        sure = KRRRandomizer(1000, randomizer.n_cells)
        last = randomizer.n_categories - 1
        assert sure.randomize([0, last]).tolist() == [0, last]
        assert randomizer.aggregate(randomizer.randomize([last])).shape == (last + 1,)


@pytest.mark.parametrize("kind", [KRRRandomizer, LabelRandomizer])
def test_a_report_beyond_the_last_category_spoils_its_batch(kind) -> None:
    with pytest.raises(ValueError, match=r"outside 0\.\.14"):
        kind(1.0, 5, 3).aggregate(np.array([0, 14, 15], dtype=np.uint16))
    assert kind(1.0, 5, 3).aggregate(np.array([0, 14], dtype=np.uint16)).sum() == 2
