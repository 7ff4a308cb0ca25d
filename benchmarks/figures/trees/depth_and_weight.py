# SPDX-License-Identifier: BSD-3-Clause
"""Regret of automatic depth, automatic weight and pruning against an oracle, on rules of many kinds.

Reports are drawn as Gaussians of their exact variance, which is what makes the tables affordable. An oracle
knows, for every setting, the depth and the constant weight with the best mean accuracy.
"""

import itertools
import math
from functools import partial

import numpy as np

from skprivate.partition import build_partition
from skprivate.randomizers import HadamardRandomizer
from skprivate.tree._leaf_probabilities import LeafCounts, choose_weight
from skprivate.tree._pruning_and_intervals import leaf_ancestors, prune_leaves
from skprivate.tree._release import choose_depth, count_split_features

from ..._tables import Table, across

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
#: Settings, seeds, and private rows of a setting.
SIZES = {False: (80, 5, (1000, 10_000, 100_000)), True: (1, 1, (1000,))}
DEEPEST = 10
TEST_ROWS = 3000
CONSTANT_WEIGHTS = (0.0, 0.5, 2.0, 8.0, 32.0, 1e3, 1e12)
KINDS = ("linear", "wave", "bump", "interaction", "one feature", "box", "patches")
DRIFTS = ("gamma .5", "none", "gamma 5", "flipped", "coins", "another rule")
SHIFTS = ("none", "none", "beta", "box")
RULES = ("max-edge", "max-edge", "cart")
#: Place of what is varied in a setting.
PARTS = {"d": 1, "n": 2, "n_Q": 3, "labels": 4, "P(X)": 5, "rule": 6}
COLUMNS = ("automatic", "pruned", "deep", "deep pruned", "private", "public")


def draw_rule(kind, d, rng):
    """Return P(label 1 | x), drawn at random within its kind."""
    w = rng.normal(size=d)
    w /= np.linalg.norm(w)
    pair, c = rng.choice(d, 2, replace=False), rng.uniform(0.3, 0.7, size=2)
    a = rng.uniform(0.25, 0.45) * rng.choice([-1, 1])
    i, j = pair
    frequency, phase, half = rng.uniform(4, 8), rng.uniform(-1, 1), rng.uniform(0.2, 0.35, size=2)
    some = rng.choice(d, min(d, 3), replace=False)
    centres, values = rng.uniform(size=(12, len(some))), rng.uniform(-0.45, 0.45, size=12)
    rules = {
        "linear": lambda X: a * np.tanh(6 * (X - 0.5) @ w),
        "wave": lambda X: a * np.sin(frequency * (X - 0.5) @ w + phase),
        "bump": lambda X: a * (2 * np.exp(-((X[:, pair] - c) ** 2).sum(axis=1) / 0.06) - 1),
        "interaction": lambda X: a * np.tanh(15 * (X[:, i] - c[0]) * (X[:, j] - c[1])),
        "one feature": lambda X: a * np.tanh(8 * (X[:, i] - c[0])),
        "box": lambda X: np.where((np.abs(X[:, pair] - c) < half).all(axis=1), a, -a),
        "patches": lambda X: values[((X[:, None, some] - centres) ** 2).sum(axis=2).argmin(axis=1)],
    }
    return lambda X: 0.5 + rules[kind](X)


def drifted(eta, X, drift, d, rng):
    """Return P(label 1 | x) of public rows."""
    if drift == "coins":
        return np.full(len(X), 0.5)
    if drift == "another rule":
        return draw_rule(rng.choice(KINDS), d, rng)(X)
    if drift == "flipped":
        return np.where(X[:, rng.integers(d)] < 1 / 3, 1 - eta, eta)
    gamma = {"gamma .5": 0.5, "none": 1.0, "gamma 5": 5.0}[drift]
    return 0.5 + 0.4 * np.sign(eta - 0.5) * np.minimum(1.25, np.abs(eta - 0.5) / 0.4) ** gamma


class Scene:
    """One data set, counted in the leaves of the deepest partition."""

    def __init__(self, setting, seed):
        kind, d, n, n_public, drift, shift, rule = setting
        self.rng = rng = np.random.default_rng([seed, 31])
        eta = draw_rule(kind, d, rng)
        X, public, test = (rng.uniform(size=(rows, d)) for rows in (n, n_public, TEST_ROWS))
        if shift == "beta":
            public = rng.beta(2, 3, size=public.shape)
        elif shift == "box":
            public *= 0.7
        y = (rng.random(n_public) < drifted(eta(public), public, drift, d, rng)).astype(np.int32)
        self.partition = build_partition(
            public, y, lower=np.zeros(d), upper=np.ones(d), max_depth=DEEPEST, rule=rule
        )
        self.ancestors = leaf_ancestors(self.partition)
        self.n_features = count_split_features(self.partition, rule)
        self.private = self._count(X, rng.random(n) < eta(X))
        self.public = self._count(public, y)
        leaves = self.partition.n_leaves
        self.value = np.bincount(self.partition.apply(test), 2 * eta(test) - 1, minlength=leaves) / TEST_ROWS

    def _count(self, X, labels):
        leaves = self.partition.n_leaves
        return np.bincount(2 * self.partition.apply(X) + labels, minlength=2 * leaves).reshape(leaves, 2)

    def at(self, depth):
        """Return ancestors, private and public counts and values of the leaves at a depth."""
        leaf = self.ancestors[min(depth, len(self.ancestors) - 1)]
        first = np.unique(leaf, return_index=True)[1]
        tables = (self.private, self.public, self.value[:, np.newaxis])
        sums = [np.stack([np.bincount(leaf, column) for column in table.T], axis=1) for table in tables]
        return self.ancestors[: depth + 1, first], sums[0], sums[1].astype(np.int64), sums[2][:, 0]


def report_variance(epsilon, n_leaves, n, central):
    """Return the variance of a report."""
    if central:
        return 8 / epsilon**2 / n
    return float(HadamardRandomizer(epsilon, n_leaves).variance(1)[0])


def accuracies(scene, n, epsilon, central):
    """Return, by depth, accuracies of private, public, automatic and pruned, then of constant weights."""
    table = np.full((DEEPEST + 1, 4 + len(CONSTANT_WEIGHTS)), np.nan)
    for depth in range(1, min(DEEPEST, len(scene.ancestors) - 1) + 1):
        ancestors, private, public, value = scene.at(depth)
        v = report_variance(epsilon, len(private), n, central)
        signed = private[:, 1] - private[:, 0] + scene.rng.normal(0, math.sqrt(n * v), size=len(private))
        wanted = public[:, 1] - public[:, 0]
        leaves = LeafCounts.of(np.column_stack([-signed / 2, signed / 2]), n, public, v)
        split = scene.n_features if np.ndim(scene.n_features) == 0 else scene.n_features[: depth + 1]
        pruned, _ = prune_leaves(ancestors, leaves, n_features=split)
        margins = [signed, wanted, signed + choose_weight(leaves) * wanted]
        margins += [pruned.probabilities[:, 1] - pruned.probabilities[:, 0]]
        margins += [signed + weight * wanted for weight in CONSTANT_WEIGHTS]
        table[depth] = [0.5 + 0.5 * np.sum(np.where(margin > 0, value, -value)) for margin in margins]
    return table


def regrets(setting, number, epsilon, central, seeds):
    """Return points lost against the oracle, by column."""
    n = setting[2]
    variance = partial(report_variance, epsilon, n=n, central=central)
    tables, picked = [], []
    for seed in range(seeds):
        scene = Scene(setting, 1000 * number + seed)
        table, counts = accuracies(scene, n, epsilon, central), scene.partition.leaf_counts_by_depth()
        depth = choose_depth(n, counts, variance, scene.n_features)
        deep = min(depth + 3, len(counts) - 1)
        places = [(depth, 2), (depth, 3), (deep, 2), (deep, 3), (depth, 0), (depth, 1)]
        picked.append([table[place] for place in places])
        tables.append(table)
    mean = np.mean(tables, axis=0)
    return 100 * (np.nanmax(mean) - np.mean(picked, axis=0))


def draw_settings(n_settings, sizes):
    rng = np.random.default_rng(20)
    choices = (KINDS, (2, 5, 10, 20), sizes, (50, 200, 1000, 5000), DRIFTS, SHIFTS, RULES)
    return [tuple(options[rng.integers(len(options))] for options in choices) for _ in range(n_settings)]


def show(table, title, rows):
    mean, worst = np.mean(rows, axis=0), np.max(rows, axis=0)
    table.row(title, len(rows), *(f"{a:.2f} /{b:5.1f}" for a, b in zip(mean, worst, strict=True)))


def run(*, small: bool = False) -> None:
    """Print points lost, of all settings and of those that share a property."""
    n_settings, seeds, sizes = SIZES[small]
    settings = draw_settings(n_settings, sizes)
    cases = list(itertools.product(range(n_settings), EPSILONS))
    print("points lost against the oracle of depth and constant weight, mean / worst setting")
    table = Table(("settings", "<24"), ("n", ">5"), *across(COLUMNS, ">14"), indent=2)
    for central in (False, True):
        rows = np.array([regrets(settings[k], k, epsilon, central, seeds) for k, epsilon in cases])
        show(table, "central" if central else "local reports", rows)
        for epsilon in EPSILONS:
            show(table, f"epsilon = {epsilon:g}", rows[[e == epsilon for _, e in cases]])
        for name, place in PARTS.items() if not central else ():
            for value in dict.fromkeys(sorted(setting[place] for setting in settings)):
                show(table, f"{name}: {value}", rows[[settings[k][place] == value for k, _ in cases]])
