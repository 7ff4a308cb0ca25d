# SPDX-License-Identifier: BSD-3-Clause
"""The C loops of `lanes.pxd` against NumPy, compiled for each width."""

from dataclasses import dataclass

import numpy as np
import pytest

from tests.c_loops import WIDTHS, compile_program, read_loops, run_program

MAIN = r"""
#include <stddef.h>
#include <stdio.h>
typedef ptrdiff_t Py_ssize_t;
%s
enum { N = %d, D = %d };
static double query[D], columns[N * D], y[N], inverse, factor, out[5][N];
int main(int count, char** names) {
    FILE* file = fopen(names[1], "rb");
    size_t read = fread(query, 8, D, file) + fread(columns, 8, N * D, file) + fread(y, 8, N, file);
    read += fread(&inverse, 8, 1, file) + fread(&factor, 8, 1, file);
    fclose(file);
    skp_squares(columns, N, D, query, out[0]);
    skp_distances(columns, N, D, query, 0, out[1]);
    skp_distances(columns, N, D, query, 1, out[2]);
    skp_add_parabolas(columns, y, N, D, query, inverse, out[3]);
    skp_add_powers(out[0], y, N, factor, out[4]);
    file = fopen(names[2], "wb");
    fwrite(out, 8, 5 * N, file);
    return fclose(file) || read != D + N * D + N + 2;
}
"""
N, D = 96, 3


@dataclass(frozen=True)
class Case:
    """Rows, column by column, a query, and what weighs the rows."""

    query: np.ndarray
    columns: np.ndarray
    y: np.ndarray
    inverse: float
    factor: float

    def to_bytes(self):
        parts = (self.query, self.columns, self.y, [self.inverse, self.factor])
        return b"".join(np.asarray(part, dtype=np.float64).tobytes() for part in parts)


def make_case(name):
    rng = np.random.default_rng(0)
    columns, query, y = rng.uniform(size=(D, N)), rng.uniform(size=D), rng.normal(size=N)
    columns[:, -20:], y[-20:] = np.inf, 0
    inverse, factor = 4.0, -50.0
    if name == "ties":
        # Sevenths are rounded, and a third of the rows is at the ball's edge or has an equal square.
        columns[:, :-20] = rng.integers(0, 8, size=(D, N - 20)) / 7
        query[:], inverse = 3 / 7, 49 / 4
    elif name == "denormal":
        # Gaps whose squares are denormal, and gaps that are so themselves.
        query[:], y = 0, y * 2.0**-1060
        columns[:, :20] = rng.integers(-9, 10, size=(D, 20)) * 2.0**-530
        columns[:, 20:40] = rng.integers(-9, 10, size=(D, 20)) * 2.0**-1070
    elif name == "huge":
        columns[:, :40] *= 10.0 ** rng.integers(150, 300, size=(D, 40))
        inverse = 1e-300
    elif name == "far":
        # Powers are cut at -1000.
        factor = -1e6
    return Case(query, columns, y, inverse, factor)


@dataclass(frozen=True)
class Answer:
    squares: np.ndarray
    fused: np.ndarray
    roots: np.ndarray
    parabolas: np.ndarray
    powers: np.ndarray


def reference(case):
    """Compute the same in the same order; sums have eight lanes, the numerator's before the denominator's."""
    with np.errstate(over="ignore", under="ignore"):
        squares = np.zeros(N)
        for column, value in zip(case.columns, case.query, strict=True):
            squares = (column - value) * (column - value) + squares
        parabolas = np.maximum(1.0 - squares * case.inverse, 0.0)
        powers = np.exp2(np.maximum(squares * case.factor, -1000))
        sums = [np.zeros((2, 8)), np.zeros((2, 8))]
        for i in range(0, N, 8):
            for total, weights in zip(sums, (parabolas, powers), strict=True):
                total += [weights[i : i + 8] * case.y[i : i + 8], weights[i : i + 8]]
    return Answer(squares, squares, np.sqrt(squares), sums[0].ravel(), sums[1].ravel())


@pytest.fixture(scope="module", params=WIDTHS)
def program(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lanes")
    loops = read_loops("collaborative/_local_average/lanes.pxd")
    compile_program(MAIN % (loops, N, D), request.param, folder)
    return folder


def run(folder, case):
    return Answer(*run_program(folder, case.to_bytes()).reshape(5, N))


@pytest.mark.process
@pytest.mark.parametrize("name", ["random", "ties", "denormal", "huge", "far"])
def test_each_width_computes_the_same_bits_and_the_rest_within_its_bound(program, name):
    case = make_case(name)
    found, expected = run(program, case), reference(case)
    assert found.squares.tobytes() == expected.squares.tobytes()
    assert found.parabolas[:16].tobytes() == expected.parabolas.tobytes()
    # 2^-52 for each column, and for the root.
    np.testing.assert_allclose(found.fused, expected.squares, rtol=D * 2.0**-52, atol=1e-300)
    # Eight lanes end at 1e150, so that they stay finite; padding is infinite in narrower ones.
    roots = np.minimum(found.roots, 1e150)
    np.testing.assert_allclose(roots, np.minimum(expected.roots, 1e150), rtol=(D + 1) * 2.0**-52, atol=1e-150)
    weights = np.exp2(np.maximum(case.factor * expected.squares, -1000))
    np.testing.assert_allclose(found.powers[:16], expected.powers, rtol=0, atol=3e-14 * weights.sum())
