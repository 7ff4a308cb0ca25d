# SPDX-License-Identifier: BSD-3-Clause
"""Accumulators: the moments of `fit`, whoever gathers them; nothing twice or by halves, released once."""

import contextlib
import copy
import pickle
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from skprivate import DPLogLocationScaleRegressor, PrivacyLedger
from skprivate.exceptions import UtilityWarning
from skprivate.linear_model import _accumulator
from skprivate.linear_model._accumulator import MomentAccumulator

N, D = 400, 3
BOUNDS_X, BOUNDS_Y = ([-3.0, -2.0, 0.0], [3.0, 4.0, 1.0]), (0.1, 500.0)


def make_rows(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    return X, np.exp(1 + X @ [0.5, -0.3, 0.2] + 0.4 * np.log(rng.exponential(size=n)))


def make(max_rows=1000, bounds_X=BOUNDS_X, **kwargs):
    return MomentAccumulator(bounds_X, BOUNDS_Y, max_rows, **kwargs)


def gram(accumulator):
    return accumulator._require_unreleased().copy()


@pytest.fixture
def rows():
    return make_rows()


# Moments


OPTIONS = [
    {},
    {"distribution": "sev"},
    {"x_norm": 3.0},
    {"x_norm": 3.0, "mechanism": "gaussian"},
    {"max_sample_weight": 2.5},
]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), options=st.sampled_from(OPTIONS), seed=st.integers(0, 2**31))
def test_order_batches_and_merges_do_not_matter(data, options, seed):
    rng = np.random.default_rng(seed)
    X, y = make_rows(60, seed)
    weights = rng.uniform(-1, 4, size=60) if "max_sample_weight" in options else None
    whole = make(**options).update(X, y, sample_weight=weights)
    order = rng.permutation(60)
    cuts = sorted(data.draw(st.lists(st.integers(0, 60), max_size=6)))
    parts = [
        make(**options).update(X[i], y[i], sample_weight=None if weights is None else weights[i])
        for i in np.split(order, cuts)
    ]
    rng.shuffle(parts)
    while len(parts) > 1:
        first = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        parts[data.draw(st.integers(0, len(parts) - 1))].merge(first)
    np.testing.assert_array_equal(gram(parts[0]), gram(whole))


def test_forms_of_batches(rows, tmp_path):
    X, y = rows
    columns = {"c": X[:, 2], "a": X[:, 0], "hours": y, "b": X[:, 1], "unused": y}
    frame = pd.DataFrame(columns)
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=64)
    file = pq.ParquetFile(tmp_path / "rows.parquet")
    options = {"feature_names": ["a", "b", "c"], "target": "hours"}
    expected = gram(make().update(X, y))
    for batch in (frame, frame.convert_dtypes(), pl.DataFrame(columns), pa.table(columns)):
        np.testing.assert_array_equal(gram(make(**options).update(batch)), expected)
    streamed = make(**options)
    for number, record in enumerate(file.iter_batches(batch_size=100)):
        streamed.update(record, batch_id=number)
    np.testing.assert_array_equal(gram(streamed), expected)
    whole = make(**options).update(file.schema_arrow.empty_table()).update(pa.table(columns).to_reader(64))
    np.testing.assert_array_equal(gram(whole), expected)
    np.testing.assert_array_equal(gram(make(**options).update(frame.drop(columns="hours"), y)), expected)


def test_names_come_from_the_bounds_or_the_first_batch(rows):
    X, y = rows
    lower, upper = BOUNDS_X
    by_name = {name: (lower[i], upper[i]) for i, name in enumerate("abc")}
    frame = pd.DataFrame(X, columns=list("abc")).assign(hours=y)
    named = MomentAccumulator(by_name, BOUNDS_Y, 1000, target="hours").update(frame[["c", "hours", "b", "a"]])
    assert named.feature_names == ("a", "b", "c")
    np.testing.assert_array_equal(gram(named), gram(make().update(X, y)))
    first = make(max_rows=1000, target="hours").update(frame)
    assert first.feature_names == ("a", "b", "c")
    first.update(frame[["b", "hours", "c", "a"]])
    np.testing.assert_array_equal(gram(first), 2 * gram(named))
    with pytest.raises(ValueError, match="columns are not those"):
        first.merge(make(target="hours").update(frame.rename(columns={"a": "other"})))
    with pytest.raises(ValueError, match="once: a"):
        first.update(frame.rename(columns={"a": "other"}))
    with pytest.raises(ValueError, match="4 columns of features and bounds_X 3"):
        make(target="hours").update(frame.assign(more=0.0))
    fitted = first.release(DPLogLocationScaleRegressor(epsilon=10.0))
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]


# Weights


def test_n_max_is_kept(rows):
    X, y = rows
    accumulator = make(max_rows=N + 1).update(X, y, batch_id=1)
    before = gram(accumulator)
    other = make(max_rows=N + 1).update(X[:2], y[:2])
    for attempt in (lambda: accumulator.update(X[:2], y[:2], batch_id=2), lambda: accumulator.merge(other)):
        with pytest.raises(ValueError, match="more than max_rows") as caught:
            attempt()
        assert str(N) not in str(caught.value)
        np.testing.assert_array_equal(gram(accumulator), before)
        assert accumulator.batch_ids == ("1",)
    accumulator.update(X[:1], y[:1])


# Nothing twice, nothing by halves


def test_a_batch_is_added_once(rows):
    X, y = rows
    accumulator = make().update(X, y, batch_id="monday").update(X, y, batch_id=7)
    before = gram(accumulator)
    for batch_id in ("monday", "7", 7, np.int64(7)):
        with pytest.raises(ValueError, match="added before"):
            accumulator.update(X[:1], y[:1], batch_id=batch_id)
    for batch_id in (True, 1.5, ("a",)):
        with pytest.raises(TypeError, match="batch_id"):
            accumulator.update(X[:1], y[:1], batch_id=batch_id)
    np.testing.assert_array_equal(gram(accumulator), before)
    for ids, match in (("m", r"batch m: merging"), ("mw", r"batch m and 1 more: merging")):
        two = [make(), make()]
        for batch_id in ids:
            two = [one.update(X[:1], y[:1], batch_id=batch_id) for one in two]
        with pytest.raises(ValueError, match=match):
            two[0].merge(two[1])


def test_rows_without_an_id_are_merged_once(rows):
    X, y = rows
    template = make()
    first = pickle.loads(pickle.dumps(template)).update(X, y).update(X, y)
    second = copy.deepcopy(template).update(X, y)
    third = copy.copy(first).update(X[:5], y[:5])
    assert len(first.batch_ids) == 1
    assert len(third.batch_ids) == 2
    total = make(max_rows=1000).merge(second)
    for other in (second, total, copy.deepcopy(second), MomentAccumulator.from_bytes(second.to_bytes())):
        with pytest.raises(ValueError, match="would count rows twice"):
            total.merge(other)
    np.testing.assert_array_equal(gram(total), gram(second))
    with pytest.raises(ValueError, match="would count rows twice"):
        first.merge(third)
    np.testing.assert_array_equal(gram(first), 2 * gram(second))
    named = make().update(X, y, batch_id="monday").update(X, y)
    assert len(named.batch_ids) == 2


# Bytes


@pytest.mark.parametrize("options", OPTIONS)
def test_bytes_come_back(rows, options):
    X, y = rows
    accumulator = make(**options, feature_names=list("abc"), target="hours").update(X, y, batch_id=3)
    restored = MomentAccumulator.from_bytes(accumulator.to_bytes())
    assert restored.to_bytes() == accumulator.to_bytes()
    assert restored.batch_ids == ("3",)
    restored.update(X, y)
    np.testing.assert_array_equal(gram(restored), 2 * gram(accumulator))


def test_plausible_changes_do_not_fit_the_checksum(rows):
    data = make(target="hours").update(*rows).to_bytes()
    with pytest.raises(ValueError, match="no bytes of an accumulator"):
        MomentAccumulator.from_bytes(data.replace(b'"hours"', b'"weeks"'))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_bytes_are_refused(rows, data):
    whole = make().update(*rows).to_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged = bytearray(whole)
    damaged[place] = data.draw(st.integers(0, 255))
    broken = [whole[:place], whole + b"0"]
    # Space between the parts of JSON is no damage.
    if not chr(damaged[place]).isspace() and damaged != whole:
        broken.append(bytes(damaged))
    for attempt in broken:
        with pytest.raises(ValueError, match="no bytes of an accumulator"):
            MomentAccumulator.from_bytes(attempt)


# Release


def test_the_release_is_a_fit(rows):
    X, y = make_rows(5000)
    estimator = DPLogLocationScaleRegressor(epsilon=1e6, delta=0.0)
    released = make(max_rows=5000).update(X, y).release(estimator)
    reference = DPLogLocationScaleRegressor(
        epsilon=1e6, max_iter=1, bounds_X=BOUNDS_X, bounds_y=BOUNDS_Y
    ).fit(X, y)
    np.testing.assert_allclose(released.coef_, reference.coef_, atol=1e-3)
    assert released.scale_ == pytest.approx(reference.scale_, abs=1e-3)
    inside = np.clip(X, *BOUNDS_X)
    least_squares = LinearRegression().fit(inside, np.clip(np.log(y), *np.log(BOUNDS_Y)))
    np.testing.assert_allclose(released.coef_, least_squares.coef_, atol=1e-3)
    assert not hasattr(estimator, "coef_")
    spent, expected = released.privacy_spent_, reference.privacy_spent_
    for name in ("epsilon", "delta", "relation", "unit", "claim", "public_inputs", "unprotected"):
        assert getattr(spent, name) == getattr(expected, name)
    assert vars(released).keys() - {"feature_names_in_"} == vars(reference).keys()
    np.testing.assert_array_equal(
        released.predict(X[:5]), pickle.loads(pickle.dumps(released)).predict(X[:5])
    )


def test_moments_are_released_once(rows):
    X, y = rows
    accumulator = make().update(X, y)
    sums = accumulator._sums
    accumulator.release(DPLogLocationScaleRegressor(epsilon=1e3))
    assert accumulator.released
    assert not sums.any()
    for attempt in (
        lambda: accumulator.release(DPLogLocationScaleRegressor()),
        lambda: accumulator.update(X, y),
        lambda: accumulator.merge(make()),
        lambda: make().merge(accumulator),
        accumulator.to_bytes,
        accumulator._require_unreleased,
        lambda: pickle.loads(pickle.dumps(accumulator)).update(X, y),
    ):
        with pytest.raises(RuntimeError, match="released"):
            attempt()
    assert "released" in repr(accumulator)


def test_a_release_is_charged_and_warns_where_it_is_called(rows, tmp_path):
    ledger = PrivacyLedger(tmp_path / "one.ledger", epsilon=1)
    # Noise that happens to fall well would not be warned of.
    options = {"bounds_X": BOUNDS_X, "bounds_y": BOUNDS_Y, "ledger": ledger, "random_state": 0}
    with pytest.warns(UtilityWarning) as caught:
        make().update(*rows).release(DPLogLocationScaleRegressor(**options))
    assert [warning.filename for warning in caught] == [__file__]
    assert ledger.spent()[0] == 1


def test_the_norm_is_that_of_the_mechanism(rows):
    accumulator = make(x_norm=2.0, mechanism="gaussian").update(*rows)
    released = accumulator.release(DPLogLocationScaleRegressor(delta=1e-6, epsilon=100.0))
    assert released.x_norm == 2.0
    assert released.grid_.norm_order == 2


def test_weights_and_groups_make_the_size_private(rows):
    X, y = rows
    plain = make().update(X, y).release(DPLogLocationScaleRegressor(epsilon=100.0))
    assert plain.release_.matrix[0, 0] == N
    assert plain.privacy_spent_.unprotected["rows"] == N
    for options in ({"max_sample_weight": 2.0}, {"max_rows_per_group": 2}):
        accumulator = make(**options).update(X, y)
        # Of the estimator the rows of a group are 1, or those of the accumulator.
        rows_per_group = options.get("max_rows_per_group", 1)
        estimator = DPLogLocationScaleRegressor(epsilon=100.0, max_rows_per_group=rows_per_group)
        released = accumulator.release(estimator)
        assert released.release_.noise_std[0, 0] > 0
        assert released.release_.matrix[0, 0] == pytest.approx(N, abs=50)
        assert "rows" not in released.privacy_spent_.unprotected
        ratio = released.release_.noise_std[1, 2] / plain.release_.noise_std[1, 2]
        assert ratio == pytest.approx(2.0, rel=1e-3)
    assert released.privacy_spent_.unit == "group"
    assert released.privacy_spent_.max_rows_per_unit == 2


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"x_norm": 1.0},
        {"max_sample_weight": 1.0},
        {"max_rows_per_group": 9},
        {"x_norm": 1.0, "max_rows_per_group": 9},
    ],
)
@pytest.mark.parametrize("d", [1, 40])
def test_the_noise_of_a_small_epsilon_fits(mechanism, options, d):
    # Without a norm, the release may use the other mechanism.
    planned = mechanism if "x_norm" in options else "laplace"
    accumulator = MomentAccumulator((np.zeros(d), np.ones(d)), (1, 2), 10, mechanism=planned, **options)
    delta = 1e-9 if mechanism == "gaussian" else 0.0
    estimator = DPLogLocationScaleRegressor(epsilon=0.001, delta=delta, mechanism=mechanism, random_state=0)
    with pytest.warns(UtilityWarning):
        accumulator.update(np.zeros((5, d)), np.ones(5)).release(estimator)


def test_repr_and_pickles_of_the_released_show_no_sums(rows):
    accumulator = make().update(*rows)
    assert repr(accumulator) == "MomentAccumulator(n_features=3, max_rows=1000, batches=1)"
    accumulator.release(DPLogLocationScaleRegressor(epsilon=1e3))
    rest = vars(pickle.loads(pickle.dumps(accumulator)))
    assert rest["_sums"] is None
    assert rest["_n_rows"] == 0


def test_the_first_batch_tells_the_number_of_columns(rows):
    X, y = rows
    accumulator = make(bounds_X=(-1, 1))
    assert "n_features=?" in repr(accumulator)
    with pytest.raises(ValueError, match="finite"):
        accumulator.update(np.full((2, 2), np.nan), y[:2])
    accumulator.update(X, y, batch_id=1)
    arrays = make(bounds_X=([-1] * 3, [1] * 3)).update(X, y, batch_id=1)
    assert accumulator.plan.to_dict() == arrays.plan.to_dict()
    assert accumulator.to_bytes() == arrays.to_bytes()
    with pytest.raises(ValueError, match="shape"):
        accumulator.update(X[:, :2], y)


def test_merges_with_what_knows_its_columns_and_with_what_does_not(rows):
    empty, full = make(bounds_X=(-1, 1)), make(bounds_X=(-1, 1)).update(*rows, batch_id="a")
    data = full.to_bytes()
    assert full.merge(empty).to_bytes() == data
    assert empty.merge(make(bounds_X=(-1, 1))).batch_ids == ()
    assert empty.merge(full).to_bytes() == data
    with pytest.raises(ValueError, match="different parameters"):
        make(bounds_X=(-1, 2)).merge(full)


def test_bytes_come_back_before_the_columns_are_known(rows):
    empty = make(bounds_X=None, x_norm=2.0)
    copy = MomentAccumulator.from_bytes(empty.to_bytes())
    assert not copy.plan.columns_known
    assert copy.update(*rows, batch_id=0).to_bytes() == empty.update(*rows, batch_id=0).to_bytes()


# Threads


def two_at_once(function):
    """Return the function, in which each of two threads waits a little for the other."""
    barrier = threading.Barrier(2)

    def wait_and_call(*args, **kwargs):
        with contextlib.suppress(threading.BrokenBarrierError):
            barrier.wait(0.2)
        return function(*args, **kwargs)

    return wait_and_call


def in_two_threads(*calls):
    """Return what the calls return or raise; a deadlock is no call that hangs."""
    found = []

    def run(call):
        try:
            found.append(call())
        except RuntimeError as error:
            found.append(error)

    threads = [threading.Thread(target=run, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(found) == len(calls)
    return found


def test_of_two_threads_one_releases_and_is_charged(tmp_path, monkeypatch):
    X, y = make_rows(1000)
    fit = two_at_once(_accumulator.fit_accumulated)
    monkeypatch.setattr(_accumulator, "fit_accumulated", fit)
    ledger = PrivacyLedger(tmp_path / "study.ledger")
    shared, estimator = make().update(X, y), DPLogLocationScaleRegressor(100.0, ledger=ledger)
    found = in_two_threads(*2 * [lambda: shared.release(estimator)])
    assert sorted(isinstance(one, RuntimeError) for one in found) == [False, True]
    assert len(ledger.entries()) == 1


def test_a_batch_that_calls_its_accumulator_is_refused(rows):
    X, y = rows
    accumulator = make()

    class Batch:
        def __array__(self, dtype=None, copy=None):
            accumulator.update(X, y)
            return X

    with pytest.raises(RuntimeError, match="is inside another method"):
        accumulator.update(Batch(), y)
    assert accumulator.update(X, y)._n_rows == len(X)
