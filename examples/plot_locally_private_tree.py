# SPDX-License-Identifier: BSD-3-Clause
"""
A locally private tree on diabetes outcomes
===========================================

The data of the LPCT paper, without their replicated rows: 200 public rows shape the tree, 462 private rows
send one report each, 116 private rows test it. Accuracy against epsilon is compared with the public rows
alone, the private rows alone, and a tree without privacy.

The file is not shipped: put it where `skprivate.datasets.fetch_diabetes_outcome` says, or run with
``SKPRIVATE_DATA=FOLDER``.
"""

# %%
# Rows and their owners
# ---------------------
# With the copies of the published file, nearly every test row of a random split also stands in its training
# part.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import ShuffleSplit
from sklearn.tree import DecisionTreeClassifier

import skprivate
from skprivate import LocallyPrivateTreeClassifier, PublicPrivateSplit
from skprivate.datasets import fetch_diabetes_outcome

skprivate.set_config(strict=True)
X, y, is_public = fetch_diabetes_outcome(return_X_y=True)
majority = max(y[~is_public].mean(), 1 - y[~is_public].mean())
print(f"{is_public.sum()} public and {(~is_public).sum()} private rows, majority {majority:.3f}")

# %%
# Accuracy against epsilon
# ------------------------
# Every split keeps the public rows in training and tests a fifth of the private rows. The noise is not
# seeded, so figures move a little from run to run. Bounds and classes come from the public rows.
epsilons = [0.5, 1, 2, 4, 8]
splits = list(
    PublicPrivateSplit(ShuffleSplit(20, test_size=0.2, random_state=0)).split(X, y, is_public=is_public)
)
methods = {
    "public and private rows": {},
    "private rows only": {"public_weight": 0.0},
    "public rows only": {"public_weight": 1e12},
}
scores = {name: np.zeros((len(epsilons), len(splits))) for name in [*methods, "not private"]}
for s, (train, test) in enumerate(splits):
    for e, epsilon in enumerate(epsilons):
        for name, parameters in methods.items():
            tree = LocallyPrivateTreeClassifier(epsilon, **parameters)
            tree.fit(X[train], y[train], is_public=is_public[train])
            scores[name][e, s] = tree.score(X[test], y[test])
    plain = DecisionTreeClassifier(max_depth=4, min_samples_leaf=5, random_state=0).fit(X[train], y[train])
    scores["not private"][:, s] = plain.score(X[test], y[test])

print("epsilon" + "".join(f"{name:>25}" for name in scores))
for e, epsilon in enumerate(epsilons):
    print(f"{epsilon:>7g}" + "".join(f"{scores[name][e].mean():>25.3f}" for name in scores))

# %%
# The picture
# -----------
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
for name, values in scores.items():
    middle, error = values.mean(axis=1), values.std(axis=1) / np.sqrt(len(splits))
    axis.errorbar(epsilons, middle, yerr=error, marker="o", markersize=4, capsize=3, label=name)
axis.axhline(majority, color="grey", linestyle=":", label="majority")
axis.set(
    xscale="log", xlabel="epsilon", ylabel="accuracy on private rows", title="Diabetes outcomes, 20 splits"
)
axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
axis.minorticks_off()
axis.legend(fontsize=8)
plt.show()

# %%
# What one fit claims
# -------------------
# A report protects a row. Where a person stands in several rows, pass ``groups``.
print(tree.privacy_spent_)
