# SPDX-License-Identifier: BSD-3-Clause
"""Block-Hadamard reports: epsilon by enumeration, unbiased, the full variance formula, refusals."""

import decimal
import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

from skprivate.noise import check_entropy
from skprivate.noise._stream_kernels import WordStream
from skprivate.randomizers import HadamardRandomizer, LaplaceRandomizer, make_randomizer, randomizer_from_dict
from skprivate.randomizers._report_kernels import randomize_hadamard

WORD = 2**64


def kernel_reports(randomizer, category, threshold, n=4000):
    """Reports that the kernel can send for one category, with the truth always told, or never."""
    stream = WordStream(check_entropy(7), 1000)
    out = np.empty(n, dtype=np.uint16)
    log2_rows = (randomizer.n_padded // randomizer.n_blocks).bit_length() - 1
    categories = np.full(n, category, dtype=np.int64)
    randomize_hadamard(categories, log2_rows, randomizer.n_blocks, threshold, stream, out)
    return out


def enumerate_probabilities(randomizer):
    """Exact probability of every report under every category: Fractions, by row, truth and lie."""
    rows = randomizer.n_padded // randomizer.n_blocks
    n_others = 2 * randomizer.n_blocks - 1
    truth = Fraction(randomizer.threshold, WORD * rows)
    lie = Fraction(WORD - randomizer.threshold, WORD * rows * n_others)
    table = []
    for category in range(2 * randomizer.n_padded):
        told = set(kernel_reports(randomizer, category, WORD - 1).tolist())
        lied = set(kernel_reports(randomizer, category, 0).tolist())
        assert len(told) == rows
        assert len({(report >> 1) % rows for report in told}) == rows, "one true report per row"
        assert told.isdisjoint(lied)
        assert told | lied == set(range(2 * randomizer.n_padded)), "a lie can be every other report"
        table.append([truth if report in told else lie for report in range(2 * randomizer.n_padded)])
    return table


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 5.0, Fraction(1, 3)])
@pytest.mark.parametrize(
    ("n_cells", "n_blocks"), [(cells, 1 << k) for cells in (4, 8, 16) for k in range(cells.bit_length())]
)
def test_epsilon_by_enumeration(n_cells, n_blocks, epsilon):
    randomizer = HadamardRandomizer(epsilon, n_cells, n_blocks=n_blocks)
    table = enumerate_probabilities(randomizer)
    assert all(sum(row) == 1 for row in table)
    worst = max(max(column) / min(column) for column in zip(*table, strict=True))
    with decimal.localcontext(prec=60):
        exact = Fraction(epsilon)
        loss = (decimal.Decimal(worst.numerator) / worst.denominator).ln()
        claimed = decimal.Decimal(exact.numerator) / exact.denominator
        assert loss <= claimed
        assert claimed - loss < decimal.Decimal("1e-12")


@pytest.mark.parametrize("n_blocks", [1, 2, 8])
def test_frequencies_are_the_enumerated_probabilities(n_blocks):
    # Chi-square over 16 reports, 15 degrees of freedom: 64.6 is exceeded with probability 4e-8.
    randomizer = HadamardRandomizer(1.0, 8, n_blocks=n_blocks)
    table = enumerate_probabilities(randomizer)
    for category in (0, 5, 15):
        reports = randomizer.randomize(np.full(200_000, category), random_state=category)
        expected = 200_000 * np.array([float(p) for p in table[category]])
        seen = np.bincount(reports, minlength=16)
        assert np.sum((seen - expected) ** 2 / expected) < 64.6


@pytest.mark.parametrize(("epsilon", "n_blocks"), [(0.5, 1), (1.0, 4), (2.0, 2), (4.0, 8)])
def test_mean_and_full_variance_by_monte_carlo(epsilon, n_blocks):
    # 8 means and 8 variances per case; a limit of 6 standard errors each: false alarm below 1e-7.
    cells = np.array([900, 0, 40, 300, 5, 200, 1, 54])
    positive = np.array([600, 0, 40, 100, 0, 100, 1, 20])
    categories = np.concatenate(
        [
            np.full(c, 2 * j + label)
            for j in range(8)
            for label, c in ((1, positive[j]), (0, (cells - positive)[j]))
        ]
    )
    randomizer = HadamardRandomizer(epsilon, 8, n_blocks=n_blocks)
    generator = np.random.default_rng(3)
    runs = 4000
    estimates = np.array(
        [
            randomizer.estimate(
                randomizer.aggregate(randomizer.randomize(categories, generator)), cells.sum()
            )
            for _ in range(runs)
        ]
    )
    variance = randomizer.variance(int(cells.sum()), cells)
    z_mean = (estimates.mean(axis=0) - (2 * positive - cells)) / np.sqrt(variance / runs)
    z_variance = (estimates.var(axis=0, ddof=1) / variance - 1) / np.sqrt(2 / (runs - 1))
    assert np.abs(z_mean).max() < 6
    assert np.abs(z_variance).max() < 6


@pytest.mark.parametrize("n_blocks", [1, 2, 4])
def test_uniform_variance_is_the_full_formula_for_equal_cells(n_blocks):
    randomizer = HadamardRandomizer(1.5, 4, n_blocks=n_blocks)
    np.testing.assert_allclose(randomizer.variance(400), randomizer.variance(400, np.full(4, 100)))


@pytest.mark.parametrize(("epsilon", "variance"), [(1.0, 4.68), (4.0, 0.147)])
def test_variance_of_the_best_blocks_at_256_cells(epsilon, variance):
    randomizer = HadamardRandomizer(epsilon, 256)
    assert randomizer.variance(1)[0] == pytest.approx(variance, rel=0.01)


def test_best_blocks_minimise_the_variance():
    for epsilon, n_cells in itertools.product([0.1, 1.0, 3.0, 6.0, 12.0], [1, 2, 3, 16, 100]):
        best = HadamardRandomizer(epsilon, n_cells)
        others = [
            HadamardRandomizer(epsilon, n_cells, n_blocks=1 << k).variance(1)[0]
            for k in range(best.n_padded.bit_length())
        ]
        assert best.variance(1)[0] <= min(others) * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 20.0, 38.0, 45.0, 200.0])
@pytest.mark.parametrize(("n_cells", "n_blocks"), [(1, 1), (2, 1), (8, 4), (8, 8), (4096, 4096)])
def test_variance_is_exact_at_any_epsilon(epsilon, n_cells, n_blocks):
    randomizer = HadamardRandomizer(epsilon, n_cells, n_blocks=n_blocks)
    e, b = randomizer.odds, n_blocks
    a = (e + 2 * b - 1) / (e - 1) ** 2
    exact = a * ((e + 1) / b + 2 * (1 - Fraction(1, b))) - Fraction(1, n_cells)
    assert randomizer.variance(1)[0] == pytest.approx(float(exact), rel=1e-9)
    assert randomizer.variance(1)[0] > 0
    full = randomizer.variance(n_cells, np.ones(n_cells))
    np.testing.assert_allclose(full, float(n_cells * exact), rtol=1e-9)


@pytest.mark.parametrize("cells", [[1] * 5, [-1, 11, 0, 0, 0], [np.nan] * 5, [2] * 4])
def test_cell_counts_must_be_numbers_of_clients(cells):
    for randomizer in (HadamardRandomizer(1.0, 5), LaplaceRandomizer(1.0, 5)):
        with pytest.raises(ValueError, match="cell_counts must"):
            randomizer.variance(10, cells)


def test_counts_of_batches_add():
    randomizer = HadamardRandomizer(1.0, 5)
    reports = randomizer.randomize(np.arange(1000) % 10, random_state=0)
    whole = randomizer.aggregate(reports)
    np.testing.assert_array_equal(
        whole, randomizer.aggregate(reports[:300]) + randomizer.aggregate(reports[300:])
    )
    assert randomizer.estimate(whole, 1000).shape == (5,)


def test_a_large_epsilon_tells_the_truth():
    randomizer = HadamardRandomizer(1000.0, 4)
    categories = np.repeat(np.arange(8), [10, 0, 20, 30, 0, 5, 1, 1])
    counts = randomizer.aggregate(randomizer.randomize(categories))
    np.testing.assert_allclose(randomizer.estimate(counts, 67), [-10, 10, 5, 0])


def test_two_bytes_up_to_32768_cells():
    assert HadamardRandomizer(1.0, 2**15).report_dtype == np.uint16
    wide = HadamardRandomizer(1.0, 2**15 + 1)
    reports = wide.randomize([0, 2**16], random_state=0)
    assert reports.dtype == np.uint32
    assert wide.aggregate(reports).shape == (2**16,)


def test_empty_batch_and_one_cell():
    randomizer = HadamardRandomizer(1.0, 1)
    assert randomizer.aggregate(randomizer.randomize([])).tolist() == [0]
    assert randomizer.estimate([0], 0).tolist() == [0.0]


@pytest.mark.parametrize("epsilon", [1e-25, Fraction(1, 10**30)])
def test_epsilon_below_the_resolution(epsilon):
    with pytest.raises(ValueError, match="too small"):
        HadamardRandomizer(epsilon, 4)


def test_a_tiny_epsilon_still_has_a_finite_variance():
    randomizer = HadamardRandomizer(1e-15, 4)
    np.testing.assert_allclose(randomizer.variance(1), 4e30, rtol=0.01)
    np.testing.assert_allclose(randomizer.variance(1, [1, 0, 0, 0]), 4e30, rtol=0.01)


@pytest.mark.parametrize("n_blocks", [0, 3, 8, -1])
def test_blocks_out_of_range(n_blocks):
    with pytest.raises(ValueError, match="n_blocks must be"):
        HadamardRandomizer(1.0, 4, n_blocks=n_blocks)


@pytest.mark.parametrize("categories", [[8], [-1], [[0, 1]]])
def test_categories_out_of_range(categories):
    with pytest.raises(ValueError, match="categories must"):
        HadamardRandomizer(1.0, 4).randomize(categories)


def test_categories_of_another_type():
    with pytest.raises(TypeError, match="categories must be integers"):
        HadamardRandomizer(1.0, 4).randomize([0.0])


def test_reports_that_are_not_ours():
    randomizer = HadamardRandomizer(1.0, 4)
    with pytest.raises(ValueError, match=r"outside 0\.\.7"):
        randomizer.aggregate(np.array([0, 8], dtype=np.uint16))
    with pytest.raises(TypeError, match="another specification"):
        randomizer.aggregate(np.array([0, 1], dtype=np.uint32))
    with pytest.raises(ValueError, match=r"shape \(n,\), got \(2, 2\)"):
        randomizer.aggregate(np.zeros((2, 2), dtype=np.uint16))
    other = HadamardRandomizer(2.0, 4)
    reports = other.randomize([0, 1])
    with pytest.raises(ValueError, match="another specification"):
        randomizer.aggregate(reports, specification=other.specification)
    assert randomizer.aggregate(reports, specification=randomizer.specification).sum() in (-2, 0, 2)


@pytest.mark.parametrize(
    ("counts", "n"),
    [([3, 0, 0, 0], 2), ([1, 0, 0, 0], 2), ([1, 0, 0], 1), ([1.0, 0, 0, 0], 1), ([1, 0, 0, 0], -1)],
)
def test_counts_that_cannot_be(counts, n):
    with pytest.raises(ValueError, match=r"counts|n must be at least 0"):
        HadamardRandomizer(1.0, 4).estimate(np.array(counts), n)


def test_specification_depends_on_everything():
    variants = [
        HadamardRandomizer(1.0, 4),
        HadamardRandomizer(1.5, 4),
        HadamardRandomizer(1.0, 3),
        HadamardRandomizer(1.0, 4, n_blocks=4),
    ]
    assert len({variant.specification for variant in variants}) == 4
    assert HadamardRandomizer(1.0, 4).specification == variants[0].specification


class TestUnsigned:
    """Two labels, and a code for every (cell, label)."""

    def test_estimates_are_those_of_codes_and_tell_how_full_a_cell_is(self):
        randomizer = HadamardRandomizer(200.0, 3, signed=False)
        categories = np.repeat(np.arange(6), [10, 0, 20, 30, 7, 5])
        counts = randomizer.aggregate(randomizer.randomize(categories, random_state=0))
        np.testing.assert_allclose(randomizer.estimate(counts, 72), [-10, 10, -2])
        np.testing.assert_allclose(randomizer.estimate_cells(counts, 72), [10, 50, 12])
        assert HadamardRandomizer(2.0, 3).estimate_cells(np.zeros(4, dtype=np.int64), 0) is None

    @pytest.mark.parametrize(("epsilon", "n_blocks"), [(0.5, 1), (1.0, 2), (2.0, 4), (3.0, 8)])
    def test_unbiased_with_the_stated_variance_by_enumeration(self, epsilon, n_blocks):
        """All reports of one client of every category, with their exact probabilities."""
        randomizer = HadamardRandomizer(epsilon, 4, n_blocks=n_blocks, signed=False)
        assert randomizer.n_padded == 8
        table = enumerate_codes(randomizer)
        every = np.arange(2 * randomizer.n_padded, dtype=randomizer.report_dtype)
        one_by_one = [randomizer.aggregate(every[k : k + 1]) for k in range(len(every))]
        signed = np.array([randomizer.estimate(counts, 1) for counts in one_by_one])
        cells = np.array([randomizer.estimate_cells(counts, 1) for counts in one_by_one])
        for category, law in enumerate(table):
            cell, label = divmod(category, 2)
            truth = np.eye(4)[cell]
            np.testing.assert_allclose(law @ signed, truth * (2 * label - 1), atol=1e-9)
            np.testing.assert_allclose(law @ cells, truth, atol=1e-9)
        # Of clients who are spread evenly over the categories.
        by_client = [law @ signed**2 - (law @ signed) ** 2 for law in table]
        np.testing.assert_allclose(np.mean(by_client, axis=0), randomizer.variance(1), rtol=1e-9)

    def test_round_trip(self):
        unsigned = HadamardRandomizer(1.0, 4, signed=False)
        stored = json.loads(json.dumps(unsigned.to_dict()))
        assert stored["signed"] is False
        again = randomizer_from_dict(stored)
        assert again.specification == unsigned.specification
        assert again.to_dict() == unsigned.to_dict()
        assert again.specification != HadamardRandomizer(1.0, 4).specification
        reports = unsigned.randomize(np.arange(8), random_state=0)
        np.testing.assert_array_equal(again.aggregate(reports), unsigned.aggregate(reports))

    def test_signs_are_for_two_labels(self):
        with pytest.raises(ValueError, match="for two labels"):
            HadamardRandomizer(1.0, 4, 3, signed=True)

    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 8.0])
    def test_automatic_reports_count_cells_where_they_must(self, epsilon):
        counted = make_randomizer("auto", epsilon, 64, counts_cells=True)
        assert counted.estimate_cells(counted.simulate(np.arange(128), 0), 128) is not None


def enumerate_codes(randomizer):
    """Probability of every report under every category, as floats."""
    rows, n_others = randomizer.n_padded // randomizer.n_blocks, 2 * randomizer.n_blocks - 1
    truth = randomizer.threshold / WORD / rows
    lie = (1 - randomizer.threshold / WORD) / rows / n_others
    table = []
    for category in range(randomizer.n_categories):
        told = {int(report) for report in true_reports(randomizer, category)}
        assert len(told) == rows
        table.append([truth if report in told else lie for report in range(2 * randomizer.n_padded)])
    return np.array(table)


def true_reports(randomizer, category):
    """Reports that the randomizer sends when the truth is always told."""
    honest, randomizer.threshold = randomizer.threshold, WORD - 1
    try:
        return randomizer.randomize(np.full(4000, category), random_state=1)
    finally:
        randomizer.threshold = honest
