# SPDX-License-Identifier: BSD-3-Clause
"""Whatever form a batch has, the same rows come out of it."""

import builtins

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skprivate.rounds import _tables
from skprivate.rounds._tables import iter_batches

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
def test_pieces_are_small(form, monkeypatch):
    monkeypatch.setattr(_tables, "PIECE_ROWS", 2)
    pieces = list(iter_batches(FORMS[form](ROWS), target="hours")[1])
    assert max(len(x) for x, _ in pieces) == 2
    np.testing.assert_array_equal(np.concatenate([x for x, _ in pieces]), X)


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
