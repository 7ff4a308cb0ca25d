# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms that draw among few reports: epsilon, means and variances by enumeration of all reports."""

import decimal
import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

from skprivate.randomizers import (
    HadamardRandomizer,
    KRRRandomizer,
    LabelRandomizer,
    SubsetRandomizer,
    UnaryRandomizer,
    make_randomizer,
    randomizer_from_dict,
)
from tests.randomizers.channels import WORD, as_floats, channel, reports_about

COUNTED = [KRRRandomizer, SubsetRandomizer, UnaryRandomizer, LabelRandomizer]


def hadamard(n_cells, n_labels, n_blocks, signed=None):
    return lambda epsilon: HadamardRandomizer(epsilon, n_cells, n_labels, n_blocks=n_blocks, signed=signed)


def subset(n_cells, n_labels, size):
    return lambda epsilon: SubsetRandomizer(epsilon, n_cells, n_labels, subset_size=size)


def plain(kind, n_cells, n_labels):
    return lambda epsilon: kind(epsilon, n_cells, n_labels)


#: Randomizers of few reports, and how many reports about a category are true.
SMALL = {
    **{
        f"hadamard {n}/{b}": (hadamard(n, 2, b), n // b) for n, b in ((4, 1), (4, 4), (8, 2), (8, 8), (16, 4))
    },
    "hadamard, a padded code": (hadamard(3, 2, 1), 4),
    **{f"hadamard, three labels/{b}": (hadamard(2, 3, b), 8 // b) for b in (1, 2, 4, 8)},
    **{f"hadamard, unsigned/{b}": (hadamard(4, 2, b, False), 8 // b) for b in (1, 2, 4, 8)},
    **{f"krr {n}x{m}": (plain(KRRRandomizer, n, m), 1) for n, m in ((1, 2), (2, 2), (1, 3), (4, 3))},
    **{f"label {m}": (plain(LabelRandomizer, 3, m), 1) for m in (2, 3, 5)},
    **{
        f"subset {n}x{m}, {d}": (subset(n, m, d), math.comb(n * m - 1, d - 1))
        for n, m, d in ((1, 2, 1), (1, 3, 1), (3, 2, 3), (2, 4, 3))
    },
    **{f"unary {n}x{m}": (plain(UnaryRandomizer, n, m), None) for n, m in ((1, 2), (1, 3), (2, 2))},
}


def assert_loss(odds, epsilon):
    """All of epsilon is used, but for the last digits, and no more."""
    with decimal.localcontext(prec=60):
        exact = Fraction(epsilon)
        loss = (decimal.Decimal(odds.numerator) / odds.denominator).ln()
        claimed = decimal.Decimal(exact.numerator) / exact.denominator
        assert loss <= claimed
        assert claimed - loss < decimal.Decimal("1e-12")


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, Fraction(1, 3)])
@pytest.mark.parametrize("case", SMALL)
def test_epsilon_by_enumeration(case, epsilon):
    make, n_true = SMALL[case]
    randomizer = make(epsilon)
    reports, table = channel(randomizer)
    # Any two categories are compared; of labels alone, any two of one cell.
    within = randomizer.n_labels if randomizer.relation == "label" else randomizer.n_categories
    blocks = np.arange(randomizer.n_categories) // within
    for block in np.unique(blocks):
        columns = [*zip(*(table[k] for k in np.flatnonzero(blocks == block)), strict=True)]
        possible = [column for column in columns if any(column)]
        assert max(max(column) / min(column) for column in possible) == randomizer.odds
        # Of a label alone, the cell is sent as it is.
        assert len(possible) == len(reports) // len(np.unique(blocks))
    assert_loss(randomizer.odds, epsilon)
    if n_true is not None:
        counts = {len(reports_about(randomizer, k)[0]) for k in range(randomizer.n_categories)}
        assert counts == {n_true}


@pytest.mark.statistical
@pytest.mark.parametrize(
    "case",
    ["hadamard 8/2", "hadamard 4/4", "krr 4x3", "label 3", "subset 3x2, 3", "subset 2x4, 3", "unary 2x2"],
)
def test_frequencies_are_the_enumerated_probabilities(assert_fits, case):
    randomizer = SMALL[case][0](1.0)
    reports, table = channel(randomizer)
    place = {report.tobytes(): k for k, report in enumerate(reports)}
    for category in (0, randomizer.n_categories // 2, randomizer.n_categories - 1):
        sent = randomizer.randomize(np.full(200_000, category), random_state=category)
        kinds, times = np.unique(sent.ravel(), return_counts=True)
        seen = np.zeros(len(reports))
        seen[[place[kind.tobytes()] for kind in kinds]] = times
        expected = as_floats(table)[category]
        assert not seen[expected == 0].any()
        assert_fits(f"{case}, {category}", seen[expected > 0], expected[expected > 0])


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("case", SMALL)
def test_unbiased_with_the_stated_variance_by_enumeration(case, epsilon):
    """All reports of one client of every category; clients are independent, so their variances add up."""
    randomizer = SMALL[case][0](epsilon)
    (n_cells, n_labels), (reports, table) = (randomizer.n_cells, randomizer.n_labels), channel(randomizer)
    table = as_floats(table)
    counts = [randomizer.aggregate(reports[k : k + 1]) for k in range(len(reports))]
    estimates = np.array([randomizer.estimate(count, 1) for count in counts])
    categories = np.eye(n_cells * n_labels).reshape(-1, n_cells, n_labels)
    if n_labels == 2:
        truth, pairs = categories[..., 1] - categories[..., 0], estimates[..., np.newaxis]
    else:
        several = itertools.combinations(range(n_labels), 2)
        truth, pairs = categories, np.stack([estimates[..., a] - estimates[..., b] for a, b in several], -1)
    np.testing.assert_allclose(np.tensordot(table, estimates, 1), truth, atol=1e-9)
    if (cells := randomizer.estimate_cells(counts[0], 1)) is not None:
        cells = np.array([randomizer.estimate_cells(count, 1) for count in counts])
        np.testing.assert_allclose(table @ cells, categories.sum(axis=-1), atol=1e-9)
    variances = (np.tensordot(table, pairs**2, 1) - np.tensordot(table, pairs, 1) ** 2).mean(axis=-1)
    clients = np.random.default_rng(0).integers(9, size=(n_cells, n_labels))
    found = np.tensordot(clients.ravel(), variances, 1)
    np.testing.assert_allclose(randomizer.variance(clients.sum(), clients), found, rtol=1e-9, atol=1e-9)
    if not isinstance(randomizer, HadamardRandomizer) or randomizer.n_padded == randomizer._n_codes:
        np.testing.assert_allclose(randomizer.variance(1), variances.mean(axis=0), rtol=1e-9)
        even = [np.full(n_cells, 2 * n_labels), np.full((n_cells, n_labels), 2)]
        for cells in even:
            n = cells.sum()
            np.testing.assert_allclose(randomizer.variance(n), randomizer.variance(n, cells))


def exact_variance(randomizer):
    """Of one report about a difference, for even categories, in fractions."""
    n_cells, k, own = randomizer.n_cells, randomizer.n_categories, Fraction(randomizer.threshold, WORD)
    if isinstance(randomizer, HadamardRandomizer):
        e, b = randomizer.odds, randomizer.n_blocks
        a = (e + 2 * b - 1) / (e - 1) ** 2
        return a * ((e + 1) / b + 2 * (1 - Fraction(1, b))) - Fraction(1, n_cells)
    if isinstance(randomizer, UnaryRandomizer):
        other = 1 - own
        mean, involved, rest = Fraction(1, 2) - other, other * (1 - other) + Fraction(1, 4), 2 * other * own
    elif isinstance(randomizer, SubsetRandomizer):
        d = randomizer.subset_size
        alone = own * Fraction(k - d, k - 1)  # own in, another given one out
        reverse = (1 - own) * Fraction(d, k - 1)
        mean, involved = alone - reverse, alone + reverse - (alone - reverse) ** 2
        with_own, without = own * (d - 1) * (k - d), (1 - own) * d * (k - 1 - d)
        rest = 2 * (with_own + without) / ((k - 1) * (k - 2)) if k > 2 else Fraction(0)
    else:
        k = randomizer.n_answers
        other = (1 - own) / (k - 1)
        mean, involved, rest = own - other, own + other - (own - other) ** 2, 2 * other
    share = Fraction(2, k)
    variance = (share * involved + (1 - share) * rest) / mean**2
    return variance / n_cells if randomizer.relation == "label" else variance


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), 1, 20, 38, 45, 200])
@pytest.mark.parametrize(
    "make",
    [
        *(plain(kind, n, m) for kind in COUNTED for n, m in ((1, 2), (2, 3), (4096, 5))),
        *(hadamard(n, 2, b) for n, b in ((1, 1), (2, 1), (8, 4), (4096, 4096))),
    ],
)
def test_variance_keeps_its_digits_at_any_epsilon(make, epsilon):
    found = make(epsilon).variance(1)[0]
    assert found == pytest.approx(float(exact_variance(make(epsilon))), rel=1e-12)
    assert found > 0


def test_a_tiny_epsilon_has_a_finite_variance():
    for counts in (None, [1, 0, 0, 0]):
        np.testing.assert_allclose(HadamardRandomizer(1e-15, 4).variance(1, counts), 4e30, rtol=0.01)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 6.0, 12.0])
def test_blocks_and_sizes_are_those_of_the_least_variance(epsilon):
    for n_cells, n_labels in ((1, 2), (1, 3), (2, 3), (16, 2), (20, 3), (100, 2)):
        best = HadamardRandomizer(epsilon, n_cells, n_labels)
        blocks = [1 << k for k in range(best.n_padded.bit_length())]
        others = [HadamardRandomizer(epsilon, n_cells, n_labels, n_blocks=b) for b in blocks]
        if n_labels == 2:
            assert best.variance(1)[0] <= min(one.variance(1)[0] for one in others) * (1 + 1e-12)
        best = SubsetRandomizer(epsilon, n_cells, n_labels)
        sizes = range(1, best.n_categories // 2 + 1)
        others = [SubsetRandomizer(epsilon, n_cells, n_labels, subset_size=size) for size in sizes]
        assert best.variance(1)[0] <= min(one.variance(1)[0] for one in others) * (1 + 1e-12)


def test_a_large_epsilon_tells_the_truth():
    table = np.array([[120, 30, 0], [0, 0, 0], [1, 2, 7], [40, 160, 90]])
    categories = np.repeat(np.arange(table.size), table.ravel())
    for kind in (*COUNTED, HadamardRandomizer):
        randomizer = kind(1000.0, 4, 3)
        counts = randomizer.aggregate(randomizer.randomize(categories))
        # The own bit of unary reports stays a coin: 6.5 standard deviations of a binomial.
        error = 6.5 * np.sqrt(table) if kind is UnaryRandomizer else 0
        assert (np.abs(randomizer.estimate(counts, 450) - table) <= error + 1e-6).all()


def test_the_label_alone_gives_the_cells_exactly():
    randomizer = LabelRandomizer(0.01, 4, 3)
    categories = np.array([0, 1, 2, 2, 9, 11, 11, 5])
    counts = randomizer.aggregate(randomizer.randomize(categories, random_state=1))
    assert randomizer.estimate_cells(counts, 8).tolist() == [4, 1, 0, 3]
    np.testing.assert_allclose(randomizer.estimate(counts, 8).sum(axis=1), [4, 1, 0, 3])


def test_two_bytes_while_they_suffice():
    for kind, most in ((HadamardRandomizer, 2**15), (KRRRandomizer, 2**15)):
        narrow, wide = kind(1.0, most), kind(1.0, most + 1)
        assert (narrow.report_dtype, wide.report_dtype) == (np.uint16, np.uint32)
        for randomizer in (narrow, wide):
            reports = randomizer.randomize([0, randomizer.n_categories - 1], random_state=0)
            assert reports.dtype == randomizer.report_dtype
            assert np.abs(randomizer.aggregate(reports)).sum() in (0, 2)
    assert KRRRandomizer(1000, 2**15 + 1).randomize([0, 2**16 + 1]).tolist() == [0, 2**16 + 1]


def test_signed_reports_tell_nothing_of_how_full_a_cell_is():
    assert HadamardRandomizer(2.0, 3).estimate_cells(np.zeros(4, dtype=np.int64), 0) is None
    counted = make_randomizer("auto", 1.0, 64, counts_cells=True)
    assert counted.estimate_cells(counted.simulate(np.arange(128), 0), 128) is not None
    unsigned = HadamardRandomizer(1.0, 4, signed=False)
    again = randomizer_from_dict(json.loads(json.dumps(unsigned.to_dict())))
    assert again.signed is False
    assert again.specification == unsigned.specification != HadamardRandomizer(1.0, 4).specification
