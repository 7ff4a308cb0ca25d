# SPDX-License-Identifier: BSD-3-Clause
"""Exact probabilities of every report of a small randomizer, from what its kernel can send."""

import functools
import itertools
import json
import math
from fractions import Fraction

import numpy as np

from skprivate.randomizers import LocalRandomizer, UnaryRandomizer, randomizer_from_dict

WORD = 2**64


@functools.cache
def _sent(description: str, category: int, threshold: int) -> dict[bytes, np.ndarray]:
    """Reports that can be sent about a category: always the truth (largest threshold), or never."""
    randomizer = randomizer_from_dict(json.loads(description))
    randomizer.threshold = threshold
    reports = randomizer.randomize(np.full(6000, category), random_state=7)
    return {report.tobytes(): report for report in reports}


def reports_about(randomizer: LocalRandomizer, category: int) -> tuple[dict, dict]:
    """Return the true reports about a category, and the others that its client can send."""
    # What can be sent depends on epsilon only through the options, which are given here.
    description = json.dumps(randomizer.to_dict() | {"epsilon": "1"})
    told, lied = (_sent(description, category, threshold) for threshold in (WORD - 1, 0))
    assert told.keys().isdisjoint(lied)
    return told, lied


def _counted_channel(randomizer: LocalRandomizer) -> tuple[list[np.ndarray], list[list[Fraction]]]:
    told, lied = zip(*(reports_about(randomizer, k) for k in range(randomizer.n_categories)), strict=True)
    every: dict = {}
    for some in (*told, *lied):
        every |= some
    truth = Fraction(randomizer.threshold, WORD)
    table = [
        [truth / len(t) if report in t else (1 - truth) / len(o) if report in o else 0 for report in every]
        for t, o in zip(told, lied, strict=True)
    ]
    return list(every.values()), table


def _unary_channel(randomizer: LocalRandomizer) -> tuple[list[np.ndarray], list[list[Fraction]]]:
    """The own bit is a coin, another is 0 below the threshold."""
    one, k = Fraction(WORD - randomizer.threshold, WORD), randomizer.n_categories
    sets = list(itertools.product((0, 1), repeat=k))
    others = [[one if bit else 1 - one for bit in bits] for bits in sets]
    half = Fraction(1, 2)
    table = [[math.prod(o[:own] + o[own + 1 :], start=half) for o in others] for own in range(k)]
    return list(np.packbits(np.array(sets), axis=1, bitorder="little")), table


def channel(randomizer: LocalRandomizer) -> tuple[np.ndarray, list[list[Fraction]]]:
    """Return all reports, and their probabilities (columns) under every category (rows)."""
    is_unary = isinstance(randomizer, UnaryRandomizer)
    reports, table = (_unary_channel if is_unary else _counted_channel)(randomizer)
    assert all(sum(row) == 1 for row in table)
    return np.array(reports, dtype=randomizer.report_dtype), table


def as_floats(table: list[list[Fraction]]) -> np.ndarray:
    """Return probabilities as floats."""
    return np.array([[float(p) for p in row] for row in table])
