# SPDX-License-Identifier: BSD-3-Clause
"""What every randomizer does: unbiased, the stated variance, data-independent draws, clear refusals."""

import json

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


def draw_counts(randomizer, categories, simulate, generator):
    if simulate:
        return randomizer.simulate(categories, generator)
    return randomizer.aggregate(randomizer.randomize(categories, generator))


@pytest.mark.parametrize(
    ("randomizer", "table", "simulate"),
    [
        *((kind(1.0, 4), TABLE[:, :2] // 8, False) for kind in NOISY),
        *(slow(kind(1.0, 4), TABLE[:, :2] // 8, True) for kind in NOISY),
        *((UnaryRandomizer(1.0, 4, m), TABLE[:, :m], True) for m in (2, 3)),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_mean_and_variance_of_noise_and_of_simulations(randomizer, table, simulate) -> None:
    """Within 6.5 standard errors: a false alarm below 1e-10 each, 1e-8 a test. Others are enumerated."""
    generator, runs, n = np.random.default_rng(3), 2500, int(table.sum())
    categories = np.repeat(np.arange(table.size), table.ravel())
    counts = [draw_counts(randomizer, categories, simulate, generator) for _ in range(runs)]
    estimates = np.array([randomizer.estimate(count, n) for count in counts])
    if randomizer.n_labels == 2:
        truth, pairs = table[:, 1] - table[:, 0], estimates[:, :, None]
    else:
        truth, pairs = table, estimates - np.roll(estimates, 1, axis=2)
    error = estimates.std(axis=0, ddof=1) / np.sqrt(runs)
    assert (np.abs(estimates.mean(axis=0) - truth) <= 6.5 * error + 1e-9).all()
    stated = randomizer.variance(n, table)
    seen = pairs.var(axis=0, ddof=1).mean(axis=-1)
    assert (np.abs(seen - stated) <= 6.5 * np.sqrt(2.2 / runs) * stated + 1e-9).all()
    if randomizer.estimate_cells(counts[0], n) is not None:
        cells = np.array([randomizer.estimate_cells(count, n) for count in counts])
        error = cells.std(axis=0, ddof=1) / np.sqrt(runs)
        assert (np.abs(cells.mean(axis=0) - table.sum(axis=1)) <= 6.5 * error + 1e-9).all()


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


@pytest.mark.parametrize("kind", [KRRRandomizer, SubsetRandomizer])
def test_a_simulation_holds_few_reports_at_a_time(kind, monkeypatch) -> None:
    randomizer, sizes, draw = kind(1.0, 20), [], kind._randomize
    monkeypatch.setattr(_interface, "_BYTES_AT_ONCE", 100)

    def watched(self, categories, entropy):
        reports = draw(self, categories, entropy)
        sizes.append(reports.nbytes)
        return reports

    monkeypatch.setattr(kind, "_randomize", watched)
    categories = np.arange(40).repeat(9)
    counts = randomizer.simulate(categories, 5)
    assert max(sizes) <= 100
    assert sum(sizes) == 360 * randomizer.report_bytes
    randomizer.estimate(counts, 360)  # checks that the counts are those of 360 reports
    monkeypatch.undo()
    reports = randomizer.randomize(categories, 5)
    np.testing.assert_array_equal(randomizer.simulate(categories, 5), randomizer.aggregate(reports))


@pytest.mark.parametrize(
    "randomizer",
    [
        *(kind(0.1, 6) for kind in (*SEVERAL, *NOISY)),
        HadamardRandomizer(1, 6, 3, n_blocks=4),
        SubsetRandomizer(1, 6, 3, subset_size=5),
    ],
    ids=lambda randomizer: randomizer.describe(),
)
def test_a_description_restores_the_randomizer(randomizer) -> None:
    restored = randomizer_from_dict(json.loads(json.dumps(randomizer.to_dict())))
    assert type(restored) is type(randomizer)
    assert restored.specification == randomizer.specification
    assert vars(restored).keys() == vars(randomizer).keys()
    categories = np.arange(12)
    np.testing.assert_array_equal(restored.randomize(categories, 4), randomizer.randomize(categories, 4))


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
