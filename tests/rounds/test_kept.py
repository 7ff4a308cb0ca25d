# SPDX-License-Identifier: BSD-3-Clause
"""Rows that are kept between rounds: the bits of ``fit``, few readings, and nothing that stays behind."""

import errno
import os
import pickle
import stat
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from skprivate import (
    DPBoostingClassifier,
    DPBoostingRegressor,
    DPLogisticRegression,
    DPTreeRegressor,
    PrivacyLedger,
)
from skprivate.rounds import TableSource, fit_rounds
from skprivate.rounds import _kept as kept
from skprivate.rounds._plans import boosting
from skprivate.rounds._plans.boosting import CellGrid, CodedFeature, CodedRows, FeatureCodes
from skprivate.rounds._rows import PreparedRows
from skprivate.rounds._schema import RowSchema
from skprivate.rounds._task import version_of
from tests.rounds.examples import LABELS, NAMES, ROWS, Engine, N
from tests.rounds.test_task import batch_of, task_of

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
NUMBERS = {"bounds_X": (-3.0, 3.0), "bounds_y": (0.1, 50.0), "random_state": 3}
#: Name -> estimator, target, and most readings of a table.
FITS = {
    "boosting": (DPBoostingClassifier(4.0, delta=1e-6, **LABELS), "ill", 4),
    "numbers": (DPBoostingRegressor(4.0, **NUMBERS), "life", 4),
    "logistic": (DPLogisticRegression(4.0, **LABELS), "ill", 5),
    "tree": (DPTreeRegressor(4.0, **NUMBERS), "life", 8),
}
PARTS = [ROWS[:250], ROWS[250:251], ROWS[251:]]


@pytest.fixture(autouse=True)
def no_rows_of_other_tests():
    for _, run in list(kept._stores):
        kept.forget(run)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for files, which are collected with their rights and number of names."""
    made = []

    def open_file(*args, **options):
        made.append(file := make(*args, **options))
        made.append(os.fstat(file.fileno()))
        return file

    make = kept.TemporaryFile
    monkeypatch.setattr(kept, "TemporaryFile", open_file)
    (tmp_path / "kept").mkdir()
    yield tmp_path / "kept", made
    assert list((tmp_path / "kept").iterdir()) == []
    assert not kept._stores
    assert all(file.closed for file in made[::2])


@pytest.fixture
def readings(monkeypatch):
    found, read = [], RowSchema.read
    monkeypatch.setattr(RowSchema, "read", lambda self, table: found.append(1) or read(self, table))
    return found


def bits_of(model):
    found = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    return found(ROWS[NAMES]).tobytes()


def fit(name, tables=PARTS, ledger=None, **options):
    model, target, _ = FITS[name]
    source = TableSource(tables, target=target, features=NAMES, n_rows=N, **options)
    return bits_of(fit_rounds(pickle.loads(pickle.dumps(model)).set_params(ledger=ledger), source))


@pytest.mark.parametrize("name", FITS)
def test_the_bits_are_those_of_fit_wherever_rows_are_kept(name, folder, readings):
    model, target, most = FITS[name]
    want, (place, made) = bits_of(model.fit(ROWS[NAMES], ROWS[target])), folder
    assert fit(name) == fit(name, n_jobs=2) == want
    assert len(readings) <= 2 * len(PARTS) * most
    readings.clear()
    assert fit(name, cache_bytes=0, cache_folder=place) == want
    is_small = name != "tree"
    assert bool(made) == is_small
    assert not is_small or len(readings) <= len(PARTS) * most
    for file in made[1::2]:
        assert stat.S_IMODE(file.st_mode) == 0o600
        assert file.st_nlink == 0
    assert fit(name, cache_bytes=5000, cache_folder=place) == want
    # The engine reads each plan from bytes, and calls twice; its tables count their rows.
    readings.clear()
    assert fit(name, Engine(PARTS)) == want
    assert len(readings) <= 2 * len(PARTS) * most
    readings.clear()
    assert fit(name, cache_bytes=0, cache_folder=False) == want
    assert len(readings) > len(PARTS) * 4


def test_a_full_folder_is_named_once_and_rows_are_read_again(folder, tmp_path, monkeypatch):
    place, want, open_file = folder[0], fit("boosting"), kept.TemporaryFile

    def full(*args, **options):
        file = open_file(*args, **options)

        class Full:
            def write(self, data):
                if file.tell() > 500:
                    raise OSError(errno.ENOSPC, "full")
                return file.write(data[:100])  # as little as a call may write

            __getattr__ = staticmethod(lambda name: getattr(file, name))

        return Full()

    monkeypatch.setattr(kept, "TemporaryFile", full)
    ledger = PrivacyLedger(tmp_path / "a.ledger")
    with pytest.warns(UserWarning, match="No space left on device.*cache_folder") as found:
        assert fit("boosting", cache_bytes=0, cache_folder=place, ledger=ledger) == want
    assert len([one for one in found if "can be kept" in str(one.message)]) == 1
    with pytest.warns(UserWarning, match="No such file or directory"):
        assert fit("boosting", cache_bytes=0, cache_folder=place / "away") == want
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("cache_bytes", [0, 2**30])
def test_files_that_change_are_read_again_and_other_rows_refused(tmp_path, folder, cache_bytes, monkeypatch):
    for place, part in enumerate(PARTS):
        part.to_parquet(tmp_path / f"{place}.parquet")
    paths, calls, change = sorted(map(str, tmp_path.glob("*.parquet"))), [], []
    sums = TableSource.partial_sums

    def partial_sums(self, task):
        if task.number == 5:
            change[0]()
        return sums(self, task)

    monkeypatch.setattr(TableSource, "partial_sums", partial_sums)
    options = {"cache_bytes": cache_bytes, "cache_folder": folder[0]}
    change[:] = [lambda: os.utime(paths[0])]
    assert fit("boosting", ds.dataset(paths), **options) == fit("boosting")
    change[:] = [lambda: PARTS[2].to_parquet(paths[0])]
    with pytest.raises(ValueError, match=r"0\.parquet has another size"):
        fit("boosting", ds.dataset(paths), **options)
    # Of a function nothing is known: the last round counts its rows.
    change[:] = [lambda: calls.append(1)]
    with pytest.raises(ValueError, match="the declared number of rows"):
        fit("boosting", [lambda: ROWS[len(calls) :]], **options)


@pytest.mark.parametrize("cache_bytes", [0, 2**20])
def test_a_round_that_fails_half_way_leaves_no_half_scores(monkeypatch, cache_bytes):
    store, batch = kept.RowStore(cache_bytes, None), batch_of("residuals")
    task = task_of("residuals")
    model = task.plan.model
    terms = [
        (CellGrid.of_feature(0, model.codes.sizes[0]), 3 * model.tables[0] + number) for number in range(2)
    ]
    later = replace(task, plan=replace(task.plan, model=replace(model, terms=(*model.terms, *terms))))
    task.sum_batch(batch, "0", store)
    with monkeypatch.context() as patch:
        patch.setattr("skprivate.rounds._plans.boosting.add_cell_weights", break_at_the_second([]))
        with pytest.raises(MemoryError):
            later.sum_batch(batch, "0", store)
    for _ in range(2):
        np.testing.assert_array_equal(
            later.sum_batch(batch, "0", store).values, later.sum_batch(batch, "0").values
        )
    store.close()


def break_at_the_second(calls, real=boosting.add_cell_weights):
    def add(*parts):
        calls.append(real(*parts))
        if len(calls) == 2:
            raise MemoryError

    return add


def test_codes_that_are_joined_are_those_made_anew():
    X = np.column_stack([ROWS["load"], ROWS["heat"] > 0, ROWS["heat"] < -1, ROWS["age"] > 1]).astype(float)
    X[5, 0] = np.nan
    colour = CodedFeature.of_levels(1, 2, no_level=True)
    finer, coarse = (
        FeatureCodes((CodedFeature(0, np.linspace(-2, 2, n), missing=3), colour)) for n in (401, 5)
    )
    assert finer.holds(coarse)
    assert not coarse.holds(finer)
    rows = finer.code(PreparedRows(X))
    np.testing.assert_array_equal(rows.codes(coarse), CodedRows(PreparedRows(X)).codes(coarse))


def test_a_process_that_is_not_asked_forgets(monkeypatch):
    monkeypatch.setattr(kept, "IDLE_SECONDS", 0.01)
    store = kept.store_of("a run", 1, None)
    gone, store.close = threading.Event(), lambda: gone.set()
    store.forget_when_idle(lambda: kept.forget("a run"), 0.01)
    assert gone.wait(30)
    assert not kept._stores


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "numpy"])
def test_other_values_in_as_many_rows_are_another_table(kind):
    values, others = np.arange(200.0).reshape(100, 2), np.arange(200.0, 400.0).reshape(100, 2)

    def table(rows):
        frame = pd.DataFrame(rows, columns=["a", "b"])
        if kind == "numpy":
            return rows, rows[:, 0]
        makers = {"pandas": lambda: frame, "polars": lambda: pl.from_pandas(frame)}
        return makers.get(kind, lambda: pa.Table.from_pandas(frame))()

    assert version_of(table(values)) == version_of(table(values.copy()))
    assert version_of(table(values)) != version_of(table(others))
