# SPDX-License-Identifier: BSD-3-Clause
"""Time of a draw from the discrete Laplace distribution against NumPy's Laplace sampler, in turns."""

from functools import partial

import numpy as np

from skprivate.noise import DiscreteLaplaceMechanism, laplace_sum

from ._goals import Measured, SideBySide

# Draws, and pairs.
SIZES = {False: (100_000, 21), True: (1000, 0)}
SCALES = {"2": 2, "100": 100, "2^20": 2**20, "2^40": 2**40}


def run(small: bool = False) -> Measured:
    draws, pairs = SIZES[small]
    zeros, generator = np.zeros(draws, dtype=np.int64), np.random.default_rng(0)
    table = SideBySide(pairs, "ns a draw", 1e9 / draws)
    table.heading(f"discrete Laplace distribution, {draws:,} draws")
    for name, scale in SCALES.items():
        mechanism = DiscreteLaplaceMechanism.from_scale(scale)
        theirs = partial(generator.laplace, scale=float(scale), size=draws)
        for source, seed in (("the system's entropy", None), ("a seed", 0)):
            goal = "discrete Laplace noise" if seed is None else ""
            ours = partial(mechanism.randomize, zeros, seed)
            table.row(f"scale {name}, {source}", "NumPy's Laplace", ours, theirs, goal=goal)
    total, theirs = partial(laplace_sum, draws, 2**20), lambda: generator.laplace(size=draws).sum()
    table.row("the sum of so many, scale 2^20", "NumPy's, summed", total, theirs)
    return table.measured
