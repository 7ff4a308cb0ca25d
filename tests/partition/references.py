# SPDX-License-Identifier: BSD-3-Clause
"""Slow, exact references of the rules that grow partitions, and the tables on which they are compared."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

from skprivate.partition import build_partition

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = 5e-324


def uniform(rng, n, d):
    return rng.random((n, d)), np.zeros(d), np.ones(d)


def on_midpoints(rng, n, d):
    # Values on the cuts, many ties and duplicates.
    return rng.integers(0, 9, (n, d)) / 8, np.zeros(d), np.ones(d)


def coarse(rng, n, d):
    # Duplicates, and many cuts that score the same.
    return rng.integers(0, 4, (n, d)).astype(float), np.zeros(d), np.full(d, 3.0)


def outside(rng, n, d):
    return rng.normal(0, 3, (n, d)), np.full(d, -1.0), np.linspace(0.3, 2.1, d)


def constants(rng, n, d):
    X, lower, upper = coarse(rng, n, d)
    X[:, ::2] = 1.0
    # The last column has no width in the box, the first no width in the rows.
    lower[-1] = upper[-1] = 2.0
    return X, lower, upper


def huge(rng, n, d):
    return (rng.random((n, d)) - 0.5) * 2 * LARGEST, np.full(d, -LARGEST), np.full(d, LARGEST)


def neighbours(rng, n, d):
    # Values with no float between them, around a power of two and among subnormal numbers.
    X = 1.0 + rng.integers(-2, 3, (n, d)) * 2.0**-53
    X[:, 0] = rng.integers(0, 4, n) * SMALLEST
    return X, np.zeros(d), np.full(d, 2.0)


def a_few_ulps(rng, n, d):
    lower = np.full(d, 3.0)
    upper = lower + 3 * np.spacing(3.0)
    return lower + rng.integers(-1, 5, (n, d)) * np.spacing(3.0), lower, upper


DATA = (uniform, on_midpoints, outside, constants, huge, neighbours, a_few_ulps)


def problem(data, d, n_labels, n=120, seed=0):
    """Rows of a kind with labels that the first column and chance decide."""
    rng = np.random.default_rng([seed, d, n_labels])
    X, lower, upper = data(rng, n, d)
    score = np.searchsorted([0.3, 0.6], rng.random(n) * 0.8 + 0.2 * (X[:, 0] > np.median(X[:, 0])))
    labels = np.minimum(score, n_labels - 1).astype(np.int32)
    return {"X": X, "labels": labels, "lower": lower, "upper": upper, "n_labels": n_labels}


def purity(labels, criterion):
    """Sum of squares / rows, or exp(-rows * entropy): fractions, so that ties are ties."""
    counts = [labels.count(m) for m in set(labels)]
    if criterion == "gini":
        return Fraction(sum(c * c for c in counts), max(len(labels), 1))
    return Fraction(math.prod(c**c for c in counts), len(labels) ** len(labels))


def split_score(left, right, labels, criterion):
    first, second = (purity([labels[i] for i in side], criterion) for side in (left, right))
    return first + second if criterion == "gini" else first * second


def sides_of(X, rows, j, cut):
    return [i for i in rows if X[i][j] < cut], [i for i in rows if not X[i][j] < cut]


def halving_reference(
    X, labels, *, lower, upper, max_depth, rule, criterion="gini", min_samples_leaf=0, seed=0, **_
):
    """Features (-1 at leaves) and thresholds of the inner nodes, by a queue of cells."""
    generator = np.random.default_rng(seed).bit_generator
    labels, complete = list(labels), len(X) == 0
    wide = [j for j in range(len(lower)) if lower[j] < upper[j]]
    queue = [(range(len(X)), (0,) * len(lower), (0,) * len(lower))]
    features, thresholds = [], []
    for rows, halvings, coordinate in queue:
        options = []
        if sum(halvings) < max_depth and wide:
            word = generator.random_raw() if rule == "random" or complete else None
            fewest = min(halvings[k] for k in wide)
            for j in (j for j in wide if halvings[j] == fewest) if rows or complete else ():
                cut = midpoint(lower[j], upper[j], halvings[j], coordinate[j])
                left, right = sides_of(X, rows, j, cut)
                if complete or min(len(left), len(right)) >= min_samples_leaf:
                    options.append((j, cut, left, right))
        if not options:
            features.append(-1)
            continue
        if word is not None:
            j, cut, left, right = options[word % len(options)]
        else:
            scores = [split_score(left, right, labels, criterion) for _, _, left, right in options]
            j, cut, left, right = options[scores.index(max(scores))]
        features.append(j)
        thresholds.append(cut)
        for side, side_rows in enumerate((left, right)):
            h, c = list(halvings), list(coordinate)
            h[j], c[j] = h[j] + 1, 2 * c[j] + side
            queue.append((side_rows, tuple(h), tuple(c)))
    return features, thresholds


def midpoint(low, high, halvings, coordinate):
    share = (2 * coordinate + 1) / 2 ** (halvings + 1)
    middle = low * (1 - share) + high * share
    return min(max(middle, math.nextafter(low, high)), high)


def cart_reference(X, labels, *, lower, upper, max_depth, criterion="gini", min_samples_leaf=0, **_):
    """The same by the best of all midpoints between the values of the rows."""
    X = np.clip(X, lower, upper).tolist()
    cuts = [
        [max(low / 2 + high / 2, math.nextafter(low, high)) for low, high in pairwise(sorted(set(column)))]
        for column in zip(*X, strict=True)
    ]
    queue, features, thresholds = [(range(len(X)), 0)], [], []
    for rows, depth in queue:
        best = None
        if depth < max_depth and len({labels[i] for i in rows}) > 1:
            for j, cut in ((j, cut) for j, column in enumerate(cuts) for cut in column):
                sides = sides_of(X, rows, j, cut)
                if min(map(len, sides)) < max(1, min_samples_leaf):
                    continue
                score = split_score(*sides, labels, criterion)
                if best is None or score > best[0]:
                    best = score, j, cut, sides
        features.append(-1 if best is None else best[1])
        if best is not None:
            thresholds.append(best[2])
            queue.extend((side, depth + 1) for side in best[3])
    return features, thresholds


def assert_matches_reference(rule="max-edge", **arguments):
    """Compare the splits of a partition with those of the reference of its rule."""
    reference = cart_reference if rule == "cart" else halving_reference
    features, thresholds = reference(rule=rule, **arguments)
    partition = build_partition(rule=rule, **arguments)
    inner = partition.leaf_index < 0
    np.testing.assert_array_equal(np.where(inner, partition.feature, -1), features)
    np.testing.assert_array_equal(partition.threshold[inner], thresholds)
