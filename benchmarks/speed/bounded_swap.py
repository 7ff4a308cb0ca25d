# SPDX-License-Identifier: BSD-3-Clause
"""Time of the bounded swap of answers (BSTD) against a plain Python loop, in one process."""

import random
from functools import partial

import numpy as np

from skprivate.collaborative import BSTDAggregator

from .._tables import Table
from .._timing import fastest

QUERIES = 100_000
LOOPED = 1000
PARTIES = 20
RUNS = 3
WINDOWS = ((2, 8), (2, 10), (3, 8), (4, 10))


def swap_row(row, near, generator):
    """Swap one row as a reader of the definition would write it; `near` holds every rank's partners."""
    ranked = sorted(range(len(row)), key=lambda j: -row[j])
    free, out = set(range(len(row))), list(row)
    while True:
        counts = {rank: len(near[rank] & free) for rank in free}
        able = [rank for rank in free if counts[rank]]
        if not able:
            return out
        least = min(counts[rank] for rank in able)
        rank = generator.choice([rank for rank in able if counts[rank] == least])
        other = generator.choice(list(near[rank] & free))
        out[ranked[rank]], out[ranked[other]] = row[ranked[other]], row[ranked[rank]]
        free -= {rank, other}


def loop(rows, lower, upper):
    generator = random.Random(0)
    near = [{s for s in range(PARTIES) if lower <= abs(r - s) <= upper} for r in range(PARTIES)]
    return np.array([swap_row(row, near, generator) for row in rows.tolist()])


def check(rows, swapped, lower, upper):
    """Stop where an invariant of the swap does not hold."""
    partner = np.argsort(np.argsort(-swapped, axis=1), axis=1)
    distance = np.abs(partner - np.argsort(np.argsort(-rows, axis=1), axis=1))
    kept = (distance == 0).sum(axis=1)
    if not (
        np.array_equal(np.sort(rows), np.sort(swapped))
        and ((distance == 0) | ((distance >= lower) & (distance <= upper))).all()
        and kept.max() <= lower * -(-PARTIES // (lower + upper))
        and (kept % 2 == PARTIES % 2).all()
    ):
        raise RuntimeError("a swap breaks its own rules")
    return 100 * kept.mean() / PARTIES


def milliseconds(task, queries):
    """Return the best time per 1,000 queries, and the result."""
    best, result = fastest(task, RUNS)
    return 1e6 * best / queries, result


def run():
    rows = np.random.default_rng(0).normal(loc=10.0, size=(QUERIES, PARTIES))
    print(f"{QUERIES} queries of {PARTIES} parties; the loop on {LOOPED}; ms per 1,000 queries")
    table = Table(
        *(("window", ">8"), ("source", ">7"), ("ours", ">6.2f"), ("loop", ">7.1f"), ("ratio", ">6.0f")),
        *(("kept %", ">7.2f"), ("loop %", ">7.2f")),
    )
    for lower, upper in WINDOWS:
        plain, looped = milliseconds(partial(loop, rows[:LOOPED], lower, upper), LOOPED)
        kept_by_loop = check(rows[:LOOPED], looped, lower, upper)
        for source, random_state in (("os", None), ("seeded", 0)):
            aggregator = BSTDAggregator(lower, upper, active_rule="box", random_state=random_state).fit(rows)
            ours, swapped = milliseconds(partial(aggregator.transform, rows), QUERIES)
            kept = check(rows, swapped, lower, upper)
            table.row(f"{lower}, {upper}", source, ours, plain, plain / ours, kept, kept_by_loop)
    aggregator = BSTDAggregator(active_rule="box").fit(rows)
    predict, _ = milliseconds(partial(aggregator.predict, rows), QUERIES)
    row = rows[:1].copy()
    single, _ = milliseconds(lambda: [aggregator._combine(row, None) for _ in range(2000)], 2000)
    print(f"predict: {predict:.2f} ms per 1,000 queries; one row without validation: {single:.1f} us")
