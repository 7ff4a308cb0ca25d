# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of ``fit`` that are split with the rows, and those that are not."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from skprivate.utils._compat import rows_of

ROWS = np.array([0, 2])


@pytest.mark.parametrize("make", [list, np.array, pd.Series])
def test_one_entry_a_row_is_split(make):
    assert list(rows_of(make([5, 6, 7]), ROWS, 3)) == [5, 7]


def test_tables_are_split():
    assert rows_of(csr_array(np.eye(3)), ROWS, 3).toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    assert rows_of(pd.DataFrame({"a": [5, 6, 7]}), ROWS, 3)["a"].tolist() == [5, 7]


@pytest.mark.parametrize("value", ["abc", b"abc", {"a": 1, "b": 2, "c": 3}, 3, None, [1, 2], np.array(3)])
def test_anything_else_stays_as_it_is(value):
    assert rows_of(value, ROWS, 3) is value
