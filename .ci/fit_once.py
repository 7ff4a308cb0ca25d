# SPDX-License-Identifier: BSD-3-Clause
"""Strict fits, a small collection and a small platform with an installed wheel, outside the source tree."""

from pathlib import Path

import numpy as np

import skprivate
from skprivate.accounting import statement_schema

skprivate.set_config(strict=True)
if (Path.cwd() / "skprivate").exists():
    raise SystemExit("run this outside the source tree")
rng = np.random.default_rng(0)
X = rng.uniform(size=(20_000, 2))
y = (X[:, 0] > 0.5).astype(int)
is_public = np.arange(len(X)) < 50
declared = {"bounds": (0, 1), "classes": [0, 1]}
stated = statement_schema()["$defs"]["privacy_spent"]
for tree in (
    skprivate.LocallyPrivateTreeClassifier(**declared),
    skprivate.DPTreeClassifier(rule="cart", prune=True, **declared),
):
    tree.fit(X, y, is_public=is_public)
    print(tree.privacy_spent_)
    if tree.score(X, y) < 0.9 or not tree.privacy_spent_.private:
        raise SystemExit("the installed package does not learn")
    if (
        not set(statement_schema()["$defs"]["privacy_spent"]["required"])
        == tree.privacy_spent_.to_dict().keys()
    ):
        raise SystemExit("the installed package has no schema of its statements")

plan = skprivate.LocallyPrivateTreeClassifier(epsilon=4.0, **declared)
curator = skprivate.TreeCurator(plan, X[is_public], y[is_public], n_clients=300)
for x, label in zip(X[:300], y[:300].tolist(), strict=True):
    curator.update(curator.client().randomize(x, label))
if skprivate.TreeCurator.from_bytes(curator.to_bytes()).release().score(X, y) < 0.9:
    raise SystemExit("the installed package does not collect")

hours = np.exp(X @ [1.0, -0.5]) * rng.weibull(2.0, size=len(X))
life = np.zeros(len(X), dtype=[("event", bool), ("time", float)])
life["event"], life["time"] = hours < 2, np.minimum(hours, 2)
box = {"bounds_X": (0, 1), "bounds_y": (0.01, 20)}
moments = skprivate.MomentAccumulator(max_rows=len(X), **box).update(X, hours)
model = skprivate.DPLogLocationScaleRegressor(epsilon=8.0, **box)
for fitted in (model.fit(X, hours), moments.release(model), model.fit(X, life)):
    if np.abs(fitted.coef_ - [1.0, -0.5]).max() > 0.4 or not fitted.privacy_spent_.private:
        raise SystemExit("the installed package does not learn lifetimes")

sites, dose = rng.integers(12, size=len(X)), X[:, 0] * (1 - X[:, 1])
platform = skprivate.CollaborativeLARRegressor(bandwidth=0.05, bounds=(0, 1)).fit(X, dose, sites=sites)
print(*platform.disclosure_risk_, sep="\n")
if platform.score(X[:1000], dose[:1000]) < 0.9:
    raise SystemExit("the installed package does not predict together")
