# SPDX-License-Identifier: BSD-3-Clause
"""Time of a draw from the discrete Laplace distribution against NumPy's Laplace sampler, in turns."""

import numpy as np

from skprivate.noise import DiscreteLaplaceMechanism, laplace_sum

from .._tables import Table
from .._timing import compare, median_seconds

DRAWS = 100_000
PAIRS = 21
SCALES = {"2": 2, "100": 100, "2^20": 2**20, "2^40": 2**40}


def measure(scale, random_state):
    """Median ratio of neighbouring runs, and median nanoseconds per draw of both."""
    mechanism = DiscreteLaplaceMechanism.from_scale(scale)
    zeros = np.zeros(DRAWS, dtype=np.int64)
    generator = np.random.default_rng(0)
    ours, theirs, ratio = compare(
        lambda: mechanism.randomize(zeros, random_state),
        lambda: generator.laplace(scale=float(scale), size=DRAWS),
        PAIRS,
    )
    return ratio, 1e9 / DRAWS * ours, 1e9 / DRAWS * theirs


def run():
    print(f"discrete Laplace against numpy's Laplace: {DRAWS} draws, median of {PAIRS} interleaved pairs")
    table = Table(
        ("scale", ">6"), ("source", ">7"), ("ratio", ">6.1f"), ("ns/draw", ">8.0f"), ("numpy", ">6.1f")
    )
    for name, scale in SCALES.items():
        for source, random_state in (("os", None), ("seeded", 0)):
            table.row(name, source, *measure(scale, random_state))
    time = median_seconds(lambda: laplace_sum(DRAWS, 2**20), PAIRS)
    print(f"laplace_sum of {DRAWS} terms, scale 2^20: {1e3 * time:.1f} ms")
