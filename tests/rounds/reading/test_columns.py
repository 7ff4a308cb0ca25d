# SPDX-License-Identifier: BSD-3-Clause
"""Pieces of tables: all rows, once and in order, a bounded number at a time."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from skprivate.rounds._tables import PIECE_ROWS, TableColumns, read_pieces


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


def test_a_table_without_columns_is_refused():
    with pytest.raises(ValueError, match="no columns"):
        list(read_pieces(pd.DataFrame(index=range(3)), TableColumns()))
