# SPDX-License-Identifier: BSD-3-Clause
"""The C loops of `moment_loops.pxd` against NumPy, bit for bit, compiled for each width of vectors."""

import numpy as np
import pytest

from tests.c_loops import WIDTHS, compile_program, read_loops, run_program

MAIN = r"""
#include <stddef.h>
#include <stdio.h>
typedef ptrdiff_t Py_ssize_t;
%s
enum { N = %d, WIDEST = %d, D = %d };
static double left[N * WIDEST], right[N * WIDEST], sums[WIDEST * WIDEST];
static double x[N * D], y[N], center[D + 3], scale[D + 3], work[D + 3], out[N * (D + 2)];
static float single[N * D];
static FILE *file, *answer;
static size_t failed;
static void take(double* values, size_t count) { failed += fread(values, 8, count, file) != count; }
static void pack(Py_ssize_t d) {
    double total[2];
    take(x, N * d), take(y, N), take(center, d), take(scale, d);
    for (Py_ssize_t j = d; j < d + 3; j++) center[j] = scale[j] = 0;
    for (Py_ssize_t k = 0; k < N * d; k++) single[k] = (float)x[k];
    total[0] = skp_pack_float(single, y, N, d, center, scale, 0.5, 64.0, 1024.0, d + 2, out);
    fwrite(out, 8, N * (d + 2), answer);
    total[1] = skp_pack_double(x, y, N, d, center, scale, 0.5, 64.0, 1024.0, d + 2, out);
    fwrite(out, 8, N * (d + 2), answer);
    fwrite(total, 8, 2, answer);
    for (int squares = 0; squares < 2; squares++) {
        skp_ball_float(single, y, N, d, center, scale, 0.5, 64.0, 1024.0, 0x1p256, squares, work, d + 2, out);
        fwrite(out, 8, N * (d + 2), answer);
        skp_ball_double(x, y, N, d, center, scale, 0.5, 64.0, 1024.0, 0x1p256, squares, work, d + 2, out);
        fwrite(out, 8, N * (d + 2), answer);
    }
}
int main(int count, char** names) {
    file = fopen(names[1], "rb"), answer = fopen(names[2], "wb");
    for (Py_ssize_t width = 4; width <= WIDEST; width += 4) {
        take(left, N * width), take(right, N * width), take(sums, width * width);
        skp_products(left, right, N, width, sums);
        fwrite(sums, 8, width * width, answer);
    }
    for (Py_ssize_t d = 1; d <= D; d++) for (int k = 0; k < 3; k++) pack(d);
    fclose(file);
    return fclose(answer) || failed;
}
"""
N, WIDEST, D = 5, 64, 9
BOUND = 1024.0


@pytest.fixture(scope="module", params=WIDTHS)
def program(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("loops")
    loops = read_loops("rounds/_plans/moment_loops.pxd")
    compile_program(MAIN % (loops, N, WIDEST, D), request.param, folder)
    return folder


def make_products(rng):
    """Near the largest integers that a float64 holds, for every way in which tiles cover a table."""
    for width in range(4, WIDEST + 4, 4):
        left, right = rng.integers(-(2**22), 2**25, size=(2, N, width))
        yield left, right, rng.integers(-(2**40), 2**40, size=(width, width))


def make_rows(rng):
    """Rows of every width: finite ones, and with a NaN in a first row or in the last, where vectors end."""
    for d in range(1, D + 1):
        for place in (None, 0, -1):
            center = rng.normal(size=d)
            x = rng.normal(size=(N, d)) * 10.0 ** rng.integers(-20, 20, size=(N, d))
            # Rounds to 0 from below.
            x[1] = center - 1e-4
            if place is not None:
                x[place, place] = np.nan
            yield x, 20 * rng.normal(size=N), center, rng.uniform(0, 500, size=d)


def packed(x, y, center, scale):
    columns = np.column_stack([(x.astype(np.float64) - center) * scale, (y - 0.5) * 64, np.full(N, BOUND)])
    return np.trunc(np.clip(columns, -BOUND, BOUND)) + 0.0


def packed_in_a_ball(x, y, center, scale, squares):
    """Every fourth value is in one sum; no row of these needs to be shortened."""
    rows = np.clip((x.astype(np.float64) - center) * scale, -(2.0**256), 2.0**256)
    sizes = rows * rows if squares else np.abs(rows)
    four = [sum(sizes.T[k::4], start=np.zeros(N)) for k in range(4)]
    size = (four[0] + four[1]) + (four[2] + four[3])
    factor = np.where(size <= 1, BOUND, BOUND / np.maximum(np.sqrt(size) if squares else size, 1e-9))
    rows = np.trunc(np.clip(rows * factor[:, None], -BOUND, BOUND))
    return np.column_stack([rows, packed(x, y, center, scale)[:, -2:]]) + 0.0


@pytest.mark.process
def test_each_width_computes_the_same_bits(program):
    products, rows = list(make_products(np.random.default_rng(0))), list(make_rows(np.random.default_rng(1)))
    values = [np.asarray(table, dtype=np.float64) for case in (*products, *rows) for table in case]
    answer = run_program(program, b"".join(value.tobytes() for value in values))

    def take(*shape):
        nonlocal answer
        found, answer = answer[: np.prod(shape)].reshape(shape), answer[np.prod(shape) :]
        return found

    for left, right, sums in products:
        upper = np.triu_indices(len(sums))
        np.testing.assert_array_equal(take(*sums.shape)[upper], (sums + left.T @ right)[upper])
    for x, *others in rows:
        for table in (x.astype(np.float32), x):
            found, expected = take(N, x.shape[1] + 2), packed(table, *others)
            # What a NaN becomes is not promised: its block is refused.
            usable = ~np.isnan(expected)
            assert found[usable].tobytes() == expected[usable].tobytes()
        np.testing.assert_array_equal(np.isnan(take(2)), np.isnan(x).any())
        for squares in (False, True):
            for table in (x.astype(np.float32), x):
                found, expected = take(N, x.shape[1] + 2), packed_in_a_ball(table, *others, squares)
                # Lanes behind a row may meet a NaN of the next.
                assert np.isnan(x).any() or found.tobytes() == expected.tobytes()
    assert not len(answer)
