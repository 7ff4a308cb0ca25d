# SPDX-License-Identifier: BSD-3-Clause
"""Shared vectors, which a client in another language must match: python -m tests.collection.make_vectors.

Words of entropy follow from a seed by splitmix64, so that ten thousand reports of a mechanism need few bytes:
the first hundred stand in the file, and a checksum of every hundred.
"""

import json
from pathlib import Path

import numpy as np

from skprivate import LocallyPrivateTreeClassifier
from skprivate.collection import SplitCurator, TreeCurator, TreeSpecification
from skprivate.collection._client import _place
from skprivate.domain import (
    BooleanColumn,
    CategoricalColumn,
    DateColumn,
    NumberColumn,
    StressColumn,
    TableDomain,
)
from skprivate.noise._mechanisms import Entropy
from skprivate.noise._sampling_kernels import fill_below
from skprivate.noise._stream_kernels import WordStream
from skprivate.partition import build_partition
from skprivate.randomizers import (
    ColumnRandomizer,
    HadamardRandomizer,
    KRRRandomizer,
    LabelRandomizer,
    LaplaceRandomizer,
    SignedLaplaceRandomizer,
    SubsetRandomizer,
    UnaryRandomizer,
)
from tests.collection.studies import make_specification, number_rows, number_specification

FOLDER = Path(__file__).parent / "vectors"
N_VECTORS, AT_ONCE = 10_000, 100
INPUT, ROUNDING, COLUMN, REPORT = range(4)


def random_words(seed, index, step, start, n):
    """Words `start` to `start + n` of a step of report `index`: outputs of splitmix64."""
    with np.errstate(over="ignore"):
        number = (np.uint64(index) << np.uint64(20)) + (np.uint64(step) << np.uint64(18))
        z = np.uint64(seed) + (number + np.arange(start + 1, start + n + 1, dtype=np.uint64)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


class Words:
    """Bytes of one step, as a source of entropy."""

    def __init__(self, seed, index, step):
        self._place, self._start = (seed, index, step), 0
        self.entropy = Entropy("vectors", self.random_bytes)

    def random_bytes(self, n):
        words = random_words(*self._place, self._start, n // 8)
        self._start += n // 8
        return words.astype("<u8").tobytes()


def report_of(randomizer, categories, seed, index):
    """Return the bytes of one report of a category, or of one in every column."""
    source = [Words(seed, index, step) for step in range(4)]
    if isinstance(randomizer, ColumnRandomizer):
        column = np.empty(1, dtype=np.int64)
        with WordStream(source[COLUMN].entropy, 4) as stream:
            fill_below(column, np.array([randomizer.n_columns]), stream)
        inner = randomizer._inner.randomize(categories[column], source[REPORT].entropy)
        return column.astype("<u2").tobytes() + inner.tobytes()
    report = randomizer.randomize(categories[:1], source[REPORT].entropy)
    return report.astype(report.dtype.newbyteorder("<")).tobytes()


def report_of_answer(specification, x, y, seed, index):
    """Return the report of one person, with the words of the vectors in place of the system's."""
    cells, target = _place(specification, x, y)
    level = specification._target.draw(target, Words(seed, index, ROUNDING).random_bytes)
    categories = specification.randomizer.n_labels * cells.ravel() + level
    return report_of(specification.randomizer, categories, seed, index)


def checksum(data):
    """FNV-1a of 32 bits."""
    found = 0x811C9DC5
    for byte in data:
        found = (found ^ byte) * 0x01000193 % 2**32
    return f"{found:08x}"


RANDOMIZERS = [
    HadamardRandomizer(1.0, 8),
    HadamardRandomizer(0.1, 300),
    HadamardRandomizer(4.0, 11),
    HadamardRandomizer(1.0, 20_000),
    HadamardRandomizer(3.0, 5, 3),
    HadamardRandomizer(2.0, 7, 10),
    KRRRandomizer(3.0, 4),
    KRRRandomizer(2.0, 5, 10),
    KRRRandomizer(12.0, 40_000, 3),
    LabelRandomizer(1.0, 4),
    LabelRandomizer(2.0, 6, 10),
    SubsetRandomizer(1.0, 8),
    SubsetRandomizer(2.0, 5, 5),
    SubsetRandomizer(0.5, 33, 10),
    UnaryRandomizer(1.0, 8),
    UnaryRandomizer(3.0, 7, 10),
    SignedLaplaceRandomizer(1.0, 4),
    LaplaceRandomizer(2.0, 3),
    ColumnRandomizer(1.0, 4, n_columns=3),
    ColumnRandomizer(2.0, 6, 10, n_columns=5),
]


def randomizer_vectors(randomizer, seed, n=N_VECTORS):
    """Return what stands in the file of a randomizer."""
    n_columns = getattr(randomizer, "n_columns", 1)
    reports = []
    for index in range(n):
        words = random_words(seed, index, INPUT, 0, n_columns)
        categories = (words % np.uint64(randomizer.n_categories)).astype(np.int64)
        reports.append(report_of(randomizer, categories, seed, index))
    sums = [checksum(b"".join(reports[start : start + AT_ONCE])) for start in range(0, n, AT_ONCE)]
    plan = {**randomizer.to_dict(), **randomizer.drawn_by()}
    first = [report.hex() for report in reports[:AT_ONCE]]
    return {"randomizer": plan, "seed": seed, "n": n, "first": first, "checksums": " ".join(sums)}


DOMAIN = TableDomain(
    {
        "age": NumberColumn(17, 90, missing="indicator", missing_values=[-1]),
        "income": NumberColumn(0, 1e5, missing="fill", fill=2e4),
        "since": DateColumn("2001-01-01", "2020-12-31", missing="fill"),
        "born": DateColumn("1930-01-01", "2010-06-15T12:00", missing="indicator"),
        "job": CategoricalColumn(["clerk", "smith", "nurse", "größer"], missing="indicator"),
        "size": CategoricalColumn(["S", "M", "L"], ordered=True, missing="fill"),
        "rooms": CategoricalColumn([1, 2, 3.5], missing="fill"),
        "smokes": BooleanColumn(missing="indicator"),
        "owns": BooleanColumn(missing="fill", fill=True),
        "heat": StressColumn(20, 150, "arrhenius", missing="fill"),
        "load": StressColumn(1, 10, "inverse-power", missing="fill", fill=2),
    },
    missing_values=["?"],
)


def domain_rows(n, seed=0):
    """Rows of the declared columns as JSON has them, with missing cells of every kind."""
    rng = np.random.default_rng(seed)
    make = {
        "age": lambda: round(float(rng.uniform(10, 95)), 2),
        "income": lambda: int(rng.integers(-5000, 120_000)),
        "since": lambda: f"{rng.integers(1995, 2024)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}",
        "born": lambda: (
            f"{rng.integers(1925, 2012)}-02-{rng.integers(1, 29):02d}T{rng.integers(24):02d}:30:05"
        ),
        "job": lambda: ["clerk", " smith", "nurse", "größer"][rng.integers(4)],
        "size": lambda: "SML"[rng.integers(3)],
        "rooms": lambda: [1, 2, 3.5][rng.integers(3)],
        "smokes": lambda: [True, False, "Yes", "no", 1, 0][rng.integers(6)],
        "owns": lambda: bool(rng.integers(2)),
        "heat": lambda: round(float(rng.uniform(0, 170)), 1),
        "load": lambda: round(float(rng.uniform(0.5, 12)), 3),
    }
    return [
        {
            name: [None, "?", ""][rng.integers(3)] if rng.random() < 0.15 else one()
            for name, one in make.items()
        }
        | ({"age": -1} if rng.random() < 0.1 else {})
        for _ in range(n)
    ]


def studies():
    """Specifications of every kind, and rows to answer them by."""
    n = AT_ONCE
    X, cost = number_rows(n)
    plain = [{"x0": a, "x1": 2 * b} for a, b in [[0.0, 0.5], [0.25, 0.75], [-7.0, 9.0], *X.tolist()][:n]]
    words = [f"class {number}" for number in range(10)]
    ten = make_specification("subset", classes=words, epsilon=2.0, depth=4)
    rows = domain_rows(600)
    labels = [
        ["no", "maybe", "yes"][(row["job"] == "nurse") + (row["smokes"] in (True, "Yes"))] for row in rows
    ]
    options = {"domain": DOMAIN, "classes": ["no", "maybe", "yes"]}
    public = {name: [row[name] for row in rows] for name in DOMAIN.names}
    grown = TreeCurator(
        LocallyPrivateTreeClassifier(2.0, max_depth=6, mechanism="hadamard", **options),
        *(public, labels),
        n_clients=5000,
        label="ill",
    ).specification
    lower, upper = DOMAIN.bounds
    partition = build_partition(
        np.zeros((0, len(lower))), [], max_depth=7, lower=lower, upper=upper, groups=DOMAIN.groups
    )
    blind = TreeSpecification(
        partition, KRRRandomizer(5.0, partition.n_leaves), [0, 1], label="ill", domain=DOMAIN
    )
    split = SplitCurator(
        LocallyPrivateTreeClassifier(2.0, **options), n_clients=9000, label="ill"
    ).specification
    bins = SplitCurator(
        LocallyPrivateTreeClassifier(1.0, bounds=(-3, 0.7), classes=[1, 2.5]),
        n_clients=9000,
        features=["x0", "x1"],
    ).specification
    level = make_specification("krr")
    known = TreeSpecification(level.partition, LabelRandomizer(1.0, level.partition.n_leaves), [False, True])
    number = number_specification(HadamardRandomizer(2.0, 1, 5), bounds_y=(-0.5, 9.7))
    pairs = [{"a": row["x0"], "b": row["x1"]} for row in plain]
    yield make_specification(), plain, [number % 2 for number in range(n)]
    yield ten, plain, [words[number % 10] for number in range(n)]
    yield known, plain, [number % 3 == 0 for number in range(n)]
    yield number, pairs, [-3.0, 30.0, *cost.tolist()][:n]
    yield grown, rows[:n], labels[:n]
    yield blind, rows[:n], [number % 2 for number in range(n)]
    yield bins, plain, [[1, 2.5][number % 2] for number in range(n)]
    yield split, rows[:n], labels[:n]


def study_vectors(specification, rows, labels, seed):
    """Return what stands in the file of a specification."""
    answers = list(zip(rows, labels, strict=True))
    return {
        "specification": specification.to_json(),
        "seed": seed,
        "answers": answers,
        "cells": [_place(specification, x, y)[0].ravel().tolist() for x, y in answers],
        "reports": [report_of_answer(specification, x, y, seed, i).hex() for i, (x, y) in enumerate(answers)],
    }


def documents():
    """Yield the names of the files and what stands in them."""
    for seed, randomizer in enumerate(RANDOMIZERS, 1):
        yield (
            f"randomizer-{seed:02d}-{randomizer.name}.json",
            lambda s=seed, r=randomizer: randomizer_vectors(r, s),
        )
    for seed, study in enumerate(studies(), 101):
        yield f"specification-{seed}.json", lambda s=seed, one=study: study_vectors(*one, s)


def main():
    for name, make in documents():
        (FOLDER / name).write_text(json.dumps(make()).replace(' "', '\n"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
