# SPDX-License-Identifier: BSD-3-Clause
"""
A locally private tree on diabetes outcomes
===========================================

The data are those of the LPCT paper without their copied rows. 200 public rows shape the tree, 462 private
rows send one report each, and 116 private rows test it. The example compares the accuracy at several values
of epsilon with the public rows alone, the private rows alone, and a tree without privacy.

The file is not part of the package. `skprivate.datasets.fetch_diabetes_outcome` states where to put it; or
run the example with ``SKPRIVATE_DATA=FOLDER``. Without the file, the page uses SIMULATED people, and its
pictures state so. Statements about accuracy refer to the real file.
"""

# %%
# Rows and their owners
# ---------------------
# With the copied rows of the published file, nearly every test row of a random split would also be in its
# training part.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import ShuffleSplit
from sklearn.tree import DecisionTreeClassifier

import skprivate
from skprivate import LocallyPrivateTreeClassifier, PublicPrivateSplit
from skprivate.datasets import fetch_diabetes_outcome


def simulate_outcomes(n_rows=778, n_public=200):
    """Eight normal columns; glucose, body-mass index and age raise the odds of the outcome."""
    rng = np.random.default_rng(0)
    # In the order of the file: pregnancies, glucose, pressure, skin, insulin, body-mass index, pedigree, age.
    centres, spreads = [4, 120, 70, 20, 80, 32, 0.5, 35], [3, 30, 12, 10, 60, 7, 0.3, 11]
    X = np.maximum(rng.normal(centres, spreads, size=(n_rows, 8)), 0)
    logit = (X[:, 1] - 135) / 20 + (X[:, 5] - 32) / 10 + (X[:, 7] - 35) / 20
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-logit))).astype(int)
    return X, y, np.arange(n_rows) < n_public


skprivate.set_config(strict=True)
try:
    X, y, is_public = fetch_diabetes_outcome(return_X_y=True)
    source = "Diabetes outcomes"
except FileNotFoundError:
    X, y, is_public = simulate_outcomes()
    source = "SIMULATED outcomes"
majority = max(y[~is_public].mean(), 1 - y[~is_public].mean())
print(f"{source}: {is_public.sum()} public and {(~is_public).sum()} private rows, majority {majority:.3f}")

# %%
# Columns and bounds are public choices
# -------------------------------------
# The tree halves the edges of a box, so the box matters. Every screening score uses these three columns.
# Clinicians know the midpoints of the chosen ranges: 125 mg/dl of glucose, a body-mass index of 30, and 50
# years. Nothing of this comes from private rows. For comparison, another tree uses all eight columns in the
# box of the public rows.
columns = [1, 5, 7]
bounds = ([50, 15, 20], [200, 45, 80])

# %%
# Accuracy against epsilon
# ------------------------
# Each split keeps the public rows in training and tests on a fifth of the private rows. The noise has no
# seed, so figures change a little from run to run.
epsilons = [0.5, 1, 2, 4, 8]
splits = list(
    PublicPrivateSplit(ShuffleSplit(10, test_size=0.2, random_state=0)).split(X, y, is_public=is_public)
)
methods = {
    "public and private rows": (columns, {"bounds": bounds}),
    "private rows only": (columns, {"bounds": bounds, "public_weight": 0.0}),
    "public rows only": (columns, {"bounds": bounds, "public_weight": 1e12}),
    "eight columns, public box": (list(range(8)), {}),
}
scores = {name: np.zeros((len(epsilons), len(splits))) for name in [*methods, "not private"]}
for s, (train, test) in enumerate(splits):
    for e, epsilon in enumerate(epsilons):
        for name, (chosen, parameters) in methods.items():
            tree = LocallyPrivateTreeClassifier(epsilon, **parameters)
            tree.fit(X[train][:, chosen], y[train], is_public=is_public[train])
            scores[name][e, s] = tree.score(X[test][:, chosen], y[test])
    plain = DecisionTreeClassifier(max_depth=4, min_samples_leaf=5, random_state=0)
    plain.fit(X[train][:, columns], y[train])
    scores["not private"][:, s] = plain.score(X[test][:, columns], y[test])

print("epsilon" + "".join(f"{name:>27}" for name in scores))
for e, epsilon in enumerate(epsilons):
    print(f"{epsilon:>7g}" + "".join(f"{scores[name][e].mean():>27.3f}" for name in scores))

# %%
# The picture
# -----------
figure, axis = plt.subplots(layout="constrained")
for name in ("public and private rows", "private rows only", "public rows only", "not private"):
    values = scores[name]
    middle, error = values.mean(axis=1), values.std(axis=1) / np.sqrt(len(splits))
    axis.errorbar(epsilons, middle, yerr=error, marker="o", markersize=4, capsize=3, label=name)
axis.axhline(majority, color="grey", linestyle=":", label="majority")
title = f"{source}, {len(splits)} splits"
axis.set(xscale="log", xlabel="epsilon", ylabel="accuracy", title=title)
axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
axis.minorticks_off()
figure.legend(loc="outside lower center", ncols=2)
plt.show()

# %%
# With 462 reports, the private rows add little to 200 public rows of the same population. Private rows alone
# catch up as epsilon grows. A badly chosen box costs more accuracy than the noise does.
#
# What one fit claims
# -------------------
# A report protects one row. If a person has several rows, pass ``groups``.
tree = LocallyPrivateTreeClassifier(1.0, bounds=bounds)
print(tree.fit(X[:, columns], y, is_public=is_public).privacy_spent_)
