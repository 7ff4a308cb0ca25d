# SPDX-License-Identifier: BSD-3-Clause
"""The C loops of `products.pxd` against integers, compiled for each width of vectors."""

import numpy as np
import pytest

from tests.c_loops import WIDTHS, compile_program, read_loops, run_program

MAIN = r"""
#include <stddef.h>
#include <stdio.h>
typedef ptrdiff_t Py_ssize_t;
%s
enum { N = %d, WIDEST = %d };
static double left[N * WIDEST], right[N * WIDEST], sums[WIDEST * WIDEST];
int main(int count, char** names) {
    FILE *file = fopen(names[1], "rb"), *answer = fopen(names[2], "wb");
    size_t right_read = 1;
    for (size_t width = 4; width <= WIDEST; width += 4) {
        right_read &= fread(left, 8, N * width, file) == N * width;
        right_read &= fread(right, 8, N * width, file) == N * width;
        right_read &= fread(sums, 8, width * width, file) == width * width;
        skp_products(left, right, N, width, sums);
        fwrite(sums, 8, width * width, answer);
    }
    fclose(file);
    return fclose(answer) || !right_read;
}
"""
N, WIDEST = 5, 64


@pytest.mark.process
@pytest.mark.parametrize("width", WIDTHS)
def test_each_vector_adds_the_same_integers(width, tmp_path):
    """Near the largest integers that a float64 holds, for every way in which tiles cover a table."""
    compile_program(MAIN % (read_loops("rounds/_plans/products.pxd"), N, WIDEST), width, tmp_path)
    rng = np.random.default_rng(0)
    tables, expected = [], []
    for columns in range(4, WIDEST + 4, 4):
        left, right = rng.integers(-(2**22), 2**25, size=(2, N, columns))
        sums = rng.integers(-(2**40), 2**40, size=(columns, columns))
        tables += [left, right, sums]
        expected.append((sums + left.T @ right)[np.triu_indices(columns)])
    case = b"".join(table.astype(np.float64).tobytes() for table in tables)
    answer = run_program(tmp_path, case)
    for columns, upper in zip(range(4, WIDEST + 4, 4), expected, strict=True):
        found, answer = answer[: columns**2].reshape(columns, columns), answer[columns**2 :]
        np.testing.assert_array_equal(found[np.triu_indices(columns)], upper)
