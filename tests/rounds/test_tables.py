# SPDX-License-Identifier: BSD-3-Clause
"""Whatever form a batch has, the same rows come out of it."""

import builtins
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skprivate.rounds import _tables
from skprivate.rounds._tables import PIECE_ROWS, TableColumns, iter_batches, read_pieces

ROWS = {"a": [1.0, 2.5, -3.0], "hours": [9.0, 8.0, 7.0], "b": [4, 5, 6]}
X = np.array([[1.0, 4.0], [2.5, 5.0], [-3.0, 6.0]])
Y = np.array([9.0, 8.0, 7.0])


class CStream:
    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class CArray:
    def __init__(self, record):
        self.record = record

    def __arrow_c_array__(self, requested_schema=None):
        return self.record.__arrow_c_array__(requested_schema)


FORMS = {
    "pandas": pd.DataFrame,
    "pandas nullable": lambda rows: pd.DataFrame(rows).convert_dtypes(),
    "pandas of pyarrow": lambda rows: pd.DataFrame(rows).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, hours of objects": lambda rows: pd.DataFrame(rows).astype({"hours": object}),
    "polars": pl.DataFrame,
    "pyarrow table": pa.table,
    "pyarrow table in chunks": lambda rows: pa.concat_tables([pa.table(rows)[:1], pa.table(rows)[1:]]),
    "pyarrow batch": pa.record_batch,
    "pyarrow reader": lambda rows: pa.table(rows).to_reader(max_chunksize=2),
    "arrow stream": lambda rows: CStream(pa.table(rows)),
    "arrow array": lambda rows: CArray(pa.record_batch(rows)),
    "polars through arrow": lambda rows: CStream(pl.DataFrame(rows)),
}


def read(batch, y=None, **kwargs):
    names, pieces = iter_batches(batch, y, **kwargs)
    pieces = list(pieces)
    return names, np.concatenate([x for x, _ in pieces]), np.concatenate([y for _, y in pieces])


@pytest.mark.parametrize("form", FORMS)
def test_columns(form):
    names, x, y = read(FORMS[form](ROWS), target="hours")
    assert names == ("a", "b")
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, Y)
    names, x, y = read(FORMS[form](ROWS), features=["b", "a"], target="hours")
    assert names == ("b", "a")
    np.testing.assert_array_equal(x, X[:, ::-1])


@pytest.mark.parametrize("form", FORMS)
def test_pieces_are_small(form, monkeypatch):
    monkeypatch.setattr(_tables, "PIECE_ROWS", 2)
    pieces = list(iter_batches(FORMS[form](ROWS), target="hours")[1])
    assert max(len(x) for x, _ in pieces) == 2
    np.testing.assert_array_equal(np.concatenate([x for x, _ in pieces]), X)


@pytest.mark.parametrize("form", ["pandas", "polars"])
def test_a_frame_beside_its_target(form):
    frame = FORMS[form]({name: ROWS[name] for name in ("a", "b")})
    for y in (Y, Y.tolist(), pd.Series(Y, index=[5, 6, 7])):
        names, x, target = read(frame, y)
        assert names == ("a", "b")
        np.testing.assert_array_equal(x, X)
        np.testing.assert_array_equal(target, Y)


@pytest.mark.parametrize(
    "form", [np.asarray, np.ndarray.tolist, np.asfortranarray, pd.DataFrame, lambda a: a.astype(np.float32)]
)
def test_arrays(form):
    names, x, y = read(form(X), Y)
    assert names is None
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, Y)


def test_arrays_are_not_copied():
    piece = next(iter_batches(X, Y)[1])
    assert np.shares_memory(piece[0], X)
    assert np.shares_memory(piece[1], Y)


@pytest.mark.parametrize("form", FORMS)
def test_no_rows(form):
    table = pa.table(ROWS)[:0]
    assert sum(len(x) for x, _ in iter_batches(table, target="hours")[1]) == 0
    frame = FORMS[form](ROWS)
    if hasattr(frame, "iloc"):
        assert not list(iter_batches(frame.iloc[:0], target="hours")[1])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("values", [[1, None], [1.5, None], [True, None], [Decimal("1.5"), None]])
def test_missing_values_stay_missing(make, values):
    batch = make({"a": values, "hours": [1.0, 2.0]})
    if make is pd.DataFrame and batch["a"].dtype == object:
        with pytest.raises(TypeError, match="X holds text or objects"):
            read(batch, target="hours")
        return
    _, x, _ = read(batch, target="hours")
    assert x[0, 0] == float(values[0])
    assert np.isnan(x[1, 0])


def test_pyarrow_is_optional(monkeypatch):
    table, found = pa.table(ROWS), builtins.__import__

    def without_pyarrow(name, *args, **kwargs):
        if name == "pyarrow":
            raise ImportError(name)
        return found(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(ImportError, match=r"skprivate\[dask\]"):
        iter_batches(table, target="hours")
    assert read(pl.DataFrame(ROWS), target="hours")[0] == ("a", "b")


@pytest.mark.parametrize("n_rows", [0, 1, PIECE_ROWS, 2 * PIECE_ROWS + 1])
@pytest.mark.parametrize("form", [pa.table, pd.DataFrame], ids=["arrow", "pandas"])
def test_pieces_hold_every_row_once(form, n_rows):
    numbers = np.arange(n_rows)
    table = form({"age": numbers / 2, "ill": numbers, "dose": -numbers})
    pieces = list(read_pieces(table, TableColumns(("dose", "age"), "ill")))
    assert max((len(piece.X) for piece in pieces), default=0) <= PIECE_ROWS
    parts = [np.empty((0, 3)), *(np.column_stack([piece.X, piece.target]) for piece in pieces)]
    rows = np.concatenate(parts)
    np.testing.assert_array_equal(rows, np.column_stack([-numbers, numbers / 2, numbers]))
