# SPDX-License-Identifier: BSD-3-Clause
"""What every randomizer does: unbiased, the stated variance, data-independent draws, clear refusals."""

import itertools
import json
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from skprivate.randomizers import (
    HadamardRandomizer,
    KRRRandomizer,
    LabelRandomizer,
    LaplaceRandomizer,
    SignedLaplaceRandomizer,
    SubsetRandomizer,
    UnaryRandomizer,
    _interface,
    randomizer_from_dict,
)
from tests.marks import slow

pytestmark = pytest.mark.statistical

COUNTED = [KRRRandomizer, SubsetRandomizer, UnaryRandomizer, LabelRandomizer]
SEVERAL = [HadamardRandomizer, *COUNTED]
NOISY = [LaplaceRandomizer, SignedLaplaceRandomizer]
# Clients by cell and label: an empty cell, a full one, uneven labels.
TABLE = np.array([[120, 30, 0, 50, 10], [0, 0, 0, 0, 0], [1, 2, 7, 0, 0], [40, 160, 90, 0, 30]])


def spread(table):
    return np.repeat(np.arange(table.size), table.ravel())


def estimates_of(randomizer, table, runs, simulate=False):
    generator = np.random.default_rng(3)
    categories, n = spread(table), int(table.sum())
    for _ in range(runs):
        if simulate:
            counts = randomizer.simulate(categories, generator)
        else:
            counts = randomizer.aggregate(randomizer.randomize(categories, generator))
        yield randomizer.estimate(counts, n), randomizer.estimate_cells(counts, n)


def check_moments(randomizer, table, runs, simulate=False):
    """Means and variances within 6.5 standard errors: a false alarm below 1e-10 each, 1e-8 a test."""
    drawn = list(estimates_of(randomizer, table, runs, simulate))
    estimates = np.array([estimate for estimate, _ in drawn])
    if randomizer.n_labels == 2:
        truth = table[:, 1] - table[:, 0]
        pairs = estimates[:, :, None]
    else:
        truth = table
        several = itertools.combinations(range(randomizer.n_labels), 2)
        pairs = np.stack([estimates[:, :, a] - estimates[:, :, b] for a, b in several], axis=-1)
    error = estimates.std(axis=0, ddof=1) / np.sqrt(runs)
    assert (np.abs(estimates.mean(axis=0) - truth) <= 6.5 * error + 1e-9).all()
    stated = randomizer.variance(int(table.sum()), table)
    seen = pairs.var(axis=0, ddof=1).mean(axis=-1)
    assert (np.abs(seen - stated) <= 6.5 * np.sqrt(2.2 / runs) * stated + 1e-9).all()
    if drawn[0][1] is not None:
        cells = np.array([cell for _, cell in drawn])
        error = cells.std(axis=0, ddof=1) / np.sqrt(runs)
        assert (np.abs(cells.mean(axis=0) - table.sum(axis=1)) <= 6.5 * error + 1e-9).all()


@pytest.mark.parametrize("epsilon", [slow(0.5), 2.0])
@pytest.mark.parametrize("n_labels", [slow(2), 3, slow(5)])
@pytest.mark.parametrize("kind", SEVERAL)
def test_mean_and_full_variance(kind, n_labels, epsilon) -> None:
    check_moments(kind(epsilon, 4, n_labels), TABLE[:, :n_labels], runs=2500)


@pytest.mark.parametrize(("n_labels", "n_blocks"), [(3, 2), (3, 4), (5, 1), (5, 8)])
def test_mean_and_full_variance_where_blocks_cut_cells(n_labels, n_blocks) -> None:
    check_moments(HadamardRandomizer(1.5, 4, n_labels, n_blocks=n_blocks), TABLE[:, :n_labels], runs=2500)


@pytest.mark.parametrize("simulate", [False, slow(True)])
@pytest.mark.parametrize("kind", NOISY)
def test_mean_and_variance_of_noisy_vectors(kind, simulate) -> None:
    check_moments(kind(1.0, 4), TABLE[:, :2] // 8, runs=2500, simulate=simulate)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("kind", [UnaryRandomizer, SubsetRandomizer, LabelRandomizer])
def test_a_simulation_has_the_law_of_the_reports(kind, n_labels) -> None:
    check_moments(kind(1.0, 4, n_labels), TABLE[:, :n_labels], runs=2500, simulate=True)


@pytest.mark.parametrize("kind", [*SEVERAL, SignedLaplaceRandomizer, LaplaceRandomizer])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_the_variance_of_even_cells_is_the_full_formula(kind, n_labels) -> None:
    if kind.binary_only and n_labels > 2:
        return
    # With a power of two of codes Hadamard has no padding.
    n_cells = 8 if n_labels == 2 or kind is not HadamardRandomizer else 1
    n_labels = 4 if kind is HadamardRandomizer and n_labels > 2 else n_labels
    randomizer = kind(1.5, n_cells, n_labels)
    for cells in (np.full(n_cells, 25), np.full((n_cells, n_labels), 25 / n_labels)):
        np.testing.assert_allclose(
            randomizer.variance(25 * n_cells), randomizer.variance(25 * n_cells, cells)
        )


def test_labels_matter_where_blocks_cut_cells() -> None:
    # Codes 0..11 in blocks of 4: cell 1 has label 0 in the first block and the others in the second.
    randomizer = HadamardRandomizer(1.5, 4, 3, n_blocks=4)
    crowded = np.zeros((4, 3))
    crowded[0, 0] = 90
    by_label = randomizer.variance(90, crowded)
    assert by_label[1] != pytest.approx(by_label[2])
    with pytest.raises(ValueError, match="cell_counts must have shape"):
        randomizer.variance(90, crowded[:, :2])


@pytest.mark.parametrize("kind", SEVERAL)
@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_draw_looks_at_no_other_clients_category(kind, n_labels) -> None:
    # The words used must not depend on the category, so one client's category moves no other report.
    randomizer = kind(1.0, 5, n_labels)
    n = 200
    first = np.arange(n) % randomizer.n_categories
    for category in range(randomizer.n_categories):
        second = first.copy()
        second[0] = category
        a, b = (randomizer.randomize(c, random_state=8) for c in (first, second))
        np.testing.assert_array_equal(a[1:], b[1:])


@pytest.mark.parametrize("kind", [*SEVERAL, *NOISY])
def test_reports_have_the_declared_form(kind) -> None:
    randomizer = kind(1.0, 5)
    reports = randomizer.randomize(np.arange(10), random_state=0)
    assert reports.dtype == randomizer.report_dtype
    assert reports.shape == (10, *randomizer.report_shape)
    assert reports.nbytes == 10 * randomizer.report_bytes
    # From bytes, unaligned, as a file hands them over.
    moved = np.frombuffer(b"x" + reports.tobytes(), dtype=reports.dtype, offset=1).reshape(reports.shape)
    counts = randomizer.aggregate(moved)
    np.testing.assert_array_equal(counts, randomizer.aggregate(reports))
    assert counts.shape == randomizer.counts_shape
    assert counts.dtype == np.int64
    half = randomizer.aggregate(reports[:3]) + randomizer.aggregate(reports[3:])
    np.testing.assert_array_equal(counts, half)
    empty = randomizer.aggregate(randomizer.randomize([]))
    np.testing.assert_array_equal(empty, np.zeros(randomizer.counts_shape))
    np.testing.assert_array_equal(randomizer.simulate([]), empty)
    np.testing.assert_array_equal(randomizer.estimate(empty, 0), np.zeros(5))


@pytest.mark.parametrize("kind", COUNTED)
def test_a_large_epsilon_tells_the_truth(kind) -> None:
    randomizer = kind(1000.0, 4, 3)
    table = TABLE[:, :3]
    counts = randomizer.aggregate(randomizer.randomize(spread(table)))
    if kind is UnaryRandomizer:
        # The own bit stays a coin: 6.5 standard deviations of a binomial.
        error = np.abs(randomizer.estimate(counts, table.sum()) - table)
        assert (error <= 6.5 * np.sqrt(table) + 1e-9).all()
    else:
        np.testing.assert_allclose(randomizer.estimate(counts, table.sum()), table, atol=1e-6)
        cells = randomizer.estimate_cells(counts, table.sum())
        np.testing.assert_allclose(cells, table.sum(axis=1), atol=1e-6)


@pytest.mark.parametrize("kind", [KRRRandomizer, SubsetRandomizer])
def test_a_simulation_holds_few_reports_at_a_time(kind, monkeypatch) -> None:
    randomizer, sizes, draw = kind(1.0, 20), [], kind._randomize
    monkeypatch.setattr(_interface, "_BYTES_AT_ONCE", 100)

    def watched(self, categories, entropy):
        reports = draw(self, categories, entropy)
        sizes.append(reports.nbytes)
        return reports

    monkeypatch.setattr(kind, "_randomize", watched)
    counts = randomizer.simulate(np.zeros(333, dtype=int))
    assert max(sizes) <= 100
    assert sum(sizes) == 333 * randomizer.report_bytes
    randomizer.estimate(counts, 333)  # checks that the counts are those of 333 reports


@pytest.mark.parametrize("kind", NOISY)
def test_noisy_vectors_are_binary(kind) -> None:
    with pytest.raises(
        ValueError, match=f"Only binary classification is supported by mechanism='{kind.name}'"
    ):
        kind(1.0, 4, 3)


@pytest.mark.parametrize("kind", SEVERAL)
def test_an_epsilon_below_the_resolution_and_a_huge_one(kind) -> None:
    for epsilon in (1e-25, Fraction(1, 10**400)):
        with pytest.raises(ValueError, match="epsilon is too small"):
            kind(epsilon, 3, 3)
    assert kind(Fraction(10**300), 3, 3).randomize([4]).shape[0] == 1


@pytest.mark.parametrize("kind", SEVERAL)
def test_more_categories_than_a_report_can_hold(kind) -> None:
    with pytest.raises(ValueError, match=r"must be at most 2\^3[12]"):
        kind(1.0, 2**31, 3)


@pytest.mark.parametrize("kind", [*SEVERAL, *NOISY])
def test_what_is_not_ours(kind) -> None:
    randomizer, other = kind(1.0, 5), kind(2.0, 5)
    reports = other.randomize([0, 1])
    with pytest.raises(ValueError, match="another specification"):
        randomizer.aggregate(reports, specification=other.specification)
    with pytest.raises(TypeError, match="another specification"):
        randomizer.aggregate(reports.astype(np.float32))
    with pytest.raises(ValueError, match="reports must have shape"):
        randomizer.aggregate(reports[..., None])
    with pytest.raises(ValueError, match="reports must have shape"):
        randomizer.aggregate(reports[()][0] if reports.ndim > 1 else np.array(reports[0]))
    with pytest.raises(ValueError, match=r"categories must lie in 0\.\.9"):
        randomizer.randomize([10])
    with pytest.raises(ValueError, match="counts must be the integers"):
        randomizer.estimate(np.zeros(3, dtype=int), 0)


@pytest.mark.parametrize("kind", SEVERAL)
def test_counts_that_cannot_be(kind) -> None:
    randomizer = kind(1.0, 5)
    counts = randomizer.aggregate(randomizer.randomize(np.zeros(7, dtype=int), random_state=1))
    randomizer.estimate(counts, 7)
    for wrong, n in ((counts, 0), (counts - 100, 7), (counts + 100, 7)):
        with pytest.raises(ValueError, match="cannot come from n reports"):
            randomizer.estimate(wrong, n)
        with pytest.raises(ValueError, match="cannot come from n reports"):
            randomizer.estimate_cells(wrong, n)


@pytest.mark.parametrize("kind", [*SEVERAL, *NOISY])
def test_a_description_restores_the_randomizer(kind) -> None:
    randomizer = kind(0.1, 6)
    restored = randomizer_from_dict(json.loads(json.dumps(randomizer.to_dict())))
    assert type(restored) is kind
    assert restored.specification == randomizer.specification
    assert vars(restored).keys() == vars(randomizer).keys()
    categories = np.arange(12)
    np.testing.assert_array_equal(restored.randomize(categories, 4), randomizer.randomize(categories, 4))


def test_options_travel() -> None:
    for randomizer in (HadamardRandomizer(1, 8, 3, n_blocks=4), SubsetRandomizer(1, 8, 3, subset_size=5)):
        assert randomizer_from_dict(randomizer.to_dict()).to_dict() == randomizer.to_dict()


def test_every_difference_shows_in_the_specification() -> None:
    made = [
        kind(epsilon, n_cells, n_labels)
        for kind in SEVERAL
        for epsilon in (1.0, 1.5)
        for n_cells in (4, 6)
        for n_labels in (2, 3)
    ]
    made += [HadamardRandomizer(1, 4, n_blocks=4), SubsetRandomizer(1, 6, 3, subset_size=2)]
    assert len({randomizer.specification for randomizer in made}) == len(made)


GOOD = {
    "mechanism": "hadamard",
    "epsilon": "1/2",
    "n_cells": 12,
    "n_labels": 2,
    "n_blocks": 1,
    "signed": True,
}


@pytest.mark.parametrize(
    "change",
    [
        {"mechanism": "laplace"},
        {"mechanism": "auto"},
        {"mechanism": ["hadamard"]},
        {"epsilon": 0.5},
        {"epsilon": "0.5"},
        {"epsilon": "2/4"},
        {"epsilon": "1e999999999"},
        {"epsilon": "1/0"},
        {"epsilon": "-1"},
        {"epsilon": "0"},
        {"n_cells": 12.0},
        {"n_cells": True},
        {"n_cells": "12"},
        {"n_cells": 0},
        {"n_cells": 2**40},
        {"n_labels": 1},
        {"n_labels": None},
        {"n_blocks": 3},
        {"n_blocks": None},
        {"surplus": 1},
        {1: 1},
        {"self": 1},
    ],
    ids=str,
)
def test_other_descriptions_are_refused(change) -> None:
    randomizer_from_dict(GOOD)
    with pytest.raises(ValueError, match="does not describe a randomizer"):
        randomizer_from_dict({**GOOD, **change})


@pytest.mark.parametrize("missing", GOOD)
def test_a_description_lacks_nothing(missing) -> None:
    with pytest.raises(ValueError, match="does not describe a randomizer"):
        randomizer_from_dict({key: value for key, value in GOOD.items() if key != missing})


@pytest.mark.parametrize("wrong", [None, 3, "hadamard", [1], [("mechanism", "krr")]])
def test_a_description_is_a_dictionary(wrong) -> None:
    with pytest.raises(ValueError, match="does not describe a randomizer"):
        randomizer_from_dict(wrong)


def test_a_client_needs_numpy_only() -> None:
    code = (
        "import sys, skprivate.randomizers as r\n"
        "made = [r.make_randomizer(m, 1.0, 4) for m in ('auto', 'subset', 'unary', 'laplace')]\n"
        "[m.estimate(m.simulate([0, 7]), 2) for m in [*made, r.LabelRandomizer(1.0, 4)]]\n"
        "print({'sklearn', 'scipy', 'joblib'} & set(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"
