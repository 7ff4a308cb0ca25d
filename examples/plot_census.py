# SPDX-License-Identifier: BSD-3-Clause
"""
Income in the census, with foreign-born people as the public rows
=================================================================

This is the second data set of the LPCT paper. Is a person's income above 50,000 dollars a year? The 27,504
people born in the United States are private and send one report each. The 2,658 others are public. The two
groups differ: public rows are good for shaping the tree, but their labels have another distribution.

The file is not part of the package. `skprivate.datasets.fetch_census` states where to put it; or run the
example with ``SKPRIVATE_DATA=FOLDER``. Without the file, the page uses SIMULATED people with the same
columns, and its pictures state so. Statements about accuracy refer to the real file.
"""

# %%
# Rows and their owners
# ---------------------
# The table has five numbers and 42 columns of 0 and 1. The columns come from the documentation, bounds and
# classes from the public rows. Only the reports depend on private rows.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import ShuffleSplit
from sklearn.tree import DecisionTreeClassifier

import skprivate
from skprivate import LocallyPrivateTreeClassifier, PublicPrivateSplit
from skprivate.datasets import fetch_census
from skprivate.inspection import PartitionDisplay


def simulate_census(n_rows=30_162, n_public=2_658):
    """Independent answers in the file's columns; married people with a long education earn more."""
    rng = np.random.default_rng(0)
    numbers = {"age": (17, 91), "education-num": (1, 17), "capital-gain": (0, 1), "capital-loss": (0, 1)}
    columns = {
        name: rng.integers(*ends, n_rows) for name, ends in (numbers | {"hours-per-week": (1, 100)}).items()
    }
    levels = {
        "workclass": 8 * ["class"],
        "marital-status": ["Married-civ-spouse"] + 6 * ["status"],
        "occupation": ["Sales"] + 13 * ["occupation"],
        "relationship": ["Husband"] + 5 * ["relation"],
        "race": 5 * ["race"],
        "sex": ["Male", "Female"],
    }
    for name, texts in levels.items():
        answers = rng.integers(len(texts), size=n_rows)
        for k, text in enumerate(texts):
            columns[f"{name}={text}" + (f" {k}" if texts.count(text) > 1 else "")] = answers == k
    married, long = columns["marital-status=Married-civ-spouse"], columns["education-num"] > 9
    earns_more = rng.random(n_rows) < 0.1 + 0.6 * (married & long)
    return pd.DataFrame(columns, dtype=float), pd.Series(earns_more.astype(int)), np.arange(n_rows) < n_public


skprivate.set_config(strict=True)
try:
    X, y, is_public = fetch_census(return_X_y=True, as_frame=True)
    source = "Census"
except FileNotFoundError:
    X, y, is_public = simulate_census()
    source = "SIMULATED census"
print(f"{source}: {len(X)} rows, {X.shape[1]} columns")
majority = 1 - y[~is_public].mean()
print(
    f"above 50,000 dollars: {y[is_public].mean():.1%} of public, {y[~is_public].mean():.1%} of private rows"
)

# %%
# Accuracy against epsilon
# ------------------------
# Most columns are unrelated to income, and capital gains are 0 for nine people in ten. The rule "max-edge"
# halves the longest edges and cannot use this. ``rule="cart"`` takes the feature and the threshold that
# separate the public labels best. Each split tests on a fifth of the private rows. The noise has no seed, so
# figures change a little from run to run.
epsilons = [0.5, 1, 2, 4, 8]
splits = list(
    PublicPrivateSplit(ShuffleSplit(5, test_size=0.2, random_state=0)).split(X, y, is_public=is_public)
)
methods = {
    "automatic": {"rule": "cart"},
    "private labels only": {"rule": "cart", "public_weight": 0.0},
    "public rows only": {"rule": "cart", "public_weight": 1e12},
    "automatic, max-edge": {"rule": "max-edge"},
}
scores = {name: np.zeros((len(epsilons), len(splits))) for name in [*methods, "not private"]}
for s, (train, test) in enumerate(splits):
    X_train, y_train, X_test, y_test = X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test]
    for e, epsilon in enumerate(epsilons):
        for name, parameters in methods.items():
            tree = LocallyPrivateTreeClassifier(epsilon, **parameters)
            tree.fit(X_train, y_train, is_public=is_public[train])
            scores[name][e, s] = tree.score(X_test, y_test)
    plain = DecisionTreeClassifier(max_depth=8, min_samples_leaf=5, random_state=0)
    scores["not private"][:, s] = plain.fit(X_train, y_train).score(X_test, y_test)

print("epsilon" + "".join(f"{name:>21}" for name in scores) + f"   (majority {majority:.3f})")
for e, epsilon in enumerate(epsilons):
    print(f"{epsilon:>7g}" + "".join(f"{scores[name][e].mean():>21.3f}" for name in scores))

# %%
# The picture shows the methods that start from public rows, and a tree without privacy.
figure, axis = plt.subplots(layout="constrained")
for name in ("automatic", "public rows only", "not private"):
    values = scores[name]
    middle, error = values.mean(axis=1), values.std(axis=1) / np.sqrt(len(splits))
    axis.errorbar(epsilons, middle, yerr=error, marker="o", markersize=4, capsize=3, label=name)
axis.axhline(majority, color="grey", linestyle=":", label="majority")
axis.set(xscale="log", xlabel="epsilon", ylabel="accuracy", title=f"{source}, {len(splits)} splits")
axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
axis.minorticks_off()
axis.legend()
plt.show()

# %%
# At a small epsilon, the tree relies on the public labels. The reports correct them as epsilon grows. The
# depth grows with epsilon too, for all methods but the last.
#
# What the tree learned
# ---------------------
# The plot shows age against education for a married man in sales who works 40 hours and has no capital gains.
# The education number is 9 for a finished high school and 13 for a bachelor's degree. The plane intersects
# few cells, because most cells have other values of the other columns.
tree = LocallyPrivateTreeClassifier(8.0, rule="cart").fit(X, y, is_public=is_public)
person = dict.fromkeys(X.columns, 0.0) | {"hours-per-week": 40}
for mark in ("marital-status=Married-civ-spouse", "relationship=Husband", "sex=Male", "occupation=Sales"):
    person[mark] = 1.0
display = PartitionDisplay.from_estimator(tree, features=("age", "education-num"), at=list(person.values()))
display.ax_.set_title(f"{source}: {len(display.leaves)} of {tree.n_leaves_} cells, epsilon 8")
plt.show()

# %%
# What one fit claims
# -------------------
print(tree.privacy_spent_)
