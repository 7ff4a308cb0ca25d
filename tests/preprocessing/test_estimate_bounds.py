# SPDX-License-Identifier: BSD-3-Clause
"""Paid bounds: what the grid says, sensitivity, an audit, the ledger, bad input."""

import copy
import itertools
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import skops.io
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline

import skprivate
from skprivate import (
    BoundsScaler,
    DPLogLocationScaleRegressor,
    DPTreeClassifier,
    LocallyPrivateTreeClassifier,
    MomentAccumulator,
    PrivacyLedger,
    TQMATransformer,
    privacy_report,
)
from skprivate.base import trusted_types
from skprivate.exceptions import BudgetExceededError
from skprivate.model_selection import PrivateGridSearch
from skprivate.noise import DiscreteLaplaceMechanism
from skprivate.preprocessing import BoundsAccumulator, EstimatedBounds, estimate_bounds
from skprivate.preprocessing._estimate_bounds import _FALSE_ALARM, _high_end, _low_end, plan_bounds, threshold
from skprivate.rounds import TableSource
from skprivate.rounds._plans.cells import N_OCTAVES, CellsPlan, OctaveAxis
from skprivate.rounds._rows import PreparedRows

WIDEST = 2.0**100
# Every kind of number: zeros, the smallest, powers of two and their neighbours, beyond the grid.
EXTREMES = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    2.0**-100,
    2.0**-99,
    1.0,
    np.nextafter(1, 2),
    -1.0,
    -3.0,
    1e30,
    -1e300,
]


def count_bins(table):
    """Return the exact counts of every column's bins."""
    plan = CellsPlan(tuple((OctaveAxis(column),) for column in range(table.shape[1])))
    return plan.sums(PreparedRows(table)).reshape(table.shape[1], -1)


def bin_of(value):
    return int(np.argmax(count_bins(np.array([[value]]))[0]))


def make_rows(n=20_000):
    rng = np.random.default_rng(0)
    return np.column_stack(
        [
            rng.normal(size=n),
            rng.uniform(20, 100, size=n),
            -rng.exponential(1000, size=n),
            rng.integers(0, 2, size=n),
            np.where(rng.uniform(size=n) < 1e-4, 5.0, 0.0),
        ]
    )


def test_a_bin_holds_its_numbers_and_the_ends_are_powers_of_two():
    for value in (1.0, 1.5, 2.0, 0.3, 2.0**-99, 2.0**100, 7e20):
        octave = np.ceil(np.log2(value))
        assert (_low_end(bin_of(value)), _high_end(bin_of(value))) == (2.0 ** (octave - 1), 2.0**octave)
        assert (_low_end(bin_of(-value)), _high_end(bin_of(-value))) == (
            -(2.0**octave),
            -(2.0 ** (octave - 1)),
        )
    assert _low_end(bin_of(0.0)) == _high_end(bin_of(0.0)) == 0.0
    # Beyond the grid: the last bin, and the bin of zero.
    assert bin_of(1e300) == bin_of(2.0**100) == N_OCTAVES - 1
    assert bin_of(-1e300) == 0
    assert bin_of(5e-324) == bin_of(-(2.0**-100)) == bin_of(0.0)


def test_bounds_hold_the_stated_share_and_are_not_far_from_the_data():
    X = np.random.default_rng(1).standard_t(3, size=(50_000, 4)) * [1e-8, 1.0, 30.0, 1e12]
    lower, upper = estimate_bounds(X, 1.0, random_state=0)
    inside = np.mean((lower <= X) & (upper >= X), axis=0)
    # Half of .001 at either end, and what is in bins of too few rows: 8 log(401 * 4 / 1e-6) = 170 of 50,000.
    assert (inside > 1 - 0.001 - 2 * 2 * 170 / 50_000).all()
    assert (upper <= 8 * np.quantile(X, 0.999, axis=0)).all()


def test_coverage_leaves_out_a_rare_end():
    X = np.concatenate([np.full(9000, 3.0), np.full(1000, 1e6), np.full(400, -1e6)])
    assert estimate_bounds(X, 5.0, coverage=1.0, random_state=0) == (-(2.0**20), 2.0**20)
    assert estimate_bounds(X, 5.0, coverage=0.9, random_state=0) == (2.0, 2.0**20)
    assert estimate_bounds(X, 5.0, coverage=0.5, random_state=0) == (2.0, 4.0)


def test_one_dimension_gives_floats_and_two_give_arrays():
    y = np.linspace(100, 1000, 5000)
    lower, upper = estimate_bounds(y, 1.0)
    assert type(lower) is type(upper) is float
    assert (lower, upper) == (64.0, 1024.0)
    lower, upper = estimate_bounds(y.reshape(-1, 1), 1.0)
    assert (lower.shape, upper.shape) == ((1,), (1,))
    assert BoundsScaler((lower, upper)).fit_transform(y.reshape(-1, 1)).max() < 1


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_and_columns_are_read(frame):
    X = make_rows(5000)
    # Their order plays no part.
    table = frame({f"c{i}": column for i, column in enumerate(X[::-1].T)})
    expected = estimate_bounds(X, 1.0, random_state=3)
    with skprivate.config_context(strict=True, allow_seeds=True):
        np.testing.assert_array_equal(estimate_bounds(X, 1.0, random_state=3), expected)
    np.testing.assert_array_equal(estimate_bounds(table, 1.0, random_state=3), expected)
    assert estimate_bounds(table["c1"], 1.0, random_state=3) == estimate_bounds(X[:, 1], 1.0, random_state=3)


def test_nothing_stands_out_gives_the_widest_bounds_and_a_warning():
    # 60 rows in one bin, or 2 in each of 30: the threshold is 0.75 log(401 * 3 / 1e-6) = 16 rows.
    spread = np.ldexp(1.0, np.arange(60) // 2)
    X = np.column_stack([spread, np.full(60, 50.0), -spread])
    with pytest.warns(UserWarning, match="stands out of the noise in column 0, 2: its bounds") as caught:
        lower, upper = estimate_bounds(X, 8.0, random_state=0)
    assert caught[0].filename == __file__
    assert lower.tolist() == [-WIDEST, 32, -WIDEST]
    assert upper.tolist() == [WIDEST, 64, WIDEST]


def test_empty_bins_stand_out_less_often_than_stated():
    scale, n_features = 5, 3
    least = int(np.ceil(threshold(scale, n_features)))
    # P(noise >= m) of discrete Laplace noise, exactly.
    ratio = np.exp(-1 / scale)
    assert N_OCTAVES * n_features * ratio**least / (1 + ratio) < _FALSE_ALARM
    assert N_OCTAVES * n_features * ratio ** (least - 10) / (1 + ratio) > _FALSE_ALARM


@pytest.mark.parametrize(("relation", "most"), [("replace-one", 2), ("add-remove", 1)])
@pytest.mark.parametrize("rows_per_unit", [1, 2])
def test_sensitivity_is_the_largest_move_over_extreme_neighbours(relation, most, rows_per_unit):
    rows = [list(pair) for pair in itertools.product(EXTREMES[::2], EXTREMES[1::2])]
    rest = np.zeros((3, 2))
    plan = plan_bounds(2, Fraction(3, 2), relation, rows_per_unit)
    exponent, mechanism = plan.exponent, plan.mechanism
    moves = []
    for old, new in itertools.combinations_with_replacement(rows, 2):
        before = count_bins(np.vstack([rest, [old] * rows_per_unit])) << exponent
        # A neighbour has other rows, fewer of them, or with add-remove none.
        kept = range(rows_per_unit + 1) if relation == "replace-one" else (0,)
        for count in kept:
            after = count_bins(np.vstack([rest, *([new],) * count])) << exponent
            moves.append(int(np.abs(before - after).sum()))
    assert max(moves) == mechanism.sensitivity == (most * 2 * rows_per_unit) << exponent
    assert max(moves) / Fraction(mechanism.scale) <= Fraction(3, 2)


def audit(epsilon_lower_bound, trials=2500):
    """Counts of an event of the bounds on neighbours, one of which has a row more; the epsilon they prove."""
    plan, generator = plan_bounds(1, Fraction(3, 2), "add-remove", 1), np.random.default_rng(15)
    spent = plan.describe("add-remove", False, "seeded")
    rows = int(threshold(plan.mechanism.scale, 1) / plan.mechanism.sensitivity)

    def count(number):
        # Below the threshold the event has the pair's full loss.
        counts = count_bins(np.concatenate([np.full(100, 3.0), np.full(number, 100.0)])[:, None])
        released = (plan.read(plan.randomize(counts, generator), 1.0, spent) for _ in range(trials))
        return sum(np.array_equal(bounds, ([2.0], [128.0])) for bounds in released)

    hits = [count(rows), count(rows - 1)]
    # At this confidence the right noise fails once in 1e7 runs.
    return hits, epsilon_lower_bound(*hits, trials, confidence=1 - 1e-7)


@pytest.mark.slow
def test_the_audit_passes_the_noise_and_catches_half_of_it(epsilon_lower_bound, monkeypatch):
    hits, right = audit(epsilon_lower_bound)
    print(f"right noise: {hits}, epsilon >= {right:.3f}")
    assert 0.8 < right <= 1.5
    randomize = DiscreteLaplaceMechanism.randomize

    def half(self, values, entropy):
        return randomize(DiscreteLaplaceMechanism.from_scale(self.scale // 2), values, entropy)

    monkeypatch.setattr(DiscreteLaplaceMechanism, "randomize", half)
    hits, wrong = audit(epsilon_lower_bound)
    print(f"half the noise: {hits}, epsilon >= {wrong:.3f}")
    assert wrong > 1.5


def test_what_was_spent():
    X = make_rows()
    _, spent = estimate_bounds(X, 0.3, return_spent=True)
    assert (spent.private, spent.relation, spent.unit) == (True, "replace-one", "row")
    assert spent.epsilon <= Fraction(0.3)
    assert float(spent.epsilon) == pytest.approx(0.3, rel=1e-6)
    assert spent.epsilon == Fraction(spent.sensitivity) / spent.noise_scale
    assert spent.sensitivity % (2 * X.shape[1]) == 0
    assert pickle.loads(pickle.dumps(spent)) == spent
    _, same = estimate_bounds(X, 0.3, return_spent=True, max_rows_per_group=5)
    assert (same.sensitivity, same.max_rows_per_unit) == (spent.sensitivity, 1)
    _, other = estimate_bounds(X, 0.3, return_spent=True, relation="add-remove")
    assert (other.relation, other.noise_scale / spent.noise_scale) == (
        "add-remove",
        pytest.approx(0.5, rel=1e-6),
    )


def test_the_ledger_is_charged_before_noise_is_drawn(tmp_path, monkeypatch):
    X = make_rows(5000)
    ledger = PrivacyLedger(tmp_path / "ledger.db", epsilon=1.5)
    estimate_bounds(X, 1.0, ledger)
    (entry,) = ledger.entries()
    assert (entry.estimator, entry.epsilon, entry.private) == ("estimate_bounds", 1, True)

    def fail(*_):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(DiscreteLaplaceMechanism, "randomize", fail)
    with pytest.raises(BudgetExceededError):
        estimate_bounds(X, 1.0, ledger)
    assert ledger.spent()[0] == 1
    with pytest.raises(AssertionError, match="noise was drawn"):
        estimate_bounds(X, 0.5, ledger)
    assert ledger.spent()[0] == Fraction(3, 2)


# Bounds that carry what was spent on them

PAIRS = np.random.default_rng(3).uniform(size=(3000, 2))
LABELS = (PAIRS[:, 0] > 0.5).astype(int)
TIMES = np.exp(PAIRS[:, 1] - 0.5)
PAID_FOR = "(estimated for epsilon = 1, charged separately)"


@pytest.fixture(scope="module")
def estimates():
    return {seed: estimate_bounds(PAIRS, 1.0, random_state=seed) for seed in (None, 0)}


def test_an_estimate_is_a_pair_that_copies_carry_on(estimates):
    bounds = estimates[None]
    lower, upper = bounds
    assert lower is bounds.lower
    assert upper is bounds[1] is bounds.upper
    assert len(bounds) == 2
    assert bounds == (lower, upper) == tuple(bounds)
    file = skops.io.dumps(BoundsScaler(bounds))
    assert set(skops.io.get_untrusted_types(data=file)) <= set(trusted_types("BoundsScaler"))
    copies = [skops.io.loads(file, trusted=trusted_types("BoundsScaler")).bounds]
    copies += [pickle.loads(pickle.dumps(bounds)), copy.copy(bounds), copy.deepcopy(bounds)]
    copies += [
        clone(bounds, safe=False),
        clone(BoundsScaler(bounds)).bounds,
        next(iter(ParameterGrid({"b": [bounds]})))["b"],
    ]
    for one in copies:
        assert type(one) is EstimatedBounds
        assert (one.spent, one.release_id) == (bounds.spent, bounds.release_id)
        np.testing.assert_array_equal(one, bounds)
    assert estimate_bounds(PAIRS, 1.0).release_id != bounds.release_id
    # What is taken out of the pair is as if it were public.
    assert type(bounds[:]) is tuple
    assert repr(EstimatedBounds(0.0, 1.0, bounds.spent)) == "EstimatedBounds(0.0, 1.0, epsilon=1)"
    assert repr(EstimatedBounds(0, 1, estimates[0].spent)) == "EstimatedBounds(0, 1, epsilon=1, not private)"


def fits(bounds):
    """Fitted takers of bounds, and the parameter that each takes them by."""
    yield "bounds", DPTreeClassifier(bounds=bounds, classes=[0, 1]).fit(PAIRS, LABELS)
    yield "bounds", LocallyPrivateTreeClassifier(bounds=bounds, classes=[0, 1]).fit(PAIRS, LABELS)
    life = DPLogLocationScaleRegressor(bounds_y=(0.1, 9.0))
    yield "bounds_X", clone(life).set_params(bounds_X=bounds).fit(PAIRS, TIMES)
    columns = {0: EstimatedBounds(bounds[0][0], bounds[1][0], bounds.spent, bounds.release_id), 1: (0, 1)}
    yield "bounds_X", clone(life).set_params(bounds_X=columns).fit(PAIRS, TIMES)
    moments = MomentAccumulator(bounds, (0.1, 9.0), max_rows=5000).update(PAIRS, TIMES)
    yield "bounds_X", MomentAccumulator.from_bytes(moments.to_bytes()).release(clone(life))
    pair = MomentAccumulator((0, 1), EstimatedBounds(0.1, 9.0, bounds.spent), max_rows=5000).update(
        PAIRS, TIMES
    )
    yield "bounds_y", pickle.loads(pickle.dumps(pair)).release(clone(life))


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
@pytest.mark.parametrize("seed", [None, 0])
def test_what_takes_an_estimate_inherits_its_cost_and_its_seed(estimates, seed):
    for name, model in fits(estimates[seed]):
        spent, report = model.privacy_spent_, privacy_report(model)
        assert f"{name} {PAID_FOR}" in spent.public_inputs
        assert spent.unprotected[name] == "estimated, and charged separately"
        assert report.epsilon == spent.epsilon + 1
        assert (spent.epsilon, spent.private, report.private) == (1, seed is None, seed is None)
        if seed is not None:
            assert any(f"{name} were estimated without privacy" in reason for reason in spent.reasons)


def test_an_estimate_counts_once_however_many_steps_take_it(estimates):
    bounds = estimates[None]
    pipe = make_pipeline(BoundsScaler(bounds), DPTreeClassifier(bounds=(0, 1), classes=[0, 1]))
    pipe = make_pipeline(TQMATransformer(bounds=bounds), *(step for _, step in pipe.steps)).fit(PAIRS, LABELS)
    report = privacy_report(pickle.loads(pickle.dumps(pipe)))
    assert [step.status for step in report.steps] == ["covered before", "stateless", "stateless", "covered"]
    assert (report.epsilon, report.effective_epsilon, report.private) == (2, 2.0, True)
    assert "tqmatransformer > bounds (estimate_bounds): covered before: charged separately" in str(report)
    assert skprivate.accounting.PrivacyReport.from_dict(report.to_dict()) == report


def test_estimates_do_not_charge_a_ledger_twice(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger")
    bounds = estimate_bounds(PAIRS, 0.5, ledger)
    model = DPTreeClassifier(bounds=bounds, classes=[0, 1], ledger=ledger).fit(PAIRS, LABELS)
    assert ledger.spent()[0] == privacy_report(model).epsilon == Fraction(3, 2)


@pytest.mark.parametrize("seed", [None, 0])
def test_searches_inherit_too(estimates, seed):
    bounds = estimates[seed]
    tree = DPTreeClassifier(classes=[0, 1], bounds=(0, 1))
    for search in (
        PrivateGridSearch(clone(tree).set_params(bounds=bounds), {"prune": [True]}),
        PrivateGridSearch(tree, {"bounds": [bounds]}),
        PrivateGridSearch(make_pipeline(BoundsScaler(bounds), tree), {"dptreeclassifier__prune": [True]}),
    ):
        fitted = search.fit(PAIRS, LABELS)
        report = privacy_report(fitted)
        assert (fitted.privacy_spent_.private, report.private) == (seed is None, seed is None)
        assert report.epsilon == fitted.privacy_spent_.epsilon + 1


# Tables that are elsewhere

NAMES = ["load", "heat", "age"]
ROWS = pd.DataFrame(np.random.default_rng(0).normal(size=(600, 3)), columns=NAMES)


def test_a_source_gives_the_bits_of_a_table():
    want = estimate_bounds(ROWS, 20.0, random_state=5)
    tables = [pa.Table.from_pandas(part) for part in (ROWS[:50], ROWS[50:300], ROWS[300:])]
    got = estimate_bounds(TableSource(tables, features=NAMES), 20.0, random_state=5)
    np.testing.assert_array_equal(got, want)
    assert str(got.spent) == str(want.spent)


def test_a_source_of_persons_gives_the_bits_of_a_table():
    persons = np.random.default_rng(1).integers(0, 150, 600)
    options = {"random_state": 5, "max_rows_per_group": 2}
    want = estimate_bounds(ROWS, 20.0, groups=persons, **options)
    tables = [ROWS.assign(person=persons)[persons % 3 == part] for part in range(3)]
    source = TableSource(tables, features=NAMES, groups="person", groups_within_tables=True)
    np.testing.assert_array_equal(estimate_bounds(source, 20.0, **options), want)


def test_an_accumulator_gives_the_bits_of_a_table():
    want = estimate_bounds(ROWS, 20.0, random_state=5)
    first, second = BoundsAccumulator(NAMES), BoundsAccumulator(NAMES)
    first.update(ROWS[:100], batch_id="a").update(ROWS[100:150])
    second.update(pa.Table.from_pandas(ROWS[150:]), batch_id="b")
    merged = BoundsAccumulator.from_bytes(first.to_bytes()).merge(second)
    np.testing.assert_array_equal(merged.release(20.0, random_state=5), want)
    with pytest.raises(RuntimeError, match="once"):
        merged.release(1.0)


def test_seeded_calls_repeat_and_are_not_private_and_others_do_neither():
    # The threshold is log(401 / 1e-6) = 19.8 rows of 100: half of the runs take them.
    X = np.concatenate([np.full(500, 3.0), np.full(20, 100.0)])
    for seed in range(30):
        first, again = (estimate_bounds(X, 2.0, coverage=1.0, random_state=seed) for _ in range(2))
        assert first == again
    _, spent = estimate_bounds(X, 2.0, random_state=5, return_spent=True)
    assert (spent.claim, spent.effective_epsilon) == ("not-private", np.inf)
    free = set()
    for _ in range(50):
        np.random.seed(0)  # noqa: NPY002
        free.add(estimate_bounds(X, 2.0, coverage=1.0))
    # All alike with probability below 2 * 0.6^50 = 2e-11.
    assert free == {(2.0, 4.0), (2.0, 128.0)}
