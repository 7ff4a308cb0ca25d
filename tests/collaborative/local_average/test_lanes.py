# SPDX-License-Identifier: BSD-3-Clause
"""The C loops of `lanes.pxd` against NumPy, compiled for each width by a compiler of choice.

``CC`` names the compiler, and ``RUNNER`` a command that runs what it makes, if this machine does not:
`.ci/cross_compile.py` sets both.
"""

import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import skprivate

LANES = Path(skprivate.__file__).parent / "collaborative" / "_local_average" / "lanes.pxd"
COMPILER = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
RUNNER = shlex.split(os.environ.get("RUNNER", ""))
# What setup.py says too; -Wall, because these loops are compiled nowhere else without Cython's warnings off.
FLAGS = ["-O3", "-ffp-contract=off", "-Wall", "-Werror"]
# One value, two values, and what the compiler chooses: vectors as wide as the processor's.
WIDTHS = ("-DSKP_WIDTH=1", "-DSKP_WIDTH=2", "-USKP_WIDTH")
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
    if not shutil.which(COMPILER[0]):
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("lanes")
    kernels = re.search(r'r"""\n(.*?)"""', LANES.read_text(encoding="utf-8"), re.DOTALL).group(1)
    (folder / "main.c").write_text(MAIN % (kernels, N, D), encoding="utf-8")
    # Windows runs nothing without a suffix.
    command = [*COMPILER, *FLAGS, request.param, "main.c", "-o", "main.exe", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return folder


def run(folder, case):
    (folder / "case").write_bytes(case.to_bytes())
    subprocess.run([*RUNNER, str(folder / "main.exe"), "case", "answer"], cwd=folder, check=True)
    return Answer(*np.fromfile(folder / "answer").reshape(5, N))


@pytest.mark.process
@pytest.mark.parametrize("name", ["random", "ties", "denormal", "huge", "far"])
def test_each_width_computes_the_same_bits_and_the_rest_within_its_bound(program, name):
    case = make_case(name)
    found, expected = run(program, case), reference(case)
    assert found.squares.tobytes() == expected.squares.tobytes()
    assert found.parabolas[:16].tobytes() == expected.parabolas.tobytes()
    # 2^-52 for each column, and for the root.
    np.testing.assert_allclose(found.fused, expected.squares, rtol=D * 2.0**-52, atol=1e-300)
    np.testing.assert_allclose(found.roots, expected.roots, rtol=(D + 1) * 2.0**-52, atol=1e-150)
    weights = np.exp2(np.maximum(case.factor * expected.squares, -1000))
    np.testing.assert_allclose(found.powers[:16], expected.powers, rtol=0, atol=3e-14 * weights.sum())
